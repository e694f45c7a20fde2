//! Laws: sample moments against their formulas, judged means against integration.

use crate::common;

use banister::{Guardrail, OpbConfig, Range, SignalConfig};
use banister_sim::{
    BernoulliConfig, BetaConfig, ClippedGaussianConfig, EnvironmentConfig, Experiment,
    ExperimentConfig, GaussianConfig, RunConfig,
};
use common::{guardrail, laws};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const SAMPLES: usize = 200_000;

/// One arm without guardrails whose reward follows the environment's law on a range.
fn single(environment: EnvironmentConfig, reward: SignalConfig) -> Experiment {
    let config = ExperimentConfig {
        name: None,
        run: RunConfig::default(),
        environment,
        reward,
        guardrail: vec![],
        agent: vec![banister_rivals::AgentConfig::Opb(OpbConfig::default())],
    };
    config.check("single").expect("a valid experiment")
}

fn samples(experiment: &Experiment, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..SAMPLES)
        .map(|_| laws(experiment).pull(0, &mut rng, &mut []))
        .collect()
}

/// Sample mean and variance lie within five standard errors of what the law says.
#[track_caller]
fn check_moments(data: &[f64], mean: f64, variance: f64) {
    let n = data.len() as f64;
    let sample = data.iter().sum::<f64>() / n;
    assert!(
        (sample - mean).abs() <= 5.0 * (variance / n).sqrt() + 1e-12,
        "{sample}, not {mean}"
    );
    let second = data.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let fourth = data.iter().map(|x| (x - mean).powi(4)).sum::<f64>() / n;
    let error = ((fourth - second * second).max(0.0) / n).sqrt();
    assert!(
        (second - variance).abs() <= 5.0 * error + 1e-12,
        "{second}, not {variance}"
    );
}

fn ranged(lo: f64, hi: f64) -> SignalConfig {
    SignalConfig {
        range: Some([lo, hi].into()),
        ..SignalConfig::default()
    }
}

#[test]
fn bernoulli_signals_take_the_ends_of_their_range_with_the_right_mean() {
    for (seed, mean) in [0.0, 0.01, 0.5, 0.9, 1.0].into_iter().enumerate() {
        let plain = EnvironmentConfig::Bernoulli(BernoulliConfig::new(&[mean], &[]));
        let data = samples(&single(plain, SignalConfig::default()), seed as u64);
        assert!(data.iter().all(|&x| x == 0.0 || x == 1.0));
        check_moments(&data, mean, mean * (1.0 - mean));
    }
    // On [−2, 6] a mean of 0 is the high end a quarter of the time.
    let scaled = EnvironmentConfig::Bernoulli(BernoulliConfig::new(&[0.0], &[]));
    let data = samples(&single(scaled, ranged(-2.0, 6.0)), 9);
    assert!(data.iter().all(|&x| x == -2.0 || x == 6.0));
    check_moments(&data, 0.0, 64.0 * 0.25 * 0.75);
}

#[test]
fn arms_follow_their_laws_on_ranges_of_their_own() {
    let own = vec![[0.0, 0.1], [-1.0, 4.0]];
    let reward = SignalConfig {
        range: Some(Range::ByArm(own.clone())),
        ..SignalConfig::default()
    };
    let means = [0.03, 2.0];
    let experiment = |means: &[f64]| ExperimentConfig {
        name: None,
        run: RunConfig::default(),
        environment: EnvironmentConfig::Bernoulli(BernoulliConfig::new(means, &[])),
        reward: reward.clone(),
        guardrail: vec![],
        agent: vec![banister_rivals::AgentConfig::Opb(OpbConfig::default())],
    };
    let checked = experiment(&means).check("by arm").expect("valid");
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for (arm, [lo, hi]) in own.into_iter().enumerate() {
        let mut pull = || laws(&checked).pull(arm, &mut rng, &mut []);
        let data: Vec<f64> = (0..SAMPLES).map(|_| pull()).collect();
        assert!(data.iter().all(|&x| x == lo || x == hi));
        check_moments(&data, means[arm], (hi - means[arm]) * (means[arm] - lo));
    }
    // A mean must lie in the range of its own arm.
    let message = experiment(&[0.2, 2.0])
        .check("by arm")
        .expect_err("refused");
    assert!(message.to_string().contains("[0, 0.1]"), "{message}");
}

#[test]
fn beta_signals_have_the_mean_and_the_variance_of_their_concentration() {
    for (seed, (mean, total)) in [(0.2, 4.0), (0.7, 4.0), (0.5, 1.0), (0.05, 30.0)]
        .into_iter()
        .enumerate()
    {
        let environment = EnvironmentConfig::Beta(BetaConfig {
            concentration: (total != 4.0).then_some(total),
            ..BetaConfig::new(&[mean], &[])
        });
        let data = samples(&single(environment, SignalConfig::default()), seed as u64);
        assert!(data.iter().all(|x| (0.0..=1.0).contains(x)));
        check_moments(&data, mean, mean * (1.0 - mean) / (total + 1.0));
    }
    // At an end of the range the law is a point.
    let point = single(
        EnvironmentConfig::Beta(BetaConfig::new(&[1.0], &[])),
        SignalConfig::default(),
    );
    assert!(samples(&point, 0).iter().all(|&x| x == 1.0));
}

