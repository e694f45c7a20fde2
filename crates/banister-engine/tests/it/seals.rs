//! Damage of a log: every flipped bit is found, snapshots are only short cuts, and other versions are refused.

use crate::common;

use banister_engine::{Database, rebuild};
use common::engine::{Engine, plain};
use common::{Place, both, until, whole, write};
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use serde_json::json;

both!(logs_of_other_versions_are_refused, events_have_authors);

/// Events of every kind that callers cause.
fn fill(engine: &Engine) {
    engine.create(plain("x")).unwrap();
    engine.decide("x", "a").unwrap();
    engine.report("x", "a", json!({"reward": 1})).unwrap();
    engine
        .report("x", "a", json!({"costs": {"errors": 0}}))
        .unwrap();
    let nameless = engine.decide_with("x", json!({})).unwrap().id;
    let outcome = json!({"reward": 0.5, "costs": {"errors": 1}});
    engine.report("x", &nameless, outcome).unwrap();
    engine.change("x", json!({"description": "y"})).unwrap();
}

fn connect(place: &Place) -> Connection {
    let Database::Sqlite(path) = &place.database else {
        panic!("this log is not in a file");
    };
    Connection::open(path).expect("the file opens")
}

/// The same value with a bit flipped; `None` behind its end. What is absent becomes empty.
fn flipped(value: &Value, byte: usize) -> Option<Value> {
    let bit = 1 << (byte % 8);
    match value.clone() {
        Value::Integer(x) => (byte < 8).then(|| Value::Integer(x ^ (bit << (8 * byte)))),
        Value::Blob(mut bytes) => {
            *bytes.get_mut(byte)? ^= bit as u8;
            Some(Value::Blob(bytes))
        }
        Value::Text(text) => {
            let mut bytes = text.into_bytes();
            // The lowest bit, so that it stays a text.
            *bytes.get_mut(byte)? ^= 1;
            Some(Value::Text(String::from_utf8(bytes).expect("a text")))
        }
        Value::Null | Value::Real(_) => None,
    }
}

#[test]
fn a_bit_that_flips_anywhere_in_an_event_is_found() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    fill(&engine);
    engine.stop();
    let count = whole(&mut *place.open()).len() as i64;
    let file = connect(&place);
    // The log alone has to tell.
    file.execute("DELETE FROM snapshots", []).unwrap();
    let sound = rebuild(&place.database, |_, _| {}).unwrap();
    let mut flips = 0;
    for number in 1..=count {
        for column in ["time", "experiment", "kind", "decision", "id", "body"] {
            let select = format!("SELECT {column} FROM events WHERE number = ?1");
            let update = format!("UPDATE events SET {column} = ?2 WHERE number = ?1");
            let value: Value = file.query_row(&select, [number], |row| row.get(0)).unwrap();
            let present = match (column, &value) {
                ("decision", Value::Null) => Some(Value::Integer(0)),
                ("id", Value::Null) => Some(Value::Text(String::new())),
                _ => None,
            };
            let flipped = (0..).map_while(|byte| flipped(&value, byte)).chain(present);
            for damaged in flipped {
                // An index may refuse it, and then it cannot be in the file.
                if file.execute(&update, params![number, damaged]).is_ok() {
                    let found = rebuild(&place.database, |_, _| {});
                    assert!(found.is_err(), "event {number}, {column} is {damaged:?}");
                    flips += 1;
                }
            }
            file.execute(&update, params![number, value]).unwrap();
        }
    }
    assert!(flips > 1000, "only {flips} flips");
    assert_eq!(rebuild(&place.database, |_, _| {}), Ok(sound));
}

#[test]
fn a_damaged_or_lost_snapshot_is_no_obstacle() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    fill(&engine);
    engine.create(plain("other")).unwrap();
    let digests = |engine: &Engine| {
        until("the log is read", || engine.digest("x").is_ok());
        ["x", "other"].map(|name| engine.digest(name).unwrap())
    };
    let learned = digests(&engine);
    engine.stop();
    let file = connect(&place);
    let damages = [
        // The first byte, the seal, and two places in what is sealed.
        "UPDATE snapshots SET body = CAST(x'02' || substr(body, 2) AS BLOB) WHERE experiment = 1",
        "UPDATE snapshots SET body = CAST(substr(body, 1, 4) || x'00' || substr(body, 6) AS BLOB)",
        "UPDATE snapshots SET body = CAST(substr(body, 1, 99) || x'00' || substr(body, 101) AS BLOB)",
        "UPDATE snapshots SET body = substr(body, 1, length(body) - 1)",
        "UPDATE snapshots SET body = x''",
        "UPDATE snapshots SET number = number + 1",
        "UPDATE snapshots SET number = number - 1",
        "DELETE FROM snapshots WHERE experiment = 1",
        "DELETE FROM snapshots WHERE experiment <> 1",
        "DELETE FROM snapshots",
    ];
    for damage in damages {
        assert!(file.execute(damage, []).unwrap() > 0, "{damage}");
        let engine = Engine::start(&place.database);
        assert_eq!(digests(&engine), learned, "{damage}");
        engine.stop();
        // All new for the next.
        file.execute("DELETE FROM snapshots", []).unwrap();
        Engine::start(&place.database).stop();
    }
}

/// There is one version: what another one wrote is refused by name, and nothing is decided on it.
fn logs_of_other_versions_are_refused(place: &Place) {
    let scratch = Place::sqlite();
    let engine = Engine::start(&scratch.database);
    fill(&engine);
    engine.stop();
    let mut events = whole(&mut *scratch.open());
    events[1].body[0] += 1;
    write(&mut *place.open(), &events);
    let error = rebuild(&place.database, |_, _| {}).unwrap_err().to_string();
    assert!(
        error.contains("event 2") && error.contains("version"),
        "{error}"
    );
    let engine = Engine::start(&place.database);
    assert!(engine.decide("x", "b").is_err());
}

fn events_have_authors(place: &Place) {
    let engine = Engine::start(&place.database);
    fill(&engine);
    engine.stop();
    for record in whole(&mut *place.open()) {
        assert_eq!(record.verify(), Ok(()));
        let (author, _) = record.read().unwrap();
        assert_eq!(author.name(), "anonymous");
    }
}
