//! Estimates against exact expectations: every possible log, with its probability.

use crate::common;

use banister_offline::{Estimator, Features, IntervalKind, Log, Model, Options, Target, estimate};
use common::{Columns, World, rng, uniform};
use proptest::prelude::*;

fn options(estimator: Estimator) -> Options {
    Options {
        estimator,
        ..Options::default()
    }
}

fn both(columns: &Columns, target: Target, model: Model, options: &Options) -> [f64; 2] {
    let found = estimate(&columns.checked(), target, model, options).unwrap();
    [found.reward.estimate, found.costs[0].estimate]
}

/// The exact expectation of the estimates over all logs of n rounds.
fn expectation(
    world: &World,
    n: usize,
    target: Target,
    model: Model,
    options: &Options,
) -> [f64; 2] {
    let mut sum = [0.0; 2];
    let mut total = 0.0;
    world.every_log(n, |probability, columns| {
        let found = both(columns, target, model, options);
        total += probability;
        sum[0] += probability * found[0];
        sum[1] += probability * found[1];
    });
    assert!((total - 1.0).abs() < 1e-12);
    sum
}

#[track_caller]
fn near(a: [f64; 2], b: [f64; 2]) {
    let close = |a: f64, b: f64| (a - b).abs() < 1e-10;
    assert!(close(a[0], b[0]) && close(a[1], b[1]), "{a:?} {b:?}");
}

const POLICY: [f64; 3] = [0.1, 0.2, 0.7];

#[test]
fn ips_is_unbiased_over_all_logs() {
    let world = World::three();
    let ips = options(Estimator::Ips);
    let found = expectation(&world, 3, Target::Fixed(&POLICY), Model::Fitted, &ips);
    near(found, world.value(&POLICY));
    // One row per round gives the mean of the rows' values.
    let rows = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let found = expectation(&world, 2, Target::Rows(&rows), Model::Fitted, &ips);
    near(found, world.value(&[0.5, 0.0, 0.5]));
    let found = expectation(&world, 2, Target::Arm(2), Model::Fitted, &ips);
    near(found, world.value(&[0.0, 0.0, 1.0]));
}

#[test]
fn dr_is_unbiased_with_any_model_given_beforehand() {
    let world = World::three();
    let wrong = [0.9, 0.1, 0.4, 0.3, 0.0, 1.0, 0.5, 0.2, 0.8, 1.0, 0.7, 0.1];
    let dr = options(Estimator::Dr);
    let target = Target::Fixed(&POLICY);
    let found = expectation(&world, 2, target, Model::Given(&wrong), &dr);
    near(found, world.value(&POLICY));
    // The direct method repeats the model's error.
    let dm = options(Estimator::Dm);
    let biased = expectation(&world, 2, target, Model::Given(&wrong), &dm);
    assert!((biased[0] - world.value(&POLICY)[0]).abs() > 0.1);
}

/// Cross-fitted models know nothing of the outcome they are compared with. Fitted without folds the
/// same expectation would be off.
#[test]
fn dr_is_unbiased_with_a_cross_fitted_model() {
    let world = World {
        logging: vec![0.7, 0.3],
        rewards: vec![0.2, 0.9],
        costs: vec![0.5, 0.1],
    };
    let mut dr = options(Estimator::Dr);
    dr.folds = 2;
    let policy = [0.1, 0.9];
    let found = expectation(&world, 4, Target::Fixed(&policy), Model::Fitted, &dr);
    near(found, world.value(&policy));
}

#[test]
fn clipped_ips_has_the_bias_that_the_formula_says() {
    let world = World::three();
    let mut ips = options(Estimator::Ips);
    ips.clip = Some(1.5);
    let found = expectation(&world, 2, Target::Fixed(&POLICY), Model::Fitted, &ips);
    // Weights are 0.2, 2/3 and 3.5; the last is cut to 1.5, so its arm counts 0.2 · 1.5.
    near(found, world.value(&[0.1, 0.2, 0.3]));
}

/// Without noise a perfect model leaves nothing to correct.
#[test]
fn dr_with_a_perfect_model_of_a_noiseless_signal_is_dm_without_spread() {
    let means = [0.25, 0.5, 0.75];
    let mut columns = Columns {
        arms: 3,
        ..Columns::default()
    };
    for t in 0..30 {
        let a = t * 7 % 3;
        columns.push(a, [0.5, 0.3, 0.2][a], means[a], 1.0 - means[a]);
    }
    let mut tables: Vec<f64> = means.repeat(30);
    tables.extend(means.repeat(30).iter().map(|q| 1.0 - q));
    let model = Model::Given(&tables);
    let log = columns.checked();
    let dr = estimate(&log, Target::Fixed(&POLICY), model, &options(Estimator::Dr)).unwrap();
    let dm = estimate(&log, Target::Fixed(&POLICY), model, &options(Estimator::Dm)).unwrap();
    assert!((dr.reward.estimate - dm.reward.estimate).abs() < 1e-12);
    assert!((dr.reward.estimate - 0.65).abs() < 1e-12);
    assert!((dr.costs[0].estimate - 0.35).abs() < 1e-12);
    assert!(dr.reward.standard_error < 1e-12);
    assert_eq!(dm.reward.standard_error, f64::INFINITY);
    assert_eq!(dm.reward.lower, f64::NEG_INFINITY);
    // Fitted means find it too, and IPS has spread on the same log.
    let fitted = estimate(
        &log,
        Target::Fixed(&POLICY),
        Model::Fitted,
        &options(Estimator::Dr),
    );
    assert!((fitted.unwrap().reward.estimate - 0.65).abs() < 1e-12);
    let ips = estimate(
        &log,
        Target::Fixed(&POLICY),
        model,
        &options(Estimator::Ips),
    )
    .unwrap();
    assert!(ips.reward.standard_error > 0.01);
}

