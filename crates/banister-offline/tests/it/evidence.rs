//! A verdict needs evidence: how often verdicts are wrong, on logs of loggers that learn or do not, and
//! what is said where there is none.

use crate::common;

use banister::{Guardrail, Opb, Problem};
use banister_offline::{
    Estimator, GuardrailVerdict, IntervalKind, Log, Model, Options, Target, Verdict, estimate,
    verdicts,
};
use common::{Columns, draw, rng, uniform};
use rand_chacha::ChaCha8Rng;

/// Rules that play the safe arm 0 or the arm 1 in question.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Logger {
    Uniform,
    /// Plays the arm with the lower mean cost so far, the other one time in ten.
    Greedy,
    /// Plays the arm evenly until it costs something, then not at all for twenty rounds.
    Shy,
    /// The agent `opb` under the guardrail itself.
    Opb,
}

const SAFE_COST: f64 = 0.01;

impl Logger {
    /// A log whose arm 1 costs 1 with probability `cost`.
    fn log(self, random: &mut ChaCha8Rng, cost: f64, threshold: f64, n: usize) -> Columns {
        let mut columns = Columns {
            arms: 2,
            ..Columns::default()
        };
        let mut agent = (self == Self::Opb).then(|| {
            let problem = Problem {
                arms: vec!["safe".into(), "bold".into()],
                guardrails: vec![Guardrail {
                    safe_cost: Some(SAFE_COST),
                    ..at_most(threshold)
                }],
                ..Problem::default()
            };
            Opb::new(&problem, &Default::default()).unwrap()
        });
        let (mut sums, mut rest) = ([(0.5, 1.0); 2], 0);
        for _ in 0..n {
            let bold = match (self, &mut agent) {
                (_, Some(agent)) => agent.decide().probability(1),
                (Self::Greedy, _) if sums[1].0 / sums[1].1 > sums[0].0 / sums[0].1 => 0.1,
                (Self::Greedy, _) => 0.9,
                (Self::Shy, _) if rest > 0 => 0.0,
                _ => 0.5,
            };
            let row = [1.0 - bold, bold];
            let arm = draw(random, &row);
            let hit = f64::from(u8::from(uniform(random) < [SAFE_COST, cost][arm]));
            columns.push(arm, row[arm], 0.5 * arm as f64, hit);
            sums[arm].0 += hit;
            sums[arm].1 += 1.0;
            rest = if arm == 1 && hit > 0.0 {
                20
            } else {
                (rest - 1).max(0)
            };
            if let Some(agent) = &mut agent {
                agent.observe(arm, 0.5 * arm as f64, &[hit]).unwrap();
            }
        }
        columns
    }
}

fn at_most(threshold: f64) -> Guardrail {
    Guardrail {
        name: "spend".into(),
        at_most: Some(threshold),
        ..Guardrail::default()
    }
}

fn judge(log: Log, target: Target, guardrail: Guardrail, options: &Options) -> GuardrailVerdict {
    let log = log.check().unwrap();
    let found = verdicts(&log, target, Model::Fitted, &[guardrail], 0, options);
    found.unwrap().remove(0)
}

/// Shares of verdicts that are wrong, and that decide, over a thousand logs.
fn shares(
    logger: Logger,
    cost: f64,
    threshold: f64,
    n: usize,
    judge: impl Fn(Log) -> Verdict,
) -> (f64, f64) {
    let (mut wrong, mut decided) = (0, 0);
    for seed in 0..1000 {
        let columns = logger.log(&mut rng(seed), cost, threshold, n);
        let log = Log {
            adaptive: logger != Logger::Uniform,
            ..columns.log()
        };
        let truth = if cost <= threshold {
            Verdict::Kept
        } else {
            Verdict::Broken
        };
        let found = judge(log);
        decided += u32::from(found != Verdict::Undecided);
        wrong += u32::from(found != Verdict::Undecided && found != truth);
    }
    (f64::from(wrong) / 1000.0, f64::from(decided) / 1000.0)
}

