//! The promises of a store, held against both stores.

use crate::common;

use banister_engine::{
    Database, EventKind, Found, Key, REVOKED, Record, Snapshot, Span, StoredToken, Timestamp,
};
use common::{Place, both, decision, record, report, whole, write};

both!(
    numbers_have_no_gaps,
    rollback_leaves_nothing,
    a_transaction_that_failed_is_not_committed,
    a_second_writer_waits_and_sees_the_first_ones_events,
    an_id_belongs_to_one_decision_of_an_experiment,
    a_decision_has_one_outcome_and_many_parts,
    events_come_back_as_they_were_written,
    reading_goes_page_by_page,
    pages_are_bounded_in_bytes,
    decisions_are_found_by_number_and_id,
    decisions_are_listed_newest_first,
    overdue_are_those_without_an_outcome,
    snapshots_only_move_forward,
    tokens_are_kept_by_name,
    reopening_keeps_everything,
    readers_see_what_is_committed,
    a_reader_makes_no_log,
    it_is_laid_out_once,
    the_clock_is_read_with_the_counter,
    experiments_and_their_changes_are_found,
    a_log_that_does_not_end_at_its_counter_is_not_whole,
);

fn numbers_have_no_gaps(place: &Place) {
    let mut store = place.open();
    assert_eq!(store.last(), Ok(0));
    assert_eq!(store.begin().unwrap().last, 0);
    let first: Vec<Record> = (1..=3).map(|n| record(n, EventKind::Policy)).collect();
    store.append(&first).unwrap();
    store.commit().unwrap();
    assert_eq!(store.begin().unwrap().last, 3);
    let second: Vec<Record> = (4..=2000).map(|n| record(n, EventKind::Policy)).collect();
    store.append(&second).unwrap();
    // Nothing to append is nothing done.
    store.append(&[]).unwrap();
    store.commit().unwrap();
    assert_eq!(store.last(), Ok(2000));
    assert_eq!(whole(&mut *store).len(), 2000);
}

fn rollback_leaves_nothing(place: &Place) {
    let mut store = place.open();
    write(&mut *store, &[decision(1, "a")]);
    store.begin().unwrap();
    store.append(&[decision(2, "b"), decision(3, "c")]).unwrap();
    store.rollback();
    // Again, and without a transaction: nothing to undo.
    store.rollback();
    assert_eq!(store.last(), Ok(1));
    assert_eq!(store.get(2), Ok(None));
    write(&mut *store, &[decision(2, "b")]);
    assert_eq!(whole(&mut *store).len(), 2);
}

fn a_transaction_that_failed_is_not_committed(place: &Place) {
    let mut store = place.open();
    write(&mut *store, &[decision(1, "a")]);
    store.begin().unwrap();
    assert!(store.append(&[record(1, EventKind::Policy)]).is_err());
    store.rollback();
    // It is as good as new.
    write(&mut *store, &[decision(2, "b")]);
    assert_eq!(whole(&mut *store).len(), 2);
    assert!(store.commit().is_err(), "nothing has begun");
}

fn a_second_writer_waits_and_sees_the_first_ones_events(place: &Place) {
    let mut first = place.open();
    let mut second = place.open();
    assert_eq!(first.begin().unwrap().last, 0);
    let (sender, begun) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            sender.send(None).unwrap();
            sender.send(Some(second.begin().unwrap().last)).unwrap();
            let seen = second.read(0, 10).unwrap().len();
            second.append(&[decision(3, "c")]).unwrap();
            second.commit().unwrap();
            assert_eq!(seen, 2);
        });
        assert_eq!(begun.recv().unwrap(), None);
        first.append(&[decision(1, "a"), decision(2, "b")]).unwrap();
        assert!(begun.try_recv().is_err(), "the first one holds the log");
        first.commit().unwrap();
        assert_eq!(begun.recv().unwrap(), Some(2));
    });
    assert_eq!(whole(&mut *first).len(), 3);
}

fn an_id_belongs_to_one_decision_of_an_experiment(place: &Place) {
    let mut store = place.open();
    let elsewhere = Record {
        experiment: 2,
        ..decision(2, "a")
    };
    let anonymous = record(3, EventKind::Decision);
    let nameless = record(4, EventKind::Decision);
    write(
        &mut *store,
        &[decision(1, "a"), elsewhere, anonymous, nameless],
    );
    store.begin().unwrap();
    assert!(store.append(&[decision(5, "a")]).is_err());
    store.rollback();
    // Ids that differ in case or accents differ.
    write(&mut *store, &[decision(5, "A"), decision(6, "ä")]);
}

