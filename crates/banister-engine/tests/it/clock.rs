//! The log's clock: a log that is far from the machine's time is written only where the operator says so, and
//! no time passes while it is set.

use crate::common;

use banister_engine::{Event, Options, Refusal, Timestamp, rebuild};
use common::engine::{Caller, Engine, plain};
use common::{Place, both, until, whole, write};
use serde_json::json;

both!(
    a_log_far_from_the_clock_waits_for_the_operator,
    decisions_are_as_old_after_the_clock_was_set_as_before,
);

const HOUR: i64 = 3_600_000_000;
const YEAR: i64 = 8766 * HOUR;

/// A log as it would be had it been written at another time: one experiment with a time to live of an hour,
/// one decision `a`. Seals say when an event was written, so these are sealed anew.
fn written_at(place: &Place, offset: i64) {
    let scratch = Place::sqlite();
    let engine = Engine::start(&scratch.database);
    let mut declaration = plain("x");
    declaration["ttl_seconds"] = json!(3600);
    engine.create(declaration).unwrap();
    engine.decide("x", "a").unwrap();
    engine.stop();
    let mut events = whole(&mut *scratch.open());
    for record in &mut events {
        let (author, event) = record.read().unwrap();
        record.time = Timestamp(record.time.0 + offset);
        record.write(&author, &event).unwrap();
    }
    write(&mut *place.open(), &events);
}

fn accepting() -> Options {
    Options {
        accept_clock: true,
        ..Options::default()
    }
}

fn refusal(caller: &Caller) -> String {
    match caller.decide("x", "b") {
        Err(Refusal::Unavailable { reason }) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

/// Numbers of the events that set the clock.
fn clock_sets(place: &Place) -> Vec<u64> {
    let events = place.open().read(0, 1000).unwrap();
    let mut last = Timestamp::default();
    let mut sets = Vec::new();
    for record in events {
        match record.event().unwrap() {
            Event::ClockSet { from, to } => {
                assert_eq!((Timestamp(from), Timestamp(to)), (last, record.time));
                sets.push(record.number);
            }
            _ => assert!(record.time >= last, "event {} goes back", record.number),
        }
        last = record.time;
    }
    sets
}

fn a_log_far_from_the_clock_waits_for_the_operator(place: &Place) {
    written_at(place, HOUR);
    let engine = Engine::start(&place.database);
    assert!(refusal(&engine).contains("--accept-clock"));
    // It can be read, and stays as it is.
    assert_eq!(engine.show("x").unwrap().counts.decisions, 1);
    engine.stop();
    assert!(clock_sets(place).is_empty());
    let engine = Engine::with(&place.database, accepting());
    let decided = engine.decide("x", "b").unwrap();
    assert!((Timestamp::now().seconds_since(decided.time)).abs() < 60.0);
    engine.stop();
    let sets = clock_sets(place);
    assert_eq!(sets.len(), 1);
    // Accepted once, it is a clock like any other; to accept it again changes nothing.
    let engine = Engine::start(&place.database);
    engine.decide("x", "c").unwrap();
    engine.stop();
    let engine = Engine::with(&place.database, accepting());
    engine.decide("x", "d").unwrap();
    engine.stop();
    assert_eq!(clock_sets(place), sets);
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}

fn decisions_are_as_old_after_the_clock_was_set_as_before(place: &Place) {
    // Two years in which nothing was written are not believed, only accepted: then they did not pass.
    written_at(place, -2 * YEAR);
    let engine = Engine::start(&place.database);
    assert!(refusal(&engine).contains("--accept-clock"));
    engine.stop();
    let engine = Engine::with(&place.database, accepting());
    // Already in the commit that sets it.
    engine.report("x", "a", json!({"reward": 1})).unwrap();
    assert_eq!(clock_sets(place).len(), 1);
    engine.stop();
    // The same after a start from the snapshots of that end, which are newer than the setting.
    let engine = Engine::start(&place.database);
    until("the log is read", || engine.show("x").is_ok());
    let cost = json!({"costs": {"errors": 0}});
    let reported = engine.report("x", "a", cost).unwrap();
    assert_eq!(reported.status, banister_engine::OutcomeStatus::Pending);
    assert_eq!(engine.show("x").unwrap().counts.expired, 0);
    engine.stop();
    assert!(rebuild(&place.database, |_, _| {}).unwrap().is_equal());
}
