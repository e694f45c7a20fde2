//! A restored agent goes on bit for bit; a broken snapshot is an error, never a panic.

use crate::common;

use banister::{Error, Guardrail, Intervals, Opb, OpbConfig, Optimism, Problem, UnknownSafeCost};
use common::{Random, at_most, problem};
use serde_json::{Value, json};

/// Random means for a problem; arm 0 is cheap.
struct World {
    rewards: Vec<f64>,
    costs: Vec<Vec<f64>>,
}

impl World {
    fn new(random: &mut Random, arms: usize, m: usize) -> Self {
        let cost = |random: &mut Random, arm: usize| match arm {
            0 => 0.1,
            _ => random.unit(),
        };
        Self {
            rewards: (0..arms).map(|_| random.unit()).collect(),
            costs: (0..arms)
                .map(|arm| (0..m).map(|_| cost(random, arm)).collect())
                .collect(),
        }
    }

    fn outcome(&self, random: &mut Random, arm: usize) -> (usize, f64, Vec<f64>) {
        let costs = self.costs[arm].iter().map(|&p| random.bernoulli(p));
        let costs = costs.collect();
        (arm, random.bernoulli(self.rewards[arm]), costs)
    }
}

/// Plays `rounds` rounds with outcomes up to 20 rounds late, restoring every agent but the first
/// from its own snapshot every so often, and demands that all stay the same.
fn play(declared: &Problem, config: &OpbConfig, rounds: usize, seed: u64, every: usize) -> Opb {
    let mut random = Random::new(seed);
    let m = declared.guardrails.len();
    let world = World::new(&mut random, declared.arms.len() + 2, m);
    let mut whole = Opb::new(declared, config).expect("a valid problem");
    let mut parts = whole.clone();
    let mut late: Vec<(usize, usize, f64, Vec<f64>)> = Vec::new();
    for round in 0..rounds {
        let decision = whole.decide().clone();
        assert_eq!(&decision, parts.decide(), "{config:?}, round {round}");
        let (arm, reward, costs) = world.outcome(&mut random, decision.draw(random_unit(round)));
        late.push((round + random.below(20), arm, reward, costs));
        for agent in [&mut whole, &mut parts] {
            for (_, arm, reward, costs) in late.iter().filter(|o| o.0 == round) {
                agent
                    .observe(*arm, *reward, costs)
                    .expect("a valid outcome");
            }
            let paper = agent.config().intervals == Some(Intervals::Paper);
            if round == rounds / 3 && m != 1 && !paper {
                agent.retire_arm(1).expect("an arm to retire");
                agent.add_arm("newcomer").expect("room for one more");
            }
        }
        if round % every == 0 {
            let saved = whole.save();
            assert_eq!(saved, parts.save(), "{config:?}, round {round}");
            parts = Opb::restore(&saved).expect("an intact snapshot");
            assert_eq!(saved, parts.save(), "{config:?}, round {round}");
        }
    }
    whole
}

/// A number in [0, 1) that depends on the round only.
fn random_unit(round: usize) -> f64 {
    Random::new(round as u64).unit()
}

fn guardrails(m: usize, safe: Option<f64>) -> Vec<Guardrail> {
    (0..m)
        .map(|i| at_most(0.4 + 0.1 * i as f64, safe))
        .collect()
}

#[test]
fn every_combination_restores_to_the_same_bits() {
    let kinds = [
        None,
        Some(Intervals::Kl),
        Some(Intervals::Mixture),
        Some(Intervals::Subgaussian),
        Some(Intervals::Paper),
    ];
    let optimisms = [Optimism::Least, Optimism::Index, Optimism::Paper];
    for (i, intervals) in kinds.into_iter().enumerate() {
        for optimism in optimisms {
            if optimism == Optimism::Paper && intervals != Some(Intervals::Paper) {
                continue;
            }
            for m in 0..=3 {
                for safe in [None, Some(0.1)] {
                    let declared = problem(5, guardrails(m, safe));
                    let config = OpbConfig {
                        intervals,
                        optimism,
                        horizon: Some(100_000),
                        // Loose enough a level for policies to move in a few hundred rounds.
                        delta: 0.5,
                        ..OpbConfig::default()
                    };
                    play(&declared, &config, 300, (i + 10 * m) as u64, 7);
                }
            }
        }
    }
}

