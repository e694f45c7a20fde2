//! Experiments: their arms, contexts and candidates, imports, and what is refused.

use crate::common;

use std::sync::Arc;

use banister_engine::{
    Decide, ExperimentView, Import, ImportOutcomes, ListExperiments, Page, Refusal, Report,
    SummariseExperiments, rebuild,
};
use common::engine::{Either, Engine, check, conflict, field, plain, unknown};
use common::{Place, both, whole};
use serde_json::{Value, json};

both!(
    arms_come_and_go,
    arms_with_features_come_and_go,
    arms_bring_ranges_of_their_own,
    capped_outcomes_stay_as_reported,
    contexts_are_brought_by_decisions,
    contexts_have_named_fields,
    candidates_are_brought_by_decisions,
    imports_teach_what_observing_does,
    imports_teach_linear_agents_what_observing_does,
    imports_that_cannot_be_learned_from_are_refused,
    declarations_are_checked_by_field,
    ids_are_checked,
    lists_are_made_once_per_event,
);

/// Parts of a list share pictures of experiments that nothing happened to, also between callers.
fn lists_are_made_once_per_event(place: &Place) {
    let engine = Engine::start(&place.database);
    for name in ["a", "b", "c"] {
        engine.create(plain(name)).unwrap();
    }
    let list = |after: Option<&str>, limit| {
        let after = after.map(str::to_string);
        engine.query(ListExperiments {
            after,
            limit,
            scope: None,
        })
    };
    let names = |page: &Page<ExperimentView>| -> Vec<String> {
        page.entries.iter().map(|e| e.name.clone()).collect()
    };
    let first = list(None, 2).unwrap();
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first.next.as_deref(), Some("b"));
    let rest = list(Some("b"), 2).unwrap();
    assert_eq!((names(&rest), rest.next), (vec!["c".to_string()], None));
    assert_eq!(unknown(list(Some("nobody"), 2)), "experiment");
    engine.decide_with("b", json!({})).unwrap();
    let later = list(None, 3).unwrap();
    assert_eq!(later.next, None);
    assert!(Arc::ptr_eq(&first.entries[0], &later.entries[0]));
    assert!(Arc::ptr_eq(&rest.entries[0], &later.entries[2]));
    assert_eq!(first.entries[1].counts.decisions, 0);
    assert_eq!(later.entries[1].counts.decisions, 1);
    let summaries = || {
        let after = None;
        let query = SummariseExperiments(ListExperiments {
            after,
            limit: 9,
            scope: None,
        });
        engine.query(query).unwrap().entries
    };
    let (one, two) = (summaries(), summaries());
    assert!(one.iter().zip(&two).all(|(a, b)| Arc::ptr_eq(a, b)));
    assert_eq!(one[1].counts.decisions, 1);
}

fn linear(name: &str) -> Value {
    let mut declaration = plain(name);
    declaration["arms"] = json!([
        {"name": "old", "features": [1.0, 0.0]},
        {"name": "new", "features": [0.6, 0.8]},
        {"name": "odd", "features": [0.0, 1.0]},
    ]);
    declaration["agent"] = json!({"kind": "oplb", "parameter_norm": 1});
    declaration
}

fn outcome() -> Value {
    json!({"reward": 1, "costs": {"errors": 0}})
}

/// Decides until this action comes up; says its decision's number.
fn until_played(engine: &Engine, action: u32) -> String {
    for _ in 0..2000 {
        let decided = engine.decide_with("x", json!({})).unwrap();
        check(&decided);
        if decided.index == action {
            return decided.id;
        }
        // It learns that this is safe and earns nothing, and tries the others.
        let poor = json!({"reward": 0, "costs": {"errors": 0}});
        engine.report("x", &decided.id, poor).unwrap();
    }
    panic!("action {action} never comes up");
}

/// Expects the same digest now, after a restart, and folded from nothing.
fn lasts(place: &Place, engine: Engine) -> Engine {
    let before = engine.digest("x").unwrap();
    engine.stop();
    let rebuilt = rebuild(&place.database, |_, _| {}).unwrap();
    assert!(rebuilt.is_equal());
    let own = rebuilt.experiments.iter().find(|e| e.name == "x").unwrap();
    assert_eq!(own.digest, before.0);
    let engine = Engine::start(&place.database);
    assert_eq!(engine.digest("x").unwrap(), before);
    engine
}

