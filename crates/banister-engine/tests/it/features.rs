//! Actions with features, and arms: what is learned of them is a fold of the log.

use crate::common;

use banister::Fallback;
use banister_engine::{EventKind, Options, Snapshot, rebuild};
use common::engine::{Engine, check, field};
use common::{Place, both, until};
use serde_json::{Value, json};

const D: usize = 64;

both!(
    decisions_on_features_are_a_fold_of_the_log,
    arms_with_long_features_come_and_go,
    a_breach_on_features_raises_an_alarm,
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

fn often() -> Options {
    Options {
        snapshot_every: 7,
        ..Options::default()
    }
}

fn decisions_on_features_are_a_fold_of_the_log(place: &Place) {
    let engine = Engine::with(&place.database, often());
    engine.create(declare("x")).unwrap();
    engine.create(common::engine::plain("plain")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let caller = engine.caller.clone();
            scope.spawn(move || {
                for i in (0..60).filter(|i| i % 4 == thread) {
                    let decided = caller.decide_with("x", request(i)).unwrap();
                    check(&decided);
                    caller.decide("plain", &format!("p{i}")).unwrap();
                    let report = json!({"reward": 0.5, "costs": {"errors": (i % 2) as f64 / 4.0}});
                    caller.report("x", &format!("d{i}"), report).unwrap();
                    // Asked again, the answer is the same, whatever was learned since.
                    let again = caller.decide_with("x", request(i)).unwrap();
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
            let decided = engine.decide_with("x", request(i)).unwrap();
            assert_eq!(decided.published.fallback, Some(Fallback::Paused));
        }
        engine.change("x", json!({"status": "running"})).unwrap();
    });
    let decided = engine.decide_with("x", request(200)).unwrap();
    assert_eq!(decided.published.fallback, None);
    let digest = engine.digest("x").unwrap();
    let decided = engine.decide_with("x", request(201)).unwrap();
    assert_eq!(decided.published.outcomes, 60);
    // What an agent refuses is refused before it is written.
    let wrong = engine.report(
        "x",
        "d200",
        json!({"reward": 1e200, "costs": {"errors": 0}}),
    );
    assert_eq!(field(wrong), "reward");
    let longer = vec![1.0; D];
    let wrong = engine.decide_with("x", json!({"actions": [longer]}));
    assert!(field(wrong).starts_with("actions"));
    let (again, _) = engine.digest("x").unwrap();
    assert_ne!(again, digest.0, "decisions are counted");
    let snapshot: Option<Snapshot> = place.open().snapshot(1).unwrap();
    assert!(snapshot.unwrap().number > 1);
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
            let decided = engine
                .decide_with("x", json!({"id": format!("d{i}")}))
                .unwrap();
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
    let decided = engine.decide_with("x", json!({})).unwrap();
    assert_eq!(decided.published.probability(1), 0.0, "it was retired");
    let state = engine.live_state("x");
    let offered: Vec<bool> = (state.arms.iter())
        .map(|arm| arm.estimate.offered)
        .collect();
    assert_eq!(offered, [true, false, true]);
    // Decisions cite a policy; one that still stands is not written again.
    let digest = engine.digest("x").unwrap();
    for _ in 0..5 {
        engine.decide_with("x", json!({})).unwrap();
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

fn a_breach_on_features_raises_an_alarm(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = declare("x");
    declaration["agent"]["alarm_delta"] = json!(0.9);
    engine.create(declaration).unwrap();
    for i in 0..200 {
        engine.decide_with("x", request(i)).unwrap();
        let report = json!({"reward": 0.5, "costs": {"errors": 1}});
        engine.report("x", &format!("d{i}"), report).unwrap();
        if !engine.show("x").unwrap().alarms.is_empty() {
            break;
        }
    }
    until("the alarm is recorded", || {
        !engine.show("x").unwrap().alarms.is_empty()
    });
    let decided = engine.decide_with("x", request(500)).unwrap();
    assert_eq!(decided.published.fallback, Some(Fallback::Alarm));
    let digest = engine.digest("x").unwrap();
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
    assert_eq!(Engine::start(&place.database).digest("x").unwrap(), digest);
}