#[test]
fn the_t_zero_rule_and_the_published_settings_restore_to_the_same_bits() {
    let t_zero = OpbConfig {
        unknown_safe_cost: UnknownSafeCost::Paper,
        intervals: Some(Intervals::Kl),
        lazy: Some(0.0),
        horizon: Some(2000),
        ..OpbConfig::default()
    };
    let agent = play(&problem(4, guardrails(2, None)), &t_zero, 1500, 3, 11);
    assert!(agent.save().contains("\"margin\""), "T_0 was not reached");
    let published = OpbConfig::published(2000);
    play(
        &problem(4, guardrails(1, Some(0.1))),
        &published,
        1500,
        4,
        11,
    );
}

#[test]
fn many_arms_in_blocks_restore_to_the_same_bits() {
    let least = OpbConfig {
        optimism: Optimism::Least,
        ..OpbConfig::default()
    };
    for config in [least, OpbConfig::paper(100_000)] {
        for safe in [Some(0.1), None] {
            let config = OpbConfig {
                delta: 0.5,
                ..config.clone()
            };
            let rounds = if safe.is_none() { 250 } else { 900 };
            play(&problem(700, guardrails(1, safe)), &config, rounds, 5, 97);
        }
    }
}

/// An agent with a bit of everything, and its snapshot.
fn snapshot(intervals: Intervals) -> String {
    let config = OpbConfig {
        intervals: Some(intervals),
        unknown_safe_cost: UnknownSafeCost::Paper,
        horizon: Some(300),
        ..OpbConfig::default()
    };
    play(&problem(4, guardrails(2, None)), &config, 200, 6, 50).save()
}

/// The result of restoring, which must be an agent that works or a typed error.
fn restore_without_panic(text: &str) -> Result<Opb, Error> {
    let mut agent = Opb::restore(text)?;
    let decision = agent.decide().clone();
    let total: f64 = decision.policy.iter().map(|&(_, p)| p).sum();
    assert!((total - 1.0).abs() < 1e-9, "{decision:?} from {text}");
    assert!(
        decision.optimistic_reward.is_finite(),
        "{decision:?} from {text}"
    );
    agent.save();
    Ok(agent)
}

#[test]
fn a_snapshot_of_another_format_or_version_is_refused() {
    let saved: Value = serde_json::from_str(&snapshot(Intervals::Kl)).expect("JSON");
    for (key, value, mentions) in [
        ("version", json!(4), "version is 4"),
        ("version", json!(6), "version is 6"),
        ("version", json!("1"), "string"),
        ("format", json!("banister.other"), "banister.other"),
        ("format", json!(null), "null"),
    ] {
        let mut other = saved.clone();
        other[key] = value;
        match Opb::restore(&other.to_string()) {
            Err(Error::Snapshot { reason }) => assert!(reason.contains(mentions), "{reason}"),
            other => panic!("{key}: {other:?}"),
        }
    }
}

#[test]
fn a_truncated_snapshot_is_an_error() {
    let saved = snapshot(Intervals::Mixture);
    assert!(saved.is_ascii());
    for end in (0..saved.len()).step_by(10).chain([saved.len() - 1]) {
        let result = Opb::restore(&saved[..end]);
        assert!(
            matches!(result, Err(Error::Snapshot { .. })),
            "cut at {end}"
        );
    }
}

/// Every path to a number in a JSON value.
fn numbers(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Number(_) => out.push(path.to_string()),
        Value::Array(list) => {
            for (i, entry) in list.iter().enumerate() {
                numbers(entry, &format!("{path}/{i}"), out);
            }
        }
        Value::Object(map) => {
            for (key, entry) in map {
                numbers(entry, &format!("{path}/{key}"), out);
            }
        }
        _ => {}
    }
}

