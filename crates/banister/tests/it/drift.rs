//! Means that move within a declared drift: policies keep their guardrails at every moment, and use them.

use crate::common::verbs::Verbs;
use std::f64::consts::PI;

use crate::common::{self, Random, at_most};
use banister::monitor::{Alarm, AlarmKind};
use banister::{
    Agent, AgentConfig, Drift, DriftUnit, Guardrail, OnBreach, Opb, OpbConfig, Origin, Outcome,
    Pending, Problem, Registry as _, Round, Segmented, SegmentedConfig, SignalConfig,
};
use serde_json::{Value, json};

const TAU: f64 = 0.2;
const SAFE: f64 = 0.05;

fn declared(drift: f64) -> Problem {
    declared_per(drift, DriftUnit::Decision)
}

fn declared_per(by: f64, per: DriftUnit) -> Problem {
    let guardrail = Guardrail {
        signal: SignalConfig {
            drift: Some(Drift {
                by,
                per,
                pause: None,
            }),
            ..SignalConfig::default()
        },
        ..at_most(TAU, Some(SAFE))
    };
    common::problem(2, vec![guardrail])
}

/// A cost that swings between 0.15 and 0.35 from a part of its period on, and its fastest move.
fn season(period: f64, phase: f64) -> (impl Fn(u64) -> f64, f64) {
    let cost = move |t: u64| 0.25 + 0.1 * (2.0 * PI * (t as f64 / period + phase)).sin();
    (cost, 0.1 * 2.0 * PI / period)
}

#[derive(Debug, Default)]
struct Played {
    /// Rounds whose policy broke the guardrail.
    violating: u64,
    /// Mean probability of the arm over what a clairvoyant gives it.
    share: f64,
    refuted: Option<u64>,
}

fn play(drift: f64, rounds: u64, seed: u64, delta: f64, cost: impl Fn(u64) -> f64) -> Played {
    let config = OpbConfig {
        delta,
        on_breach: Some(OnBreach::Alert),
        ..OpbConfig::default()
    };
    let mut agent = Opb::new(&declared(drift), &config).unwrap();
    let mut rng = Random::new(seed);
    let (mut played, mut used, mut possible) = (Played::default(), 0.0, 0.0);
    for t in 0..rounds {
        let truth = cost(t);
        let decision = agent.decide();
        let p = decision.probability(1);
        played.violating += u64::from(p * truth + (1.0 - p) * SAFE > TAU + 1e-12);
        used += p;
        possible += ((TAU - SAFE) / (truth - SAFE)).min(1.0);
        let arm = decision.draw(rng.unit());
        let (reward, mean) = if arm == 1 { (0.9, truth) } else { (0.1, SAFE) };
        let outcome = (rng.bernoulli(reward), [rng.bernoulli(mean)]);
        agent.observe(arm, outcome.0, &outcome.1).unwrap();
        let acts = |a: &Alarm| matches!(a.kind, AlarmKind::Refuted | AlarmKind::Drift);
        if played.refuted.is_none() && agent.view().monitor.unwrap().alarms().iter().any(acts) {
            played.refuted = Some(t);
        }
    }
    played.share = used / possible;
    played
}

/// The true drift declared: no policy breaks the guardrail in more runs than δ allows, and the arm is used nearly as much
/// as by somebody who knows its cost. Intervals that take it to stay break it in many rounds.
#[test]
fn a_declared_season_is_kept_and_used() {
    let (delta, runs) = (0.1, 6);
    for (period, least) in [(50_000.0, 0.77), (200_000.0, 0.87), (1_000_000.0, 0.89)] {
        let (cost, drift) = season(period, 0.0);
        let played: Vec<Played> = (0..runs)
            .map(|seed| play(drift, 400_000, seed, delta, &cost))
            .collect();
        let violating = played.iter().filter(|run| run.violating > 0).count();
        let share = played.iter().map(|run| run.share).sum::<f64>() / runs as f64;
        println!("period {period}: {violating} of {runs} runs violate, share {share:.3}");
        assert!(violating <= 2, "{played:?}");
        assert!(share >= least, "period {period}: {share}");
        assert!(played.iter().all(|run| run.refuted.is_none()), "{played:?}");
        let blind = play(0.0, 400_000, 1, delta, &cost);
        println!("taken to stay: {blind:?}");
        assert!(blind.violating > 10_000, "{blind:?}");
    }
}

