//! Replay against the law of play that it stands for.

use crate::common;

use std::collections::BTreeMap;

use banister::{
    Agent, Decision, Error, Event, Guardrail, Opb, OpbConfig, Oplb, OplbConfig, Problem, Round,
};
use banister_offline::{Features, Log, MAX_CHECKPOINTS, ReplayOptions, disjoint_features, replay};
use banister_rivals::AgentConfig;
use common::{Columns, World, rng, uniform};

/// Plays one policy until it sees a reward of 1, and another right after.
struct Moody {
    calm: Vec<f64>,
    pleased: Vec<f64>,
    decision: Decision,
    seen: Vec<(usize, f64)>,
}

impl Moody {
    fn new(calm: &[f64], pleased: &[f64]) -> Self {
        Self {
            calm: calm.to_vec(),
            pleased: pleased.to_vec(),
            decision: Decision::default(),
            seen: Vec::new(),
        }
    }

    fn policy(&self) -> &[f64] {
        match self.seen.last() {
            Some((_, reward)) if *reward == 1.0 => &self.pleased,
            _ => &self.calm,
        }
    }
}

impl Agent for Moody {
    fn decide(&mut self, _: &Round) -> Result<&Decision, Error> {
        self.decision.policy = self.policy().iter().copied().enumerate().collect();
        Ok(&self.decision)
    }

    fn apply(&mut self, event: &Event) -> Result<(), Error> {
        if let Event::Outcome(outcome) = event {
            self.seen.push((outcome.action, outcome.reward));
        }
        Ok(())
    }
}

fn never(_: u64) -> bool {
    false
}

fn seeded(seed: u64) -> ReplayOptions {
    ReplayOptions {
        seed,
        ..ReplayOptions::default()
    }
}

/// The probability that an agent playing for itself sees this history.
fn online(world: &World, calm: &[f64], pleased: &[f64], history: &[(usize, usize)]) -> f64 {
    let mut probability = 1.0;
    let mut policy = calm;
    for &(arm, reward) in history {
        let hit = world.rewards[arm];
        probability *= policy[arm] * if reward == 1 { hit } else { 1.0 - hit };
        policy = if reward == 1 { pleased } else { calm };
    }
    probability
}

fn oplb() -> OplbConfig {
    OplbConfig {
        parameter_norm: Some(1.0),
        ..OplbConfig::default()
    }
}

/// The first three accepted rounds of an agent that changes its mind have exactly the law of three
/// rounds played: each of the 64 or 216 histories comes as often as it should. Log and replay have
/// the same seed on purpose: they must not share random numbers.
#[test]
fn accepted_rounds_have_the_law_of_online_play() {
    let uniform_logging = World {
        logging: vec![0.5, 0.5],
        rewards: vec![0.3, 0.6],
        costs: vec![0.1, 0.2],
    };
    let cases = [
        (uniform_logging, vec![0.8, 0.2], vec![0.1, 0.9]),
        (World::three(), vec![0.2, 0.3, 0.5], vec![0.6, 0.0, 0.4]),
    ];
    for (world, calm, pleased) in cases {
        let trials = 20_000;
        let mut counts: BTreeMap<Vec<(usize, usize)>, f64> = BTreeMap::new();
        for seed in 0..trials {
            // One round in M = 2 or 5 is accepted: far more than three of 80.
            let columns = world.log(&mut rng(seed), 80);
            let mut agent = Moody::new(&calm, &pleased);
            let found = replay(&columns.checked(), &mut agent, &seeded(seed), &mut never).unwrap();
            assert_eq!(found.accepted, agent.seen.len() as u64);
            let first = agent.seen.iter().take(3).map(|&(a, r)| (a, r as usize));
            let first: Vec<_> = first.collect();
            assert_eq!(first.len(), 3);
            *counts.entry(first).or_default() += 1.0;
        }
        let mut statistic = 0.0;
        let mut cells = 0.0;
        let outcomes: Vec<_> = (0..world.logging.len())
            .flat_map(|arm| [(arm, 0), (arm, 1)])
            .collect();
        let size = outcomes.len();
        for code in 0..size.pow(3) {
            let history = [code, code / size, code / size / size].map(|c| outcomes[c % size]);
            let expected = trials as f64 * online(&world, &calm, &pleased, &history);
            let count = counts.remove(&history[..]).unwrap_or(0.0);
            assert!(
                expected > 0.0 || count == 0.0,
                "{history:?} is impossible online"
            );
            if expected >= 5.0 {
                statistic += (count - expected).powi(2) / expected;
                cells += 1.0;
            }
        }
        // χ² with about `cells` degrees of freedom: five standard deviations.
        assert!(cells > 30.0);
        assert!(
            statistic < cells + 5.0 * (2.0_f64 * cells).sqrt(),
            "{statistic} {cells}"
        );
    }
}

