//! Stores of the log: one table of events, numbered without gaps by a counter row that every
//! writing transaction takes first.

mod postgres;
mod readers;
mod sqlite;
mod token;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::events::Record;
use crate::time::Timestamp;

pub use readers::Readers;
pub use token::{Role, Scope, Token, parse_expiry};

/// Layout of the tables.
const LAYOUT_VERSION: i32 = 4;

/// Most connections that read a file at a time.
const MOST_SQLITE_READERS: usize = 16;

/// Refusal of a layout that this program does not know.
fn unknown_layout(version: i32) -> StoreError {
    StoreError::new(format!(
        "the log has layout {version}, this program knows layout {LAYOUT_VERSION}: use the program that wrote it"
    ))
}

/// Refusal of a log whose counter is not at its last event.
fn miscounted(last: u64, counter: u64) -> StoreError {
    StoreError::new(format!(
        "the log ends at event {last}, its counter says {counter}"
    ))
}

/// Random name for a log: 128 bits in hexadecimal digits.
fn new_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// Error of a store, in the database's words.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct StoreError {
    pub reason: String,
    /// True if it can be expected to pass: a full disk, a database that restarts.
    pub passing: bool,
}

impl StoreError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            passing: false,
        }
    }

    pub(crate) fn passing(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            passing: true,
        }
    }
}

/// Location of the log.
#[derive(Debug, Clone, PartialEq)]
pub enum Database {
    /// A file of this machine.
    Sqlite(PathBuf),
    /// A PostgreSQL database.
    Postgres(PostgresLog),
}

/// A PostgreSQL database, and how a process uses it.
#[derive(Debug, Clone, PartialEq)]
pub struct PostgresLog {
    /// Address, which may hold a password.
    pub url: String,
    /// Most connections of the process: one that writes, one that listens, the others read.
    pub connections: usize,
    /// Longest wait for another process that writes.
    pub lock_timeout: Duration,
    /// Longest time of a statement of the writer; readers have twice as much.
    pub statement_timeout: Duration,
    /// Time after which the server ends a transaction in which nothing happens: that of a process that
    /// froze while it held the log.
    pub idle_timeout: Duration,
}

impl<T: Into<String>> From<T> for PostgresLog {
    fn from(url: T) -> Self {
        Self {
            url: url.into(),
            connections: 8,
            lock_timeout: Duration::from_secs(4),
            statement_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_millis(2500),
        }
    }
}

impl Database {
    /// Opens it, and lays it out if it is new.
    pub fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Self::Sqlite(path) => Box::new(sqlite::Sqlite::open(path)?),
            Self::Postgres(log) => Box::new(postgres::Postgres::open(log)?),
        })
    }

    /// Returns true if there is something to open; always for a server, which only opening can show.
    pub fn exists(&self) -> bool {
        match self {
            // One that is lost is something to open, too: opening says so.
            Self::Sqlite(path) => path.exists() || sqlite::id_file(path).exists(),
            Self::Postgres(_) => true,
        }
    }

    /// Opens it where it was before: a file that is gone is an error then.
    pub fn open_again(&self) -> Result<Box<dyn Store>, StoreError> {
        match self {
            Self::Sqlite(path) if !path.exists() => Err(sqlite::gone()),
            _ => self.open(),
        }
    }

    /// Opens it for reading beside a writer.
    pub fn open_reader(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Self::Sqlite(path) => Box::new(sqlite::Sqlite::open_reader(path)?),
            Self::Postgres(log) => Box::new(postgres::Postgres::open_reader(log)?),
        })
    }

    /// Most connections that read at a time.
    fn most_readers(&self) -> usize {
        match self {
            Self::Sqlite(_) => MOST_SQLITE_READERS,
            // One writes and one listens.
            Self::Postgres(log) => log.connections.saturating_sub(2).max(1),
        }
    }

    /// Calls `wake` whenever another process may have written, until it returns false; does nothing where no other
    /// process writes. Readers re-read by number in any case, so a lost call does no harm.
    pub fn listen(&self, wake: Box<dyn Fn() -> bool + Send>) {
        if let Self::Postgres(log) = self {
            postgres::listen(log.clone(), wake);
        }
    }

    /// Adds the operating system's reason to an error, where the database gives none.
    pub fn explain(&self, error: StoreError) -> StoreError {
        match self {
            Self::Sqlite(path) if error.reason.starts_with(sqlite::UNEXPLAINED) => {
                sqlite::explain(path, error)
            }
            _ => error,
        }
    }

    /// Copies the log to a new file while it is used, and gives the number of the copy's last event.
    pub fn backup(&self, to: &Path) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite(path) => sqlite::backup(path, to),
            Self::Postgres(_) => Err(StoreError::new(format!(
                "PostgreSQL has its own backups, such as: pg_dump -Fc -d postgres://USER@{} -f {}",
                self.shown(),
                to.display()
            ))),
        }
    }

    /// Files of the log that other users may read.
    pub fn exposed(&self) -> Vec<PathBuf> {
        match self {
            Self::Sqlite(path) => sqlite::exposed(path),
            Self::Postgres(_) => Vec::new(),
        }
    }

    /// As people may see it: without a password.
    pub fn shown(&self) -> String {
        match self {
            Self::Sqlite(path) => path.display().to_string(),
            Self::Postgres(log) => postgres::shown(&log.url),
        }
    }
}

