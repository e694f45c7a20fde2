//! Behaviour common to all agents on arms: snapshots, refusals, streams, policies that are policies.

use crate::common;

use banister::{Agent, Error, Fallback, Guarantee, Guardrail, Problem, Range, SignalConfig};
use banister_rivals::AgentConfig;
use common::Random;
use proptest::prelude::*;
use serde_json::{Value, json};

const SAMPLERS: [&str; 4] = ["lin_con_ts", "r_colts", "s_colts", "thompson"];

/// Every kind on arms there is, so that a new one is tested without being listed.
fn kinds() -> Vec<AgentConfig> {
    let kinds = AgentConfig::kinds();
    let all = kinds
        .iter()
        .map(|k| AgentConfig::of_kind(k).expect("its defaults"));
    let arms: Vec<AgentConfig> = all
        .filter(|config| !config.takes_features())
        .map(|config| config.with_horizon(400, false))
        .collect();
    assert!(arms.len() >= 14);
    arms
}

fn problem(arms: usize, m: usize) -> Problem {
    let all = [
        Guardrail {
            name: "spend".into(),
            at_most: Some(4.0),
            range: Some([0.0, 10.0].into()),
            safe_cost: Some(2.0),
            ..Guardrail::default()
        },
        Guardrail {
            name: "returns".into(),
            at_least: Some(0.45),
            safe_cost: Some(0.7),
            ..Guardrail::default()
        },
    ];
    Problem {
        arms: (0..arms).map(|a| format!("arm {a}")).collect(),
        safe: arms / 2,
        reward: SignalConfig {
            range: Some([-1.0, 1.0].into()),
            ..SignalConfig::default()
        },
        guardrails: all[..m].to_vec(),
        ..Problem::default()
    }
}

/// All kinds with problems of one and of two guardrails.
fn each(check: impl Fn(&AgentConfig, &Problem)) {
    for config in kinds() {
        for m in [1, 2] {
            let problem = problem(4, m);
            check(&config, &problem);
        }
    }
}

/// An outcome of an arm: its reward, and as many costs as there are guardrails.
fn outcome(random: &mut Random, arm: usize, m: usize) -> (f64, Vec<f64>) {
    let worth = 0.3 + 0.15 * arm as f64;
    let reward = 2.0 * random.bernoulli(worth) - 1.0;
    let costs = [10.0 * worth * random.unit(), random.bernoulli(1.0 - worth)];
    (reward, costs[..m].to_vec())
}

/// One round: decides, draws, observes.
fn round(agent: &mut dyn Agent, random: &mut Random, m: usize) {
    let arm = agent.decide().draw(random.unit());
    let (reward, costs) = outcome(random, arm, m);
    agent.observe(arm, reward, &costs).expect("in range");
}

fn run(config: &AgentConfig, problem: &Problem, rounds: usize) -> Box<dyn Agent> {
    let mut agent = config.build(problem).expect("its setting");
    agent.reseed(3, 1);
    let mut random = Random::new(4);
    for _ in 0..rounds {
        round(&mut *agent, &mut random, problem.guardrails.len());
    }
    agent
}

#[test]
fn ranges_by_arm_are_each_arms_own() {
    each(|config, problem| {
        let mut problem = problem.clone();
        let own = vec![[0.0, 3.0], [0.0, 4.5], [0.0, 6.0], [0.0, 10.0]];
        problem.guardrails[0].range = Some(Range::ByArm(own));
        let mut agent = run(config, &problem, 60);
        let json = agent.save();
        let mut restored = AgentConfig::restore(&json).expect("its own snapshot").agent;
        assert_eq!(restored.save(), json);
        if config.kind() != "segmented" {
            assert_eq!(agent.decide(), restored.decide());
        }
        let good = [3.5, 0.5];
        let costs = &good[..problem.guardrails.len()];
        // Beyond its range: refused by agents that nothing watches, an alarm of the others.
        let taken = agent.observe(0, 0.0, costs).is_ok();
        let alarms = agent.monitor().map_or(0, |monitor| monitor.alarms().len());
        assert_eq!(
            (taken, alarms > 0),
            (agent.monitor().is_some(), taken),
            "{config:?}"
        );
        assert_eq!(agent.check_outcome(1, 0.0, costs, 0), Ok(()));
        agent.observe(1, 0.0, costs).expect("in its own range");
        // In the user's units, and never beyond what the arm can cost.
        let shown = agent.estimate(0).expect("an arm").costs[0];
        assert!(shown.upper <= 3.0 + 1e-9 && shown.lower >= 0.0, "{shown:?}");
    });
}