/// Costs and thresholds: far apart, and as near as makes mistakes likeliest.
const CASES: [(f64, f64); 5] = [
    (0.05, 0.02),
    (0.05, 0.049),
    (0.3, 0.31),
    (0.3, 0.29),
    (0.9, 0.95),
];

/// At most one verdict in twenty is wrong.
fn is_rarely_wrong(logger: Logger) {
    for (cost, threshold) in CASES {
        for n in [30, 100, 1000] {
            let options = Options::default();
            let (wrong, decided) = shares(logger, cost, threshold, n, |log| {
                judge(log, Target::Arm(1), at_most(threshold), &options).verdict
            });
            println!("{logger:?} {cost} {threshold} {n}: wrong {wrong}, decided {decided}");
            assert!(wrong <= 0.05, "{logger:?} {cost} {threshold} {n} {wrong}");
        }
    }
}

#[test]
fn verdicts_on_uniform_logs_are_rarely_wrong() {
    is_rarely_wrong(Logger::Uniform);
}

#[test]
fn verdicts_on_logs_of_a_greedy_rule_are_rarely_wrong() {
    is_rarely_wrong(Logger::Greedy);
}

#[test]
fn verdicts_on_logs_without_positivity_are_rarely_wrong() {
    is_rarely_wrong(Logger::Shy);
}

#[test]
fn verdicts_on_logs_of_our_own_agent_are_rarely_wrong() {
    is_rarely_wrong(Logger::Opb);
}

/// Bounded terms are valid too, and decide more. That a policy was fixed is seen without being declared.
#[test]
fn known_coverage_decides_more() {
    let mut found = Vec::new();
    for (logger, min_pscore, adaptive) in [
        (Logger::Uniform, None, true),
        (Logger::Uniform, Some(0.5), true),
        (Logger::Uniform, None, false),
        (Logger::Greedy, None, true),
        (Logger::Greedy, Some(0.1), true),
    ] {
        let options = Options {
            min_pscore,
            ..Options::default()
        };
        let share = |threshold| {
            let (wrong, decided) = shares(logger, 0.05, threshold, 1000, |log| {
                let log = Log { adaptive, ..log };
                judge(log, Target::Arm(1), at_most(threshold), &options).verdict
            });
            assert!(wrong <= 0.05, "{logger:?} {min_pscore:?} {wrong}");
            decided
        };
        share(0.049);
        found.push(share(if logger == Logger::Uniform {
            0.11
        } else {
            0.25
        }));
    }
    println!("{found:?}");
    assert!(found[0] < 0.2 && found[1] > 0.8, "{found:?}");
    assert_eq!(found[1], found[2]);
    assert!(found[4] > found[3] + 0.2, "{found:?}");
}

/// A negative control: the same count finds what the doubly robust estimate with a normal interval,
/// taken at its word, gets wrong.
#[test]
fn intervals_taken_at_their_word_fail() {
    let dr = Options {
        estimator: Estimator::Dr,
        interval: IntervalKind::Normal,
        ..Options::default()
    };
    for (logger, n) in [(Logger::Uniform, 30), (Logger::Greedy, 100)] {
        let (wrong, _) = shares(logger, 0.05, 0.02, n, |log| {
            let log = log.check().unwrap();
            let found = estimate(&log, Target::Arm(1), Model::Fitted, &dr).unwrap();
            if found.costs[0].upper <= 0.02 {
                Verdict::Kept
            } else {
                Verdict::Undecided
            }
        });
        println!("{logger:?} {wrong}");
        assert!(wrong > 0.06, "{logger:?} {wrong}");
        // With the guards in place it decides nothing there.
        let (_, decided) = shares(logger, 0.05, 0.02, n, |log| {
            judge(log, Target::Arm(1), at_most(0.02), &dr).verdict
        });
        assert_eq!(decided, 0.0);
    }
}

