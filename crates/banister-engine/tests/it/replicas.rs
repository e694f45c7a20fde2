//! Several writers over one PostgreSQL database, with everything that can happen to them.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use banister_engine::{Database, PostgresLog, Refusal};
use common::engine::{Engine, plain};
use common::ledger::{Ledger, agree};
use common::server::{Server, skipped};
use common::{Place, decision, until, whole};

fn own_server() -> Option<Place> {
    (!skipped()).then(|| Place::on(Arc::new(Server::start())))
}

/// Ends all connections of a database.
fn kill_connections(place: &Place) {
    let Database::Postgres(PostgresLog { url, .. }) = &place.database else {
        return;
    };
    let mut client = postgres::Client::connect(url, postgres::NoTls).expect("a connection");
    kill_others(&mut client);
}

fn kill_others(client: &mut postgres::Client) {
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()";
    client.batch_execute(sql).expect("the connections end");
}

#[test]
fn replicas_share_one_log() {
    let Some(place) = Place::postgres() else {
        return;
    };
    let engines = [
        Engine::start(&place.database),
        Engine::start(&place.database),
    ];
    engines[0].create(plain("x")).unwrap();
    until("the other hears of it", || engines[1].show("x").is_ok());
    let ledger = Ledger::default();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (ledger, engines) = (&ledger, &engines);
            scope.spawn(move || {
                // Everybody does everything, each in another order, on one replica or on both.
                for i in 0..150 {
                    let id = format!("d{}", (i * 7 + worker * 41) % 150);
                    match worker % 3 {
                        0 => ledger.serve(&[&engines[0].caller], &id),
                        1 => ledger.serve(&[&engines[1].caller], &id),
                        _ => ledger.serve(&[&engines[0].caller, &engines[1].caller], &id),
                    }
                }
            });
        }
    });
    assert_eq!(ledger.count(), 8 * 150 * 3);
    assert_eq!(ledger.refused.load(Ordering::SeqCst), 0);
    ledger.check(&place.database);
    agree(&place.database, &[&engines[0], &engines[1]]);
}

#[test]
fn a_replica_that_dies_loses_nothing() {
    let Some(place) = own_server() else { return };
    let (dying, staying) = (
        Engine::start(&place.database),
        Engine::start(&place.database),
    );
    staying.create(plain("x")).unwrap();
    until("the other hears of it", || dying.show("x").is_ok());
    let ledger = Ledger::default();
    std::thread::scope(|scope| {
        for worker in 0..6 {
            let (ledger, callers) = (&ledger, [dying.caller.clone(), staying.caller.clone()]);
            scope.spawn(move || {
                for i in 0..100 {
                    ledger.serve(&[&callers[0], &callers[1]], &format!("w{worker}-{i}"));
                }
            });
        }
        // Under load everybody loses the connection, twice; then one of them ends for good.
        for acknowledged in [200, 500] {
            until("some work", || ledger.count() > acknowledged);
            kill_connections(&place);
        }
        until("some more work", || ledger.count() > 800);
        kill_connections(&place);
        drop(dying);
    });
    assert_eq!(ledger.count(), 6 * 100 * 3);
    assert!(ledger.refused.load(Ordering::SeqCst) > 0, "nobody noticed");
    ledger.check(&place.database);
    agree(&place.database, &[&staying]);
}