fn come_and_go(place: &Place, declaration: Value, late: Value) {
    let engine = Engine::start(&place.database);
    engine.create(declaration).unwrap();
    let played = until_played(&engine, 1);
    engine.retire_arm("x", "new").unwrap();
    let view = engine.add_arm("x", late.clone()).unwrap();
    let shown: Vec<_> = (view.arms.iter())
        .map(|arm| (arm.name.as_str(), arm.offered, arm.safe))
        .collect();
    let expected = [
        ("old", true, true),
        ("new", false, false),
        ("odd", true, false),
        ("late", true, false),
    ];
    assert_eq!(shown, expected);
    // What was decided before still counts.
    assert!(
        engine
            .report("x", &played, outcome())
            .unwrap()
            .is_complete()
    );
    let engine = lasts(place, engine);
    // Numbers stay what they were: `late` is the fourth, and `new` is never drawn again.
    let decided = engine.decide_with("x", json!({})).unwrap();
    assert!(decided.published.policy.iter().all(|entry| entry.0 != 1));
    assert_eq!(decided.published.info.action_name(&[], 3), "late");
    let played = until_played(&engine, 3);
    assert!(
        engine
            .report("x", &played, outcome())
            .unwrap()
            .is_complete()
    );
    // What cannot be.
    conflict(engine.retire_arm("x", "new"));
    conflict(engine.retire_arm("x", "old"));
    conflict(engine.add_arm("x", late));
    // It is offered again, under its number and with what is known of it, though not as something else.
    conflict(engine.add_arm("x", json!({"name": "new", "features": [9.0]})));
    let pulls = |engine: &Engine| {
        let arms = engine.live_state("x").arms.into_iter();
        arms.map(|own| (own.name, own.estimate.pulls))
            .collect::<Vec<_>>()
    };
    let before = pulls(&engine);
    let view = engine.add_arm("x", json!({"name": "new"})).unwrap();
    assert!(view.arms.iter().all(|arm| arm.offered));
    assert_eq!(view.arms.len(), 4);
    assert!(before.iter().all(|own| pulls(&engine).contains(own)));
    conflict(engine.add_arm("x", json!({"name": "new"})));
    let engine = lasts(place, engine);
    let played = until_played(&engine, 1);
    assert!(
        engine
            .report("x", &played, outcome())
            .unwrap()
            .is_complete()
    );
    engine.retire_arm("x", "new").unwrap();
    assert_eq!(unknown(engine.retire_arm("x", "nobody")), "arm");
    assert_eq!(unknown(engine.retire_arm("nobody", "new")), "experiment");
    assert_eq!(field(engine.add_arm("x", json!({"name": "a\tb"}))), "name");
    lasts(place, engine);
}

fn arms_come_and_go(place: &Place) {
    come_and_go(place, plain("x"), json!({"name": "late"}));
}

fn arms_with_features_come_and_go(place: &Place) {
    let late = json!({"name": "late", "features": [0.8, 0.6]});
    come_and_go(place, linear("x"), late);
    let engine = Engine::start(&place.database);
    for arm in [
        json!({"name": "short", "features": [1.0]}),
        json!({"name": "none"}),
    ] {
        assert_eq!(field(engine.add_arm("x", arm)), "features");
    }
}

/// Dollars per call, by arm: only `old` is cheap.
fn by_arm(name: &str) -> Value {
    let mut declaration = plain(name);
    declaration["guardrails"][0]["range"] = json!({"old": [0, 0.25], "new": [0, 2], "odd": [0, 1]});
    declaration
}