/// Key of a decision in its experiment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    Number(u64),
    /// By the caller's id.
    Id(String),
}

impl Key {
    /// Parses a caller's name of a decision: `@17` is the one with the number 17, anything else is an id.
    pub fn parse(id: &str) -> Self {
        let number = id.strip_prefix('@').and_then(|n| n.parse::<u64>().ok());
        match number {
            // As it is shown, and not with a sign or zeros before it.
            Some(number) if id.len() == 1 + number.to_string().len() => Self::Number(number),
            _ => Self::Id(id.to_string()),
        }
    }
}

/// A decision and what was reported on it, in the log's order.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub decision: Record,
    /// Parts and the outcome.
    pub reports: Vec<Record>,
}

/// Events of an experiment between two numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    pub experiment: u64,
    /// Number before the first.
    pub after: u64,
    /// Number behind the last.
    pub before: u64,
    /// Most events.
    pub limit: usize,
    pub newest_first: bool,
}

impl Span {
    /// Events after a number, oldest first.
    pub fn after(experiment: u64, after: u64, limit: usize) -> Self {
        Self {
            experiment,
            after,
            before: u64::MAX,
            limit,
            newest_first: false,
        }
    }

    /// Events before a number, newest first.
    pub fn before(experiment: u64, before: u64, limit: usize) -> Self {
        Self {
            experiment,
            after: 0,
            before,
            limit,
            newest_first: true,
        }
    }

    /// Experiment, bounds and limit as the databases count.
    fn parameters(&self) -> [i64; 4] {
        [self.experiment, self.after, self.before, self.limit as u64].map(number)
    }
}

/// Numbers beyond what the databases count to are beyond every event, too.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Experiment as folded up to an event, encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub experiment: u64,
    /// All of its events up to this number are in it.
    pub number: u64,
    /// The experiment as folded.
    pub body: Vec<u8>,
}

/// A moment of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// Number of the last event.
    pub last: u64,
    /// Time by the clock that all writers of the log share.
    pub now: Timestamp,
}

/// The role of a token that was revoked.
pub const REVOKED: &str = "revoked";

/// A bearer token at rest: its digest, never itself.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredToken {
    pub name: String,
    /// Name of a [`Role`], or [`REVOKED`].
    pub role: String,
    /// Digest of the token.
    pub digest: [u8; 32],
    /// When it was made.
    pub created: Timestamp,
    /// Patterns of the experiments it may see, separated by commas; `None`: all.
    pub scope: Option<String>,
    /// End of its life; `None`: never.
    pub expires: Option<Timestamp>,
    /// Requests per second; `None` where the service's own limit holds.
    pub rate: Option<f64>,
}