fn a_decision_has_one_outcome_and_many_parts(place: &Place) {
    let mut store = place.open();
    let events = [
        decision(1, "a"),
        decision(2, "b"),
        report(3, EventKind::Part, 1),
        report(4, EventKind::Part, 1),
        report(5, EventKind::Outcome, 1),
        report(6, EventKind::Outcome, 2),
    ];
    write(&mut *store, &events);
    store.begin().unwrap();
    assert!(store.append(&[report(7, EventKind::Outcome, 1)]).is_err());
    store.rollback();
    assert_eq!(store.last(), Ok(6));
}

fn events_come_back_as_they_were_written(place: &Place) {
    let mut store = place.open();
    let events = [
        Record {
            body: Vec::new(),
            ..decision(1, "quote ' \" \\ % 日本 🙂")
        },
        Record {
            time: Timestamp(i64::MAX),
            experiment: i64::MAX as u64,
            decision: Some(i64::MAX as u64),
            body: (0..=255).cycle().take(100_000).collect(),
            ..record(2, EventKind::Part)
        },
        record(3, EventKind::Experiment),
        record(4, EventKind::Import),
    ];
    write(&mut *store, &events);
    assert_eq!(store.read(0, 10).unwrap(), events);
    for event in &events {
        assert_eq!(store.get(event.number).unwrap().as_ref(), Some(event));
    }
}

fn reading_goes_page_by_page(place: &Place) {
    let mut store = place.open();
    let events: Vec<Record> = (1..=25).map(|n| record(n, EventKind::Policy)).collect();
    write(&mut *store, &events);
    assert_eq!(store.read(0, 10).unwrap(), events[..10]);
    assert_eq!(store.read(10, 10).unwrap(), events[10..20]);
    assert_eq!(store.read(20, 10).unwrap(), events[20..]);
    assert_eq!(store.read(25, 10).unwrap(), []);
    assert_eq!(store.get(0), Ok(None));
    assert_eq!(store.get(26), Ok(None));
}

fn pages_are_bounded_in_bytes(place: &Place) {
    let mut store = place.open();
    let sizes = [400_000, 400_000, 400_000, 5_000_000, 0, 0, 100];
    let events: Vec<Record> = (1..)
        .zip(sizes)
        .map(|(n, size)| Record {
            body: vec![n as u8; size],
            ..decision(n, &n.to_string())
        })
        .collect();
    write(&mut *store, &events);
    write(&mut *store, &[report(8, EventKind::Part, 1)]);
    // A page ends with the event that reaches a megabyte, and has at least one.
    assert_eq!(store.read(0, 10).unwrap(), events[..3]);
    assert_eq!(store.read(2, 10).unwrap(), events[2..4]);
    assert_eq!(store.read(3, 10).unwrap(), events[3..4]);
    assert_eq!(store.read(4, 3).unwrap(), events[4..]);
    let numbers = |found: Vec<Found>| -> Vec<u64> {
        found.iter().map(|found| found.decision.number).collect()
    };
    let after = store.decisions(&Span::after(1, 0, 10)).unwrap();
    assert_eq!(after[0].reports.len(), 1);
    assert_eq!(numbers(after), [1, 2, 3]);
    assert_eq!(
        numbers(store.decisions(&Span::after(1, 3, 10)).unwrap()),
        [4]
    );
    let newest = store.decisions(&Span::before(1, u64::MAX, 10)).unwrap();
    assert_eq!(numbers(newest), [7, 6, 5, 4]);
    assert_eq!(
        numbers(store.decisions(&Span::before(1, 4, 10)).unwrap()),
        [3, 2, 1]
    );
    // Keys beyond the page are asked for again.
    let key = |n: u64| (1, Key::Number(n));
    let keys = [(1, Key::Id("4".into())), key(99), key(1), key(2)];
    let found = store.find(&keys).unwrap();
    assert!(found.len() <= 2 && found[0].is_some());
    assert_eq!(found.into_iter().flatten().count(), 1);
    let found = store.find(&keys[2..]).unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].as_ref().unwrap().reports.len(), 1);
}