fn arms_bring_ranges_of_their_own(place: &Place) {
    let engine = Engine::start(&place.database);
    let view = engine.create(by_arm("x")).unwrap();
    let shown = serde_json::to_value(&view.arms).unwrap();
    assert_eq!(shown[1]["ranges"], json!({"errors": [0.0, 2.0]}));
    let dear = json!({"name": "late", "ranges": {"errors": [0, 8]}});
    for (arm, name) in [
        (json!({"name": "late"}), "ranges.errors"),
        (
            json!({"name": "late", "ranges": {"reward": [0, 1]}}),
            "ranges.reward",
        ),
        (
            json!({"name": "late", "ranges": {"errors": [-1, 1]}}),
            "ranges.errors",
        ),
        (
            json!({"name": "late", "ranges": {"errors": [0, 1e200]}}),
            "ranges.errors",
        ),
    ] {
        assert_eq!(field(engine.add_arm("x", arm)), name);
    }
    engine.add_arm("x", dear.clone()).unwrap();
    let engine = lasts(place, engine);
    let safe = until_played(&engine, 0);
    let costs = |cost: f64| json!({"reward": 0.5, "costs": {"errors": cost}});
    assert!(
        engine
            .report("x", &safe, costs(0.25))
            .unwrap()
            .is_complete()
    );
    let late = until_played(&engine, 3);
    assert!(engine.report("x", &late, costs(7.5)).unwrap().is_complete());
    let one = |arm: u32, cost: f64| Import {
        arms: vec![arm],
        rewards: vec![0.5],
        costs: vec![cost],
        ..Import::default()
    };
    assert_eq!(field(import(&engine, "x", one(0, 0.5))), "row 1: errors");
    assert_eq!(import(&engine, "x", one(3, 7.5)), Ok(1));
    lasts(place, engine);

    // The default outcome must be possible for every arm, also for those that come later.
    let engine = Engine::start(&place.database);
    let mut declaration = by_arm("y");
    declaration["ttl_seconds"] = json!(60);
    declaration["default_outcome"] = costs(0.5);
    assert_eq!(
        field(engine.create(declaration.clone())),
        "default_outcome.costs.errors"
    );
    declaration["default_outcome"] = costs(0.1);
    engine.create(declaration).unwrap();
    let narrow = json!({"name": "late", "ranges": {"errors": [0.2, 0.3]}});
    assert_eq!(
        field(engine.add_arm("y", narrow)),
        "default_outcome.costs.errors"
    );
    // Ranges of declared arms stand with their signal, and linear agents have one for all.
    let mut twice = plain("z");
    twice["arms"][1] = dear;
    assert_eq!(field(engine.create(twice)), "arms[1].ranges");
    let mut contextual = by_arm("z");
    contextual["context"] = json!(2);
    assert_eq!(field(engine.create(contextual)), "guardrails[0].range");
    let mut missing = by_arm("z");
    missing["arms"] = json!(["old", "new", "odd", "late"]);
    assert_eq!(field(engine.create(missing)), "guardrails[0].range.late");
}

fn capped_outcomes_stay_as_reported(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["guardrails"][0]["cap"] = json!(5);
    let view = engine.create(declaration).unwrap();
    let words = "the mean of errors capped at 5, not the mean itself, is kept at most 0.5";
    assert!(view.rests_on.iter().any(|a| a.text == words));
    let played = until_played(&engine, 1);
    let costs = |cost: f64| json!({"reward": 0.5, "costs": {"errors": cost}});
    let reported = engine.report("x", &played, costs(80.0)).unwrap();
    assert!(reported.alarms.is_empty());
    assert_eq!(
        (reported.is_complete(), reported.costs["errors"]),
        (true, Some(80.0))
    );
    // 80 was reported, and counted as 5.
    let believed = beliefs(&engine, "x");
    assert!(
        believed.contains("Some(5.0)") && !believed.contains("Some(80"),
        "{believed}"
    );
    lasts(place, engine);
}

fn contexts_are_brought_by_decisions(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["context"] = json!(2);
    assert_eq!(
        field(engine.create(declaration.clone())),
        "agent.parameter_norm"
    );
    declaration["agent"] = json!({"kind": "oplb", "parameter_norm": 1.5});
    engine.create(declaration).unwrap();
    for i in 0..40 {
        let context = [f64::from(i % 2), 0.5];
        let request = json!({"id": format!("d{i}"), "context": context});
        let decided = engine.decide_with("x", request.clone()).unwrap();
        check(&decided);
        assert_eq!(
            engine.decide_with("x", request).unwrap().number,
            decided.number
        );
        let other = json!({"id": format!("d{i}"), "context": [0.25, 0.25]});
        conflict(engine.decide_with("x", other));
        engine.report("x", &format!("d{i}"), outcome()).unwrap();
    }
    let refused = |request: Value| field(engine.decide_with("x", request));
    assert_eq!(refused(json!({})), "context");
    assert_eq!(refused(json!({"context": [1.0]})), "context");
    assert_eq!(
        refused(json!({"context": [0.1, 0.1], "actions": [[1.0]]})),
        "actions"
    );
    assert_eq!(field(engine.add_arm("x", json!({"name": "late"}))), "name");
    engine.retire_arm("x", "odd").unwrap();
    let request = json!({"context": [0.5, 0.5]});
    let decided = engine.decide_with("x", request).unwrap();
    assert!(decided.published.policy.iter().all(|entry| entry.0 != 2));
    let view = engine.add_arm("x", json!({"name": "odd"})).unwrap();
    assert!(view.arms[2].offered);
    lasts(place, engine);
}