/// Bytes of bodies that are read at once: a page ends with the event that reaches them, so that memory does
/// not depend on how large events are.
pub(crate) const PAGE_BYTES: usize = 1 << 20;

/// Verifies a page of events after `number`, which moves on; true at the end.
pub(crate) fn verify_page(store: &mut dyn Store, number: &mut u64) -> Result<bool, StoreError> {
    let page = store.read(*number, 1000)?;
    for record in &page {
        if record.number != *number + 1 {
            return Err(StoreError::new(format!(
                "the log goes from event {number} to event {}",
                record.number
            )));
        }
        let verified = record.verify();
        verified
            .map_err(|e| StoreError::new(format!("event {} cannot be read: {e}", record.number)))?;
        *number = record.number;
    }
    Ok(page.is_empty())
}

/// An open log. Everything blocks.
pub trait Store: Send {
    /// Begins to write: no other process does until [`Store::commit`] or [`Store::rollback`].
    fn begin(&mut self) -> Result<Begun, StoreError>;
    /// Appends events, whose numbers follow the last, in the transaction begun.
    fn append(&mut self, records: &[Record]) -> Result<(), StoreError>;
    /// Makes what was appended durable. On an error it is unknown whether it is: the number of the last
    /// event tells.
    fn commit(&mut self) -> Result<(), StoreError>;
    /// Drops what was appended.
    fn rollback(&mut self);
    /// Proves that the log can be written, by writing something that means nothing.
    fn probe(&mut self) -> Result<(), StoreError>;
    /// The last event and the time, without writing.
    fn poll(&mut self) -> Result<Begun, StoreError>;
    /// The number of the last event.
    fn last(&mut self) -> Result<u64, StoreError> {
        self.poll().map(|begun| begun.last)
    }
    /// Random name that the log was given when it was laid out; copies of it have the same.
    fn id(&mut self) -> Result<String, StoreError>;
    /// Proves that the last event is the one that the counter says.
    fn check_count(&mut self) -> Result<(), StoreError>;
    /// Proves that the store is whole, as far as the database can tell without reading the events.
    fn check(&mut self) -> Result<(), StoreError>;
    /// Keys of all experiments, oldest first.
    fn created(&mut self) -> Result<Vec<u64>, StoreError>;
    /// Events that changed an experiment, newest first.
    fn changes(&mut self, span: &Span) -> Result<Vec<Record>, StoreError>;
    /// A page of up to `limit` events after a number, in their order; empty only at the log's end.
    fn read(&mut self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError>;
    fn get(&mut self, number: u64) -> Result<Option<Record>, StoreError>;
    /// Decisions with what was reported on them: a page of the first keys, at least one.
    fn find(&mut self, keys: &[(u64, Key)]) -> Result<Vec<Option<Found>>, StoreError>;
    /// A page of decisions with what was reported on them.
    fn decisions(&mut self, span: &Span) -> Result<Vec<Found>, StoreError>;
    /// Decisions without a complete outcome, oldest first.
    fn overdue(&mut self, span: &Span) -> Result<Vec<u64>, StoreError>;
    /// The experiments that have a snapshot.
    fn snapshots(&mut self) -> Result<Vec<u64>, StoreError>;
    fn snapshot(&mut self, experiment: u64) -> Result<Option<Snapshot>, StoreError>;
    /// Keeps a snapshot in place of the experiment's last, unless that is newer; it is only a short cut, so
    /// this need not be durable at once.
    fn keep_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError>;
    fn tokens(&mut self) -> Result<Vec<StoredToken>, StoreError>;
    /// Keeps a token; `false` if its name is taken by one that was not revoked.
    fn add_token(&mut self, token: &StoredToken) -> Result<bool, StoreError>;
    /// Ends the use of the log: a file is complete by itself then.
    fn close(self: Box<Self>) -> Result<(), StoreError>;
    /// Revokes a token; `false` if there is none of that name. That there was one is remembered: a service
    /// that asked for tokens must not become open to all when the last is gone.
    fn revoke_token(&mut self, name: &str) -> Result<bool, StoreError>;
}