#[test]
fn gaussian_signals_have_their_deviation_in_units_of_the_range() {
    for (seed, (sd, lo, hi)) in [(0.1, 0.0, 1.0), (0.5, -10.0, 10.0)]
        .into_iter()
        .enumerate()
    {
        let environment = EnvironmentConfig::Gaussian(GaussianConfig {
            sd: Some(sd),
            ..GaussianConfig::new(&[0.7], &[])
        });
        let deviation = sd * (hi - lo);
        let signal = SignalConfig {
            range: Some([lo, hi].into()),
            sub_gaussian: Some(deviation),
            ..SignalConfig::default()
        };
        let data = samples(&single(environment, signal), seed as u64);
        check_moments(&data, 0.7, deviation * deviation);
    }
}

/// E f(clip(X)) for X ~ N(mean, sd²), by Simpson's rule over the unclipped part plus both tails.
fn integrate(mean: f64, sd: f64, lo: f64, hi: f64, f: impl Fn(f64) -> f64) -> f64 {
    let density = |x: f64| {
        let z = (x - mean) / sd;
        (-0.5 * z * z).exp() / (sd * (2.0 * std::f64::consts::PI).sqrt())
    };
    let simpson = |a: f64, b: f64, g: &dyn Fn(f64) -> f64| {
        let steps = 20_000;
        let h = (b - a) / f64::from(steps);
        let weight = |i: i32| match i {
            0 => 1.0,
            i if i == steps => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        (0..=steps)
            .map(|i| weight(i) * g(a + h * f64::from(i)))
            .sum::<f64>()
            * h
            / 3.0
    };
    let far = 12.0 * sd;
    let inside = simpson(lo, hi, &|x| f(x) * density(x));
    let below = simpson((mean - far).min(lo), lo, &density);
    let above = simpson(hi, (mean + far).max(hi), &density);
    inside + f(lo) * below + f(hi) * above
}

#[test]
fn a_clipped_gaussian_is_judged_by_its_mean_after_clipping() {
    for (seed, (location, sd, lo, hi)) in [
        (0.0, 0.1, 0.0, 1.0),
        (0.7, 0.1, 0.0, 1.0),
        (0.95, 0.3, 0.0, 1.0),
        (4.0, 0.25, -2.0, 5.0),
        (0.5, 3.0, 0.0, 1.0),
    ]
    .into_iter()
    .enumerate()
    {
        let clipped = |nominal| {
            EnvironmentConfig::ClippedGaussian(ClippedGaussianConfig {
                sd: Some(sd),
                nominal,
                ..ClippedGaussianConfig::new(&[location], &[])
            })
        };
        let experiment = single(clipped(None), ranged(lo, hi));
        let deviation = sd * (hi - lo);
        let expected = integrate(location, deviation, lo, hi, |x| x);
        let judged = laws(&experiment).means(0)[0];
        assert!((judged - expected).abs() < 1e-9, "{judged}, not {expected}");
        assert_eq!(experiment.optimum().reward, judged);
        let data = samples(&experiment, seed as u64);
        assert!(data.iter().all(|x| (lo..=hi).contains(x)));
        let variance = integrate(location, deviation, lo, hi, |x| (x - expected).powi(2));
        check_moments(&data, expected, variance);
        let nominal = single(clipped(Some(true)), ranged(lo, hi));
        assert_eq!(laws(&nominal).means(0)[0], location);
    }
}

#[test]
fn signals_of_one_arm_are_drawn_independently() {
    let config = ExperimentConfig {
        name: None,
        run: RunConfig::default(),
        environment: EnvironmentConfig::Bernoulli(BernoulliConfig::new(
            &[0.5, 0.5],
            &[&[0.3, 0.4], &[0.2, 0.6]],
        )),
        reward: SignalConfig::default(),
        guardrail: vec![
            guardrail(0.5, Some(0.3)),
            Guardrail {
                name: "other".into(),
                ..guardrail(0.5, None)
            },
        ],
        agent: vec![banister_rivals::AgentConfig::Opb(OpbConfig::default())],
    };
    let experiment = config.check("two").expect("valid");
    let environment = laws(&experiment);
    assert_eq!(environment.count(), 2);
    assert_eq!(environment.means(1), [0.5, 0.4, 0.6]);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut costs, mut product) = ([0.0; 2], 0.0);
    for _ in 0..SAMPLES {
        let reward = environment.pull(1, &mut rng, &mut costs);
        product += (reward - 0.5) * (costs[0] - 0.4) + (costs[0] - 0.4) * (costs[1] - 0.6);
    }
    // Each product has standard deviation of about 0.35 around zero.
    assert!((product / SAMPLES as f64).abs() < 5.0 * 0.35 / (SAMPLES as f64).sqrt());
}

#[test]
fn a_sub_gaussian_constant_below_the_laws_own_is_refused() {
    let check = |kind: &str, r: f64| {
        let text = format!(
            r#"
            run = {{ horizon = 10, runs = 1 }}
            environment = {{ kind = "{kind}", rewards = [0.5, 0.5], costs = [[0.5, 0.5]] }}
            reward = {{ sub_gaussian = 1.0 }}
            guardrail = [{{ name = "spend", at_most = 0.9, sub_gaussian = {r} }}]
            agent = [{{ kind = "opb" }}]
            "#
        );
        let config: banister_sim::ExperimentConfig = toml::from_str(&text).expect("an experiment");
        config.check("noise").map(|_| ()).map_err(|e| e.to_string())
    };
    // 1/2 for a fair coin; √(1/20) for a Beta law with a + b = 4; the deviation for a normal one.
    for (kind, own) in [
        ("bernoulli", 0.5),
        ("beta", 0.05_f64.sqrt()),
        ("gaussian", 0.1),
    ] {
        assert_eq!(check(kind, own * 1.001), Ok(()));
        let message = check(kind, own * 0.99).expect_err("too small");
        assert!(message.contains("sub_gaussian"), "{kind}: {message}");
    }
}
