//! What becomes of decisions and experiments over time: defaults, pauses, ends.

use crate::common;

use banister_engine::{ExperimentStatus, rebuild};
use common::desk::{Desk, check, conflict, plain};
use common::{Place, both, until};
use serde_json::json;

both!(
    the_time_to_live_brings_the_default_outcome,
    a_default_keeps_the_parts_that_came,
    in_shadow_mode_the_time_to_live_teaches_nothing,
    paused_experiments_play_safe_and_learn,
    archived_experiments_are_over,
);

fn outcomes(desk: &Desk) -> u64 {
    desk.show("x").unwrap().counts.outcomes
}

fn the_time_to_live_brings_the_default_outcome(place: &Place) {
    let desk = Desk::start(&place.database);
    let mut declaration = plain("x");
    declaration["ttl_seconds"] = json!(0.001);
    declaration["default_outcome"] = json!({"reward": 0.25, "costs": {"errors": 1}});
    desk.create(declaration).unwrap();
    for id in ["a", "b", "c"] {
        desk.decide("x", id).unwrap();
    }
    until("three defaults", || {
        desk.show("x").unwrap().counts.expired == 3
    });
    assert_eq!(outcomes(&desk), 3);
    let late = desk.report("x", "a", json!({"reward": 1, "costs": {"errors": 1}}));
    let reason = conflict(late);
    assert!(reason.contains("by default"), "{reason}");
    // Whoever says the same is right.
    let same = json!({"reward": 0.25, "costs": {"errors": 1}});
    assert!(desk.report("x", "a", same).unwrap().complete);
    // Later ones, too, and after a restart; each of them once.
    desk.stop();
    let desk = Desk::start(&place.database);
    desk.decide("x", "d").unwrap();
    until("one more default", || {
        desk.show("x").unwrap().counts.expired == 4
    });
    assert_eq!(outcomes(&desk), 4);
    desk.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn a_default_keeps_the_parts_that_came(place: &Place) {
    let desk = Desk::start(&place.database);
    desk.create(plain("x")).unwrap();
    desk.decide("x", "part").unwrap();
    desk.decide("x", "whole").unwrap();
    desk.report("x", "part", json!({"reward": 0.75})).unwrap();
    desk.report("x", "whole", json!({"reward": 1, "costs": {"errors": 0}}))
        .unwrap();
    let default = json!({"reward": 0, "costs": {"errors": 1}});
    desk.change(
        "x",
        json!({"ttl_seconds": 0.001, "default_outcome": default}),
    )
    .unwrap();
    until("the default", || {
        desk.show("x").unwrap().counts.expired == 1
    });
    let known = desk.report("x", "part", json!({"reward": 0.75})).unwrap();
    assert_eq!((known.reward, known.costs), (Some(0.75), vec![Some(1.0)]));
    let known = desk.report("x", "whole", json!({"reward": 1})).unwrap();
    assert_eq!(known.costs, [Some(0.0)]);
    assert_eq!(outcomes(&desk), 2);
}

fn in_shadow_mode_the_time_to_live_teaches_nothing(place: &Place) {
    let desk = Desk::start(&place.database);
    let mut declaration = plain("x");
    declaration["shadow"] = json!(true);
    desk.create(declaration).unwrap();
    desk.decide("x", "nobody knows").unwrap();
    desk.decide_with("x", json!({"id": "known", "taken": "new"}))
        .unwrap();
    let default = json!({"reward": 0, "costs": {"errors": 1}});
    desk.change(
        "x",
        json!({"ttl_seconds": 0.001, "default_outcome": default}),
    )
    .unwrap();
    until("both are over", || {
        desk.show("x").unwrap().counts.expired == 2
    });
    assert_eq!(outcomes(&desk), 1);
    let late = json!({"reward": 1, "costs": {"errors": 0}, "taken": "odd"});
    let reason = conflict(desk.report("x", "nobody knows", late));
    assert!(reason.contains("time to live"), "{reason}");
}

fn paused_experiments_play_safe_and_learn(place: &Place) {
    let desk = Desk::start(&place.database);
    desk.create(plain("x")).unwrap();
    assert_eq!(desk.decide("x", "a").unwrap().published.fallback, None);
    let view = desk.change("x", json!({"status": "paused"})).unwrap();
    assert_eq!(view.status, ExperimentStatus::Paused);
    for id in ["b", "c"] {
        let decided = desk.decide("x", id).unwrap();
        check(&decided);
        assert_eq!(decided.published.policy, [(decided.published.safe, 1.0)]);
        assert_eq!(decided.published.fallback, Some(banister::Fallback::Paused));
    }
    let view = desk.show("x").unwrap();
    assert!(view.alarm.is_some());
    assert_eq!(view.counts.forced, 2);
    desk.report("x", "a", json!({"reward": 1, "costs": {"errors": 0}}))
        .unwrap();
    assert_eq!(outcomes(&desk), 1);
    desk.change("x", json!({"status": "running"})).unwrap();
    assert!(desk.show("x").unwrap().alarm.is_none());
    assert_eq!(desk.decide("x", "d").unwrap().published.fallback, None);
}

fn archived_experiments_are_over(place: &Place) {
    let desk = Desk::start(&place.database);
    desk.create(plain("x")).unwrap();
    let first = desk.decide("x", "a").unwrap();
    desk.decide("x", "b").unwrap();
    let outcome = json!({"reward": 1, "costs": {"errors": 0}});
    desk.report("x", "a", outcome.clone()).unwrap();
    desk.change("x", json!({"status": "archived"})).unwrap();
    conflict(desk.decide("x", "c"));
    conflict(desk.report("x", "b", outcome.clone()));
    conflict(desk.change("x", json!({"status": "running"})));
    conflict(desk.add_arm("x", json!({"name": "late"})));
    conflict(desk.retire_arm("x", "new"));
    conflict(desk.create(plain("x")));
    // What was said before can be heard again.
    assert_eq!(desk.decide("x", "a").unwrap().number, first.number);
    assert!(desk.report("x", "a", outcome).unwrap().complete);
    assert_eq!(desk.show("x").unwrap().status, ExperimentStatus::Archived);
}
