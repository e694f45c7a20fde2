//! Decisions and outcomes, as callers see them.

use crate::common;

use banister_engine::{
    Author, Decide, DecisionRequest, Event, EventKind, ExperimentState, Refusal, Report, Span,
};
use common::engine::{
    Caller, Either, EitherAnswer, Engine, check, conflict, field, plain, said, unknown,
};
use common::{Place, both, whole};
use serde_json::{Value, json};

both!(
    a_decision_is_made_once_per_id,
    requests_of_one_commit_see_each_other,
    decisions_keep_what_they_promise,
    an_outcome_counts_once,
    parts_are_held_until_complete_in_any_order,
    reports_are_checked,
    shadow_mode_learns_from_what_was_taken,
    authors_own_their_decisions,
);

/// Two guardrails beside the reward: outcomes of three parts.
fn two_guardrails() -> Value {
    let mut declaration = plain("x");
    let latency = json!({"name": "latency", "at_most": 300, "range": [0, 1000], "safe_cost": 100});
    declaration["guardrails"]
        .as_array_mut()
        .unwrap()
        .push(latency);
    declaration
}

fn outcomes(engine: &Engine) -> u64 {
    engine.show("x").unwrap().counts.outcomes
}

fn look(engine: &Engine) -> ExperimentState {
    engine.live_state("x")
}

fn a_decision_is_made_once_per_id(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    engine.create(plain("y")).unwrap();
    let first = engine.decide("x", "a").unwrap();
    let same = |again: banister_engine::Decided| {
        assert_eq!(again.number, first.number);
        assert_eq!(again.time, first.time);
        assert_eq!(again.action, first.action);
        assert_eq!(again.probability, first.probability);
        assert_eq!(again.published.policy, first.published.policy);
        assert_eq!(again.id, "a");
    };
    same(engine.decide("x", "a").unwrap());
    // The same id, another request; the same id of another experiment.
    conflict(engine.decide_with("x", json!({"id": "a", "context": [1.0]})));
    assert_ne!(engine.decide("y", "a").unwrap().number, first.number);
    // Without an id every request is a new one.
    let anonymous = engine.decide_with("x", json!({})).unwrap();
    assert_eq!(anonymous.id, format!("@{}", anonymous.number));
    assert_ne!(
        engine.decide_with("x", json!({})).unwrap().number,
        anonymous.number
    );
    // Also once it has an outcome, and after a restart.
    engine
        .report("x", "a", json!({"reward": 1, "costs": {"errors": 0}}))
        .unwrap();
    same(engine.decide("x", "a").unwrap());
    engine.stop();
    let engine = Engine::start(&place.database);
    same(engine.decide("x", "a").unwrap());
    conflict(engine.decide_with("x", json!({"id": "a", "context": [1.0]})));
    assert_eq!(engine.show("x").unwrap().counts.decisions, 3);
    let ids: Vec<_> = whole(&mut *place.open())
        .into_iter()
        .filter_map(|r| r.id)
        .collect();
    assert_eq!(ids, ["a", "a"]);
}

fn requests_of_one_commit_see_each_other(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    let decide = || {
        let request = DecisionRequest {
            id: Some("a".into()),
            ..DecisionRequest::default()
        };
        let experiment = "x".into();
        Either::Decide(Decide::new(experiment, request))
    };
    let report = |value: Value| {
        let (experiment, report) = ("x".into(), said(value));
        Either::Report(Report { experiment, report })
    };
    let requests = vec![
        decide(),
        decide(),
        report(json!({"decision": "a", "reward": 0.5})),
        report(json!({"decision": "a", "reward": 0.25})),
        report(json!({"decision": "b", "reward": 0.5})),
        report(json!({"decision": "a", "costs": {"errors": 1}})),
        report(json!({"decision": "a", "reward": 0.5, "costs": {"errors": 1}})),
    ];
    let mut answers = engine.execute_all(requests).unwrap();
    let numbers: Vec<u64> = (answers.drain(..2))
        .map(|answer| match answer {
            Ok(EitherAnswer::Decision(decided)) => decided.number,
            other => panic!("not a decision: {other:?}"),
        })
        .collect();
    assert_eq!(numbers[0], numbers[1]);
    let complete = |answer: &Result<EitherAnswer, Refusal>| match answer {
        Ok(EitherAnswer::Outcome(reported)) => Some(reported.is_complete()),
        _ => None,
    };
    let shown: Vec<Option<bool>> = answers.iter().map(complete).collect();
    assert_eq!(shown, [Some(false), None, None, Some(true), Some(true)]);
    conflict(answers.remove(1));
    assert_eq!(unknown(answers.remove(1)), "decision");
    assert_eq!(outcomes(&engine), 1);
    // Created, policy, decision, part, outcome.
    assert_eq!(whole(&mut *place.open()).len(), 5);
}