fn contexts_have_named_fields(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["agent"] = json!({"kind": "oplb", "parameter_norm": 1.5});
    let create = |context: Value| {
        let mut declaration = declaration.clone();
        declaration["context"] = context;
        engine.create(declaration)
    };
    assert_eq!(field(create(json!({}))), "context");
    let twice = json!({"country": {"kind": "category", "values": ["de", "de"]}});
    assert_eq!(field(create(twice)), "context.country.values[1]");
    let values: Vec<i64> = (0..2000).collect();
    let long = json!({"shop": {"kind": "category", "values": values}});
    assert_eq!(field(create(long)), "context");
    let context = json!({
        "country": {"kind": "category", "values": ["de", "fr"], "unseen": "other"},
        "hour": {"kind": "number", "range": [0.0, 24.0], "missing": "indicator"},
        "member": {"kind": "boolean"},
    });
    let mut short = declaration.clone();
    short["context"] = context.clone();
    short["agent"]["norm"] = json!(1);
    assert_eq!(field(engine.create(short)), "agent.norm");
    let view = create(context.clone()).unwrap();
    assert_eq!(serde_json::to_value(&view.context).unwrap(), context);
    assert_eq!(serde_json::to_value(&view.agent).unwrap()["norm"], 2.0);
    for i in 0..40 {
        let country = ["de", "fr", "es"][i % 3];
        let context = json!({"country": country, "hour": i % 24, "member": i % 2 == 0});
        let request = json!({"id": format!("d{i}"), "context": context});
        let decided = engine.decide_with("x", request.clone()).unwrap();
        check(&decided);
        let again = engine.decide_with("x", request).unwrap();
        assert_eq!(again.number, decided.number);
        let other = json!({"country": country, "hour": 0.5, "member": true});
        conflict(engine.decide_with("x", json!({"id": format!("d{i}"), "context": other})));
        engine.report("x", &format!("d{i}"), outcome()).unwrap();
    }
    let refused = |context: Value| field(engine.decide_with("x", json!({"context": context})));
    assert_eq!(refused(json!([1.0, 0.0])), "context");
    assert_eq!(refused(json!({"country": "de"})), "context.member");
    assert_eq!(
        refused(json!({"country": true, "member": true})),
        "context.country"
    );
    assert_eq!(
        refused(json!({"country": "de", "member": true, "hour": 25})),
        "context.hour"
    );
    let more = json!({"country": "de", "member": true, "colour": "red"});
    assert_eq!(refused(more), "context.colour");
    let mut numbers = plain("y");
    numbers["agent"] = declaration["agent"].clone();
    numbers["context"] = json!(1);
    engine.create(numbers).unwrap();
    let request = json!({"context": {"country": "de"}});
    assert_eq!(field(engine.decide_with("y", request)), "context");
    lasts(place, engine);
}

