//! Decisions and experiments over time: defaults, pauses, ends.

use crate::common;

use banister_engine::{ExperimentStatus, rebuild};
use common::engine::{Engine, check, conflict, plain};
use common::{Place, both, until};
use serde_json::json;

both!(
    the_time_to_live_brings_the_default_outcome,
    a_default_keeps_the_parts_that_came,
    in_shadow_mode_the_time_to_live_teaches_nothing,
    paused_experiments_play_safe_and_learn,
    archived_experiments_are_over,
);

fn outcomes(engine: &Engine) -> u64 {
    engine.show("x").unwrap().counts.outcomes
}

fn the_time_to_live_brings_the_default_outcome(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["ttl_seconds"] = json!(0.001);
    declaration["default_outcome"] = json!({"reward": 0.25, "costs": {"errors": 1}});
    engine.create(declaration).unwrap();
    for id in ["a", "b", "c"] {
        engine.decide("x", id).unwrap();
    }
    until("three defaults", || {
        engine.show("x").unwrap().counts.expired == 3
    });
    assert_eq!(outcomes(&engine), 3);
    let late = engine.report("x", "a", json!({"reward": 1, "costs": {"errors": 1}}));
    let reason = conflict(late);
    assert!(reason.contains("by default"), "{reason}");
    // Whoever says the same is right.
    let same = json!({"reward": 0.25, "costs": {"errors": 1}});
    assert!(engine.report("x", "a", same).unwrap().is_complete());
    // Later ones, too, and after a restart; each of them once.
    engine.stop();
    let engine = Engine::start(&place.database);
    engine.decide("x", "d").unwrap();
    until("one more default", || {
        engine.show("x").unwrap().counts.expired == 4
    });
    assert_eq!(outcomes(&engine), 4);
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn a_default_keeps_the_parts_that_came(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    engine.decide("x", "part").unwrap();
    engine.decide("x", "whole").unwrap();
    engine.report("x", "part", json!({"reward": 0.75})).unwrap();
    engine
        .report("x", "whole", json!({"reward": 1, "costs": {"errors": 0}}))
        .unwrap();
    let default = json!({"reward": 0, "costs": {"errors": 1}});
    engine
        .change(
            "x",
            json!({"ttl_seconds": 0.001, "default_outcome": default}),
        )
        .unwrap();
    until("the default", || {
        engine.show("x").unwrap().counts.expired == 1
    });
    let known = engine.report("x", "part", json!({"reward": 0.75})).unwrap();
    assert_eq!(
        (known.reward, known.costs["errors"]),
        (Some(0.75), Some(1.0))
    );
    let known = engine.report("x", "whole", json!({"reward": 1})).unwrap();
    assert_eq!(known.costs["errors"], Some(0.0));
    assert_eq!(outcomes(&engine), 2);
}

fn in_shadow_mode_the_time_to_live_teaches_nothing(place: &Place) {
    let engine = Engine::start(&place.database);
    let mut declaration = plain("x");
    declaration["shadow"] = json!(true);
    engine.create(declaration).unwrap();
    engine.decide("x", "nobody knows").unwrap();
    engine
        .decide_with("x", json!({"id": "known", "taken": "new"}))
        .unwrap();
    let default = json!({"reward": 0, "costs": {"errors": 1}});
    engine
        .change(
            "x",
            json!({"ttl_seconds": 0.001, "default_outcome": default}),
        )
        .unwrap();
    until("both are over", || {
        engine.show("x").unwrap().counts.expired == 2
    });
    assert_eq!(outcomes(&engine), 1);
    let late = json!({"reward": 1, "costs": {"errors": 0}, "taken": "odd"});
    let reason = conflict(engine.report("x", "nobody knows", late));
    assert!(reason.contains("time to live"), "{reason}");
}

fn paused_experiments_play_safe_and_learn(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    assert_eq!(engine.decide("x", "a").unwrap().published.fallback, None);
    let view = engine.change("x", json!({"status": "paused"})).unwrap();
    assert_eq!(view.status, ExperimentStatus::Paused);
    for id in ["b", "c"] {
        let decided = engine.decide("x", id).unwrap();
        check(&decided);
        assert_eq!(
            decided.published.policy,
            [(decided.published.safe as usize, 1.0)]
        );
        assert_eq!(decided.published.fallback, Some(banister::Fallback::Paused));
    }
    let view = engine.show("x").unwrap();
    assert!(view.alarm.is_some());
    assert_eq!(view.counts.forced, 2);
    engine
        .report("x", "a", json!({"reward": 1, "costs": {"errors": 0}}))
        .unwrap();
    assert_eq!(outcomes(&engine), 1);
    engine.change("x", json!({"status": "running"})).unwrap();
    assert!(engine.show("x").unwrap().alarm.is_none());
    assert_eq!(engine.decide("x", "d").unwrap().published.fallback, None);
}

fn archived_experiments_are_over(place: &Place) {
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    let first = engine.decide("x", "a").unwrap();
    engine.decide("x", "b").unwrap();
    let outcome = json!({"reward": 1, "costs": {"errors": 0}});
    engine.report("x", "a", outcome.clone()).unwrap();
    engine.change("x", json!({"status": "archived"})).unwrap();
    conflict(engine.decide("x", "c"));
    conflict(engine.report("x", "b", outcome.clone()));
    conflict(engine.change("x", json!({"status": "running"})));
    conflict(engine.add_arm("x", json!({"name": "late"})));
    conflict(engine.retire_arm("x", "new"));
    conflict(engine.create(plain("x")));
    // What was said before can be heard again.
    assert_eq!(engine.decide("x", "a").unwrap().number, first.number);
    assert!(engine.report("x", "a", outcome).unwrap().is_complete());
    assert_eq!(engine.show("x").unwrap().status, ExperimentStatus::Archived);
}