fn decisions_keep_what_they_promise(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(two_guardrails()).unwrap();
    let mut played = std::collections::HashSet::new();
    for i in 0..150 {
        let decided = engine.decide("x", &format!("d{i}")).unwrap();
        check(&decided);
        assert_eq!(decided.published.outcomes, i);
        assert_eq!(decided.published.guardrails.len(), 2);
        played.insert(decided.action);
        let new = f64::from(u8::from(decided.index == 1));
        let report = json!({"reward": new, "costs": {"errors": 0.1, "latency": 100}});
        assert!(
            engine
                .report("x", &format!("d{i}"), report)
                .unwrap()
                .is_complete()
        );
    }
    assert!(played.len() > 1, "it never tried anything but {played:?}");
}

fn an_outcome_counts_once(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    let number = engine.decide("x", "a").unwrap().number;
    let outcome = json!({"reward": 1, "costs": {"errors": 0}});
    for _ in 0..3 {
        let reported = engine.report("x", "a", outcome.clone()).unwrap();
        assert!(reported.is_complete());
        assert_eq!(reported.decision, "a");
    }
    // By its number, and what is known already in parts.
    let by_number = engine.report("x", &format!("@{number}"), outcome.clone());
    assert_eq!(by_number.unwrap().decision, "a");
    assert!(
        engine
            .report("x", "a", json!({"reward": 1}))
            .unwrap()
            .is_complete()
    );
    let reason = conflict(engine.report("x", "a", json!({"reward": 0.5})));
    assert!(reason.contains("`reward` is 1, not 0.5"), "{reason}");
    let reason = conflict(engine.report("x", "a", json!({"costs": {"errors": 1}})));
    assert!(reason.contains("`errors` is 0, not 1"), "{reason}");
    assert_eq!(outcomes(&engine), 1);
    engine.stop();
    let engine = Engine::start(&place.database);
    assert!(engine.report("x", "a", outcome).unwrap().is_complete());
    conflict(engine.report("x", "a", json!({"reward": 0.5})));
    assert_eq!(outcomes(&engine), 1);
}

fn parts_are_held_until_complete_in_any_order(place: &Place) {
    let parts = [
        json!({"reward": 0.5}),
        json!({"costs": {"errors": 0.25}}),
        json!({"costs": {"latency": 200}}),
    ];
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let mut engine = Engine::start(&place.database);
    engine.create(two_guardrails()).unwrap();
    for (i, order) in (0u64..).zip(orders) {
        let id = format!("d{i}");
        engine.decide("x", &id).unwrap();
        for (told, &part) in order.iter().enumerate() {
            assert_eq!(outcomes(&engine), i);
            let reported = engine.report("x", &id, parts[part].clone()).unwrap();
            assert_eq!(reported.is_complete(), told == 2);
            if told == 1 {
                // What is held is held in the log, and repeating it adds nothing.
                engine.stop();
                engine = Engine::start(&place.database);
                let again = engine.report("x", &id, parts[order[0]].clone()).unwrap();
                assert!(!again.is_complete());
                assert_eq!(again.reward.is_some(), order[2] != 0);
            }
        }
        assert_eq!(outcomes(&engine), i + 1);
        let known = engine.report("x", &id, parts[0].clone()).unwrap();
        assert_eq!(
            (known.costs["errors"], known.costs["latency"]),
            (Some(0.25), Some(200.0))
        );
    }
    let pulls: u64 = look(&engine)
        .arms
        .iter()
        .filter_map(|arm| arm.estimate.pulls)
        .sum();
    assert_eq!(pulls, 6);
}

fn reports_are_checked(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    engine.create(plain("y")).unwrap();
    engine.decide("x", "a").unwrap();
    let number = engine.decide("y", "b").unwrap().number;
    let whole = json!({"reward": 1, "costs": {"errors": 0}});
    assert_eq!(
        unknown(engine.report("nobody", "a", whole.clone())),
        "experiment"
    );
    for id in ["b", "", "@0", "@1", "@99", "a\0", &format!("@{number}")] {
        assert_eq!(
            unknown(engine.report("x", id, whole.clone())),
            "decision",
            "{id:?}"
        );
    }
    let refused = |report: Value| field(engine.report("x", "a", report));
    assert_eq!(refused(json!({})), "reward");
    assert_eq!(refused(json!({"reward": 1e200})), "reward");
    assert_eq!(
        refused(json!({"costs": {"errors": -1e200}})),
        "costs.errors"
    );
    assert_eq!(refused(json!({"costs": {"erors": 0}})), "costs.erors");
    assert_eq!(refused(json!({"reward": 1, "taken": "new"})), "taken");
    assert_eq!(outcomes(&engine), 0);
    // Refused reports leave nothing behind.
    assert!(engine.report("x", "a", whole).unwrap().is_complete());
}