fn decisions_are_found_by_number_and_id(place: &Place) {
    let mut store = place.open();
    let (part, outcome) = (EventKind::Part, EventKind::Outcome);
    let events = [
        record(1, EventKind::Experiment),
        decision(2, "a"),
        decision(3, "b"),
        report(4, part, 2),
        report(5, outcome, 3),
        report(6, part, 2),
        report(7, outcome, 2),
        record(8, EventKind::Decision),
    ];
    write(&mut *store, &events);
    let id = |id: &str| (1, Key::Id(id.into()));
    let number = |number| (1, Key::Number(number));
    let keys = [
        id("b"),
        id("nobody"),
        number(2),
        (2, Key::Id("a".into())),
        (2, Key::Number(2)),
        number(1),
        number(4),
        number(9),
        number(u64::MAX),
        id("a\0b"),
        id("a"),
        number(8),
        number(2),
    ];
    let found = store.find(&keys).unwrap();
    let shown: Vec<Option<(u64, Vec<u64>)>> = (found.iter())
        .map(|found| {
            let found = found.as_ref()?;
            let reports = found.reports.iter().map(|r| r.number).collect();
            Some((found.decision.number, reports))
        })
        .collect();
    let a = Some((2, vec![4, 6, 7]));
    let mut expected = vec![None; keys.len()];
    expected[0] = Some((3, vec![5]));
    (expected[2], expected[10], expected[12]) = (a.clone(), a.clone(), a);
    expected[11] = Some((8, vec![]));
    assert_eq!(shown, expected);
    assert_eq!(found[2].as_ref().unwrap().decision, events[1]);
    assert_eq!(found[2].as_ref().unwrap().reports[2], events[6]);
    assert_eq!(store.find(&[]).unwrap(), []);
}

fn decisions_are_listed_newest_first(place: &Place) {
    let mut store = place.open();
    let other = Record {
        experiment: 9,
        ..decision(4, "a")
    };
    let events = [
        decision(1, "a"),
        decision(2, "b"),
        report(3, EventKind::Part, 1),
        other,
        decision(5, "c"),
        report(6, EventKind::Outcome, 1),
    ];
    write(&mut *store, &events);
    let mut list = |before, limit| -> Vec<(u64, usize)> {
        let found = store.decisions(&Span::before(1, before, limit)).unwrap();
        let shown = found.iter().map(|f| (f.decision.number, f.reports.len()));
        shown.collect()
    };
    assert_eq!(list(u64::MAX, 10), [(5, 0), (2, 0), (1, 2)]);
    assert_eq!(list(u64::MAX, 2), [(5, 0), (2, 0)]);
    assert_eq!(list(5, 2), [(2, 0), (1, 2)]);
    assert_eq!(list(1, 2), []);
    let reports = store
        .decisions(&Span::before(1, 2, 1))
        .unwrap()
        .remove(0)
        .reports;
    assert_eq!(reports, [events[2].clone(), events[5].clone()]);
}

fn overdue_are_those_without_an_outcome(place: &Place) {
    let mut store = place.open();
    let other = Record {
        experiment: 9,
        ..decision(6, "a")
    };
    let events = [
        decision(1, "a"),
        decision(2, "b"),
        decision(3, "c"),
        report(4, EventKind::Part, 1),
        report(5, EventKind::Outcome, 2),
        other,
        decision(7, "d"),
    ];
    write(&mut *store, &events);
    let mut overdue = |experiment, after, upto: u64, limit| {
        let span = Span::after(experiment, after, limit);
        let before = upto + 1;
        store.overdue(&Span { before, ..span })
    };
    assert_eq!(overdue(1, 0, 7, 10), Ok(vec![1, 3, 7]));
    assert_eq!(overdue(1, 1, 6, 10), Ok(vec![3]));
    assert_eq!(overdue(1, 0, 7, 2), Ok(vec![1, 3]));
    assert_eq!(overdue(2, 0, 7, 10), Ok(vec![]));
}

fn snapshots_only_move_forward(place: &Place) {
    let mut store = place.open();
    let snapshot = |experiment, number, body: &[u8]| Snapshot {
        experiment,
        number,
        body: body.to_vec(),
    };
    let events: Vec<Record> = (1..=20).map(|n| record(n, EventKind::Policy)).collect();
    write(&mut *store, &events);
    // One that no event of the log can have made gives way to any.
    store.keep_snapshot(&snapshot(4, 21, b"beyond")).unwrap();
    let (late, early) = (snapshot(4, 20, b"late"), snapshot(4, 10, b"early"));
    store.keep_snapshot(&snapshot(9, 9, b"other")).unwrap();
    store.keep_snapshot(&early).unwrap();
    // One that cannot be read is replaced by its equal.
    store.keep_snapshot(&snapshot(4, 20, b"damaged")).unwrap();
    store.keep_snapshot(&late).unwrap();
    store.keep_snapshot(&early).unwrap();
    assert_eq!(store.snapshots(), Ok(vec![4, 9]));
    assert_eq!(store.snapshot(4), Ok(Some(late.clone())));
    assert_eq!(store.snapshot(9), Ok(Some(snapshot(9, 9, b"other"))));
    assert_eq!(store.snapshot(5), Ok(None));
    // In a transaction it goes with it.
    store.begin().unwrap();
    store.keep_snapshot(&snapshot(4, 30, b"lost")).unwrap();
    store.rollback();
    assert_eq!(store.snapshot(4), Ok(Some(late)));
}

