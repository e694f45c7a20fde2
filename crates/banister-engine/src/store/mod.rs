//! Stores of the log: one table of events, numbered without gaps by a counter row that every
//! writing transaction takes first.

mod postgres;
mod sqlite;
mod token;

use std::path::PathBuf;

use crate::events::Record;
use crate::time::Timestamp;

pub use token::{Role, Token};

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
    /// A PostgreSQL database, by its address.
    Postgres(String),
}

impl Database {
    /// Opens it, and lays it out if it is new.
    pub fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Self::Sqlite(path) => Box::new(sqlite::Sqlite::open(path)?),
            Self::Postgres(url) => Box::new(postgres::Postgres::open(url)?),
        })
    }

    /// Returns true if there is something to open; of a server, only opening tells.
    pub fn exists(&self) -> bool {
        match self {
            Self::Sqlite(path) => path.exists(),
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
            Self::Postgres(url) => Box::new(postgres::Postgres::open_reader(url)?),
        })
    }

    /// Calls `wake` whenever another process may have written, until it says no; `None` where nobody
    /// else writes. Readers re-read by number whatever they are told, so a lost call does no harm.
    pub fn listen(&self, wake: Box<dyn Fn() -> bool + Send>) {
        if let Self::Postgres(url) = self {
            postgres::listen(url.clone(), wake);
        }
    }

    /// The same error with the reason that the operating system gives, where the database does not say.
    pub fn explain(&self, error: StoreError) -> StoreError {
        match self {
            Self::Sqlite(path) if error.reason.starts_with(sqlite::UNEXPLAINED) => {
                sqlite::explain(path, error)
            }
            _ => error,
        }
    }

    /// As people may see it: without a password.
    pub fn shown(&self) -> String {
        match self {
            Self::Sqlite(path) => path.display().to_string(),
            Self::Postgres(url) => postgres::shown(url),
        }
    }
}

/// Key of a decision in its experiment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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

/// Experiment as folded up to an event, encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub experiment: u64,
    /// All of its events up to this number are in it.
    pub number: u64,
    /// The experiment as folded.
    pub body: Vec<u8>,
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
}

/// An open log. Everything blocks.
pub trait Store: Send {
    /// Begins to write: nobody else does until [`Store::commit`] or [`Store::rollback`]. Says the
    /// number of the last event.
    fn begin(&mut self) -> Result<u64, StoreError>;
    /// Appends events, whose numbers follow the last, in the transaction begun.
    fn append(&mut self, records: &[Record]) -> Result<(), StoreError>;
    /// Makes what was appended durable. On an error it is unknown whether it is: the number of the last
    /// event tells.
    fn commit(&mut self) -> Result<(), StoreError>;
    /// Drops what was appended.
    fn rollback(&mut self);
    /// Proves that the log can be written, by writing something that means nothing.
    fn probe(&mut self) -> Result<(), StoreError>;
    /// The number of the last event.
    fn last(&mut self) -> Result<u64, StoreError>;
    /// Keys of all experiments, oldest first.
    fn created(&mut self) -> Result<Vec<u64>, StoreError>;
    /// Up to `limit` events that changed an experiment, before a number, newest first.
    fn changes(
        &mut self,
        experiment: u64,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError>;
    /// Up to `limit` events after a number, in their order.
    fn read(&mut self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError>;
    fn get(&mut self, number: u64) -> Result<Option<Record>, StoreError>;
    /// Decisions with what was reported on them.
    fn find(&mut self, keys: &[(u64, Key)]) -> Result<Vec<Option<Found>>, StoreError>;
    /// The last decisions of an experiment before a number, newest first.
    fn decisions(
        &mut self,
        experiment: u64,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Found>, StoreError>;
    /// Up to `limit` decisions of an experiment after a number, oldest first.
    fn decisions_after(
        &mut self,
        experiment: u64,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Found>, StoreError>;
    /// Up to `limit` decisions of an experiment in (after, upto] without a complete outcome.
    fn overdue(
        &mut self,
        experiment: u64,
        after: u64,
        upto: u64,
        limit: usize,
    ) -> Result<Vec<u64>, StoreError>;
    fn snapshots(&mut self) -> Result<Vec<Snapshot>, StoreError>;
    /// Keeps a snapshot in place of the experiment's last; it is only a short cut, so this need not be
    /// durable at once.
    fn keep_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError>;
    fn tokens(&mut self) -> Result<Vec<StoredToken>, StoreError>;
    /// Keeps a token; `false` if its name is taken by one that was not revoked.
    fn add_token(&mut self, token: &StoredToken) -> Result<bool, StoreError>;
    /// Revokes a token; `false` if there is none of that name. That there was one is remembered: a service
    /// that asked for tokens must not become open to all when the last is gone.
    fn revoke_token(&mut self, name: &str) -> Result<bool, StoreError>;
}
