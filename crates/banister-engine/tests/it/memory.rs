//! Decisions that memory holds in part, or not at all, are served from the log.

use crate::common;

use banister_engine::{Event, Key, Options, OutcomeReport, ReadExperimentInfo, Report};
use common::engine::{Engine, conflict};
use common::{Place, both};
use serde_json::{Value, json};

both!(
    decisions_with_candidates_are_repeated_and_reported,
    large_decisions_are_reported_in_one_commit,
);

/// Room for all open decisions, for some, for none.
const ROOMS: [usize; 3] = [128 << 20, 2000, 0];

fn declare(name: &str, shadow: bool) -> Value {
    json!({
        "name": name,
        "dimension": 2,
        "safe_action": [1, 0],
        "shadow": shadow,
        "guardrails": [{"name": "errors", "at_most": 0.6, "safe_cost": 0.1}],
        "agent": {"kind": "oplb", "parameter_norm": 2},
    })
}

fn start(place: &Place, open_bytes: usize) -> Engine {
    let options = Options {
        open_bytes,
        ..Options::default()
    };
    Engine::with(&place.database, options)
}

fn decisions_with_candidates_are_repeated_and_reported(place: &Place) {
    for room in ROOMS {
        let engine = start(place, room);
        let (plain, shadow) = (format!("plain-{room}"), format!("shadow-{room}"));
        engine.create(declare(&plain, false)).unwrap();
        engine.create(declare(&shadow, true)).unwrap();
        let candidates = json!([[0.5, 0.5], {"name": "far", "features": [0, 1]}]);
        let request = |i: usize| json!({"id": format!("d{i}"), "actions": candidates});
        for name in [&plain, &shadow] {
            let first: Vec<_> = (0..20)
                .map(|i| engine.decide_with(name, request(i)).unwrap())
                .collect();
            for (i, first) in first.iter().enumerate() {
                let again = engine.decide_with(name, request(i)).unwrap();
                assert_eq!(format!("{again:?}"), format!("{first:?}"));
                assert_eq!(again.published.candidates, [None, Some("far".into())]);
            }
            conflict(engine.decide_with(name, json!({"id": "d0", "actions": [[0, 1]]})));
        }
        let whole = json!({"reward": 1, "costs": {"errors": 0}});
        let mut taken = whole.clone();
        taken["taken"] = json!("far");
        for i in [0, 19] {
            let id = format!("d{i}");
            assert!(
                engine
                    .report(&plain, &id, whole.clone())
                    .unwrap()
                    .is_complete()
            );
            assert!(
                engine
                    .report(&shadow, &id, taken.clone())
                    .unwrap()
                    .is_complete()
            );
        }
        let info = engine.query(ReadExperimentInfo(shadow.as_str().into()));
        let key = info.unwrap().key;
        let mut store = place.database.open_reader().unwrap();
        for i in [0, 19] {
            // Learned are the features of what was taken, not of what was drawn.
            let found = store.find(&[(key, Key::Id(format!("d{i}")))]).unwrap();
            let found = found.into_iter().flatten().next().unwrap();
            let Event::Outcome(outcome) = found.reports[0].event().unwrap() else {
                panic!("an outcome");
            };
            assert_eq!(outcome.features, [0.0, 1.0]);
        }
        drop(store);
        engine.stop();
    }
}

fn large_decisions_are_reported_in_one_commit(place: &Place) {
    let engine = start(place, 0);
    engine.create(declare("x", false)).unwrap();
    // 140 decisions of 55 KB each are several pages.
    let candidates = json!(vec![[0.25, 0.25]; 2900]);
    let ids: Vec<String> = (0..140).map(|i| format!("d{i}")).collect();
    for id in &ids {
        let request = json!({"id": id, "actions": candidates});
        engine.decide_with("x", request).unwrap();
    }
    let reports = ids.iter().map(|id| Report {
        experiment: "x".into(),
        report: OutcomeReport {
            decision: id.clone(),
            reward: Some(1.0),
            costs: [("errors".to_string(), Some(0.0))].into(),
            ..OutcomeReport::default()
        },
    });
    let answers = engine.execute_all(reports.collect()).unwrap();
    assert!(
        answers
            .into_iter()
            .all(|answer| answer.unwrap().is_complete())
    );
}