#[test]
fn what_lies_above_a_cap_counts_as_the_cap() {
    each(|config, problem| {
        let mut capped = problem.clone();
        (capped.guardrails[0].range, capped.guardrails[0].cap) = (None, Some(10.0));
        let (mut agent, mut twin) = (run(config, &capped, 30), run(config, problem, 30));
        let m = problem.guardrails.len();
        agent.observe(1, 0.0, &[1e9, 0.5][..m]).expect("capped");
        twin.observe(1, 0.0, &[10.0, 0.5][..m]).expect("in range");
        assert_eq!(agent.estimates(), twin.estimates(), "{config:?}");
        assert_eq!(agent.decide(), twin.decide(), "{config:?}");
    });
}

#[test]
fn a_restored_agent_goes_on_bit_by_bit() {
    each(|config, problem| {
        // Its table of policies is made anew, and may differ in the last digits.
        if config.kind() == "segmented" {
            return;
        }
        for rounds in [0, 1, 2, 23, 150] {
            let mut agent = run(config, problem, rounds);
            // Also between a decision and its outcome.
            if rounds % 2 == 1 {
                agent.decide();
            }
            let json = agent.save();
            let restored = AgentConfig::restore(&json).expect("its own snapshot");
            assert_eq!(&restored.config, config);
            let mut restored = restored.agent;
            assert_eq!(restored.save(), json);
            let (mut here, mut there) = (Random::new(8), Random::new(8));
            for later in 0..120 {
                assert_eq!(
                    agent.decide(),
                    restored.decide(),
                    "{config:?}, {later} after {rounds}"
                );
                round(&mut *agent, &mut here, problem.guardrails.len());
                round(&mut *restored, &mut there, problem.guardrails.len());
            }
            assert_eq!(agent.save(), restored.save());
        }
    });
}

#[test]
fn what_is_learned_does_not_depend_on_decisions() {
    each(|config, problem| {
        let mut silent = config.build(problem).expect("its setting");
        let mut busy = config.build(problem).expect("its setting");
        silent.reseed(5, 2);
        busy.reseed(5, 2);
        let mut random = Random::new(6);
        for t in 0..300 {
            busy.decide();
            if t % 7 == 0 {
                busy.decide_safe(Fallback::Paused).expect("it can");
                busy.decide();
            }
            let arm = random.below(4);
            let (reward, costs) = outcome(&mut random, arm, problem.guardrails.len());
            silent.observe(arm, reward, &costs).expect("in range");
            busy.observe(arm, reward, &costs).expect("in range");
            if t % 50 == 0 {
                assert_eq!(silent.save_learned(), busy.save_learned(), "{config:?}");
            }
        }
        let learned = busy.save_learned();
        let mut restored = AgentConfig::restore(&learned).expect("its own").agent;
        assert_eq!(restored.save_learned(), learned);
        assert_eq!(restored.decide().outcomes, 300);
    });
}

#[test]
fn another_stream_changes_what_samples_and_nothing_else() {
    each(|config, problem| {
        let mut first = config.build(problem).expect("its setting");
        let mut second = config.build(problem).expect("its setting");
        let mut same = config.build(problem).expect("its setting");
        first.reseed(1, 7);
        same.reseed(1, 7);
        // Another stream of the same seed, or another seed.
        second.reseed(1, 8);
        let mut random = Random::new(10);
        let mut differ = 0;
        for _ in 0..200 {
            let decision = first.decide().clone();
            assert_eq!(&decision, same.decide());
            differ += usize::from(&decision != second.decide());
            let arm = random.below(4);
            let (reward, costs) = outcome(&mut random, arm, problem.guardrails.len());
            for agent in [&mut first, &mut second, &mut same] {
                agent.observe(arm, reward, &costs).expect("in range");
            }
        }
        assert_eq!(first.samples(), SAMPLERS.contains(&config.kind()));
        if first.samples() {
            // Draws that lead to the same policy are the same decision.
            assert!(differ > 20, "{config:?}: {differ}");
        } else {
            assert_eq!(differ, 0, "{config:?}");
            assert_eq!(first.save(), second.save());
        }
    });
}