fn shadow_mode_learns_from_what_was_taken(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["shadow"] = json!(true);
    engine.create(declaration).unwrap();
    let whole = |taken: Value| json!({"reward": 1, "costs": {"errors": 0}, "taken": taken});
    // Said with the decision, with the outcome, with a part, or with both.
    let decided = engine.decide_with("x", json!({"id": "a", "taken": "odd", "propensity": 0.5}));
    assert!(decided.unwrap().shadow);
    assert!(
        engine
            .report("x", "a", whole(Value::Null))
            .unwrap()
            .is_complete()
    );
    engine.decide("x", "b").unwrap();
    assert_eq!(field(engine.report("x", "b", whole(Value::Null))), "taken");
    assert!(
        engine
            .report("x", "b", whole(json!("odd")))
            .unwrap()
            .is_complete()
    );
    engine.decide("x", "c").unwrap();
    assert!(
        !engine
            .report("x", "c", json!({"taken": "odd"}))
            .unwrap()
            .is_complete()
    );
    assert!(
        engine
            .report("x", "c", whole(Value::Null))
            .unwrap()
            .is_complete()
    );
    engine
        .decide_with("x", json!({"id": "d", "taken": "odd"}))
        .unwrap();
    conflict(engine.report("x", "d", whole(json!("new"))));
    assert!(
        engine
            .report("x", "d", whole(json!("odd")))
            .unwrap()
            .is_complete()
    );
    let pulls: Vec<_> = (look(&engine).arms.iter())
        .map(|arm| arm.estimate.pulls)
        .collect();
    assert_eq!(pulls, [Some(0), Some(0), Some(4)]);
    // What cannot be.
    let refused = |request: Value| field(engine.decide_with("x", request));
    assert_eq!(refused(json!({"taken": "nobody"})), "taken");
    assert_eq!(refused(json!({"propensity": 0.5})), "propensity");
    assert_eq!(
        refused(json!({"taken": "new", "propensity": 0})),
        "propensity"
    );
    assert_eq!(
        refused(json!({"taken": "new", "propensity": 1.5})),
        "propensity"
    );
    // Out of shadow mode callers play what is drawn.
    engine.change("x", json!({"shadow": false})).unwrap();
    assert_eq!(refused(json!({"taken": "new"})), "taken");
    assert!(!engine.decide("x", "e").unwrap().shadow);
}

/// Every event has an author; those that may come back to their own decisions only do not get at others'.
fn authors_own_their_decisions(place: &Place) {
    let engine = Engine::start(&place.database);
    let by = |name: &str| Caller(engine.caller.0.by(Author::new(Some(name.into()))));
    let own = |name: &str| {
        let author = Author::new(Some(name.into())).of_its_own();
        Caller(engine.caller.0.by(author))
    };
    by("ann").create(plain("x")).unwrap();
    own("shop").decide("x", "order-1").unwrap();
    engine.caller.decide("x", "order-2").unwrap();
    let report = || json!({"reward": 1, "costs": {"errors": 0}});
    let is_forbidden = |refused: Result<(), Refusal>| {
        assert!(
            matches!(refused, Err(Refusal::Forbidden { .. })),
            "{refused:?}"
        );
    };
    is_forbidden(own("other").decide("x", "order-1").map(|_| ()));
    is_forbidden(own("other").report("x", "order-1", report()).map(|_| ()));
    is_forbidden(own("shop").decide("x", "order-2").map(|_| ()));
    assert!(own("shop").decide("x", "order-1").is_ok());
    assert!(own("shop").report("x", "order-1", report()).is_ok());
    // Who may report on any decision does.
    assert!(by("pipeline").report("x", "order-2", report()).is_ok());
    by("bob").change("x", json!({"status": "paused"})).unwrap();
    engine.stop();
    let records = place.open().read(0, 100).unwrap();
    let authors: Vec<(EventKind, String)> = (records.iter())
        .filter(|record| record.kind != EventKind::Policy)
        .map(|record| (record.kind, record.read().unwrap().0.to_string()))
        .collect();
    let expected = [
        (EventKind::Experiment, "ann"),
        (EventKind::Decision, "shop"),
        (EventKind::Decision, "anonymous"),
        (EventKind::Outcome, "shop"),
        (EventKind::Outcome, "pipeline"),
        (EventKind::Experiment, "bob"),
    ];
    assert_eq!(
        authors,
        expected.map(|(kind, name)| (kind, name.to_string()))
    );
    let changes = place
        .open()
        .changes(&Span::before(1, u64::MAX, 10))
        .unwrap();
    assert!(matches!(changes[0].event().unwrap(), Event::Edited(_)));
}
