//! Intervals: their formulas by hand, and how often they cover.

use crate::common;

use banister_offline::{Estimator, IntervalKind, Model, Options, Target, estimate};
use common::{Columns, World, rng};

const POLICY: [f64; 3] = [0.2, 0.3, 0.5];

fn options(estimator: Estimator, interval: IntervalKind) -> Options {
    Options {
        estimator,
        interval,
        ..Options::default()
    }
}

#[test]
fn the_normal_interval_uses_the_normal_quantile() {
    let columns = World::three().log(&mut rng(5), 200);
    let table = [
        (0.5, 0.674489750196082),
        (0.9, 1.644853626951473),
        (0.95, 1.959963984540054),
    ];
    for (confidence, z) in table {
        let ips = Options {
            confidence,
            ..options(Estimator::Ips, IntervalKind::Normal)
        };
        let found = estimate(
            &columns.checked(),
            Target::Fixed(&POLICY),
            Model::Fitted,
            &ips,
        );
        let found = found.unwrap().reward;
        let terms = columns.actions.iter().zip(&columns.rewards);
        let terms: Vec<f64> = terms
            .map(|(&a, r)| POLICY[a] / [0.5, 0.3, 0.2][a] * r)
            .collect();
        let mean = terms.iter().sum::<f64>() / 200.0;
        let squares: f64 = terms.iter().map(|x| (x - mean).powi(2)).sum();
        let error = (squares / 199.0 / 200.0).sqrt();
        assert!((found.standard_error - error).abs() < 1e-12);
        assert!((found.upper - mean - z * error).abs() < 1e-12);
        assert!((mean - found.lower - z * error).abs() < 1e-12);
        assert_eq!(found.confidence, confidence);
    }
}

/// The delta method against its textbook form for a ratio of means.
#[test]
fn the_error_of_snips_is_that_of_a_ratio() {
    let columns = World::three().log(&mut rng(6), 300);
    let snips = options(Estimator::Snips, IntervalKind::Normal);
    let found = estimate(
        &columns.checked(),
        Target::Fixed(&POLICY),
        Model::Fitted,
        &snips,
    );
    let found = &found.unwrap().costs[0];
    let n = 300.0;
    let w: Vec<f64> = columns
        .actions
        .iter()
        .map(|&a| POLICY[a] / [0.5, 0.3, 0.2][a])
        .collect();
    let wy: Vec<f64> = w.iter().zip(&columns.costs).map(|(w, y)| w * y).collect();
    let mean = |x: &[f64]| x.iter().sum::<f64>() / n;
    let cov = |x: &[f64], y: &[f64]| {
        let (a, b) = (mean(x), mean(y));
        x.iter().zip(y).map(|(x, y)| (x - a) * (y - b)).sum::<f64>() / (n - 1.0)
    };
    let ratio = mean(&wy) / mean(&w);
    let variance = cov(&wy, &wy) - 2.0 * ratio * cov(&wy, &w) + ratio * ratio * cov(&w, &w);
    let error = (variance / n).sqrt() / mean(&w);
    assert!((found.estimate - ratio).abs() < 1e-12);
    assert!((found.standard_error - error).abs() < 1e-12);
}

/// Weights of at most 2.5 and signals in [0, 1]: terms in [0, 2.5].
#[test]
fn the_bernstein_interval_is_maurer_and_pontils() {
    let columns = World::three().log(&mut rng(7), 500);
    let ips = Options {
        min_pscore: Some(0.2),
        confidence: 0.9,
        ..options(Estimator::Ips, IntervalKind::Bernstein)
    };
    let found = estimate(
        &columns.checked(),
        Target::Fixed(&POLICY),
        Model::Fitted,
        &ips,
    );
    let found = found.unwrap().reward;
    let variance = found.standard_error.powi(2) * 500.0;
    let log_term = (2.0_f64 / 0.05).ln();
    let width = (2.0 * variance * log_term / 500.0).sqrt() + 7.0 * 2.5 * log_term / (3.0 * 499.0);
    assert!((found.upper - found.estimate - width).abs() < 1e-12);
    assert!((found.estimate - found.lower - width).abs() < 1e-12);
    // A clip that no weight can reach changes nothing.
    let loose = Options {
        clip: Some(2.5),
        ..ips
    };
    let same = estimate(
        &columns.checked(),
        Target::Fixed(&POLICY),
        Model::Fitted,
        &loose,
    );
    assert_eq!(same.unwrap().reward, found);
}