/// Relative guardrails, absolute ones from below, and clipped weights.
#[test]
fn other_questions_are_rarely_wrong_too() {
    let clipped = Options {
        clip: Some(1.5),
        ..Options::default()
    };
    let relative = |f| Guardrail {
        at_most: Some(f),
        relative: true,
        ..at_most(0.0)
    };
    let at_least = |x| Guardrail {
        at_least: Some(x),
        at_most: None,
        ..at_most(0.0)
    };
    // The arm costs 0.05, the safe arm 0.01.
    for (guardrail, truth) in [
        (relative(4.8), Verdict::Broken),
        (relative(5.2), Verdict::Kept),
        (at_least(0.052), Verdict::Broken),
        (at_least(0.048), Verdict::Kept),
    ] {
        for logger in [Logger::Uniform, Logger::Greedy] {
            for options in [&Options::default(), &clipped] {
                let wrong = (0..1000).filter(|&seed| {
                    let columns = logger.log(&mut rng(seed), 0.05, 0.02, 100);
                    let found = judge(columns.log(), Target::Arm(1), guardrail.clone(), options);
                    found.verdict != Verdict::Undecided && found.verdict != truth
                });
                let wrong = wrong.count();
                assert!(wrong <= 50, "{guardrail:?} {logger:?} {wrong}");
            }
        }
    }
}

/// With many rounds clear cases are decided, and the forecast said about when.
#[test]
fn clear_cases_are_decided() {
    for logger in [Logger::Uniform, Logger::Greedy] {
        for (cost, threshold, expected) in [
            (0.05, 0.15, Verdict::Kept),
            (0.3, 0.4, Verdict::Kept),
            (0.05, 0.02, Verdict::Broken),
            (0.3, 0.2, Verdict::Broken),
        ] {
            let mut random = rng(1);
            let columns = logger.log(&mut random, cost, threshold, 20_000);
            let options = Options::default();
            let found = judge(columns.log(), Target::Arm(1), at_most(threshold), &options);
            assert_eq!(found.verdict, expected, "{logger:?} {found:?}");
            assert_eq!(found.rows_needed, None);
        }
    }
    for seed in 0..10 {
        let columns = Logger::Uniform.log(&mut rng(seed), 0.3, 0.4, 20_000);
        let first = |n: usize| {
            let log = Log {
                actions: &columns.actions[..n],
                rewards: &columns.rewards[..n],
                costs: &columns.costs[..n],
                pscores: Some(&columns.pscores[..n]),
                ..columns.log()
            };
            judge(log, Target::Arm(1), at_most(0.4), &Options::default())
        };
        let truly = (1..=200)
            .map(|k| 100 * k)
            .find(|&n| first(n).verdict == Verdict::Kept)
            .unwrap();
        let forecast = first(truly / 2).rows_needed.unwrap() as f64 / truly as f64;
        assert!(
            forecast > 0.2 && forecast < 5.0,
            "{seed} {truly} {forecast}"
        );
    }
}

/// Twenty effective rounds without an event show nothing: a true 5% does that in 36% of all logs.
#[test]
fn twenty_rounds_without_an_event_decide_nothing() {
    let mut columns = Columns {
        arms: 2,
        ..Columns::default()
    };
    for t in 0..40 {
        columns.push(t % 2, 0.5, 0.5, 0.0);
    }
    for (estimator, interval, reason) in [
        (Estimator::Ips, IntervalKind::Mixture, "contains 0.02"),
        (Estimator::Dr, IntervalKind::Mixture, "contains 0.02"),
        (Estimator::Ips, IntervalKind::Normal, "all terms are equal"),
        (
            Estimator::Dr,
            IntervalKind::Bootstrap,
            "all terms are equal",
        ),
    ] {
        let options = Options {
            estimator,
            interval,
            ..Options::default()
        };
        let found = judge(columns.log(), Target::Arm(1), at_most(0.02), &options);
        assert_eq!(found.verdict, Verdict::Undecided);
        assert!(found.reason.contains(reason), "{}", found.reason);
        assert_eq!(
            found.rows_needed.is_some(),
            interval == IntervalKind::Mixture
        );
    }
    // One event, so that there is a spread: still twenty rounds.
    columns.costs[1] = 1.0;
    let normal = Options {
        interval: IntervalKind::Normal,
        ..Options::default()
    };
    let found = judge(columns.log(), Target::Arm(1), at_most(0.9), &normal);
    let reason = "20 effective rounds: a `normal` interval decides from 200 on";
    assert_eq!(found.reason, reason);
    assert_eq!(found.rows_needed, Some(400));
}