/// A drift declared at 0.3 of the truth is refuted within a third of the period after a turn; the truth itself is not.
#[test]
fn a_drift_that_is_declared_too_small_is_refuted() {
    let period = 200_000.0;
    let (cost, drift) = season(period, 0.25);
    let runs = 10;
    let soon = (0..runs).filter(|&seed| {
        let run = play(0.3 * drift, 70_000, 100 + seed, 0.1, &cost);
        println!("refuted at {:?}", run.refuted);
        run.refuted.is_some_and(|t| (t as f64) < period / 3.0)
    });
    let soon = soon.count();
    assert!(soon >= 9, "{soon} of {runs}");
}

/// Times of decisions, in seconds: a busy hour and a quiet rest of the day, every tenth day.
fn market_days(days: u64) -> Vec<f64> {
    let mut times = Vec::new();
    for day in (0..days).step_by(10) {
        let start = day as f64 * DAY;
        times.extend((0..7000).map(|i| start + i as f64 * 0.5));
        times.extend((0..1000).map(|i| start + 3600.0 + i as f64 * 80.0));
    }
    times
}

const DAY: f64 = 86_400.0;

/// Rounds whose policy broke the guardrail, and the mean probability of the arm over what a clairvoyant gives it.
fn play_at(times: &[f64], problem: &Problem, seed: u64, cost: impl Fn(f64) -> f64) -> (u64, f64) {
    let config = OpbConfig {
        delta: 0.1,
        on_breach: Some(OnBreach::Alert),
        ..OpbConfig::default()
    };
    let mut agent: Box<dyn Agent> = Box::new(Opb::new(problem, &config).unwrap());
    let is_timed = problem.guardrails[0].signal.drift.unwrap().per != DriftUnit::Decision;
    let mut rng = Random::new(seed);
    let (mut violating, mut used, mut possible) = (0, 0.0, 0.0);
    for &time in times {
        let round = Round {
            time: is_timed.then_some(time),
            ..Round::default()
        };
        let decision = agent.decide(&round).unwrap();
        let (truth, p) = (cost(time), decision.probability(1));
        assert!(!is_timed || decision.until.is_none_or(|until| until >= time));
        violating += u64::from(p * truth + (1.0 - p) * SAFE > TAU + 1e-12);
        used += p;
        possible += ((TAU - SAFE) / (truth - SAFE)).min(1.0);
        let arm = decision.draw(rng.unit());
        let (reward, mean) = if arm == 1 { (0.9, truth) } else { (0.1, SAFE) };
        let costs = [rng.bernoulli(mean)];
        let outcome = Outcome::of_arm(arm, rng.bernoulli(reward), &costs);
        agent.observe(&outcome).unwrap();
    }
    (violating, used / possible)
}

/// A season of sixty days under traffic that comes and goes: a drift per day is kept at every moment. The same speed
/// per decision, on average, is not: after the quiet days bounds are too young.
#[test]
fn a_drift_by_the_clock_is_kept_however_decisions_come() {
    let (days, runs) = (120, 10);
    let period = 60.0 * DAY;
    let cost = |t: f64| 0.25 + 0.1 * (2.0 * PI * t / period).sin();
    let by = 0.1 * 2.0 * PI / 60.0;
    let times = market_days(days);
    let by_clock = declared_per(by, DriftUnit::Day);
    let counted = declared_per(by * days as f64 / times.len() as f64, DriftUnit::Decision);
    let (mut violating, mut share, mut blind) = (0, 0.0, 0);
    for seed in 0..runs {
        let run = play_at(&times, &by_clock, seed, cost);
        violating += usize::from(run.0 > 0);
        share += run.1 / runs as f64;
        blind += play_at(&times, &counted, seed, cost).0;
    }
    println!("{violating} of {runs} runs violate, share {share:.3}; per decision {blind} rounds");
    // P(more than 4 of 10 | 0.1) = 0.0016.
    assert!(violating <= 4, "{violating} of {runs}");
    assert!(share >= 0.6, "{share}");
    assert!(blind > 1000, "{blind}");
}

