//! Coverage: how often the true mean EVER leaves an interval, over thousands of streams.
//!
//! The level is generous, so that an interval that is too narrow shows; a negative control and a
//! tightness check show that the test has power.

use crate::common;
use crate::common::verbs::Verbs as _;

use banister::interval::Mixture;
use banister::{Guardrail, Intervals, Opb, OpbConfig, Problem, Round, SignalConfig};
use common::{Random, at_most, problem};

const STREAMS: usize = 1000;
const LENGTH: u64 = 1000;
/// One arm: its upper cost bound has the first place in a budget for one, two thirds of it; the lower cost
/// bound and the reward's share the same of the other.
const DELTA: f64 = 0.15;
const PER_SIGNAL: f64 = 2.0 / 3.0 * DELTA;

/// A law with its mean.
#[derive(Clone, Copy, Debug)]
enum Law {
    Bernoulli(f64),
    /// The larger of two uniform numbers: Beta(2, 1).
    BetaTwoOne,
    /// 0.49 or 0.51.
    LowVariance,
    /// Standard deviation 1 around 0.7.
    Gaussian,
}

impl Law {
    fn mean(self) -> f64 {
        match self {
            Self::Bernoulli(p) => p,
            Self::BetaTwoOne => 2.0 / 3.0,
            Self::LowVariance => 0.5,
            Self::Gaussian => 0.7,
        }
    }

    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Bernoulli(p) => random.bernoulli(p),
            Self::BetaTwoOne => random.unit().max(random.unit()),
            Self::LowVariance => 0.49 + 0.02 * random.bernoulli(0.5),
            Self::Gaussian => 0.7 + random.normal(),
        }
    }
}

const BOUNDED: [Law; 5] = [
    Law::Bernoulli(0.01),
    Law::Bernoulli(0.5),
    Law::Bernoulli(0.97),
    Law::BetaTwoOne,
    Law::LowVariance,
];

/// Three standard deviations above the level, for a share of that many streams.
fn limit(level: f64, streams: usize) -> f64 {
    level + 3.0 * (level * (1.0 - level) / streams as f64).sqrt()
}

/// Shares of streams in which the cost's mean was ever above its interval, which safety rests on, and in
/// which it was ever below, or the reward's mean above.
fn missed(kind: Intervals, law: Law, seed: u64) -> (f64, f64) {
    let gaussian = matches!(law, Law::Gaussian);
    // A wide range, so that clipping does not hide misses.
    let range: Option<banister::Range> = gaussian.then_some([-50.0, 50.0].into());
    let sub_gaussian = gaussian.then_some(1.0);
    let mut declared = problem(
        1,
        vec![Guardrail {
            signal: SignalConfig {
                range: range.clone(),
                sub_gaussian,
                ..SignalConfig::default()
            },
            ..at_most(0.9, None)
        }],
    );
    declared.reward = SignalConfig {
        range,
        sub_gaussian,
        ..SignalConfig::default()
    };
    let config = OpbConfig {
        intervals: Some(kind),
        delta: DELTA,
        optimism_delta: DELTA,
        lazy: Some(0.0),
        horizon: Some(LENGTH),
        ..OpbConfig::default()
    };
    let fresh = Opb::new(&declared, &config).expect("a valid problem");
    let truth = if gaussian {
        (law.mean() + 50.0) / 100.0
    } else {
        law.mean()
    };
    let mut random = Random::new(seed);
    let (mut safety_misses, mut optimism_misses) = (0, 0);
    for _ in 0..STREAMS {
        let mut agent = fresh.clone();
        let (mut above, mut optimism) = (false, false);
        for _ in 0..LENGTH {
            let (reward, cost) = (law.draw(&mut random), law.draw(&mut random));
            agent.observe(0, reward, &[cost]).expect("a valid outcome");
            let bounds = agent.interval(0, 1).expect("the cost");
            above |= truth > bounds.upper;
            optimism |= truth < bounds.lower;
            optimism |= truth > agent.interval(0, 0).expect("the reward").upper;
        }
        safety_misses += usize::from(above);
        optimism_misses += usize::from(optimism);
    }
    let share = |count: usize| count as f64 / STREAMS as f64;
    (share(safety_misses), share(optimism_misses))
}

fn check(kind: Intervals, laws: &[Law]) {
    for (i, &law) in laws.iter().enumerate() {
        let (safety, optimism) = missed(kind, law, 100 + i as u64);
        let context = format!("{kind:?} on {law:?}: {safety} and {optimism}");
        assert!(safety <= limit(PER_SIGNAL, STREAMS), "safety, {context}");
        assert!(
            optimism <= limit(PER_SIGNAL, STREAMS),
            "optimism, {context}"
        );
    }
}

#[test]
fn paper_intervals_hold_at_every_count_up_to_the_horizon() {
    check(Intervals::Paper, &BOUNDED);
    check(Intervals::Paper, &[Law::Gaussian]);
}

#[test]
fn mixture_intervals_hold_at_every_count() {
    check(Intervals::Mixture, &BOUNDED);
}

#[test]
fn kl_intervals_hold_at_every_count() {
    check(Intervals::Kl, &BOUNDED);
}

#[test]
fn sub_gaussian_intervals_hold_at_every_count() {
    check(Intervals::Subgaussian, &BOUNDED);
    check(Intervals::Subgaussian, &[Law::Gaussian]);
}