#[test]
fn an_arm_that_was_never_logged_is_named() {
    let mut columns = Logger::Uniform.log(&mut rng(2), 0.05, 0.1, 2000);
    columns.arms = 4;
    let named = || Log {
        arm_names: ["control", "bold", "wild", "odd"]
            .map(String::from)
            .to_vec(),
        ..columns.log()
    };
    for interval in [
        IntervalKind::Mixture,
        IntervalKind::Normal,
        IntervalKind::Bootstrap,
    ] {
        for estimator in [Estimator::Ips, Estimator::Dr] {
            let options = Options {
                estimator,
                interval,
                ..Options::default()
            };
            let found = judge(named(), Target::Arm(2), at_most(0.9), &options);
            assert_eq!(found.verdict, Verdict::Undecided, "{interval:?}");
            assert!(
                found.reason.ends_with("the log never plays `wild`"),
                "{found:?}"
            );
            assert_eq!(found.rows_needed, None);
            assert_eq!(found.estimate.weights.never_played, [2]);
            assert!(!found.estimate.weights.are_compatible);
        }
    }
    let options = Options::default();
    let found = judge(columns.log(), Target::Arm(2), at_most(0.9), &options);
    assert!(
        found.reason.ends_with("the log never plays arm 2"),
        "{found:?}"
    );
    let found = judge(
        named(),
        Target::Fixed(&[0.0, 0.0, 0.5, 0.5]),
        at_most(0.9),
        &options,
    );
    assert!(
        found.reason.ends_with("never plays `wild`, `odd`"),
        "{found:?}"
    );
    // A little of an arm that nobody saw may be shown to do no harm: it costs 1 at worst.
    let little = Target::Fixed(&[0.5, 0.45, 0.05, 0.0]);
    let found = judge(named(), little, at_most(0.3), &options);
    assert_eq!(found.verdict, Verdict::Kept, "{found:?}");
    let found = judge(named(), little, at_most(0.08), &options);
    assert_eq!(found.verdict, Verdict::Undecided);
}

/// Weights whose mean is not 1 are seen.
#[test]
fn wrong_propensities_are_seen() {
    let columns = Logger::Uniform.log(&mut rng(3), 0.3, 0.5, 3000);
    let with = |p: f64| {
        let pscores = vec![p; 3000];
        let log = Log {
            pscores: Some(&pscores),
            ..columns.log()
        };
        judge(log, Target::Arm(1), at_most(0.9), &Options::default())
    };
    let right = with(0.5);
    assert_eq!(right.verdict, Verdict::Kept);
    assert!(right.estimate.weights.are_compatible);
    let [lower, upper] = right.estimate.weights.mean_interval;
    assert!(0.8 < lower && lower < 1.0 && 1.0 < upper && upper < 1.1);
    let small = with(0.3);
    assert_eq!(small.verdict, Verdict::Undecided);
    assert!(
        small.reason.contains("the propensities are not those"),
        "{}",
        small.reason
    );
    // Rows of the arm that are missing refute that a fixed policy explains the log.
    let rows: Vec<usize> = (0..3000)
        .filter(|&t| columns.actions[t] == 0 || t % 4 == 0)
        .collect();
    let mut part = Columns {
        arms: 2,
        ..Columns::default()
    };
    for &t in &rows {
        part.push(columns.actions[t], 0.5, 0.5, columns.costs[t]);
    }
    let found = judge(
        part.log(),
        Target::Arm(1),
        at_most(0.4),
        &Options::default(),
    );
    assert_eq!(found.verdict, Verdict::Undecided);
    assert!(found.reason.contains("lacks a part"), "{}", found.reason);
    assert!(found.estimate.upper > 0.6);
    let large = with(0.9);
    assert!(!large.estimate.weights.are_compatible);
    let normal = Options {
        interval: IntervalKind::Normal,
        ..Options::default()
    };
    let pscores = vec![0.9; 3000];
    let log = Log {
        pscores: Some(&pscores),
        ..columns.log()
    };
    let found = judge(log, Target::Arm(1), at_most(0.9), &normal);
    assert!(found.reason.contains("lacks a part"), "{}", found.reason);
}