/// Nothing is played for a while: bounds are as wide as the time is long, whatever the clock counts from, and a clock that
/// goes back stands still.
#[test]
fn what_is_not_played_becomes_unknown_by_the_clock() {
    let problem = declared_per(0.01, DriftUnit::Hour);
    let agent_since = |origin: f64| {
        let mut agent = Opb::new(&problem, &OpbConfig::default()).unwrap();
        let mut rng = Random::new(8);
        for t in 0..4000 {
            let costs = [rng.bernoulli(0.1)];
            let outcome = Outcome {
                time: Some(origin + t as f64),
                ..Outcome::of_arm(t % 2, 0.5, &costs)
            };
            Verbs::observe(&mut agent, &outcome).unwrap();
        }
        let mut agent: Box<dyn Agent> = Box::new(agent);
        let mut at = |t: f64| {
            let round = Round {
                time: Some(origin + t),
                ..Round::default()
            };
            let decision = agent.decide(&round).unwrap();
            let (policy, until) = (decision.policy.clone(), decision.until.unwrap() - origin);
            (policy, until, agent.estimate(&round, 1).unwrap())
        };
        [at(4000.0), at(7600.0), at(4000.0), at(4e6)]
    };
    let [first, later, back, last] = agent_since(0.0);
    let wider = later.2.costs[0].upper - first.2.costs[0].upper;
    assert!((wider - 0.01).abs() < 0.0021, "{wider}");
    assert_eq!(back, later);
    assert_eq!(last.2.costs[0].upper, 1.0);
    assert_eq!(last.2.windows, [None, first.2.windows[1]]);
    assert!((100..=2000).contains(&first.2.windows[1].unwrap()));
    assert_eq!(agent_since(1.7e9), [first, later, back, last]);
}

/// Ten decisions move a mean by a thousandth: a policy for them is stale after it, though no outcome came.
#[test]
fn a_policy_that_has_expired_is_stale() {
    let mut agent = Opb::new(&declared(1e-4), &OpbConfig::default()).unwrap();
    agent.observe(1, 0.5, &[0.0]).unwrap();
    let until = agent.decide().until.unwrap() as u64;
    for decision in 1..=until {
        assert!(!agent.view().is_stale, "{decision} of {until}");
        let pending = Pending {
            decision,
            action: 1,
            segment: None,
            safe_probability: None,
            time: None,
            excess: &[],
        };
        agent.announce(&pending).unwrap();
    }
    assert!(agent.view().is_stale);
    assert!(agent.decide().until.unwrap() as u64 > until);
}

#[test]
fn a_time_that_is_needed_is_asked_for() {
    let problem = declared_per(0.01, DriftUnit::Day);
    let mut agent = Opb::new(&problem, &OpbConfig::default()).unwrap();
    assert_eq!(agent.decide().policy, [(0, 1.0)]);
    assert!(agent.observe(1, 0.5, &[0.0]).is_err());
    let agent: &mut dyn Agent = &mut agent;
    let at = |time: Option<f64>| Round {
        time,
        ..Round::default()
    };
    let logged = |time: Option<f64>| Outcome {
        origin: Origin::Logged,
        time,
        ..Outcome::of_arm(1, 0.5, &[0.0])
    };
    for time in [None, Some(f64::NAN), Some(f64::INFINITY)] {
        let error = agent.decide(&at(time)).unwrap_err().to_string();
        assert!(error.contains("`time`"), "{error}");
    }
    agent.decide(&at(Some(5.0))).unwrap();
    for time in [None, Some(f64::NAN)] {
        let outcome = logged(time);
        let error = agent.check_outcome(&outcome).unwrap_err();
        assert!(error.to_string().contains("`time`"), "{error}");
        assert_eq!(agent.observe(&outcome), Err(error));
    }
    agent.observe(&Outcome::of_arm(1, 0.5, &[0.0])).unwrap();
    agent.observe(&logged(Some(-3.0))).unwrap();
    // Milliseconds for seconds: refused, and the clock is as it was.
    let before = agent.decide(&at(Some(9.0))).unwrap().clone();
    let error = agent.decide(&at(Some(1.7e12))).unwrap_err().to_string();
    for part in ["`time`", "1700000000000", "31622409", "drift.pause"] {
        assert!(error.contains(part), "{error}");
    }
    let outcome = logged(Some(1.7e12));
    assert!(agent.check_outcome(&outcome).is_err());
    assert!(agent.observe(&outcome).is_err());
    assert_eq!(*agent.decide(&at(Some(9.0))).unwrap(), before);
    agent.decide(&at(Some(3e7))).unwrap();
}