#[test]
fn the_normal_mixture_is_nearly_tight_on_gaussian_data() {
    // Over infinite time a normal mixture is missed with probability just below its level.
    let (cost, _) = missed(Intervals::Subgaussian, Law::Gaussian, 5);
    assert!(cost > 0.1 * PER_SIGNAL, "missed in {cost} of streams only");
}

#[test]
fn mixture_is_the_narrowest_on_low_variance_data() {
    let width = |kind: Intervals| {
        let config = OpbConfig {
            intervals: Some(kind),
            horizon: Some(LENGTH),
            ..OpbConfig::default()
        };
        let mut agent = Opb::new(&problem(1, vec![at_most(0.9, None)]), &config).expect("valid");
        let mut random = Random::new(3);
        for _ in 0..LENGTH {
            let cost = Law::LowVariance.draw(&mut random);
            agent.observe(0, 0.5, &[cost]).expect("a valid outcome");
        }
        let interval = agent.interval(0, 1).expect("the cost");
        interval.upper - interval.lower
    };
    let mixture = width(Intervals::Mixture);
    for other in [Intervals::Kl, Intervals::Subgaussian, Intervals::Paper] {
        assert!(mixture < 0.5 * width(other), "{other:?}");
    }
}

#[test]
fn a_fixed_count_interval_checked_at_every_count_fails_the_same_test() {
    let mut random = Random::new(4);
    let mut misses = 0;
    for _ in 0..STREAMS {
        let mut sum = 0.0;
        let mut missed = false;
        for n in 1..=LENGTH {
            sum += random.bernoulli(0.5);
            let radius = ((2.0 / PER_SIGNAL).ln() / (2.0 * n as f64)).sqrt();
            missed |= (sum / n as f64 - 0.5).abs() > radius;
        }
        misses += usize::from(missed);
    }
    let share = misses as f64 / STREAMS as f64;
    assert!(share > limit(PER_SIGNAL, STREAMS), "missed in {share}");
}

/// Outcomes of users who come back, taken as independent: an upper end at level 0.5% is ever below the mean of all users
/// far more often. Users' means are 0.1 or 0.5, as likely.
#[test]
fn outcomes_of_users_who_come_back_void_intervals() {
    let runs = 400;
    let ever_wrong = |burst: u64| {
        let wrong = (0..runs).filter(|&seed| {
            let mut random = Random::new(seed);
            let (mut mixture, mut due) = (Mixture::default(), 1);
            let mut mean = 0.0;
            (0..20_000_u64).any(|t| {
                if t % burst == 0 {
                    mean = [0.1, 0.5][random.below(2)];
                }
                mixture.push(random.bernoulli(mean));
                let is_due = mixture.count() >= due;
                if is_due {
                    due = mixture.count() + 1 + mixture.count() / 50;
                }
                is_due && mixture.upper(200_f64.ln(), 1.0) < 0.3
            })
        });
        wrong.count() as f64 / runs as f64
    };
    let shares = [1, 5, 20, 100].map(ever_wrong);
    println!("ever wrong for bursts of 1, 5, 20, 100: {shares:?}");
    assert!(shares[0] <= limit(0.005, runs as usize), "{shares:?}");
    assert!(shares[2] > 0.1 && shares[3] > 0.4, "{shares:?}");
}

/// Users whose mean cost is 0.1 or 0.5 come with bursts of 100 outcomes. Learned by user, the certified cost of an arm is
/// ever below its mean in at most δ of runs; learned outcome by outcome, as if they were independent, in most.
#[test]
fn outcomes_of_one_unit_are_learned_as_one() {
    let problem: Problem = serde_json::from_value(serde_json::json!({
        "arms": ["control", "new"], "safe": 0,
        "guardrails": [{"name": "cost", "at_most": 0.9, "safe_cost": 0.1}],
    }))
    .unwrap();
    let (delta, runs, users, burst) = (0.05, 120, 50, 100);
    let config = OpbConfig {
        delta,
        ..OpbConfig::default()
    };
    let mut wrong = [0_u32; 2];
    for seed in 0..runs {
        let mut agents = [(); 2].map(|()| Opb::new(&problem, &config).unwrap());
        let mut failed = [false; 2];
        let mut rng = Random::new(seed);
        for _ in 0..users {
            let mean = if rng.unit() < 0.5 { 0.1 } else { 0.5 };
            let costs: Vec<f64> = (0..burst).map(|_| rng.bernoulli(mean)).collect();
            let whole = costs.iter().sum::<f64>() / f64::from(burst);
            Opb::observe(&mut agents[0], 1, 0.5, &[whole]).unwrap();
            for cost in costs {
                Opb::observe(&mut agents[1], 1, 0.5, &[cost]).unwrap();
            }
            for (agent, failed) in agents.iter_mut().zip(&mut failed) {
                let upper = agent.estimate(&Round::default(), 1).unwrap().costs[0].upper;
                *failed |= upper < 0.3;
            }
        }
        for (wrong, failed) in wrong.iter_mut().zip(failed) {
            *wrong += u32::from(failed);
        }
    }
    // Five standard deviations above δ; the control fails in more than half of all runs.
    let most = f64::from(runs as u32) * delta + 5.0 * (f64::from(runs as u32) * delta).sqrt();
    assert!(f64::from(wrong[0]) <= most, "{wrong:?} of {runs}");
    assert!(u64::from(wrong[1]) > runs / 2, "{wrong:?} of {runs}");
}
