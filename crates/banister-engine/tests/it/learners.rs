//! Learners beside the writer: they learn what others do, only later.

use crate::common;

use std::sync::mpsc::channel;
use std::time::Duration;

use banister::Fallback;
use banister_engine::{
    Author, Decide, Decided, Event, EventKind, Options, Refusal, Snapshot, Span, rebuild,
};
use common::engine::{Caller, Engine, check, field};
use common::{Place, both, until};
use serde_json::{Value, json};

/// Long enough to be detached.
const D: usize = 64;

both!(
    decisions_beside_the_writer_are_a_fold_of_the_log,
    arms_with_long_features_come_and_go,
    alarms_are_raised_beside_the_writer,
    an_alarm_is_recorded_once_however_far_behind_the_learner_is,
    a_large_request_moves_its_experiment,
    authors_own_their_decisions,
    decisions_beside_the_writer_keep_the_budget,
);

/// Feature vector number i, of length 1.
fn features(i: usize) -> Vec<f64> {
    let mut x = vec![0.0; D];
    x[1 + i % (D - 1)] = 0.6;
    x[1 + (i * 7 + 3) % (D - 1)] += 0.2;
    x
}

fn declare(name: &str) -> Value {
    let mut safe = vec![0.0; D];
    safe[0] = 1.0;
    json!({
        "name": name, "dimension": D, "safe_action": safe,
        "guardrails": [{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}],
        "agent": {"kind": "oplb", "parameter_norm": 2},
    })
}

fn request(i: usize) -> Value {
    json!({"id": format!("d{i}"), "actions": [features(i), features(i + 1)]})
}

/// Asks as the service does.
fn decide(caller: &Caller, name: &str, requests: &[Value]) -> Vec<Result<Decided, Refusal>> {
    let (sender, receiver) = channel();
    let commands = requests.iter().map(|request| {
        let request = serde_json::from_value(request.clone()).expect("a request");
        Decide::new(name.into(), request)
    });
    let sent = caller.0.decide(
        commands.collect(),
        || true,
        move |answers| {
            sender.send(answers).expect("somebody waits");
        },
    );
    sent.expect("there is room");
    let answer = receiver.recv_timeout(Duration::from_secs(60));
    answer.expect("an answer within a minute")
}

fn decide_one(caller: &Caller, name: &str, request: Value) -> Result<Decided, Refusal> {
    decide(caller, name, &[request]).remove(0)
}

fn often() -> Options {
    Options {
        snapshot_every: 7,
        ..Options::default()
    }
}

fn decisions_beside_the_writer_are_a_fold_of_the_log(place: &Place) {
    let engine = Engine::with(&place.database, often());
    engine.create(declare("x")).unwrap();
    engine.create(common::engine::plain("plain")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let caller = engine.caller.clone();
            scope.spawn(move || {
                for i in (0..60).filter(|i| i % 4 == thread) {
                    let decided = decide_one(&caller, "x", request(i)).unwrap();
                    check(&decided);
                    caller.decide("plain", &format!("p{i}")).unwrap();
                    let report = json!({"reward": 0.5, "costs": {"errors": (i % 2) as f64 / 4.0}});
                    caller.report("x", &format!("d{i}"), report).unwrap();
                    // Asked again, the answer is the same, whatever was learned since.
                    let again = decide_one(&caller, "x", request(i)).unwrap();
                    assert_eq!(
                        (again.number, again.action),
                        (decided.number, decided.action)
                    );
                    assert_eq!(again.probability, decided.probability);
                }
            });
        }
        // Paused in the middle: from the answer on every decision is the safe one.
        engine.change("x", json!({"status": "paused"})).unwrap();
        for i in 100..103 {
            let decided = decide_one(&engine.caller, "x", request(i)).unwrap();
            assert_eq!(decided.published.fallback, Some(Fallback::Paused));
        }
        engine.change("x", json!({"status": "running"})).unwrap();
    });
    let decided = decide_one(&engine.caller, "x", request(200)).unwrap();
    assert_eq!(decided.published.fallback, None);
    // Each waits until the learner has taken everything; then all 60 outcomes are known.
    let digest = engine.digest("x").unwrap();
    let decided = decide_one(&engine.caller, "x", request(201)).unwrap();
    assert_eq!(decided.published.outcomes, 60);
    // What an agent refuses is refused before it is written, though the agent is elsewhere.
    let wrong = engine.report(
        "x",
        "d200",
        json!({"reward": 1e200, "costs": {"errors": 0}}),
    );
    assert_eq!(field(wrong), "reward");
    let longer = vec![1.0; D];
    let wrong = decide_one(&engine.caller, "x", json!({"actions": [longer]}));
    assert!(field(wrong).starts_with("actions"));
    let (again, _) = engine.digest("x").unwrap();
    assert_ne!(again, digest.0, "decisions are counted");
    let snapshot: Option<Snapshot> = place.open().snapshot(1).unwrap();
    assert!(
        snapshot.unwrap().number > 1,
        "made beside the writer, kept by it"
    );
    // Stopped without a last word: what the snapshots say must do.
    let digest = engine.digest("x").unwrap();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    let engine = Engine::start(&place.database);
    assert_eq!(engine.digest("x").unwrap(), digest);
    assert_eq!(engine.live_state("x").outcomes, 60);
}