/// Noiseless linear signals: ridge models with a vanishing penalty are perfect, so DR is exact where
/// a model that ignores the features is not.
#[test]
fn ridge_models_learn_contexts_and_offered_features() {
    let random = &mut rng(3);
    let (n, d) = (60, 2);
    let mut columns = Columns {
        arms: 2,
        ..Columns::default()
    };
    let context: Vec<f64> = (0..n * d).map(|_| uniform(random) - 0.5).collect();
    let sets: Vec<f64> = (0..n * 2 * d).map(|_| uniform(random) - 0.5).collect();
    let own = |t: usize, a: usize| {
        let x = &context[t * d..(t + 1) * d];
        [0.4 + 0.3 * x[0], 0.6 - 0.2 * x[0] + 0.1 * x[1]][a]
    };
    let shared = |t: usize, a: usize| {
        let x = &sets[(t * 2 + a) * d..(t * 2 + a + 1) * d];
        0.5 + 0.4 * x[0] - 0.3 * x[1]
    };
    for t in 0..n {
        let a = usize::from(uniform(random) < 0.4);
        columns.push(a, [0.6, 0.4][a], own(t, a), shared(t, a));
    }
    let policy = [0.3, 0.7];
    let truth = |mean: &dyn Fn(usize, usize) -> f64| {
        let value = |t| policy[0] * mean(t, 0) + policy[1] * mean(t, 1);
        (0..n).map(value).sum::<f64>() / n as f64
    };
    let mut dr = options(Estimator::Dr);
    dr.ridge = 1e-10;
    let with = |features: Features<'_>| {
        let log = Log {
            features,
            ..columns.log()
        };
        let log = log.check().unwrap();
        estimate(&log, Target::Fixed(&policy), Model::Fitted, &dr).unwrap()
    };
    let blind = with(Features::None);
    let contextual = with(Features::Context {
        dimension: d,
        rows: &context,
    });
    let offered = with(Features::Offered {
        dimension: d,
        sets: &sets,
    });
    assert!((contextual.reward.estimate - truth(&own)).abs() < 1e-8);
    assert!((offered.costs[0].estimate - truth(&shared)).abs() < 1e-8);
    assert!((blind.reward.estimate - truth(&own)).abs() > 1e-4);
    assert!((blind.costs[0].estimate - truth(&shared)).abs() > 1e-4);
}

/// The ridge of one feature has a closed form: with centred data b = Σxy/(Σx² + λ).
#[test]
fn a_ridge_model_is_the_closed_form() {
    let mut columns = Columns {
        arms: 1,
        ..Columns::default()
    };
    let x = [-1.0, 2.0, -1.0, 2.0, -1.0, 2.0, -1.0, 2.0];
    for x in x {
        columns.push(0, 1.0, 0.5 + 0.125 * x, 0.5);
    }
    let log = Log {
        features: Features::Context {
            dimension: 1,
            rows: &x,
        },
        reward_range: None,
        ..columns.log()
    };
    let mut dm = options(Estimator::Dm);
    dm.folds = 2;
    dm.ridge = 3.0;
    // Any four rounds to fit on with k times x = 2: predictions follow from counts alone.
    let log = log.check().unwrap();
    let found = estimate(&log, Target::Arm(0), Model::Fitted, &dm).unwrap();
    let mut possible = Vec::new();
    for k in 0..=4 {
        // Fold A holds k rounds with x = 2 and 4 − k with −1; fold B the mirror image.
        let predict = |fit: f64, ask: f64| {
            let mean_x = (2.0 * fit - (4.0 - fit)) / 4.0;
            let centred = fit * (2.0 - mean_x).powi(2) + (4.0 - fit) * (-1.0 - mean_x).powi(2);
            let slope = 0.125 * centred / (centred + 3.0);
            let level = 0.5 + 0.125 * mean_x;
            let asked = (2.0 * ask - (4.0 - ask)) / 4.0;
            level + slope * (asked - mean_x)
        };
        let k = f64::from(k);
        possible.push(0.5 * (predict(k, 4.0 - k) + predict(4.0 - k, k)));
    }
    let hit = |p: &f64| (p - found.reward.estimate).abs() < 1e-12;
    assert!(possible.iter().any(hit), "{found:?} {possible:?}");
}