#[test]
fn restarts_of_the_server_lose_nothing() {
    let Some(place) = own_server() else { return };
    let Some(server) = place.server.clone() else {
        return;
    };
    let engines = [
        Engine::start(&place.database),
        Engine::start(&place.database),
    ];
    engines[0].create(plain("x")).unwrap();
    until("the other hears of it", || engines[1].show("x").is_ok());
    let ledger = Ledger::default();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for worker in 0..6 {
            let (ledger, engines, done) = (&ledger, &engines, &done);
            scope.spawn(move || {
                for i in 0.. {
                    if done.load(Ordering::SeqCst) {
                        return;
                    }
                    let caller = &engines[worker % 2].caller;
                    ledger.serve(&[caller], &format!("w{worker}-{i}"));
                }
            });
        }
        for mode in ["fast", "immediate", "fast", "immediate"] {
            let before = ledger.count();
            until("some work", || ledger.count() > before + 100);
            server.restart(mode);
        }
        // Down for longer than anybody has patience.
        let before = ledger.count();
        until("some work", || ledger.count() > before + 100);
        server.stop("immediate");
        let refused = ledger.refused.load(Ordering::SeqCst);
        until("callers hear of it", || {
            ledger.refused.load(Ordering::SeqCst) > refused
        });
        server.start_again();
        let before = ledger.count();
        until("it recovers by itself", || ledger.count() > before + 100);
        done.store(true, Ordering::SeqCst);
    });
    ledger.check(&place.database);
    agree(&place.database, &[&engines[0], &engines[1]]);
}

#[test]
fn a_frozen_replica_loses_the_log() {
    let Some(place) = Place::postgres() else {
        return;
    };
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    let mut frozen = place.open();
    let last = frozen.begin().unwrap().last;
    frozen.append(&[decision(last + 1, "ghost")]).unwrap();
    // The others get the log once the server has lost patience.
    let ledger = Ledger::default();
    ledger.serve(&[&engine.caller], "a");
    let error = frozen.commit().unwrap_err();
    assert!(error.passing, "{error}");
    frozen.rollback();
    assert!(frozen.begin().is_err_and(|error| error.passing));
    ledger.check(&place.database);
    agree(&place.database, &[&engine]);
}

#[test]
fn a_commit_that_fails_is_not_acknowledged() {
    let Some(place) = Place::postgres() else {
        return;
    };
    let Database::Postgres(PostgresLog { url, .. }) = &place.database else {
        return;
    };
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    // Every commit of events fails at the last moment, as on a full disk.
    let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
    let full = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$;
         CREATE CONSTRAINT TRIGGER full_disk AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
           FOR EACH ROW EXECUTE FUNCTION full_disk();";
    client.batch_execute(full).unwrap();
    let events = place.open().last().unwrap();
    for _ in 0..2 {
        match engine.decide("x", "a") {
            Err(Refusal::Unavailable { reason }) => {
                assert!(reason.contains("disk is full"), "{reason}");
            }
            other => panic!("acknowledged, but not written: {other:?}"),
        }
    }
    // What is in memory can be asked meanwhile, and says nothing of it.
    assert_eq!(engine.show("x").unwrap().counts.decisions, 0);
    assert_eq!(place.open().last(), Ok(events));
    let mut store = place.open();
    store.begin().unwrap();
    store.append(&[decision(events + 1, "b")]).unwrap();
    assert!(store.commit().is_err_and(|error| error.passing));
    store.rollback();
    client
        .batch_execute("DROP TRIGGER full_disk ON events")
        .unwrap();
    assert_eq!(
        store.begin().unwrap().last,
        events,
        "the connection is as good as before"
    );
    store.rollback();
    let ledger = Ledger::default();
    ledger.serve(&[&engine.caller], "a");
    ledger.check(&place.database);
    agree(&place.database, &[&engine]);
}