fn arms_with_long_features_come_and_go(place: &Place) {
    let engine = Engine::with(&place.database, often());
    let mut safe = vec![0.0; D];
    safe[0] = 1.0;
    let mut declaration = declare("x");
    let fields = declaration.as_object_mut().unwrap();
    fields.remove("dimension");
    fields.remove("safe_action");
    fields.insert("safe".into(), json!("safe"));
    fields.insert(
        "arms".into(),
        json!([{"name": "safe", "features": safe}, {"name": "one", "features": features(1)}]),
    );
    engine.create(declaration).unwrap();
    let decisions = |from: usize| {
        for i in from..from + 20 {
            let decided = decide_one(&engine.caller, "x", json!({"id": format!("d{i}")})).unwrap();
            check(&decided);
            let report = json!({"reward": 0.7, "costs": {"errors": 0.1}});
            engine.report("x", &format!("d{i}"), report).unwrap();
        }
    };
    decisions(0);
    engine
        .add_arm("x", json!({"name": "two", "features": features(9)}))
        .unwrap();
    let short = engine.add_arm("x", json!({"name": "no", "features": [1]}));
    assert_eq!(field(short), "features");
    decisions(20);
    engine.retire_arm("x", "one").unwrap();
    decisions(40);
    let decided = decide_one(&engine.caller, "x", json!({})).unwrap();
    assert_eq!(decided.published.probability(1), 0.0, "it was retired");
    let state = engine.live_state("x");
    let offered: Vec<bool> = (state.arms.iter())
        .map(|arm| arm.estimate.offered)
        .collect();
    assert_eq!(offered, [true, false, true]);
    // Decisions cite a policy; one that still stands is not written again.
    let digest = engine.digest("x").unwrap();
    for _ in 0..5 {
        decide_one(&engine.caller, "x", json!({})).unwrap();
    }
    let mut store = place.open();
    let records = store.read(digest.1, 100).unwrap();
    let policies = records.iter().filter(|r| r.kind == EventKind::Policy);
    let policies: Vec<_> = policies.collect();
    assert!(policies.len() <= 1, "{policies:#?}");
    drop(store);
    let digest = engine.digest("x").unwrap();
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    assert_eq!(Engine::start(&place.database).digest("x").unwrap(), digest);
}

fn alarms_are_raised_beside_the_writer(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = declare("x");
    declaration["agent"]["alarm_delta"] = json!(0.9);
    engine.create(declaration).unwrap();
    for i in 0..200 {
        decide_one(&engine.caller, "x", request(i)).unwrap();
        let report = json!({"reward": 0.5, "costs": {"errors": 1}});
        engine.report("x", &format!("d{i}"), report).unwrap();
        if !engine.show("x").unwrap().alarms.is_empty() {
            break;
        }
    }
    until("the alarm is recorded", || {
        !engine.show("x").unwrap().alarms.is_empty()
    });
    let decided = decide_one(&engine.caller, "x", request(500)).unwrap();
    assert_eq!(decided.published.fallback, Some(Fallback::Alarm));
    let digest = engine.digest("x").unwrap();
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    assert_eq!(Engine::start(&place.database).digest("x").unwrap(), digest);
}