#[test]
fn weights_and_clipping_are_reported() {
    let mut columns = Columns {
        arms: 2,
        ..Columns::default()
    };
    for (a, p) in [(0, 0.5), (0, 0.25), (1, 0.2), (1, 0.1)] {
        columns.push(a, p, 1.0, 0.5);
    }
    let mut ips = options(Estimator::Ips);
    ips.clip = Some(3.0);
    let policy = [0.5, 0.5];
    // Weights 1, 2, 2.5, 5; the last is cut to 3.
    let found = estimate(
        &columns.checked(),
        Target::Fixed(&policy),
        Model::Fitted,
        &ips,
    )
    .unwrap();
    let weights = found.reward.weights;
    assert_eq!(weights.largest, 5.0);
    assert_eq!(weights.share_clipped, 0.25);
    assert_eq!(weights.mean, 10.5 / 4.0);
    assert_eq!(weights.lost, 0.5);
    let kish = 8.5 * 8.5 / (1.0 + 4.0 + 6.25 + 9.0);
    assert!((weights.effective_sample_size - kish).abs() < 1e-12);
    assert_eq!(found.reward.estimate, 8.5 / 4.0);
    assert_eq!(found.reward.clipping_bias, Some([0.0, 0.5]));
    assert_eq!(found.reward.n, 4);
    // The bias makes up for exactly what was cut.
    ips.clip = None;
    let whole = estimate(
        &columns.checked(),
        Target::Fixed(&policy),
        Model::Fitted,
        &ips,
    )
    .unwrap();
    assert_eq!(whole.reward.estimate, found.reward.estimate + 0.5);
    assert_eq!(whole.reward.clipping_bias, None);
}

#[test]
fn results_are_plain_data() {
    let columns = World::three().log(&mut rng(1), 50);
    let snips = options(Estimator::Snips);
    let found = estimate(&columns.checked(), Target::Arm(0), Model::Fitted, &snips).unwrap();
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["costs"][0]["name"], "spend");
    assert_eq!(json["reward"]["estimate"], found.reward.estimate);
    let read: Options = serde_json::from_str(r#"{"estimator": "snips", "clip": 4}"#).unwrap();
    assert_eq!((read.clip, read.estimator), (Some(4.0), Estimator::Snips));
    assert!(serde_json::from_str::<Options>(r#"{"clipp": 4}"#).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn snips_of_a_constant_is_the_constant(seed in 0_u64..1000, constant in 0.0..1.0_f64) {
        let mut columns = World::three().log(&mut rng(seed), 40);
        columns.rewards.fill(constant);
        let log = columns.checked();
        let snips = options(Estimator::Snips);
        let found = estimate(&log, Target::Fixed(&POLICY), Model::Fitted, &snips).unwrap();
        prop_assert!((found.reward.estimate - constant).abs() < 1e-14);
        prop_assert!(found.reward.standard_error < 1e-12);
    }

    #[test]
    fn the_logging_policy_itself_earns_the_sample_mean(seed in 0_u64..1000) {
        let columns = World::three().log(&mut rng(seed), 40);
        let log = columns.checked();
        let mean = columns.rewards.iter().sum::<f64>() / 40.0;
        for estimator in [Estimator::Ips, Estimator::Snips] {
            for target in [Target::Fixed(&[0.5, 0.3, 0.2]), Target::Taken(&columns.pscores)] {
                let found = estimate(&log, target, Model::Fitted, &options(estimator)).unwrap();
                prop_assert!((found.reward.estimate - mean).abs() < 1e-12);
                prop_assert!((found.reward.weights.effective_sample_size - 40.0).abs() < 1e-9);
                // And its standard error is the sample's.
                let squares: f64 = columns.rewards.iter().map(|r| (r - mean).powi(2)).sum();
                prop_assert!((found.reward.standard_error - (squares / 39.0 / 40.0).sqrt()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn every_way_to_give_a_policy_means_the_same(seed in 0_u64..1000) {
        let columns = World::three().log(&mut rng(seed), 80);
        let log = columns.checked();
        let rows = POLICY.repeat(80);
        let taken: Vec<f64> = columns.actions.iter().map(|&a| POLICY[a]).collect();
        for estimator in [Estimator::Ips, Estimator::Snips, Estimator::Dr, Estimator::Dm] {
            // A mixture interval knows more of a policy that is known on all arms.
            let options = Options { interval: IntervalKind::Normal, ..options(estimator) };
            let by = |target| estimate(&log, target, Model::Fitted, &options);
            let fixed = by(Target::Fixed(&POLICY));
            prop_assert_eq!(&fixed, &by(Target::Rows(&rows)));
            if matches!(estimator, Estimator::Ips | Estimator::Snips) {
                prop_assert_eq!(&fixed, &by(Target::Taken(&taken)));
            }
        }
    }
}