/// Every snapshot that differs from `value` in one place, by replacing, removing or adding.
fn damaged(value: &Value, damage: &mut dyn FnMut(Value, bool)) {
    fn at(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
        found.push(path.clone());
        let children: Vec<(String, &Value)> = match value {
            Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), v)).collect(),
            Value::Array(list) => (list.iter().enumerate())
                .map(|(i, v)| (i.to_string(), v))
                .collect(),
            _ => Vec::new(),
        };
        for (key, child) in children {
            path.push(key);
            at(child, path, found);
            path.pop();
        }
    }
    let mut paths = Vec::new();
    at(value, &mut Vec::new(), &mut paths);
    for path in paths {
        let pointer: String = path.iter().map(|key| format!("/{key}")).collect();
        let others = [
            json!(null),
            json!(-1),
            json!(1e300),
            json!(u64::MAX),
            json!(0.5),
            json!("x"),
            json!([]),
            json!([1, 2, 3, 4, 5, 6, 7, 8, 9]),
            json!({}),
        ];
        for other in others {
            let mut copy = value.clone();
            *copy.pointer_mut(&pointer).expect("it is there") = other;
            damage(copy, false);
        }
        let mut copy = value.clone();
        if let Some(map) = copy.pointer_mut(&pointer).and_then(Value::as_object_mut) {
            map.insert("surprise".into(), json!(1));
            // Nothing is ignored but in the parts that the serde of others reads.
            damage(copy, pointer.starts_with("/saved"));
        }
        let mut copy = value.clone();
        let (parent, key) = match path.split_last() {
            Some((key, parent)) => (parent, key),
            None => continue,
        };
        let pointer: String = parent.iter().map(|key| format!("/{key}")).collect();
        match copy.pointer_mut(&pointer) {
            Some(Value::Object(map)) => {
                map.remove(key);
                damage(copy, pointer.starts_with("/saved"));
            }
            Some(Value::Array(list)) => {
                list.pop();
                // Warm starts may be of any length: one that does not fit is ignored.
                damage(copy, pointer.starts_with("/saved/evidence"));
            }
            _ => {}
        }
    }
}

#[test]
fn a_damaged_snapshot_is_an_error_and_never_a_panic() {
    each(|config, problem| {
        if config.kind() == "opb" {
            return; // Its snapshots have tests of their own.
        }
        let m = problem.guardrails.len();
        let json = run(config, problem, 40).save();
        for end in (0..json.len()).filter(|&end| json.is_char_boundary(end)) {
            assert!(AgentConfig::restore(&json[..end]).is_err());
        }
        let value: Value = serde_json::from_str(&json).expect("JSON");
        let (mut refused, mut taken) = (0, 0);
        damaged(&value, &mut |copy, must_fail| {
            let text = copy.to_string();
            match AgentConfig::restore(&text) {
                Err(_) => refused += 1,
                Ok(restored) => {
                    assert!(!must_fail, "{text}");
                    taken += 1;
                    let mut agent = restored.agent;
                    let (mut random, arms) = (Random::new(2), agent.names().len());
                    for _ in 0..3 {
                        let decision = agent.decide();
                        assert!(decision.policy.iter().all(|e| e.0 < arms && e.1 >= 0.0));
                        let arm = decision.draw(random.unit());
                        let (reward, costs) = outcome(&mut random, arm.min(3), m);
                        // The problem may have been changed too.
                        let _ = agent.observe(arm, reward, &costs);
                    }
                }
            }
        });
        assert!(refused > taken, "{config:?}: {refused}, {taken}");
    });
}