#[test]
fn no_number_put_into_a_snapshot_makes_a_restored_agent_panic() {
    for kind in [Intervals::Kl, Intervals::Mixture] {
        let saved: Value = serde_json::from_str(&snapshot(kind)).expect("JSON");
        let mut paths = Vec::new();
        numbers(&saved, "", &mut paths);
        assert!(paths.len() > 50);
        for path in paths {
            // NaN is written as null or not at all; 1e999 is infinity.
            for bad in [
                "null",
                "NaN",
                "1e999",
                "-1",
                "1e300",
                "0",
                "18446744073709551615",
                "0.5",
            ] {
                let mut marked = saved.clone();
                *marked.pointer_mut(&path).expect("a path") = json!("@");
                let text = marked.to_string().replace("\"@\"", bad);
                let result = restore_without_panic(&text);
                if ["null", "NaN", "1e999"].contains(&bad) {
                    assert!(result.is_err(), "{path} = {bad} was accepted");
                }
            }
        }
    }
}

/// Makes a snapshot contradict itself.
type Change = fn(&mut Value);

#[test]
fn a_snapshot_that_contradicts_itself_is_refused() {
    let saved: Value = serde_json::from_str(&snapshot(Intervals::Mixture)).expect("JSON");
    let changes: [(&str, Change); 13] = [
        ("too many outcomes", |s| s["outcomes"] = json!(7)),
        ("an arm's count", |s| {
            s["arms"][1]["outcomes"]["pulls"] = json!(1)
        }),
        ("an arm is missing", |s| {
            s["arms"].as_array_mut().expect("a list").truncate(2);
        }),
        ("an arm has another name", |s| {
            s["arms"][1]["name"] = json!("stranger")
        }),
        ("the safe arm is retired", |s| {
            s["arms"][0]["offered"] = json!(false)
        }),
        ("a signal is missing", |s| {
            s["arms"][2]["outcomes"]["signals"]
                .as_array_mut()
                .expect("a list")
                .pop();
        }),
        ("squares are negative", |s| {
            s["arms"][2]["outcomes"]["signals"][1]["squares"] = json!(-0.5);
        }),
        ("a place in δ is missing", |s| {
            s["arms"][0]["outcomes"]["places"][0] = json!(0);
        }),
        ("the policy costs more than it may", |s| {
            s["decision"]["policy"] = json!([[3, 1.0]]);
        }),
        ("the policy is none", |s| {
            s["decision"]["policy"] = json!([[0, 0.5]]);
        }),
        ("the T_0 rule's state is missing", |s| {
            s.as_object_mut().expect("a map").remove("t_zero");
        }),
        ("an unknown key", |s| s["surprise"] = json!(1)),
        ("an invalid problem", |s| s["problem"]["safe"] = json!(99)),
    ];
    for (what, change) in changes {
        let mut changed = saved.clone();
        change(&mut changed);
        let result = restore_without_panic(&changed.to_string());
        assert!(result.is_err(), "{what} was accepted");
    }
}

#[test]
fn bets_that_cannot_be_are_refused() {
    let declared = problem(4, guardrails(2, None));
    let mut agent = Opb::new(&declared, &OpbConfig::default()).expect("valid");
    for round in 0..40 {
        let reward = f64::from(u8::from(round % 3 == 0));
        agent
            .observe(0, reward, &[random_unit(round), 0.1])
            .expect("valid");
    }
    let saved: Value = serde_json::from_str(&agent.save()).expect("JSON");
    assert!(Opb::restore(&saved.to_string()).is_ok());
    let changes: [(&str, Change); 6] = [
        ("none", |s| {
            let own = s["arms"][0]["outcomes"].as_object_mut().expect("a map");
            assert!(own.remove("mixture").is_some());
        }),
        ("one signal's", |s| {
            let own = s["arms"][0]["outcomes"]["mixture"].as_array_mut();
            own.expect("a list").pop();
        }),
        ("of other outcomes", |s| {
            s["arms"][0]["outcomes"]["mixture"][0]["n"] = json!(1);
        }),
        ("fewer ones", |s| {
            s["arms"][0]["outcomes"]["mixture"][0]["ones"] = json!(0.0);
        }),
        ("a gain", |s| {
            s["arms"][0]["outcomes"]["mixture"][1]["between"]["direct"]["logs"][3] = json!(0.1);
        }),
        ("a product of 0", |s| {
            s["arms"][0]["outcomes"]["mixture"][1]["between"]["mirrored"]["products"][3] =
                json!(0.0);
        }),
    ];
    for (what, change) in changes {
        let mut changed = saved.clone();
        change(&mut changed);
        let result = restore_without_panic(&changed.to_string());
        assert!(result.is_err(), "{what} was accepted");
    }
}
