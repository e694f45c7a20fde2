//! Logs to test with: a temporary file, or a database of a temporary server.

// Every test program uses a part of it.
#![allow(dead_code, unused_macros, unused_imports)]

pub mod engine;
pub mod ledger;
pub mod server;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use banister_engine::{Database, EventKind, PostgresLog, Record, Store, Timestamp};
use server::Server;

/// A log of a test's own, gone at its end.
pub struct Place {
    pub database: Database,
    pub server: Option<Arc<Server>>,
    directory: Option<tempfile::TempDir>,
}

impl Place {
    /// In a file.
    pub fn sqlite() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Self {
            database: Database::Sqlite(directory.path().join("log.db")),
            server: None,
            directory: Some(directory),
        }
    }

    /// In a database; `None` where tests with PostgreSQL are skipped.
    pub fn postgres() -> Option<Self> {
        /// The tests of a program share a server, which ends with the last that uses it.
        static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        if server::skipped() {
            return None;
        }
        let mut shared = SHARED.lock().unwrap_or_else(|e| e.into_inner());
        let server = shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Server::start());
            *shared = Arc::downgrade(&server);
            server
        });
        drop(shared);
        Some(Self::on(server))
    }

    /// In a database of this server.
    pub fn on(server: Arc<Server>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("log{}", NEXT.fetch_add(1, Ordering::Relaxed));
        server.execute("postgres", &format!("CREATE DATABASE {name}"));
        Self {
            database: Database::Postgres(server.url(&name).into()),
            server: Some(server),
            directory: None,
        }
    }

    pub fn open(&self) -> Box<dyn Store> {
        self.database.open().expect("the log opens")
    }

    /// The name of its database.
    pub fn name(&self) -> String {
        let shown = self.database.shown();
        shown.rsplit('/').next().unwrap_or("").into()
    }

    /// Runs statements beside the program, each store's own.
    pub fn run(&self, sqlite: &str, postgres: &str) {
        match &self.database {
            Database::Sqlite(path) => {
                let file = rusqlite::Connection::open(path).expect("the file opens");
                file.execute_batch(sqlite).expect("it runs");
            }
            Database::Postgres(PostgresLog { url, .. }) => {
                let client = postgres::Client::connect(url, postgres::NoTls);
                let mut client = client.expect("the server takes connections");
                client.batch_execute(postgres).expect("it runs");
            }
        }
    }
}

/// Runs tests over both stores.
macro_rules! both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(&crate::common::Place::sqlite()); })*
        }
        mod postgres {
            $(#[test] fn $name() {
                if let Some(place) = crate::common::Place::postgres() {
                    super::$name(&place);
                }
            })*
        }
    };
}
pub(crate) use both;

/// Waits until something holds; fails where it does not within a minute.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An event of experiment 1.
pub fn record(number: u64, kind: EventKind) -> Record {
    Record {
        number,
        time: Timestamp(1_000_000 * number as i64),
        experiment: 1,
        kind,
        decision: None,
        id: None,
        body: vec![1, 0, number as u8, 255],
    }
}

/// A decision with an id.
pub fn decision(number: u64, id: &str) -> Record {
    Record {
        id: Some(id.into()),
        ..record(number, EventKind::Decision)
    }
}

/// A part or an outcome of a decision.
pub fn report(number: u64, kind: EventKind, decision: u64) -> Record {
    Record {
        decision: Some(decision),
        ..record(number, kind)
    }
}

/// Writes events in one transaction.
pub fn write(store: &mut dyn Store, records: &[Record]) {
    store.begin().expect("it begins");
    store.append(records).expect("it takes the events");
    store.commit().expect("it commits");
}

/// The whole log; checks that its numbers have no gap and its times never go back.
pub fn whole(store: &mut dyn Store) -> Vec<Record> {
    let mut all: Vec<Record> = Vec::new();
    loop {
        let page = store.read(all.len() as u64, 1000).expect("it reads");
        if page.is_empty() {
            break;
        }
        all.extend(page);
    }
    for (place, record) in all.iter().enumerate() {
        assert_eq!(record.number, place as u64 + 1);
    }
    assert!(all.windows(2).all(|pair| pair[0].time <= pair[1].time));
    assert_eq!(store.last().expect("it counts"), all.len() as u64);
    all
}
