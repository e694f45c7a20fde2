//! Unknown frequencies of segments: the bound on mean costs over them; segments whose outcomes come late or never, or
//! whose frequencies change, where the pool's average is over all decisions.

use crate::common::verbs::Verbs as _;
use banister::monitor::AlarmKind;
use banister::segmented::worst_mean;
use banister::{Agent as _, Guardrail, OnBreach, Origin, Outcome, Problem, SegmentedConfig};
use libm::{lgamma, log};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::common::Random;
use crate::common::player::{Inspect as _, Segmented};

const NAMES: [&str; 2] = ["cheap", "dear"];
const BOLD: [f64; 2] = [0.05, 0.9];
const THRESHOLD: f64 = 0.2;

fn agent(on_breach: OnBreach, pool_until: u64) -> Segmented {
    let guardrail = Guardrail {
        name: "complaints".into(),
        at_most: Some(THRESHOLD),
        safe_cost: Some(0.02),
        ..Guardrail::default()
    };
    let problem = Problem {
        arms: vec!["control".into(), "bold".into()],
        guardrails: vec![guardrail],
        ..Problem::default()
    };
    let config = SegmentedConfig {
        on_breach: Some(on_breach),
        pool_until,
        ..SegmentedConfig::default()
    };
    Segmented::new(&problem, &config).unwrap()
}

/// Mean cost of the table in force.
fn cost(agent: &mut Segmented, frequencies: [f64; 2]) -> f64 {
    let mut mean = 0.0;
    for (s, name) in NAMES.iter().enumerate() {
        let policy = agent.policy_in(name);
        let cost = |&(arm, p): &(usize, f64)| p * [0.02, BOLD[s]][arm];
        mean += frequencies[s] * policy.iter().map(cost).sum::<f64>();
    }
    mean
}

/// Decides in a segment; the arm drawn.
fn decide(agent: &mut Segmented, random: &mut Random, segment: usize) -> usize {
    agent.enter(NAMES[segment]).unwrap();
    agent.decide().draw(random.unit())
}

fn signals(random: &mut Random, segment: usize, arm: usize) -> (f64, f64) {
    let reward = random.bernoulli([0.3, 0.8][arm]);
    (reward, random.bernoulli([0.02, BOLD[segment]][arm]))
}

/// Rounds that violate while the dear segment's outcomes come `late` decisions late, or never.
fn play_late(seed: u64, rounds: u64, late: Option<u64>, pool_until: u64) -> (usize, Segmented) {
    let random = &mut Random::new(seed);
    let mut agent = agent(OnBreach::Safe, pool_until);
    let mut waiting = std::collections::VecDeque::new();
    let mut violations = 0;
    for number in 1..=rounds {
        violations += usize::from(cost(&mut agent, [0.6, 0.4]) > THRESHOLD + 1e-12);
        let segment = usize::from(random.unit() < 0.4);
        let arm = decide(&mut agent, random, segment);
        let safe = agent.decide().probability(0);
        agent.announce(number, arm, Some(safe));
        let outcome = (number, segment, arm, signals(random, segment, arm));
        if segment == 0 {
            report(&mut agent, outcome);
        } else if let Some(late) = late {
            waiting.push_back((number + late, outcome));
        }
        while let Some((due, outcome)) = waiting.front().copied()
            && due <= number
        {
            waiting.pop_front();
            report(&mut agent, outcome);
        }
    }
    (violations, agent)
}

fn report(
    agent: &mut Segmented,
    (number, segment, arm, (reward, cost)): (u64, usize, usize, (f64, f64)),
) {
    let costs = [cost];
    let outcome = Outcome {
        segment: Some(NAMES[segment]),
        origin: Origin::Announced(number),
        ..Outcome::of_arm(arm, reward, &costs)
    };
    agent.agent.observe(&outcome).unwrap();
}

fn runs() -> u64 {
    std::env::var("RUNS").map_or(6, |runs| runs.parse().unwrap())
}

#[test]
fn the_pool_is_not_judged_by_the_segments_that_report_early() {
    for late in [Some(500), Some(3000), None] {
        // Segments that leave the pool soon, and such that never do.
        for pool_until in [30, 1_000_000] {
            let mut wrong = 0;
            for seed in 0..runs() {
                let (violations, agent) = play_late(seed, 6000, late, pool_until);
                wrong += usize::from(violations > 0);
                let told = |alarm: &banister::monitor::Alarm| alarm.kind == AlarmKind::Missing;
                let alarms = agent.monitor().alarms();
                assert_eq!(alarms.iter().any(told), late.is_none(), "{alarms:?}");
                if let Some(alarm) = alarms.iter().find(|alarm| told(alarm)) {
                    let name = &agent.view().segment_names[alarm.segment.unwrap()];
                    assert_eq!(name, "dear");
                    assert!(!alarm.forces_safe);
                    let words = alarm.describe(agent.problem(), None, Some("dear"));
                    assert!(
                        words.starts_with("in the segment dear, the outcomes of "),
                        "{words}"
                    );
                }
            }
            assert_eq!(wrong, 0, "{late:?}, {pool_until}");
        }
    }
}