fn candidates_are_brought_by_decisions(place: &Place) {
    let engine = Engine::start(&place.database);
    let declaration = json!({
        "name": "x", "dimension": 2, "safe_action": [1.0, 0.0],
        "guardrails": [{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}],
        "agent": {"kind": "oplb", "parameter_norm": 1},
    });
    engine.create(declaration).unwrap();
    for i in 0..40 {
        let actions = json!([{"name": "a", "features": [0.0, 1.0]}, [0.6, 0.8]]);
        let request = json!({"id": format!("d{i}"), "actions": actions});
        let decided = engine.decide_with("x", request).unwrap();
        check(&decided);
        assert_eq!(decided.published.safe, 2);
        let name = decided
            .published
            .info
            .action_name(&decided.published.candidates, decided.index);
        assert_eq!(name, ["a", "1", "safe"][decided.index as usize]);
        engine.report("x", &format!("d{i}"), outcome()).unwrap();
    }
    // The safe action may be among them.
    let request = json!({"actions": [[0.0, 1.0], [1.0, 0.0]]});
    assert_eq!(engine.decide_with("x", request).unwrap().published.safe, 1);
    let refused = |actions: Value| field(engine.decide_with("x", json!({"actions": actions})));
    assert_eq!(field(engine.decide_with("x", json!({}))), "actions");
    assert_eq!(refused(json!([])), "actions");
    assert_eq!(refused(json!([[0.0, 1.0], [1.0]])), "actions[1]");
    let named = |name: &str| json!([{"name": name, "features": [0.0, 1.0]}]);
    for name in ["safe", "7", " ", ""] {
        assert_eq!(refused(named(name)), "actions[0].name", "{name:?}");
    }
    lasts(place, engine);
}

/// Imports outcomes of arms.
fn import(engine: &Engine, name: &str, import: Import) -> Result<u64, Refusal> {
    let experiment = name.into();
    let imported = engine.execute(ImportOutcomes { experiment, import })?;
    Ok(imported.outcomes)
}

/// Beliefs about the arms, as text.
fn beliefs(engine: &Engine, name: &str) -> String {
    format!("{:?}", engine.live_state(name).arms)
}

fn teach_alike(place: &Place, declare: impl Fn(&str) -> Value) {
    let engine = Engine::start(&place.database);
    let arms = ["old", "new", "odd"];
    let rows: Vec<(u32, f64, f64)> = (0..1200)
        .map(|i| (i % 3, f64::from(i % 5) / 4.0, f64::from(i % 7) / 12.0))
        .collect();
    // In shadow mode a caller says what was played.
    let mut shadow = declare("x");
    shadow["shadow"] = json!(true);
    engine.create(shadow).unwrap();
    engine.create(declare("y")).unwrap();
    let writer = &engine.caller.0;
    let (sender, receiver) = std::sync::mpsc::channel();
    for (i, (arm, reward, cost)) in rows.iter().enumerate() {
        let id = format!("d{i}");
        let taken = arms[*arm as usize];
        let decide = json!({"id": id, "taken": taken});
        let report = json!({"decision": id, "reward": reward, "costs": {"errors": cost}});
        let requests = vec![
            Either::Decide(Decide::new(
                "x".into(),
                serde_json::from_value(decide).unwrap(),
            )),
            Either::Report(Report {
                experiment: "x".into(),
                report: serde_json::from_value(report).unwrap(),
            }),
        ];
        let sender = sender.clone();
        let asked = writer.execute(requests, move |answers| {
            sender.send(answers.iter().all(Result::is_ok)).unwrap();
        });
        asked.unwrap();
    }
    drop(sender);
    assert!(receiver.iter().take(rows.len()).all(|fine| fine));
    let columns = Import {
        arms: rows.iter().map(|row| row.0).collect(),
        features: Vec::new(),
        rewards: rows.iter().map(|row| row.1).collect(),
        costs: rows.iter().map(|row| row.2).collect(),
        ..Import::default()
    };
    assert_eq!(import(&engine, "y", columns.clone()), Ok(1200));
    // Sent again by somebody who did not hear the answer: answered the same, counted once.
    assert_eq!(import(&engine, "y", columns), Ok(1200));
    let (observed, imported) = (
        engine.show("x").unwrap().counts,
        engine.show("y").unwrap().counts,
    );
    assert_eq!((observed.outcomes, imported.imported), (1200, 1200));
    assert_eq!(beliefs(&engine, "x"), beliefs(&engine, "y"));
    lasts(place, engine);
}

fn imports_teach_what_observing_does(place: &Place) {
    teach_alike(place, plain);
}

fn imports_teach_linear_agents_what_observing_does(place: &Place) {
    teach_alike(place, linear);
}

