//! The log in one file: SQLite in WAL mode, every commit synced.

mod file;

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::FromSql;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, params};

use super::{
    Begun, Found, Key, LAYOUT_VERSION, PAGE_BYTES, REVOKED, Snapshot, Span, Store, StoreError,
    StoredToken, miscounted, new_id, unknown_layout,
};
use crate::events::{EventKind, Record};
use crate::time::Timestamp;
pub(super) use file::{UNEXPLAINED, backup, explain, exposed, gone, id_file};
use file::{failed, identity, keep_id, kept_id, lost, make_private};

/// Marks the file as ours ("bani"), so that no other program's is taken for a log.
const APPLICATION: i32 = 0x6261_6e69;

/// The tables.
const LAYOUT: &str = "
CREATE TABLE counter (one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES (1, 0);
CREATE TABLE probe (one INTEGER PRIMARY KEY CHECK (one = 1), time INTEGER NOT NULL) STRICT;
INSERT INTO probe VALUES (1, 0);
CREATE TABLE events (
  number INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  experiment INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  decision INTEGER,
  id TEXT,
  body BLOB NOT NULL
) STRICT;
-- An id belongs to one decision of an experiment, and a decision has one outcome.
CREATE UNIQUE INDEX events_id ON events (experiment, id) WHERE id IS NOT NULL;
CREATE UNIQUE INDEX events_outcome ON events (decision) WHERE kind = 5;
CREATE INDEX events_part ON events (decision) WHERE kind = 4;
CREATE INDEX events_decision ON events (experiment) WHERE kind = 3;
CREATE INDEX events_admin ON events (experiment) WHERE kind = 1;
CREATE TABLE snapshots (
  experiment INTEGER PRIMARY KEY,
  number INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE TABLE tokens (
  name TEXT PRIMARY KEY,
  role TEXT NOT NULL,
  digest BLOB NOT NULL,
  created INTEGER NOT NULL,
  scope TEXT,
  expires INTEGER,
  rate REAL
) STRICT;
CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT;
";

const COLUMNS: &str = "number, time, experiment, kind, decision, id, body";

pub(super) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    /// Device and inode of the file.
    file: Option<(u64, u64)>,
    /// The file beside it, with the place of its mark.
    mark: Option<(File, u64)>,
    /// Last event of the transaction; 0 without any.
    appended: u64,
}

impl Sqlite {
    /// Opens the file, or makes it.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let length = std::fs::metadata(path).map_or(0, |file| file.len());
        // SQLite takes a file that is too short for a database for an empty one.
        if (1..100).contains(&length) {
            return Err(StoreError::new("the file is not a database"));
        }
        let kept = kept_id(path)?;
        if kept.is_some() && length == 0 {
            return Err(lost(path, "is missing or empty"));
        }
        // The files beside it get its mode. Two processes may make it at once.
        match make_private(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(failed(path, &error));
            }
            _ => {}
        }
        let connection = Connection::open(path)?;
        let mut store = Self::new(connection, path);
        // Another program's file is left as it is: look first, change then.
        if store.version()? == 0 && kept.is_some() {
            return Err(lost(path, "has no tables"));
        }
        store.prepare()?;
        store.lay_out()?;
        let id = store.id()?;
        match kept {
            Some((kept, _)) if kept != id => return Err(lost(path, "holds another one")),
            Some((_, mark)) => {
                let last = store.last()?;
                if last < mark {
                    let what = format!("ends at event {last}, though event {mark} was committed");
                    return Err(lost(path, &what));
                }
            }
            None => keep_id(path, &id)?,
        }
        let beside = File::options().write(true).open(id_file(path)).ok();
        store.mark = beside.map(|file| (file, id.len() as u64 + 1));
        Ok(store)
    }

    /// Opens the file for reading.
    pub(super) fn open_reader(path: &Path) -> Result<Self, StoreError> {
        let kept = kept_id(path)?;
        if kept.is_some() && !path.exists() {
            return Err(lost(path, "is missing or empty"));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        let store = Self::new(connection, path);
        match (store.version()?, kept) {
            (0, None) => Err(StoreError::passing("the file has no log yet")),
            (0, Some(_)) => Err(lost(path, "has no tables")),
            _ => Ok(store),
        }
    }

    fn new(connection: Connection, path: &Path) -> Self {
        Self {
            connection,
            path: path.to_path_buf(),
            file: identity(path),
            mark: None,
            appended: 0,
        }
    }

    /// Refuses to go on with a file that was deleted, or replaced by a backup: what is written to it
    /// would be lost.
    fn is_in_place(&mut self) -> Result<(), StoreError> {
        match identity(&self.path) {
            None => Err(gone()),
            now if self.file.is_none() => {
                self.file = now;
                Ok(())
            }
            now if now == self.file => Ok(()),
            _ => Err(StoreError::passing("the file was replaced")),
        }
    }

    fn prepare(&self) -> rusqlite::Result<()> {
        let c = &self.connection;
        c.busy_timeout(Duration::from_secs(5))?;
        c.set_prepared_statement_cache_capacity(64);
        c.pragma_update(None, "journal_mode", "wal")?;
        // The log is synced at every commit, not only at checkpoints: what was acknowledged survives
        // a power cut.
        c.pragma_update(None, "synchronous", "full")?;
        c.pragma_update(None, "wal_autocheckpoint", 4000)?;
        c.pragma_update(None, "cache_size", -65_536)?;
        c.pragma_update(None, "temp_store", "memory")
    }

    /// The layout of the log; 0 if the file is empty, an error if it is something else.
    fn version(&self) -> Result<i32, StoreError> {
        // The tables first: another process that lays them out meanwhile has marked the file once they are there.
        let tables: i64 = self.value("SELECT count(*) FROM sqlite_master")?;
        let application: i32 = self.value("PRAGMA application_id")?;
        let version: i32 = self.value("PRAGMA user_version")?;
        match (application, version, tables) {
            (APPLICATION, LAYOUT_VERSION, _) => Ok(version),
            (APPLICATION, other, _) => Err(unknown_layout(other)),
            (_, _, 0) => Ok(0),
            _ => Err(StoreError::new("the file is another program's database")),
        }
    }

    fn lay_out(&mut self) -> Result<(), StoreError> {
        if self.version()? == LAYOUT_VERSION {
            return Ok(());
        }
        // Two processes may find the file empty at once: one of them lays it out.
        (self.connection.execute_batch("BEGIN IMMEDIATE"))?;
        let done = self.make_tables().and_then(|()| self.commit());
        if done.is_err() {
            self.rollback();
        }
        done
    }

    fn make_tables(&self) -> Result<(), StoreError> {
        if self.version()? == LAYOUT_VERSION {
            return Ok(());
        }
        self.connection.execute_batch(LAYOUT)?;
        self.execute("INSERT INTO meta VALUES (1, ?1)", [new_id()])?;
        let marks = format!(
            "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {LAYOUT_VERSION}"
        );
        Ok(self.connection.execute_batch(&marks)?)
    }

    /// Runs a statement; returns the number of rows that it changed.
    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<usize, StoreError> {
        Ok(self.connection.prepare_cached(sql)?.execute(parameters)?)
    }

    /// The one value that a statement gives.
    fn value<T: FromSql>(&self, sql: &str) -> Result<T, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }

    fn records(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<Record>, StoreError> {
        self.page(sql, parameters, usize::MAX)
    }

    /// Records until their bodies have `most` bytes.
    fn page(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        most: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(parameters)?;
        let mut records = Vec::new();
        let mut bytes = 0;
        while bytes < most
            && let Some(row) = rows.next()?
        {
            let record = record(row)?;
            bytes += record.body.len();
            records.push(record);
        }
        Ok(records)
    }

    fn numbers(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<u64>, StoreError> {
        let mut select = self.connection.prepare_cached(sql)?;
        let rows = select.query_map(parameters, |row| row.get::<_, i64>(0))?;
        rows.map(|row| Ok(row? as u64)).collect()
    }

    fn begun(&self) -> Result<Begun, StoreError> {
        Ok(Begun {
            last: self.value::<i64>("SELECT last FROM counter")? as u64,
            now: Timestamp::now(),
        })
    }

    /// A decision with what was reported on it.
    fn found(&self, decision: Record) -> Result<Found, StoreError> {
        // Two partial indexes, asked one by one.
        let parts = format!("SELECT {COLUMNS} FROM events WHERE decision = ?1 AND kind = 4");
        let outcome = format!("SELECT {COLUMNS} FROM events WHERE decision = ?1 AND kind = 5");
        let number = decision.number as i64;
        let mut reports = self.records(&parts, [number])?;
        reports.extend(self.records(&outcome, [number])?);
        reports.sort_by_key(|record| record.number);
        Ok(Found { decision, reports })
    }
}

impl Store for Sqlite {
    fn begin(&mut self) -> Result<Begun, StoreError> {
        self.is_in_place()?;
        self.appended = 0;
        self.execute("BEGIN IMMEDIATE", [])?;
        self.begun()
    }

    fn append(&mut self, records: &[Record]) -> Result<(), StoreError> {
        let Some(last) = records.last() else {
            return Ok(());
        };
        let sql = format!("INSERT INTO events ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
        let mut insert = self.connection.prepare_cached(&sql)?;
        for r in records {
            insert.execute(params![
                r.number as i64,
                r.time.0,
                r.experiment as i64,
                r.kind as i16,
                r.decision.map(|n| n as i64),
                r.id,
                r.body
            ])?;
        }
        self.execute("UPDATE counter SET last = ?1", [last.number as i64])?;
        self.appended = last.number;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.execute("COMMIT", [])?;
        if let Some((file, place)) = self.mark.as_ref().filter(|_| self.appended > 0) {
            // Not synced: after a power cut it may be too low, but never too high.
            let _ = file.write_all_at(format!("{:020}", self.appended).as_bytes(), *place);
        }
        Ok(())
    }

    fn rollback(&mut self) {
        // Without a transaction there is nothing to undo.
        let _ = self.connection.execute_batch("ROLLBACK");
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        // A value that differs each time: SQLite does not write what is there already.
        let sql = "UPDATE probe SET time = max(time + 1, ?1)";
        self.execute(sql, [Timestamp::now().0]).map(|_| ())
    }

    fn poll(&mut self) -> Result<Begun, StoreError> {
        self.is_in_place()?;
        self.begun()
    }

    fn id(&mut self) -> Result<String, StoreError> {
        self.value("SELECT id FROM meta")
    }

    fn check(&mut self) -> Result<(), StoreError> {
        let said: String = self.value("PRAGMA integrity_check(1)")?;
        if said != "ok" {
            return Err(StoreError::new(format!("the file is damaged: {said}")));
        }
        self.check_count()
    }

    fn check_count(&mut self) -> Result<(), StoreError> {
        // One statement sees one moment, whoever writes meanwhile.
        let sql = "SELECT coalesce((SELECT max(number) FROM events), 0), last FROM counter";
        let (last, counter): (i64, i64) =
            (self.connection).query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if last == counter {
            Ok(())
        } else {
            Err(miscounted(last as u64, counter as u64))
        }
    }

    fn created(&mut self) -> Result<Vec<u64>, StoreError> {
        self.numbers(
            "SELECT number FROM events WHERE kind = 1 AND experiment = number ORDER BY experiment",
            [],
        )
    }

    fn changes(&mut self, span: &Span) -> Result<Vec<Record>, StoreError> {
        self.records(&in_span(span, EventKind::Experiment), span.parameters())
    }

    fn read(&mut self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM events WHERE number > ?1 ORDER BY number LIMIT ?2");
        self.page(&sql, [after as i64, limit as i64], PAGE_BYTES)
    }

    fn get(&mut self, number: u64) -> Result<Option<Record>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE number = ?1");
        Ok(self.records(&sql, [number as i64])?.pop())
    }

    fn find(&mut self, keys: &[(u64, Key)]) -> Result<Vec<Option<Found>>, StoreError> {
        let by_number = format!(
            "SELECT {COLUMNS} FROM events WHERE number = ?1 AND experiment = ?2 AND kind = 3"
        );
        let by_id =
            format!("SELECT {COLUMNS} FROM events WHERE experiment = ?2 AND id = ?1 AND kind = 3");
        let mut found = Vec::with_capacity(keys.len());
        let mut bytes = 0;
        for (experiment, key) in keys {
            if bytes >= PAGE_BYTES {
                break;
            }
            let experiment = *experiment as i64;
            let decision = match key {
                Key::Number(number) => i64::try_from(*number)
                    .map(|number| self.records(&by_number, [number, experiment]))
                    .unwrap_or(Ok(Vec::new()))?,
                Key::Id(id) => self.records(&by_id, params![id, experiment])?,
            };
            found.push(match decision.into_iter().next() {
                None => None,
                Some(decision) => {
                    bytes += decision.body.len();
                    Some(self.found(decision)?)
                }
            });
        }
        Ok(found)
    }

    fn decisions(&mut self, span: &Span) -> Result<Vec<Found>, StoreError> {
        let sql = in_span(span, EventKind::Decision);
        let decisions = self.page(&sql, span.parameters(), PAGE_BYTES)?;
        decisions.into_iter().map(|own| self.found(own)).collect()
    }

    fn overdue(&mut self, span: &Span) -> Result<Vec<u64>, StoreError> {
        self.numbers(
            "SELECT number FROM events AS d \
             WHERE experiment = ?1 AND kind = 3 AND number > ?2 AND number < ?3 AND NOT EXISTS \
             (SELECT 1 FROM events AS o WHERE o.decision = d.number AND o.kind = 5) \
             ORDER BY number LIMIT ?4",
            span.parameters(),
        )
    }

    fn snapshots(&mut self) -> Result<Vec<u64>, StoreError> {
        self.numbers("SELECT experiment FROM snapshots ORDER BY experiment", [])
    }

    fn snapshot(&mut self, experiment: u64) -> Result<Option<Snapshot>, StoreError> {
        let mut select = (self.connection)
            .prepare_cached("SELECT number, body FROM snapshots WHERE experiment = ?1")?;
        let snapshot = select.query_row([experiment as i64], |row| {
            Ok(Snapshot {
                experiment,
                number: row.get::<_, i64>(0)? as u64,
                body: row.get(1)?,
            })
        });
        Ok(snapshot.optional()?)
    }

    fn keep_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let sql = "INSERT INTO snapshots VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE \
             SET number = excluded.number, body = excluded.body \
             WHERE excluded.number >= number OR number > (SELECT last FROM counter)";
        let (experiment, number) = (snapshot.experiment as i64, snapshot.number as i64);
        self.execute(sql, params![experiment, number, snapshot.body])?;
        Ok(())
    }

    fn tokens(&mut self) -> Result<Vec<StoredToken>, StoreError> {
        let mut select = (self.connection).prepare_cached(
            "SELECT name, role, digest, created, scope, expires, rate \
                 FROM tokens ORDER BY name",
        )?;
        let tokens = select.query_map([], |row| {
            Ok(StoredToken {
                name: row.get(0)?,
                role: row.get(1)?,
                digest: row.get(2)?,
                created: Timestamp(row.get(3)?),
                scope: row.get(4)?,
                expires: row.get::<_, Option<i64>>(5)?.map(Timestamp),
                rate: row.get(6)?,
            })
        });
        tokens?.map(|token| Ok(token?)).collect()
    }

    fn add_token(&mut self, token: &StoredToken) -> Result<bool, StoreError> {
        let added = self.execute(
            "INSERT INTO tokens VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            params![
                token.name,
                token.role,
                token.digest,
                token.created.0,
                token.scope,
                token.expires.map(|time| time.0),
                token.rate,
            ],
        );
        Ok(added? == 1)
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        // What is in the file beside it goes into the file itself, which may be copied then. Others that
        // still read are waited for as long as for every lock.
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: i64 = (self.connection).query_row(sql, [], |row| row.get(0))?;
        if busy != 0 {
            return Err(StoreError::passing(format!(
                "another program reads the file: its newest events are in {}-wal, which belongs to it",
                self.path.display()
            )));
        }
        // Others may have it open: then it stays as it is, which is complete as well. Otherwise it can be
        // read where nothing can be written.
        let _ = (self.connection.busy_timeout(Duration::ZERO))
            .and_then(|()| (self.connection).pragma_update(None, "journal_mode", "delete"));
        Ok(self.connection.close().map_err(|(_, error)| error)?)
    }

    fn revoke_token(&mut self, name: &str) -> Result<bool, StoreError> {
        let revoked = self.execute(
            "UPDATE tokens SET role = ?2, digest = zeroblob(32) WHERE name = ?1 AND role <> ?2",
            [name, REVOKED],
        );
        Ok(revoked? == 1)
    }
}