/// A decision that is given up counts at its worst, by whatever way it is told.
#[test]
fn what_is_given_up_counts_at_its_worst_in_the_pool() {
    let taken = |in_order: bool| {
        let mut agent = agent(OnBreach::Safe, 1_000_000);
        for number in 1..=300 {
            agent.enter(NAMES[number as usize % 2]).unwrap();
            let safe_probability = (!in_order).then_some(0.5);
            agent.announce(number, 1, safe_probability);
            match (number % 3, in_order) {
                (0, _) => agent.give_up(number, 1, safe_probability),
                (_, true) => {
                    let origin = Origin::InOrder(number);
                    agent.observe_from(origin, 1, 1.0, &[0.0]).unwrap();
                }
                (_, false) => report(&mut agent, (number, number as usize % 2, 1, (1.0, 0.0))),
            }
        }
        let mut restored = Segmented::restore(&agent.save()).unwrap();
        assert_eq!(restored.save(), agent.save());
        let pool = agent
            .agent
            .segments(0..9)
            .into_iter()
            .find(|s| s.name.is_none());
        pool.expect("the pool").arms[1].clone()
    };
    for in_order in [true, false] {
        let bold = taken(in_order);
        assert_eq!(bold.pulls, Some(300));
        assert!((bold.reward.mean.unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert!((bold.costs[0].mean.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    }
}

#[test]
fn learning_again_counts_contexts_anew() {
    let (mut wrong, mut learned) = (0, 0);
    for seed in 0..runs() {
        let random = &mut Random::new(seed);
        let mut agent = agent(OnBreach::Relearn, 30);
        let (mut violations, mut epoch) = (0, 0);
        for round in 0..12_000 {
            let frequencies = if round < 4000 { [0.9, 0.1] } else { [0.5, 0.5] };
            // Until the change is noticed, certificates are about the frequencies that were.
            if agent.monitor().epoch() > epoch && round >= 4000 {
                epoch = agent.monitor().epoch();
            }
            if epoch > 0 {
                let now = cost(&mut agent, frequencies);
                violations += usize::from(now > THRESHOLD + 1e-12);
            }
            let segment = usize::from(random.unit() < frequencies[1]);
            let arm = decide(&mut agent, random, segment);
            let (reward, cost) = signals(random, segment, arm);
            agent.observe(arm, reward, &[cost]).unwrap();
        }
        let contexts: u64 = agent.agent.segments(0..9).iter().map(|s| s.contexts).sum();
        learned += usize::from(epoch > 0 && contexts < 12_000);
        wrong += usize::from(violations > 0);
    }
    assert_eq!(wrong, 0);
    assert!(learned as u64 >= runs() / 2, "{learned}");
}

/// F_κ of the documentation, by its definition.
fn f(kappa: f64, p: &[f64], counts: &[u64]) -> f64 {
    let n: u64 = counts.iter().sum();
    let mut sum = lgamma(kappa) - lgamma(kappa + n as f64);
    for (&p, &n) in p.iter().zip(counts) {
        for j in 0..n {
            sum += log(kappa + j as f64 / p);
        }
    }
    sum
}

/// Largest p·g over three segments (the last one may be unseen) by a fine grid; least over κ.
fn by_grid(counts: [u64; 3], g: [f64; 3], delta: f64) -> f64 {
    let room = log(16.0 / delta);
    let steps = 400;
    (0..16)
        .map(|k| {
            let kappa = 4f64.powi(k);
            let mut most = f64::NEG_INFINITY;
            for i in 1..steps {
                for j in 1..steps - i {
                    let p = [i as f64, j as f64, (steps - i - j) as f64].map(|x| x / steps as f64);
                    if f(kappa, &p, &counts) <= room {
                        most = most.max(p.iter().zip(&g).map(|(p, g)| p * g).sum());
                    }
                }
            }
            most
        })
        .filter(|most| most.is_finite())
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn it_is_the_maximum_over_the_set() {
    let cases = [
        ([40, 20, 5], [0.1, 0.5, 0.9]),
        ([40, 20, 5], [0.9, 0.5, 0.1]),
        ([200, 3, 0], [0.1, 0.2, 1.0]),
        ([2, 2, 2], [0.0, 1.0, 0.3]),
        ([10, 60, 30], [-0.4, 0.2, 0.1]),
    ];
    for (counts, g) in cases {
        let found = worst_mean(&counts, &g, g[2], 0.01);
        let grid = by_grid(counts, g, 0.01);
        assert!(
            found >= grid - 1e-9,
            "{counts:?} {g:?}: {found} below {grid}"
        );
        assert!(
            found <= grid + 0.01,
            "{counts:?} {g:?}: {found} above {grid}"
        );
    }
}

#[test]
fn equal_costs_need_no_frequencies() {
    let worst = worst_mean(&[5, 7], &[0.3, 0.3], 0.3, 0.01);
    assert!((worst - 0.3).abs() < 1e-12, "{worst}");
    assert_eq!(worst_mean(&[0, 0], &[0.1, 0.2], 0.4, 0.01), 0.4);
}

/// Runs whose bound was ever below the true mean.
fn failures(delta: f64, runs: u64) -> u64 {
    let p = [0.55, 0.25, 0.12, 0.05, 0.03];
    let g = [0.1, 0.3, 0.6, 0.9, 1.0];
    let truth: f64 = p.iter().zip(&g).map(|(p, g)| p * g).sum();
    (0..runs)
        .filter(|&run| {
            let mut rng = ChaCha8Rng::seed_from_u64(run);
            let mut counts = [0_u64; 5];
            (1..=3000_u64).any(|n| {
                let mut u: f64 = rng.random();
                let s = p
                    .iter()
                    .position(|&p| {
                        u -= p;
                        u < 0.0
                    })
                    .unwrap_or(4);
                counts[s] += 1;
                // Looks often while few were seen, at growing distances later.
                n.is_power_of_two() | (n % 150 == 0) && worst_mean(&counts, &g, 1.0, delta) < truth
            })
        })
        .count() as u64
}

#[test]
fn it_holds_at_all_times() {
    assert!(failures(0.05, 300) <= 15);
    // A level that promises nothing fails often: the test can tell.
    assert!(failures(16.0 * 0.9, 60) > 10);
}