/// With uniform logging and the default M = K, an action is accepted with its probability.
#[test]
fn uniform_logging_accepts_with_the_policys_probability() {
    let policy = [0.1, 0.3, 0.6];
    let world = World {
        logging: vec![1.0 / 3.0; 3],
        ..World::three()
    };
    let columns = world.log(&mut rng(4), 60_000);
    let mut agent = Moody::new(&policy, &policy);
    let found = replay(&columns.checked(), &mut agent, &seeded(9), &mut never).unwrap();
    assert_eq!(found.max_weight, 3.0);
    assert_eq!((found.rows, found.cut, found.outside), (60_000, 0, 0.0));
    for arm in 0..3 {
        let logged = columns.actions.iter().filter(|a| **a == arm).count() as f64;
        let accepted = agent.seen.iter().filter(|(a, _)| *a == arm).count() as f64;
        let sd = (policy[arm] * (1.0 - policy[arm]) / logged).sqrt();
        assert!((accepted / logged - policy[arm]).abs() < 4.0 * sd);
    }
}

/// Over many logs the mean of accepted rounds is the policy's value, and its interval covers.
#[test]
fn means_of_a_fixed_policy_are_its_values() {
    let world = World::three();
    let policy = [0.2, 0.2, 0.6];
    let [reward, cost] = world.value(&policy);
    // Without ranges, as a normal law says; with them, at least as often.
    for ranges in [false, true] {
        let covered = covered(&world, &policy, [reward, cost], ranges);
        for hits in covered {
            let share = hits / 600.0;
            assert!(
                (0.86..=if ranges { 1.0 } else { 0.94 }).contains(&share),
                "{share}"
            );
        }
    }
}

fn covered(world: &World, policy: &[f64; 3], [reward, cost]: [f64; 2], ranges: bool) -> [f64; 2] {
    let mut covered = [0.0; 2];
    for seed in 0..600 {
        let columns = world.log(&mut rng(seed), 1000);
        let mut agent = Moody::new(policy, policy);
        let options = ReplayOptions {
            confidence: 0.9,
            ..seeded(seed)
        };
        let mut log = columns.log();
        if !ranges {
            (log.reward_range, log.cost_ranges) = (None, Vec::new());
        }
        let found = replay(&log.check().unwrap(), &mut agent, &options, &mut never).unwrap();
        for (hits, (mean, truth)) in covered
            .iter_mut()
            .zip([(found.reward.unwrap(), reward), (found.costs[0], cost)])
        {
            *hits += f64::from(u8::from(mean.lower <= truth && truth <= mean.upper));
        }
    }
    covered
}

/// A deterministic agent under uniform logging lives through exactly the rounds of its arm.
#[test]
fn a_deterministic_agent_accepts_its_own_arm_alone() {
    let mut columns = Columns {
        arms: 4,
        ..Columns::default()
    };
    for t in 0..2000_usize {
        columns.push(t % 4, 0.25, (t % 8) as f64 / 8.0, 0.5);
    }
    let only = [0.0, 0.0, 0.0, 1.0];
    let mut agent = Moody::new(&only, &only);
    let found = replay(&columns.checked(), &mut agent, &seeded(1), &mut never).unwrap();
    assert_eq!((found.rows, found.accepted), (2000, 500));
    assert_eq!(found.policy[3], (3, 1.0));
    let reward = found.reward.unwrap();
    assert!(
        (reward.mean - 5.0 / 8.0).abs() < 1e-12,
        "3/8 and 7/8 in turn"
    );
    assert!((reward.standard_error - (0.0625 / 499.0_f64).sqrt()).abs() < 1e-12);
    assert_eq!(found.curve.round.len(), MAX_CHECKPOINTS);
    assert_eq!(found.curve.row[..3], [4, 8, 12]);
    assert_eq!(found.curve.reward[..2], [0.375, 0.625]);
    assert_eq!(found.curve.costs, [vec![0.5; 500]]);
    assert!(!found.stopped);
}

/// With M too small the ratios are cut, and it is said how many.
#[test]
fn ratios_above_the_bound_are_counted() {
    let mut columns = Columns {
        arms: 2,
        ..Columns::default()
    };
    for t in 0..1000_usize {
        columns.push(
            usize::from(t.is_multiple_of(10)),
            if t % 10 == 0 { 0.1 } else { 0.9 },
            1.0,
            0.0,
        );
    }
    let options = ReplayOptions {
        max_weight: Some(2.0),
        ..seeded(3)
    };
    let mut agent = Moody::new(&[0.5, 0.5], &[0.5, 0.5]);
    let found = replay(&columns.checked(), &mut agent, &options, &mut never).unwrap();
    // 0.5/0.1 = 5 is above 2; those 100 rounds are all accepted.
    assert_eq!((found.cut, found.max_weight), (100, 2.0));
    assert_eq!(agent.seen.iter().filter(|(a, _)| *a == 1).count(), 100);
}