fn tokens_are_kept_by_name(place: &Place) {
    let mut store = place.open();
    let token = |name: &str, role: &str| StoredToken {
        name: name.into(),
        role: role.into(),
        digest: [7; 32],
        created: Timestamp(123_456),
        scope: Some("checkout-*,ranking".into()),
        expires: Some(Timestamp(789)),
        rate: Some(2.5),
    };
    for (name, role) in [("web", "decide"), ("Ops", "admin"), ("page", "read")] {
        assert_eq!(store.add_token(&token(name, role)), Ok(true));
    }
    assert_eq!(store.add_token(&token("web", "admin")), Ok(false));
    let all = [
        token("Ops", "admin"),
        token("page", "read"),
        token("web", "decide"),
    ];
    assert_eq!(store.tokens().unwrap(), all);
    assert_eq!(store.revoke_token("page"), Ok(true));
    assert_eq!(store.revoke_token("page"), Ok(false));
    // That there was one is remembered, but not what it was; its name is free again.
    let revoked = store.tokens().unwrap().remove(1);
    assert_eq!(
        (revoked.name.as_str(), revoked.role.as_str()),
        ("page", REVOKED)
    );
    assert_ne!(revoked.digest, [7; 32]);
    // Its name is that of an author, and stays that of one token.
    assert_eq!(store.add_token(&token("page", "decide")), Ok(false));
    assert_eq!(store.tokens().unwrap()[1], revoked);
    let plain = StoredToken {
        scope: None,
        expires: None,
        rate: None,
        ..token("plain", "read")
    };
    assert_eq!(store.add_token(&plain), Ok(true));
    assert_eq!(store.tokens().unwrap()[2], plain);
}

fn reopening_keeps_everything(place: &Place) {
    let mut store = place.open();
    write(&mut *store, &[decision(1, "a"), decision(2, "b")]);
    let all = whole(&mut *store);
    // Left in the middle: as if the process had died.
    store.begin().unwrap();
    store.append(&[decision(3, "c")]).unwrap();
    drop(store);
    let mut store = place.open();
    assert_eq!(whole(&mut *store), all);
    write(&mut *store, &[decision(3, "c")]);
}

fn readers_see_what_is_committed(place: &Place) {
    let mut store = place.open();
    write(&mut *store, &[decision(1, "a")]);
    let mut reader = place.database.open_reader().unwrap();
    store.begin().unwrap();
    store.append(&[decision(2, "b")]).unwrap();
    assert_eq!(reader.last(), Ok(1));
    store.commit().unwrap();
    assert_eq!(reader.last(), Ok(2));
    assert_eq!(whole(&mut *reader).len(), 2);
    assert!(
        reader
            .begin()
            .and_then(|_| reader.append(&[decision(3, "c")]))
            .is_err()
    );
}

fn a_reader_makes_no_log(place: &Place) {
    assert!(place.database.open_reader().is_err());
    place.open();
    place.database.open_reader().unwrap();
}

/// Several processes may lay out one log at once.
fn it_is_laid_out_once(place: &Place) {
    let ids: Vec<String> = std::thread::scope(|scope| {
        let openers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| place.open().id().unwrap()))
            .collect();
        openers.into_iter().map(|o| o.join().unwrap()).collect()
    });
    assert!(ids.iter().all(|id| id.len() == 32 && *id == ids[0]));
}

fn the_clock_is_read_with_the_counter(place: &Place) {
    let mut store = place.open();
    let before = store.poll().unwrap().now;
    let begun = store.begin().unwrap();
    store.rollback();
    let polled = store.poll().unwrap();
    assert!(before <= begun.now && begun.now <= polled.now);
    assert_eq!((begun.last, polled.last), (0, 0));
    // The machine is the same here, so the clocks are.
    assert!(polled.now.seconds_since(Timestamp::now()).abs() < 60.0);
}