/// What is left of an arm that nobody drew for long is no evidence: constant means raise no alarm about drift after a
/// pause, a retirement, or where an arm is drawn now and then; and a saved agent is always taken back.
#[test]
fn constant_means_refute_no_drift_however_long_an_arm_waits() {
    let play = |segmented: bool, rare: bool, per: DriftUnit, seed: u64| {
        let (k, by, dear) = match (rare, per) {
            (true, _) => (10, 1e-4, 0.9),
            (_, DriftUnit::Hour) => (2, 0.01, 0.25),
            _ => (2, 1e-4, 0.25),
        };
        let safe = if rare { TAU - 0.01 } else { SAFE };
        let guardrail = Guardrail {
            signal: SignalConfig {
                drift: Some(Drift {
                    by,
                    per,
                    pause: None,
                }),
                ..SignalConfig::default()
            },
            ..at_most(TAU, Some(safe))
        };
        let problem = common::problem(k, vec![guardrail]);
        let mut agent: Box<dyn Agent> = if segmented {
            Box::new(Segmented::new(&problem, &SegmentedConfig::default()).unwrap())
        } else {
            Box::new(Opb::new(&problem, &OpbConfig::default()).unwrap())
        };
        let mut rng = Random::new(seed);
        let mut time = 0.0;
        let mut run = |agent: &mut Box<dyn Agent>, rounds: u64| {
            for t in 0..rounds {
                time += 1.0;
                let round = Round {
                    time: per.is_by_clock().then_some(time),
                    ..Round::in_segment("a")
                };
                let action = agent.decide(&round).unwrap().draw(rng.unit());
                let mean = if action == 0 { safe } else { dear };
                let cost = [rng.bernoulli(mean)];
                let outcome = Outcome {
                    segment: round.segment,
                    time: round.time,
                    ..Outcome::of_arm(action, 0.5, &cost)
                };
                agent.observe(&outcome).unwrap();
                if t % 500 == 0 {
                    let saved = agent.save().unwrap();
                    *agent = AgentConfig::restore(&saved)
                        .expect("its own snapshot")
                        .agent;
                }
            }
            time += 720.0 * 3600.0;
        };
        run(&mut agent, if rare { 20_000 } else { 3000 });
        if per == DriftUnit::Decision && !rare && !segmented {
            agent.retire_arm(1).unwrap();
            run(&mut agent, 200_000);
            let offered = agent.add_arm("arm 1", None, &Default::default(), &Default::default());
            assert_eq!(offered.unwrap(), 1);
        }
        run(&mut agent, 3000);
        let alarms = agent.view().monitor.unwrap().alarms().to_vec();
        alarms
            .iter()
            .any(|a| matches!(a.kind, AlarmKind::Drift | AlarmKind::Refuted))
    };
    let runs = 12;
    for (segmented, rare, per) in [
        (false, false, DriftUnit::Hour),
        (true, false, DriftUnit::Hour),
        (false, false, DriftUnit::Decision),
        (false, true, DriftUnit::Decision),
        (true, true, DriftUnit::Decision),
    ] {
        let alarms = (0..runs)
            .filter(|&seed| play(segmented, rare, per, seed))
            .count();
        // At δ = 0.01 each.
        assert!(
            alarms <= 1,
            "segmented {segmented}, rare {rare}, {per:?}: {alarms} of {runs}"
        );
    }
}

/// Saved and restored in the midst, agents go on bit by bit; late outcomes count from their own decisions.
#[test]
fn a_saved_agent_goes_on_bit_by_bit() {
    for (segmented, per) in [
        (false, DriftUnit::Decision),
        (true, DriftUnit::Decision),
        (false, DriftUnit::Hour),
        (true, DriftUnit::Hour),
    ] {
        let problem = declared_per(1e-4, per);
        let build = || -> Box<dyn Agent> {
            if segmented {
                Box::new(Segmented::new(&problem, &SegmentedConfig::default()).unwrap())
            } else {
                Box::new(Opb::new(&problem, &OpbConfig::default()).unwrap())
            }
        };
        let mut agent = build();
        let mut rng = Random::new(3);
        let mut late = Vec::new();
        for t in 1..3000_u64 {
            let round = Round {
                time: (per == DriftUnit::Hour).then_some((t * t) as f64 * 0.01),
                ..Round::in_segment(if t % 3 == 0 { "a" } else { "b" })
            };
            if t % 700 == 0 {
                let saved = agent.save().unwrap();
                let mut twin = AgentConfig::restore(&saved).unwrap().agent;
                assert_eq!(agent.decide(&round).unwrap(), twin.decide(&round).unwrap());
                assert_eq!(agent.save().unwrap(), twin.save().unwrap());
                agent = twin;
            }
            let decision = agent.decide(&round).unwrap().clone();
            assert!(decision.guardrails[0].slack >= 0.0, "{decision:?}");
            let action = decision.draw(rng.unit());
            let pending = Pending {
                decision: t,
                action,
                segment: round.segment,
                safe_probability: Some(decision.probability(0)),
                time: round.time,
                excess: &[],
            };
            agent.announce(&pending).unwrap();
            late.push(pending);
            let due = late.remove(if rng.unit() < 0.5 { 0 } else { late.len() - 1 });
            let cost = [rng.bernoulli(if due.action == 0 { SAFE } else { 0.25 })];
            agent
                .observe(&Outcome {
                    segment: due.segment,
                    origin: Origin::Announced(due.decision),
                    time: due.time,
                    ..Outcome::of_arm(due.action, 0.5, &cost)
                })
                .unwrap();
        }
    }
}