#[test]
fn what_is_not_an_outcome_is_refused_and_changes_nothing() {
    each(|config, problem| {
        let mut agent = run(config, problem, 30);
        let (before, is_watched) = (agent.save(), agent.monitor().is_some());
        let good = [3.0, 0.5];
        let m = problem.guardrails.len();
        let mut refuse = |arm: usize, reward: f64, costs: &[f64]| {
            assert!(agent.observe(arm, reward, costs).is_err());
            if arm < 4 {
                assert!(agent.check_outcome(arm, reward, costs, 0).is_err());
            }
            assert_eq!(agent.save(), before, "{config:?}");
        };
        refuse(4, 0.0, &good[..m]);
        refuse(usize::MAX, 0.0, &good[..m]);
        let nothing = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        // Beside a monitor, what lies outside its range is an outcome.
        let outside = |lo: f64, hi: f64| if is_watched { vec![] } else { vec![lo, hi] };
        for bad in outside(-1.001, 1.001).into_iter().chain(nothing) {
            refuse(0, bad, &good[..m]);
        }
        for bad in outside(-0.001, 10.001).into_iter().chain(nothing) {
            for i in 0..m {
                let mut costs = good[..m].to_vec();
                costs[i] = bad;
                refuse(1, 0.0, &costs);
            }
        }
        refuse(2, 0.0, &[]);
        refuse(2, 0.0, &[0.5; 3]);
    });
}

#[test]
fn problems_outside_a_setting_are_refused_with_the_reason() {
    let relative = Problem {
        guardrails: vec![Guardrail {
            name: "latency".into(),
            at_most: Some(1.1),
            relative: true,
            ..Guardrail::default()
        }],
        ..problem(3, 0)
    };
    let mut unknown = problem(3, 2);
    unknown.guardrails[1].safe_cost = None;
    let needs_costs = [
        "conservative_ucb",
        "ma_ops",
        "s_ops",
        "pessimistic_optimistic",
        "s_colts",
    ];
    let kinds = kinds();
    let others = kinds
        .iter()
        .filter(|config| !["opb", "segmented"].contains(&config.kind()));
    for config in others {
        let kind = config.kind();
        let refused = |problem: &Problem, words: &[&str]| match config.build(problem) {
            Err(Error::Invalid {
                field,
                value,
                allowed,
            }) => {
                assert_eq!((field.as_str(), value.as_str()), ("kind", kind));
                for word in words {
                    assert!(allowed.contains(word), "{kind}: {allowed}");
                }
            }
            Err(other) => panic!("{kind}: {other}"),
            Ok(_) => panic!("{kind} must refuse"),
        };
        refused(&relative, &["`latency` is relative"]);
        if needs_costs.contains(&kind) {
            refused(&unknown, &["`safe_cost`", "`returns`"]);
            assert!(config.build(&problem(3, 0)).is_ok());
        } else {
            assert!(config.build(&unknown).is_ok(), "{kind}");
        }
    }
}

#[test]
fn parameters_are_checked() {
    let refused = |parameters: Value, field: &str| {
        let config: AgentConfig = serde_json::from_value(parameters.clone()).expect("known keys");
        match config.build(&problem(3, 1)) {
            Err(Error::Invalid { field: found, .. }) => assert_eq!(found, field, "{parameters}"),
            Err(other) => panic!("{parameters}: {other}"),
            Ok(_) => panic!("{parameters} must be refused"),
        }
    };
    for config in kinds() {
        for delta in [0.0, 1.0, -0.5, 2.0] {
            if config.clone().delta_mut().is_some() {
                refused(json!({ "kind": config.kind(), "delta": delta, }), "delta");
            }
        }
        let mut config = config;
        if let Some(delta) = config.delta_mut() {
            *delta = f64::NAN;
            assert!(config.build(&problem(3, 1)).is_err());
        }
    }
    refused(json!({ "kind": "ucb1", "exploration": 0 }), "exploration");
    refused(json!({ "kind": "kl_ucb", "c": -1 }), "c");
    refused(json!({ "kind": "s_colts", "omega": 0 }), "omega");
    refused(json!({ "kind": "r_colts", "omega": 0 }), "omega");
    for draws in [0, 1001] {
        let keys = json!({ "kind": "r_colts", "draws_per_round": draws });
        refused(keys, "draws_per_round");
    }
    for kind in ["s_ops", "ma_ops"] {
        refused(json!({ "kind": kind }), "horizon");
        refused(json!({ "kind": kind, "horizon": 0 }), "horizon");
        refused(json!({ "kind": kind, "learning_rate": 0 }), "learning_rate");
        refused(
            json!({ "kind": kind, "horizon": 9, "exploration": -1 }),
            "exploration",
        );
        // Rates of one's own, and the update for fixed means, need no horizon.
        for keys in [
            json!({ "kind": kind, "learning_rate": 0.1 }),
            json!({ "kind": kind, "update": "optimistic" }),
        ] {
            let config: AgentConfig = serde_json::from_value(keys).expect("known keys");
            assert!(config.build(&problem(3, 2)).is_ok());
            assert_eq!(config.clone().with_horizon(9, false), config);
        }
    }
    for (key, value) in [("margin", 0), ("reward_weight", 0), ("tightening", -1)] {
        refused(json!({ "kind": "pessimistic_optimistic", key: value }), key);
    }
    for exploration in [0, 1] {
        let keys = json!({ "kind": "lagrange_bwk", "horizon": 9, "exploration": exploration });
        refused(keys, "exploration");
    }
    for kind in ["ucb_bwk", "primal_dual_bwk", "lagrange_bwk"] {
        refused(json!({ "kind": kind }), "horizon");
        refused(json!({ "kind": kind, "horizon": 0 }), "horizon");
        refused(
            json!({ "kind": kind, "horizon": 9, "epsilon": -0.1 }),
            "epsilon",
        );
    }
    refused(
        json!({ "kind": "ucb_bwk", "horizon": 9, "epsilon": 1 }),
        "epsilon",
    );
    for kind in ["primal_dual_bwk", "lagrange_bwk"] {
        refused(
            json!({ "kind": kind, "horizon": 9, "epsilon": 0 }),
            "epsilon",
        );
    }
    assert!(
        serde_json::from_value::<AgentConfig>(json!({ "kind": "thompson", "seed": 1 })).is_err()
    );
}