fn experiments_and_their_changes_are_found(place: &Place) {
    let mut store = place.open();
    let admin = |number, experiment| Record {
        experiment,
        ..record(number, EventKind::Experiment)
    };
    let events = [
        admin(1, 1),
        decision(2, "a"),
        admin(3, 3),
        admin(4, 1),
        admin(5, 3),
        admin(6, 1),
        record(7, EventKind::Policy),
    ];
    write(&mut *store, &events);
    assert_eq!(store.created(), Ok(vec![1, 3]));
    let mut changes = |experiment, before, limit| -> Vec<u64> {
        let found = store
            .changes(&Span::before(experiment, before, limit))
            .unwrap();
        found.iter().map(|record| record.number).collect()
    };
    assert_eq!(changes(1, u64::MAX, 10), [6, 4, 1]);
    assert_eq!(changes(1, 6, 1), [4]);
    assert_eq!(changes(3, u64::MAX, 10), [5, 3]);
    assert!(changes(2, u64::MAX, 10).is_empty());
}

fn a_log_that_does_not_end_at_its_counter_is_not_whole(place: &Place) {
    let mut store = place.open();
    assert_eq!(store.check(), Ok(()));
    write(&mut *store, &[decision(1, "a"), decision(2, "b")]);
    assert_eq!(store.check(), Ok(()));
    let lose = "DELETE FROM events WHERE number = 2";
    place.run(lose, lose);
    let error = store.check().unwrap_err();
    assert!(error.reason.contains("ends at event 1"), "{error}");
    assert!(!error.passing);
}

#[test]
fn a_file_of_another_program_or_layout_is_refused_by_name() {
    let place = Place::sqlite();
    let Database::Sqlite(path) = &place.database else {
        unreachable!()
    };
    drop(place.open());
    let change = |sql: &str| {
        let file = rusqlite::Connection::open(path).unwrap();
        file.execute_batch(sql).unwrap();
        let error = place.database.open().err().unwrap();
        assert_eq!(place.database.open_reader().err().unwrap(), error);
        error
    };
    for layout in [3, 5] {
        let error = change(&format!("PRAGMA user_version = {layout}"));
        assert!(
            error.reason.contains(&format!("layout {layout}")),
            "{error}"
        );
    }
    let error = change("PRAGMA application_id = 7");
    assert!(error.reason.contains("another program"), "{error}");
    assert!(!error.passing);
    std::fs::write(path, "no database at all, but a text of some length").unwrap();
    assert!(!place.database.open().err().unwrap().passing);
}

/// A log whose newest events were lost beneath SQLite, which takes a journal that is cut for one that ends there, is no log to
/// go on with: their numbers would be given twice.
#[test]
fn a_log_that_was_cut_after_a_commit_is_refused() {
    let place = Place::sqlite();
    let Database::Sqlite(path) = &place.database else {
        unreachable!()
    };
    let mut store = place.open();
    for number in 1..=3 {
        write(&mut *store, &[record(number, EventKind::Policy)]);
    }
    // What was rolled back was never committed.
    store.begin().unwrap();
    store.append(&[record(4, EventKind::Policy)]).unwrap();
    store.rollback();
    store.begin().unwrap();
    store.commit().unwrap();
    let folder = path.parent().unwrap().join("copy");
    std::fs::create_dir(&folder).unwrap();
    let copy = folder.join("log.db");
    let file = |beside: &str| folder.join(format!("log.db{beside}"));
    for ending in ["", "-wal", ".id"] {
        let from = path.with_file_name(format!("log.db{ending}"));
        std::fs::copy(from, file(ending)).unwrap();
    }
    let all = std::fs::read(file("-wal")).unwrap();
    std::fs::write(file("-wal"), &all[..all.len() - 100]).unwrap();
    let database = Database::Sqlite(copy.clone());
    let error = database.open().err().unwrap();
    let said = "ends at event 2, though event 3 was committed";
    assert!(error.reason.contains(said) && !error.passing, "{error}");
    // Whoever removes the file beside it goes on with what is there.
    std::fs::remove_file(file(".id")).unwrap();
    let mut store = database.open().unwrap();
    assert_eq!(store.last(), Ok(2));
    write(&mut *store, &[record(3, EventKind::Policy)]);
    drop(store);
    assert_eq!(database.open().unwrap().last(), Ok(3));
}