#[test]
fn listeners_come_back_and_end() {
    let Some(place) = own_server() else { return };
    let (Some(server), Database::Postgres(PostgresLog { url, .. })) =
        (&place.server, &place.database)
    else {
        return;
    };
    drop(place.open());
    let database = url
        .rsplit('/')
        .next()
        .and_then(|rest| rest.split('?').next());
    let database = database.unwrap_or_default().to_string();
    let mut admin = server.connect("postgres");
    let mut listeners = move || -> Vec<i32> {
        let sql = "SELECT pid FROM pg_stat_activity WHERE datname = $1 AND query LIKE 'LISTEN%'";
        let rows = admin.query(sql, &[&database]).unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    let wanted = Arc::new(AtomicBool::new(true));
    let calls = Arc::new(AtomicU64::new(0));
    let (still, count) = (wanted.clone(), calls.clone());
    place.database.listen(Box::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
        still.load(Ordering::SeqCst)
    }));
    until("it listens", || listeners().len() == 1);
    let first = listeners();
    kill_connections(&place);
    until("it listens again", || {
        let now = listeners();
        now.len() == 1 && now != first
    });
    let before = calls.load(Ordering::SeqCst);
    until("it is called", || calls.load(Ordering::SeqCst) > before);
    wanted.store(false, Ordering::SeqCst);
    until("it ends", || listeners().is_empty());
}

#[test]
fn another_log_is_not_taken_for_this_one() {
    let Some(place) = own_server() else { return };
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    let id = place.open().id().unwrap();
    place.run("", "UPDATE meta SET id = 'other'");
    kill_connections(&place);
    let refused = || engine.decide("x", "a").err().map(|e| e.to_string());
    until("it is refused", || {
        refused().is_some_and(|reason| reason.contains("another log (other)"))
    });
    place.run("", &format!("UPDATE meta SET id = '{id}'"));
    until("it is back", || engine.decide("x", "a").is_ok());
}

#[test]
fn another_history_is_read_anew() {
    let (Some(place), Some(other)) = (Place::postgres(), Place::postgres()) else {
        return;
    };
    let (Some(server), Database::Postgres(PostgresLog { url, .. })) =
        (&place.server, &place.database)
    else {
        return;
    };
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    engine.decide("x", "lost").unwrap();
    // The same experiment with another past, and more of it.
    let longer = Engine::start(&other.database);
    longer.create(plain("x")).unwrap();
    let ledger = Ledger::default();
    for i in 0..5 {
        ledger.serve(&[&longer.caller], &format!("d{i}"));
    }
    let events = whole(&mut *other.open());
    // It takes the place of the first one while nobody looks, as when a standby takes over.
    let name = url
        .rsplit('/')
        .next()
        .and_then(|rest| rest.split('?').next());
    let name = name.unwrap_or_default();
    let mut admin = server.connect("postgres");
    let mut allow = |yes: bool| {
        let sql = format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS {yes}");
        admin.batch_execute(&sql).unwrap();
    };
    let mut inside = server.connect(name);
    allow(false);
    kill_others(&mut inside);
    until("nobody looks", || {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()";
        let count: i64 = inside.query_one(sql, &[]).unwrap().get(0);
        count == 1
    });
    let mut transaction = inside.transaction().unwrap();
    transaction
        .batch_execute("DELETE FROM events; DELETE FROM snapshots")
        .unwrap();
    for r in &events {
        let sql = "INSERT INTO events (number, time, experiment, kind, decision, id, body) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let (number, experiment) = (r.number as i64, r.experiment as i64);
        let decision = r.decision.map(|n| n as i64);
        let kind = r.kind as i16;
        let values: [&(dyn postgres::types::ToSql + Sync); 7] = [
            &number,
            &r.time.0,
            &experiment,
            &kind,
            &decision,
            &r.id,
            &r.body,
        ];
        transaction.execute(sql, &values).unwrap();
    }
    let last = events.len() as i64;
    transaction
        .execute("UPDATE counter SET last = $1", &[&last])
        .unwrap();
    transaction.commit().unwrap();
    allow(true);
    let expected = longer.digest("x").unwrap();
    until("the other history is folded", || {
        engine.digest("x").is_ok_and(|digest| digest == expected)
    });
    assert!(engine.decide("x", "d0").unwrap().number == ledger.decisions.lock().unwrap()["d0"]);
    ledger.serve(&[&engine.caller], "new");
    ledger.check(&place.database);
    agree(&place.database, &[&engine]);
}