/// Any costs that keep to their range, often at its ends.
fn signal() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0_f64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn policies_are_distributions_and_promises_are_kept(
        arms in 1_usize..7,
        m in 0_usize..3,
        tau in prop::array::uniform2(0.05..0.95_f64),
        safe_share in prop::array::uniform2(0.0..0.999_f64),
        table in prop::collection::vec((prop::array::uniform3(signal()), 0.0..1.0_f64), 1..80),
        mirrored in any::<bool>(),
    ) {
        let guardrail = |i: usize| {
            let safe = tau[i] * safe_share[i];
            // Ranges that are not the unit's, so that rounding has something to do.
            let place = |y: f64| if mirrored { 7.0 - 11.0 * y } else { -4.0 + 11.0 * y };
            Guardrail {
                name: format!("g{i}"),
                at_most: (!mirrored).then(|| place(tau[i])),
                at_least: mirrored.then(|| place(tau[i])),
                range: Some([-4.0, 7.0].into()),
                safe_cost: Some(place(safe)),
                ..Guardrail::default()
            }
        };
        let problem = Problem {
            guardrails: (0..m).map(guardrail).collect(),
            ..problem(arms, 0)
        };
        for config in kinds() {
            let mut agent = config.build(&problem).expect("its setting");
            for (signals, uniform) in &table {
                let decision = agent.decide();
                let total: f64 = decision.policy.iter().map(|e| e.1).sum();
                prop_assert!((total - 1.0).abs() < 1e-12, "{config:?}: {decision:?}");
                prop_assert!(decision.policy.iter().all(|e| e.1 > 0.0 && e.0 < arms));
                prop_assert!(decision.policy.windows(2).all(|w| w[0].0 < w[1].0));
                prop_assert!(decision.optimistic_reward.is_finite());
                prop_assert!(decision.solver.gap >= 0.0 && decision.solver.gap.is_finite());
                if config.guarantee() == Guarantee::EveryRound {
                    // Its own policy checks: the wrapper never had to step in. These outcomes may refute
                    // what is declared, though.
                    prop_assert!(matches!(decision.fallback, None | Some(Fallback::Alarm)));
                    for g in &decision.guardrails {
                        let over = if mirrored { -1.0 } else { 1.0 } * (g.pessimistic_cost - g.threshold);
                        prop_assert!(g.slack >= 0.0 && over <= 1e-13, "{config:?}: {decision:?}");
                    }
                }
                let arm = decision.draw(*uniform);
                let costs: Vec<f64> = (0..m).map(|i| -4.0 + 11.0 * signals[i + 1]).collect();
                let reward = 2.0 * signals[0] - 1.0;
                prop_assert!(agent.observe(arm, reward, &costs).is_ok());
            }
        }
    }
}