/// Rate at which intervals cover the true reward and the true cost, over seeded logs.
fn coverage(world: &World, options: &Options, logs: u64, n: usize) -> [f64; 2] {
    let truth = world.value(&POLICY);
    let mut covered = [0.0; 2];
    for seed in 0..logs {
        let columns = world.log(&mut rng(1000 + seed), n);
        let log = columns.checked();
        let found = estimate(&log, Target::Fixed(&POLICY), Model::Fitted, options).unwrap();
        for (hits, (estimate, truth)) in covered
            .iter_mut()
            .zip([&found.reward, &found.costs[0]].into_iter().zip(truth))
        {
            *hits += f64::from(u8::from(estimate.lower <= truth && truth <= estimate.upper));
        }
    }
    covered.map(|hits| hits / logs as f64)
}

/// 1000 logs: the standard deviation of a share at 0.9 is 0.0095, so the band is three of them and
/// some room for the approximation.
#[test]
fn normal_and_bootstrap_intervals_cover_nine_in_ten() {
    let world = World::three();
    for estimator in [Estimator::Ips, Estimator::Snips, Estimator::Dr] {
        for (interval, logs) in [(IntervalKind::Normal, 1000), (IntervalKind::Bootstrap, 500)] {
            let options = Options {
                confidence: 0.9,
                resamples: 200,
                ..options(estimator, interval)
            };
            let slack = if logs == 1000 { 0.03 } else { 0.045 };
            for share in coverage(&world, &options, logs, 400) {
                assert!(
                    (share - 0.9).abs() < slack,
                    "{estimator} {interval:?} {share}"
                );
            }
        }
    }
}

/// Finite-sample intervals cover at least as often as they say, also where clipping hides half of
/// the policy; a normal interval around a clipped estimate does not.
#[test]
fn bernstein_intervals_cover_also_with_few_rounds_and_clipped_weights() {
    let world = World::three();
    for estimator in [Estimator::Ips, Estimator::Dr] {
        for (clip, min_pscore, n) in [
            (None, Some(0.2), 30),
            (Some(1.2), None, 30),
            (Some(1.2), Some(0.2), 2000),
        ] {
            let bernstein = Options {
                confidence: 0.9,
                clip,
                min_pscore,
                ..options(estimator, IntervalKind::Bernstein)
            };
            for share in coverage(&world, &bernstein, 300, n) {
                assert!(share >= 0.9, "{estimator} {clip:?} {n} {share}");
            }
        }
    }
    let clipped = Options {
        confidence: 0.9,
        clip: Some(1.2),
        ..options(Estimator::Ips, IntervalKind::Normal)
    };
    let blind = coverage(&world, &clipped, 300, 2000);
    assert!(blind[0] < 0.1, "{blind:?}");
}

/// Beyond coverage: the interval shrinks to the estimate with many rounds.
#[test]
fn bernstein_intervals_shrink() {
    let world = World::three();
    let width = |n: usize| {
        let columns: Columns = world.log(&mut rng(8), n);
        let dr = Options {
            min_pscore: Some(0.2),
            ..options(Estimator::Dr, IntervalKind::Bernstein)
        };
        let found = estimate(
            &columns.checked(),
            Target::Fixed(&POLICY),
            Model::Fitted,
            &dr,
        );
        let found = found.unwrap().reward;
        assert!(found.lower < found.estimate && found.estimate < found.upper);
        found.upper - found.lower
    };
    let (small, large) = (width(1000), width(100_000));
    assert!(large < small / 10.0 && large < 0.1, "{small} {large}");
}