/// On a log that an agent made while it learned only the mixture decides.
#[test]
fn adaptive_logs() {
    let columns = Logger::Greedy.log(&mut rng(4), 0.05, 0.2, 20_000);
    for interval in [
        IntervalKind::Mixture,
        IntervalKind::Normal,
        IntervalKind::Bernstein,
    ] {
        let options = Options {
            interval,
            min_pscore: Some(0.1),
            ..Options::default()
        };
        for adaptive in [false, true] {
            let log = Log {
                adaptive,
                ..columns.log()
            };
            let found = judge(log, Target::Arm(1), at_most(0.4), &options);
            let blind = adaptive && interval != IntervalKind::Mixture;
            assert_eq!(found.verdict == Verdict::Undecided, blind, "{found:?}");
            assert_eq!(found.reason.contains("learned from this log"), blind);
        }
    }
}

/// Mixture intervals by hand: bets by their definition.
#[test]
fn the_mixture_interval_is_that_of_the_bets() {
    let mut columns = Columns {
        arms: 2,
        ..Columns::default()
    };
    let rows = 60;
    for t in 0..rows {
        columns.push(
            t % 3 / 2,
            [0.75, 0.25][t % 3 / 2],
            0.5,
            f64::from(u8::from(t % 5 == 0)),
        );
    }
    let options = Options {
        confidence: 0.8,
        ..Options::default()
    };
    let policy = [0.25, 0.75];
    // Adaptive, as nothing more is then taken from the propensities.
    let log = Log {
        adaptive: true,
        ..columns.log()
    };
    let log = log.check().unwrap();
    let found = estimate(&log, Target::Fixed(&policy), Model::Fitted, &options).unwrap();
    let wealth = |terms: &[f64], h: f64| {
        let (mut total, mut weights) = (0.0, 0.0);
        for k in 0..18 {
            let bet = [0.95, 0.75]
                .get(k)
                .copied()
                .unwrap_or(0.5_f64.powi(k as i32 - 1));
            let weight = (k as f64 + 6.0).powf(-1.3);
            let (mut product, mut sum) = (1.0, 0.0);
            for (j, x) in terms.iter().enumerate() {
                let centre = ((0.5 + sum) / (j as f64 + 1.0)).min(1.0);
                product *= (1.0 + bet * (x - centre)) * (bet * (centre - h)).exp();
                sum += x;
            }
            total += weight * product;
            weights += weight;
        }
        total / weights
    };
    let weight = |t: usize| policy[columns.actions[t]] / columns.pscores[t];
    let low: Vec<f64> = (0..rows).map(|t| weight(t) * columns.costs[t]).collect();
    let high: Vec<f64> = (0..rows)
        .map(|t| weight(t) * (1.0 - columns.costs[t]))
        .collect();
    let cost = &found.costs[0];
    // 1/δ with δ = 0.1 for each end; an end is where the wealth crosses it.
    assert!(0.0 < cost.lower && cost.upper < 1.0);
    assert!((wealth(&low, cost.lower) - 10.0).abs() < 1e-6);
    assert!((wealth(&high, 1.0 - cost.upper) - 10.0).abs() < 1e-6);
}