/// Every number of a snapshot, damaged: an error, or an agent that goes on.
#[test]
fn a_damaged_snapshot_is_an_error_and_never_a_panic() {
    let mut agent = Opb::new(&declared(1e-3), &OpbConfig::default()).unwrap();
    let mut rng = Random::new(4);
    for t in 0..300 {
        let cost = if t % 5 == 0 {
            rng.unit()
        } else {
            rng.bernoulli(0.2)
        };
        agent.observe(1, 0.5, &[cost]).unwrap();
    }
    let saved: Value = serde_json::from_str(&agent.save().unwrap()).unwrap();
    let places = numbers(&saved, String::new());
    assert!(places.len() > 500, "{}", places.len());
    let mut taken = 0;
    for place in places.iter().step_by(3) {
        for value in [json!(0), json!(1), json!(299), json!(1e9), json!(-1)] {
            let mut damaged = saved.clone();
            *damaged.pointer_mut(place).unwrap() = value;
            let Ok(restored) = AgentConfig::restore(&damaged.to_string()) else {
                continue;
            };
            taken += 1;
            let mut agent = restored.agent;
            for _ in 0..20 {
                agent.decide(&Round::default()).unwrap();
                // An outcome may be refused, beyond a horizon say.
                let _ = agent.observe(&Outcome::of_arm(1, 0.5, &[0.3]));
            }
        }
    }
    assert!(taken > 100, "{taken}");
}

/// Pointers to all numbers.
fn numbers(value: &Value, at: String) -> Vec<String> {
    match value {
        Value::Number(_) => vec![at],
        Value::Array(list) => {
            let each = list.iter().enumerate();
            each.flat_map(|(i, own)| numbers(own, format!("{at}/{i}")))
                .collect()
        }
        Value::Object(keys) => {
            let each = keys.iter();
            each.flat_map(|(key, own)| numbers(own, format!("{at}/{key}")))
                .collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn bad_drift_is_refused() {
    let refuse = |guardrail: Guardrail, part: &str| {
        let problem = common::problem(2, vec![guardrail]);
        let error = Opb::new(&problem, &OpbConfig::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    };
    let moving = |by: f64| Drift {
        by,
        per: DriftUnit::Decision,
        pause: None,
    };
    for by in [-1e-6, f64::NAN, f64::INFINITY, 1.5] {
        let guardrail = Guardrail {
            signal: SignalConfig {
                drift: Some(moving(by)),
                ..SignalConfig::default()
            },
            ..at_most(TAU, Some(SAFE))
        };
        refuse(guardrail, "`guardrails[0].drift.by`");
    }
    let mixed = Problem {
        reward: SignalConfig {
            drift: Some(moving(1e-6)),
            ..SignalConfig::default()
        },
        ..declared_per(0.01, DriftUnit::Day)
    };
    let error = mixed.check().unwrap_err().to_string();
    assert!(error.contains("`guardrails[0].drift.per`"), "{error}");
    let noisy = Guardrail {
        signal: SignalConfig {
            drift: Some(moving(1e-6)),
            sub_gaussian: Some(0.1),
            ..SignalConfig::default()
        },
        ..at_most(TAU, Some(SAFE))
    };
    refuse(noisy, "leave out `sub_gaussian`");
    let config = OpbConfig {
        intervals: Some(banister::interval::Intervals::Kl),
        ..OpbConfig::default()
    };
    let error = Opb::new(&declared(1e-6), &config).unwrap_err().to_string();
    assert!(error.contains("use `mixture`"), "{error}");
    let unit: Result<Guardrail, _> =
        serde_json::from_str(r#"{"name": "c", "at_most": 0.2, "drift": {"by": 0.01}}"#);
    assert!(
        unit.unwrap_err()
            .to_string()
            .contains("missing field `per`")
    );
}