fn an_alarm_is_recorded_once_however_far_behind_the_learner_is(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(declare("x")).unwrap();
    let requests: Vec<Value> = (0..100).map(request).collect();
    assert!(
        decide(&engine.caller, "x", &requests)
            .iter()
            .all(Result::is_ok)
    );
    for i in 0..100 {
        let cost = if i == 0 { 1.6 } else { 0.1 };
        let report = json!({"reward": 0.5, "costs": {"errors": cost}});
        engine.report("x", &format!("d{i}"), report).unwrap();
    }
    until("the alarm is recorded", || {
        !engine.show("x").unwrap().alarms.is_empty()
    });
    engine.digest("x").unwrap();
    engine.stop();
    let events = place.open().read(0, 10_000).unwrap();
    let events = events.iter().map(|record| record.event().unwrap());
    let raised = events.filter(|event| matches!(event, Event::AlarmRaised(_)));
    assert_eq!(raised.count(), 1);
}

/// Few features, but so many candidates that others should not wait.
fn a_large_request_moves_its_experiment(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = declare("x");
    declaration["dimension"] = json!(16);
    let mut safe = vec![0.0; 16];
    safe[0] = 1.0;
    declaration["safe_action"] = json!(safe);
    engine.create(declaration).unwrap();
    let one = |i: usize| {
        let mut x = vec![0.0; 16];
        x[1 + i % 15] = 0.5;
        x
    };
    let many: Vec<Vec<f64>> = (0..4000).map(one).collect();
    let first = decide_one(&engine.caller, "x", json!({"id": "a", "actions": many})).unwrap();
    let small = json!({"id": "b", "actions": [one(3)]});
    let second = decide_one(&engine.caller, "x", small.clone()).unwrap();
    engine
        .report("x", "a", json!({"reward": 1, "costs": {"errors": 0}}))
        .unwrap();
    assert_eq!(
        decide_one(&engine.caller, "x", small).unwrap().number,
        second.number
    );
    assert!(second.number > first.number);
    let batch: Vec<Value> = (0..20).map(|i| json!({"actions": [one(i)]})).collect();
    let answers = decide(&engine.caller, "x", &batch);
    assert!(answers.iter().all(|answer| answer.is_ok()));
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

/// Every event has an author; those that may come back to their own decisions only do not get at others'.
fn authors_own_their_decisions(place: &Place) {
    let engine = Engine::start(&place.database);
    let by = |name: &str| Caller(engine.caller.0.by(Author::new(Some(name.into()))));
    let own = |name: &str| {
        let author = Author::new(Some(name.into())).of_its_own();
        Caller(engine.caller.0.by(author))
    };
    by("ann").create(common::engine::plain("x")).unwrap();
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
    assert!(matches!(changes[0].event().unwrap(), Event::Changed(_)));
}

fn decisions_beside_the_writer_keep_the_budget(place: &Place) {
    let engine = Engine::with(&place.database, often());
    let mut declaration = declare("x");
    let budget = json!({"amount": 5, "per": "month", "when_exhausted": "refuse"});
    declaration["budgets"] = json!({ "errors": budget });
    engine.create(declaration).unwrap();
    // All are computed beside the writer before it has made any of them.
    let (sender, receiver) = channel();
    for i in 0..20 {
        let request = serde_json::from_value(request(i)).expect("a request");
        let sender = sender.clone();
        let sent = (engine.caller.0).decide(
            vec![Decide::new("x".into(), request)],
            || true,
            move |answers| sender.send(answers).expect("somebody waits"),
        );
        sent.expect("there is room");
    }
    let answers = (0..20).map(|_| receiver.recv_timeout(Duration::from_secs(60)));
    let answers: Vec<_> = answers.flat_map(|answer| answer.unwrap()).collect();
    let made = answers.iter().flatten().count();
    let refused =
        (answers.iter()).filter(|answer| matches!(answer, Err(Refusal::Exhausted { .. })));
    assert_eq!((made, refused.count()), (5, 15));
    let budget = engine.show("x").unwrap().budgets["errors"].as_slice()[0].clone();
    assert_eq!((budget.reserved, budget.remaining), (5.0, 0.0));
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}