fn imports_that_cannot_be_learned_from_are_refused(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    let declaration = json!({
        "name": "y", "dimension": 2, "safe_action": [1.0, 0.0],
        "agent": {"kind": "oplb", "norm": 2.0, "parameter_norm": 1},
    });
    engine.create(declaration).unwrap();
    let events = whole(&mut *place.open()).len();
    let good = Import {
        arms: vec![0, 2],
        features: Vec::new(),
        rewards: vec![0.0, 1.0],
        costs: vec![0.5, 0.5],
        ..Import::default()
    };
    let refused = |name: &str, change: &dyn Fn(&mut Import)| {
        let mut columns = good.clone();
        change(&mut columns);
        field(import(&engine, name, columns))
    };
    assert_eq!(refused("x", &|i| i.arms[1] = 3), "row 2: arm");
    assert_eq!(refused("x", &|i| i.arms.truncate(1)), "arms");
    assert_eq!(refused("x", &|i| i.costs.truncate(1)), "costs");
    assert_eq!(refused("x", &|i| i.features.push(1.0)), "features");
    assert_eq!(refused("x", &|i| i.rewards[1] = 2.0), "row 2: reward");
    assert!(refused("x", &|i| i.costs[0] = f64::NAN).starts_with("row 1: "));
    assert_eq!(refused("x", &|i| *i = Import::default()), "rows");
    let candidates = |features: &[f64]| {
        let features = features.to_vec();
        refused("y", &|i| {
            (i.arms, i.costs) = (Vec::new(), Vec::new());
            i.features.clone_from(&features);
        })
    };
    assert_eq!(candidates(&[1.0, 0.0, 1.0]), "features");
    assert!(candidates(&[1.0, 0.0, f64::NAN, 0.0]).starts_with("row 2: features"));
    assert!(candidates(&[1.0, 0.0, 2.0, 2.0]).starts_with("row 2: features"));
    // Nothing of them was written.
    assert_eq!(whole(&mut *place.open()).len(), events);
    assert_eq!(import(&engine, "x", good.clone()), Ok(2));
    lasts(place, engine);
}

fn declarations_are_checked_by_field(place: &Place) {
    let engine = Engine::start(&place.database);
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut declaration = plain("x");
        change(&mut declaration);
        field(engine.create(declaration))
    };
    assert_eq!(refused(&|d| d["name"] = json!("no spaces")), "name");
    assert_eq!(refused(&|d| d["name"] = json!("")), "name");
    assert_eq!(refused(&|d| d["safe"] = json!("nobody")), "safe");
    assert_eq!(refused(&|d| d["arms"] = json!([])), "arms");
    assert_eq!(refused(&|d| d["arms"][1] = json!("a\u{7}")), "arms[1].name");
    assert_eq!(refused(&|d| d["confidence"] = json!(1.5)), "confidence");
    let default = |reward: f64| json!({"reward": reward, "costs": {"errors": 1}});
    assert_eq!(
        refused(&|d| {
            d["ttl_seconds"] = json!(-1);
            d["default_outcome"] = default(0.0);
        }),
        "ttl_seconds"
    );
    assert_eq!(
        refused(&|d| d["default_outcome"] = default(2.0)),
        "default_outcome.reward"
    );
    assert_eq!(
        refused(&|d| d["reward"] = json!({"range": [1, 0]})),
        "reward.range"
    );
    let guardrail = |d: &mut Value| d["guardrails"][0]["range"] = json!([1, 0]);
    assert_eq!(refused(&guardrail), "guardrails[0].range");
    // Nothing of them was written.
    assert_eq!(whole(&mut *place.open()), []);
    engine.create(plain("x")).unwrap();
    let reason = conflict(engine.create(plain("x")));
    assert!(reason.contains("`x`"), "{reason}");
}

fn ids_are_checked(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    let long = "ä".repeat(128);
    for id in ["", "@7", "a\0b", "a\nb", &format!("{long}b")] {
        assert_eq!(field(engine.decide("x", id)), "id", "{id:?}");
    }
    for id in [long.as_str(), "a b", "日本", "' OR 1 = 1; --", "%s\\"] {
        let number = engine.decide("x", id).unwrap().number;
        assert_eq!(engine.decide("x", id).unwrap().number, number);
        assert!(engine.report("x", id, outcome()).unwrap().is_complete());
    }
    assert_eq!(unknown(engine.decide("nobody", "a")), "experiment");
    assert_eq!(engine.show("x").unwrap().counts.outcomes, 5);
}
