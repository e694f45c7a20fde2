//! Sizes that would make decisions long are refused where they come up.

use std::collections::BTreeMap;

use banister_engine::Refusal;
use serde_json::{Value, json};

use crate::common::Place;
use crate::common::engine::{Engine, field, plain};

fn names(what: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{what}{i}")).collect()
}

fn unit(d: usize, place: usize) -> Vec<f64> {
    (0..d).map(|i| f64::from(u8::from(i == place))).collect()
}

fn candidates(d: usize) -> Value {
    json!({
        "name": "x", "dimension": d, "safe_action": unit(d, 0),
        "guardrails": [{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}],
        "agent": {"kind": "oplb", "parameter_norm": 2},
    })
}

fn arms(count: usize, more: Value) -> Value {
    let mut declaration = plain("x");
    declaration["arms"] = json!(names("arm", count));
    declaration["safe"] = json!("arm0");
    let more = more.as_object().expect("fields").clone();
    declaration.as_object_mut().expect("fields").extend(more);
    declaration
}

/// Checks the declaration only.
fn refused(declaration: &Value) -> Option<(String, String, String)> {
    let declaration: banister_engine::Declaration =
        serde_json::from_value(declaration.clone()).expect("a declaration");
    match declaration.check() {
        Ok(_) => None,
        Err(Refusal::Invalid {
            field,
            value,
            allowed,
        }) => Some((field.to_string(), value, allowed)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn declarations_whose_decisions_take_long_are_refused() {
    let linear = |more: Value| {
        let mut agent = json!({"kind": "oplb", "parameter_norm": 1});
        agent
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        agent
    };
    let guardrails: Vec<Value> = (names("cost", 19).iter())
        .map(|name| json!({"name": name, "at_most": 0.5, "safe_cost": 0.1}))
        .collect();
    let context = |k: usize, d: usize, model: &str| {
        arms(
            k,
            json!({"context": d, "agent": linear(json!({"model": model}))}),
        )
    };
    let with_features = |k: usize, d: usize| {
        let list = (0..k).map(|i| json!({"name": format!("arm{i}"), "features": unit(d, i % d)}));
        let list: Vec<Value> = list.collect();
        arms(0, json!({"arms": list, "agent": linear(json!({}))}))
    };
    let segmented = |k: usize, most: usize| {
        let agent = json!({"kind": "segmented", "max_segments": most});
        arms(k, json!({"segments": ["de"], "agent": agent}))
    };
    // The largest that is taken, the smallest that is not.
    for (fits, long, at, formula) in [
        (
            candidates(346),
            candidates(347),
            "dimension",
            "(features + 50)²",
        ),
        (
            context(2, 341, "shared"),
            context(2, 342, "shared"),
            "context",
            "(features + 50)²",
        ),
        (
            context(2, 150, "per_arm"),
            context(2, 151, "per_arm"),
            "context",
            "(features + 50)²",
        ),
        (
            with_features(20, 288),
            with_features(20, 289),
            "arms",
            "(features + 50)²",
        ),
        (
            arms(150, json!({"agent": linear(json!({}))})),
            arms(151, json!({"agent": linear(json!({}))})),
            "arms",
            "(features + 50)²",
        ),
        (
            arms(1000, json!({"guardrails": guardrails})),
            arms(1001, json!({"guardrails": guardrails})),
            "arms",
            "arms·(1 + guardrails)",
        ),
        (
            segmented(10, 999),
            segmented(10, 1000),
            "arms",
            "(1 + agent.max_segments)",
        ),
    ] {
        assert_eq!(refused(&fits), None);
        let (field, value, allowed) = refused(&long).expect("a refusal");
        assert_eq!(field, at);
        assert!(allowed.contains(formula), "{allowed}");
        assert!(value.chars().any(|c| c.is_ascii_digit()), "{value}");
    }
    // Nothing is made of what is far too long.
    assert_eq!(
        refused(&context(3, 1_000_000_000_000, "shared")).unwrap().0,
        "context"
    );
}

#[test]
fn segments_are_told_apart_as_far_as_there_is_time() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    let shown = engine
        .create(arms(10, json!({"segments": ["de"]})))
        .unwrap();
    let agent = serde_json::to_value(&shown.agent).unwrap();
    assert_eq!(agent["max_segments"], 500);
    // As many arms again as there were, but two: the pool is a segment, too.
    for i in 10..19 {
        engine
            .add_arm("x", json!({"name": format!("new {i}")}))
            .unwrap();
    }
    let refused = engine.add_arm("x", json!({"name": "one more"}));
    assert_eq!(field(refused), "name");
    engine.stop();
}

#[test]
fn a_request_with_too_many_actions_is_refused_and_a_smaller_one_is_not() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    engine.create(candidates(16)).unwrap();
    let ask = |count: usize| {
        let actions: Vec<Vec<f64>> = (0..count).map(|i| unit(16, i % 16)).collect();
        engine.decide_with("x", json!({ "actions": actions }))
    };
    let refusal = ask(1787);
    let Err(Refusal::Invalid { value, allowed, .. }) = &refusal else {
        panic!("{refusal:?}");
    };
    assert_eq!(value, "1787 actions of 16 features");
    assert!(allowed.contains("1786 fit"), "{allowed}");
    assert_eq!(field(refusal), "actions");
    assert_eq!(ask(1786).unwrap().published.fallback, None);
    let events = engine.digest("x").unwrap().1;
    assert!(ask(10_001).is_err());
    assert_eq!(engine.digest("x").unwrap().1, events, "nothing is written");
    engine.stop();
}

/// Agents are asked about a few actions at a time.
#[test]
fn estimates_belong_to_their_actions_wherever_they_stand() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    engine.create(candidates(16)).unwrap();
    let action = |i: usize| {
        let x: Vec<f64> = (0..16)
            .map(|j| ((i * 16 + j) as f64).powi(2).sin())
            .collect();
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let features: Vec<f64> = x.iter().map(|x| 0.6 * x / length).collect();
        json!({"name": format!("a{i}"), "features": features})
    };
    // The safe action is known, and earns little: all others are worth a try.
    let safe = json!(unit(16, 0));
    for i in 0..100 {
        let offered = match i {
            0 | 10 | 39 => action(i),
            _ => safe.clone(),
        };
        let request = json!({"id": format!("d{i}"), "actions": [offered]});
        engine.decide_with("x", request).unwrap();
        let report = json!({"reward": 0.1, "costs": {"errors": 0.1}});
        engine.report("x", &format!("d{i}"), report).unwrap();
    }
    let mut found: Vec<BTreeMap<String, (f64, f64)>> = Vec::new();
    for order in [false, true] {
        let mut actions: Vec<Value> = (0..40).map(action).collect();
        if order {
            actions.reverse();
        }
        let decided = engine
            .decide_with("x", json!({ "actions": actions }))
            .unwrap();
        let published = &decided.published;
        let known = published.known.iter().map(|(index, own)| {
            let name = decided
                .published
                .info
                .action_name(&decided.published.candidates, *index);
            (name, (own.reward.mean.unwrap(), own.costs[0].upper))
        });
        found.push(known.collect());
    }
    let [first, second] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(
        first.len() > 20 && first.keys().eq(second.keys()),
        "{found:?}"
    );
    assert_ne!(first["a0"], first["a39"]);
    for (name, own) in first {
        let other = second[name];
        assert!(
            (own.0 - other.0).abs() + (own.1 - other.1).abs() < 1e-9,
            "{name}"
        );
    }
    engine.stop();
}