/// Statement for the events of one kind in a span.
fn in_span(span: &Span, kind: EventKind) -> String {
    let order = if span.newest_first { "DESC" } else { "ASC" };
    format!(
        "SELECT {COLUMNS} FROM events WHERE experiment = ?1 AND kind = {} AND number > ?2 \
         AND number < ?3 ORDER BY number {order} LIMIT ?4",
        kind as i16
    )
}

fn record(row: &Row) -> rusqlite::Result<Record> {
    let kind: i64 = row.get(3)?;
    Ok(Record {
        number: row.get::<_, i64>(0)? as u64,
        time: Timestamp(row.get(1)?),
        experiment: row.get::<_, i64>(2)? as u64,
        kind: EventKind::from_number(kind)
            .ok_or(rusqlite::Error::IntegralValueOutOfRange(3, kind))?,
        decision: row.get::<_, Option<i64>>(4)?.map(|n| n as u64),
        id: row.get(5)?,
        body: row.get(6)?,
    })
}

/// A full disk, a read-only file system or a lock can pass; a file that is no database cannot.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let Some(code) = error.sqlite_error_code() else {
            return StoreError::new(format!("{UNEXPLAINED}: {error}"));
        };
        let reason = match code {
            ErrorCode::DiskFull => "the disk is full".to_string(),
            ErrorCode::ReadOnly => "the file system is read-only".to_string(),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                "another process holds the file".to_string()
            }
            _ => format!("{UNEXPLAINED}: {error}"),
        };
        match code {
            ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt => StoreError::new(reason),
            _ => StoreError::passing(reason),
        }
    }
}