#[test]
fn a_replay_can_be_stopped_and_repeated() {
    let columns = World::three().log(&mut rng(2), 5000);
    let log = columns.checked();
    let mut calls = Vec::new();
    let mut agent = Moody::new(&[1.0, 0.0, 0.0], &[0.0, 0.0, 1.0]);
    let mut stop = |rows| {
        calls.push(rows);
        rows >= 1000
    };
    let found = replay(&log, &mut agent, &seeded(1), &mut stop).unwrap();
    assert!(found.stopped);
    assert_eq!(found.rows, *calls.last().unwrap());
    assert!(found.rows >= 1000 && found.rows < 2000);
    let run = |seed| {
        let mut agent = Moody::new(&[1.0, 0.0, 0.0], &[0.0, 0.0, 1.0]);
        replay(&log, &mut agent, &seeded(seed), &mut never).unwrap()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    // Nothing accepted: no mean, and no failure.
    let mut nothing = replay(
        &log,
        &mut Moody::new(&[0.0; 3], &[0.0; 3]),
        &seeded(1),
        &mut never,
    );
    let nothing = nothing.as_mut().unwrap();
    assert_eq!((nothing.accepted, nothing.reward), (0, None));
    assert!(nothing.costs.is_empty() && nothing.curve.round.is_empty());
}

fn spend(at_most: f64, safe_cost: Option<f64>) -> Guardrail {
    Guardrail {
        name: "spend".into(),
        at_most: Some(at_most),
        safe_cost,
        ..Guardrail::default()
    }
}

#[test]
fn opb_learns_in_replay_and_says_when_it_fell_back() {
    let world = World {
        logging: vec![1.0 / 3.0; 3],
        ..World::three()
    };
    let columns = world.log(&mut rng(21), 30_000);
    let problem = Problem {
        arms: vec!["a".into(), "b".into(), "c".into()],
        guardrails: vec![spend(0.5, None)],
        ..Problem::default()
    };
    let mut agent = Opb::new(&problem, &OpbConfig::default()).unwrap();
    let found = replay(&columns.checked(), &mut agent, &seeded(5), &mut never).unwrap();
    assert_eq!(agent.outcomes(), found.accepted);
    assert_eq!(agent.decide().policy, found.policy);
    assert!(found.fallbacks > 0 && found.fallbacks < found.accepted / 10);
    // The unknown safe arm alone earns 0.2; the best policy under 0.5 earns 0.82.
    let last = found.curve.reward.last().unwrap();
    assert!((last - found.reward.unwrap().mean).abs() < 1e-12);
    assert!(*last > 0.5 && found.costs[0].mean < 0.5, "{found:?}");
}

/// A linear agent on contexts sees block vectors; its own safe action is not in the log.
#[test]
fn linear_agents_are_offered_the_rounds_actions() {
    let random = &mut rng(22);
    let (n, arms, d) = (400, 2, 2);
    let context: Vec<f64> = (0..n * d).map(|_| 0.2 + 0.5 * uniform(random)).collect();
    let mut columns = Columns {
        arms,
        ..Columns::default()
    };
    for t in 0..n {
        let x = context[t * d];
        columns.push(t % 2, 0.5, if t % 2 == 0 { x } else { 0.1 }, 0.1);
    }
    let sets: Vec<f64> = context
        .chunks_exact(d)
        .flat_map(|x| disjoint_features(x, arms))
        .collect();
    let run = |features: Features<'_>, safe_action: Vec<f64>| {
        let problem = Problem::contextual(safe_action, vec![spend(0.9, Some(0.1))]);
        let mut agent = Oplb::new(&problem, &oplb()).unwrap();
        let log = Log {
            features,
            ..columns.log()
        };
        let log = log.check().unwrap();
        let found = replay(&log, &mut agent, &seeded(3), &mut never).unwrap();
        assert_eq!(agent.outcomes(), found.accepted);
        (found, agent.save())
    };
    let rows = Features::Context {
        dimension: d,
        rows: &context,
    };
    let offered = Features::Offered {
        dimension: arms * d,
        sets: &sets,
    };
    let safe = vec![0.5, 0.5, 0.0, 0.0];
    let by_context = run(rows, safe.clone());
    assert_eq!(by_context, run(offered, safe), "a context is its blocks");
    let found = by_context.0;
    assert!(found.accepted > 50 && found.outside > 0.0, "{found:?}");
    let chosen: f64 = found.policy.iter().map(|(_, p)| p).sum();
    assert!((chosen - 1.0).abs() < 1e-9);
    // Features of the wrong length are refused by the agent, in the first round.
    let problem = Problem::contextual(vec![1.0, 0.0, 0.0], vec![spend(0.9, Some(0.1))]);
    let config: AgentConfig =
        serde_json::from_str(r#"{"kind": "oplb", "parameter_norm": 1}"#).unwrap();
    let mut agent = config.build(&problem).unwrap();
    let log = Log {
        features: rows,
        ..columns.log()
    };
    let refused = replay(
        &log.check().unwrap(),
        agent.as_mut(),
        &seeded(3),
        &mut never,
    );
    let message = refused.unwrap_err().to_string();
    assert!(
        message.starts_with("`round[0].actions` is 8 numbers"),
        "{message}"
    );
}
