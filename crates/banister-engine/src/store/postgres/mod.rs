//! The log in a PostgreSQL database, which any number of processes may share.
//!
//! The writer holds the counter's row, so commits follow one another and numbers have no gaps. A commit is three round
//! trips: begin and take the row, insert the whole batch, commit.

mod connection;
mod error;
mod layout;
mod session;
mod sql;
mod tls;

use std::collections::HashMap;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, SimpleQueryMessage, Statement};

use super::{
    Begun, Found, Key, PAGE_BYTES, PostgresLog, REVOKED, Snapshot, Span, Store, StoreError,
    StoredToken, miscounted, number,
};
use crate::events::{EventKind, Record};
use crate::time::Timestamp;

pub(super) use connection::{listen, shown};

use error::of;
use session::Session;
use sql::{
    BEGIN, CHANGES, COUNTED, CREATED, DECISIONS, DECISIONS_AFTER, FIND, GET, INSERT, KEEP_SNAPSHOT,
    OVERDUE, POLL, READ,
};

/// Channel on which every commit is announced.
const CHANNEL: &str = "banister_engine";
/// Bodies of one statement, in bytes; a message of the protocol has room for a gigabyte.
const MOST_BYTES: usize = 64 << 20;

/// Most events of a page.
const MOST_ROWS: usize = 2000;
/// Bytes of a page, as the server counts.
const PAGE: i64 = PAGE_BYTES as i64;

type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

pub(super) struct Postgres {
    session: Session,
    statements: HashMap<&'static str, Statement>,
    stage: Stage,
}

/// Stage of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    Begun,
    /// A statement failed: the server would answer a commit by undoing it, without an error.
    Failed,
}

impl Postgres {
    /// Opens the database, and lays it out if it is new.
    pub(super) fn open(log: &PostgresLog) -> Result<Self, StoreError> {
        let mut session = connection::open(log, log.statement_timeout)?;
        layout::lay_out(&mut session)?;
        Ok(Self::new(session))
    }

    /// Opens the database for reading.
    pub(super) fn open_reader(log: &PostgresLog) -> Result<Self, StoreError> {
        // A reader may take longer: callers wait for the writer, not for it.
        let mut session = connection::open(log, 2 * log.statement_timeout)?;
        layout::check(&mut session)?;
        let read_only = "SET default_transaction_read_only = on";
        session.run(async |client| client.batch_execute(read_only).await)?;
        Ok(Self::new(session))
    }

    fn new(session: Session) -> Self {
        Self {
            session,
            statements: HashMap::new(),
            stage: Stage::Idle,
        }
    }

    /// Does something with the connection, and remembers if that broke the transaction.
    fn with<T>(
        &mut self,
        act: impl AsyncFnOnce(&Client, &mut HashMap<&'static str, Statement>) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let statements = &mut self.statements;
        let done = (self.session).run(async |client| act(client, statements).await);
        if done.is_err() && self.stage == Stage::Begun {
            self.stage = Stage::Failed;
        }
        done
    }

    fn rows(&mut self, sql: &'static str, values: Parameters) -> Result<Vec<Row>, StoreError> {
        self.with(async |client, statements| {
            let statement = prepared(client, statements, sql).await?;
            client.query(&statement, values).await
        })
    }

    fn execute(&mut self, sql: &'static str, values: Parameters) -> Result<u64, StoreError> {
        self.with(async |client, statements| {
            let statement = prepared(client, statements, sql).await?;
            client.execute(&statement, values).await
        })
    }

    fn records(
        &mut self,
        sql: &'static str,
        values: Parameters,
    ) -> Result<Vec<Record>, StoreError> {
        self.rows(sql, values)?.iter().map(record).collect()
    }

    fn numbers(&mut self, sql: &'static str, values: Parameters) -> Result<Vec<u64>, StoreError> {
        let rows = self.rows(sql, values)?;
        let number = |row| column::<i64>(row, 0).map(|number| number as u64);
        rows.iter().map(number).collect()
    }

    /// The two numbers of a row, if there is one.
    fn pair(&mut self, sql: &'static str) -> Result<Option<(i64, i64)>, StoreError> {
        let rows = self.rows(sql, &[])?;
        let pair = |row| Ok((column(row, 0)?, column(row, 1)?));
        rows.first().map(pair).transpose()
    }

    /// Decisions with their reports, by place, and the first place whose decision is beyond the page.
    fn found(
        &mut self,
        sql: &'static str,
        values: Parameters,
    ) -> Result<(HashMap<i64, Found>, Option<i64>), StoreError> {
        let mut records = Vec::new();
        let mut beyond = None;
        for row in self.rows(sql, values)? {
            let place = column::<i64>(&row, 7)?;
            match column::<Option<&[u8]>>(&row, 6)? {
                Some(_) => records.push((place, record(&row)?)),
                None => beyond = Some(beyond.map_or(place, |first: i64| first.min(place))),
            }
        }
        // A decision is older than what is reported on it.
        records.sort_by_key(|(place, record)| (*place, record.number));
        let mut found: HashMap<i64, Found> = HashMap::new();
        for (place, record) in records {
            match found.get_mut(&place) {
                Some(found) => found.reports.push(record),
                None => {
                    let decision = record;
                    let reports = Vec::new();
                    found.insert(place, Found { decision, reports });
                }
            }
        }
        Ok((found, beyond))
    }

    fn insert(&mut self, records: &[Record], last: u64) -> Result<(), StoreError> {
        let numbers: Vec<i64> = records.iter().map(|r| r.number as i64).collect();
        let times: Vec<i64> = records.iter().map(|r| r.time.0).collect();
        let experiments: Vec<i64> = records.iter().map(|r| r.experiment as i64).collect();
        let kinds: Vec<i16> = records.iter().map(|r| r.kind as i16).collect();
        let decisions: Vec<Option<i64>> = (records.iter())
            .map(|r| r.decision.map(|number| number as i64))
            .collect();
        let ids: Vec<Option<&str>> = records.iter().map(|r| r.id.as_deref()).collect();
        let bodies: Vec<&[u8]> = records.iter().map(|r| r.body.as_slice()).collect();
        let values: Parameters = &[
            &numbers,
            &times,
            &experiments,
            &kinds,
            &decisions,
            &ids,
            &bodies,
            &(last as i64),
            &CHANNEL,
        ];
        self.execute(INSERT, values).map(|_| ())
    }
}

impl Store for Postgres {
    fn begin(&mut self) -> Result<Begun, StoreError> {
        if self.stage != Stage::Idle {
            return Err(StoreError::new("a transaction has begun already"));
        }
        self.stage = Stage::Begun;
        let said = self.with(async |client, _| client.simple_query(BEGIN).await);
        let begun = said.and_then(|messages| {
            let mut values = messages.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
                _ => None,
            });
            let (last, now): (Option<i64>, _) = (values.next(), values.next());
            begun(last.zip(now))
        });
        if begun.is_err() {
            self.rollback();
        }
        begun
    }

    fn append(&mut self, mut records: &[Record]) -> Result<(), StoreError> {
        let mut bytes = 0;
        while let Some(last) = records.last() {
            let fits = records.iter().take_while(|record| {
                bytes += record.body.len();
                bytes <= MOST_BYTES
            });
            let (now, rest) = records.split_at(fits.count().max(1));
            self.insert(now, last.number)?;
            (records, bytes) = (rest, 0);
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if self.stage != Stage::Begun {
            return Err(StoreError::new("there is no transaction to commit"));
        }
        self.with(async |client, _| client.batch_execute("COMMIT").await)?;
        self.stage = Stage::Idle;
        Ok(())
    }

    fn rollback(&mut self) {
        // Without a transaction there is nothing to undo.
        if self.stage == Stage::Idle {
            return;
        }
        self.stage = Stage::Idle;
        let undone = self.with(async |client, _| client.batch_execute("ROLLBACK").await);
        if undone.is_err() {
            // The server undoes what a lost connection leaves behind.
            self.session.close();
        }
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        // The server writes a new version of the row, though nothing in it changes.
        self.execute("UPDATE counter SET last = last WHERE one = 1", &[])
            .map(|_| ())
    }

    fn poll(&mut self) -> Result<Begun, StoreError> {
        begun(self.pair(POLL)?)
    }

    fn id(&mut self) -> Result<String, StoreError> {
        let rows = self.rows("SELECT id FROM meta", &[])?;
        let id = rows.first().map(|row| column::<Option<String>>(row, 0));
        (id.transpose()?.flatten()).ok_or_else(|| StoreError::new("the log has no id"))
    }

    fn check(&mut self) -> Result<(), StoreError> {
        // The server sees to the rest.
        self.check_count()
    }

    fn check_count(&mut self) -> Result<(), StoreError> {
        match self.pair(COUNTED)? {
            Some((last, counter)) if last != counter => {
                Err(miscounted(last as u64, counter as u64))
            }
            counted => begun(counted).map(|_| ()),
        }
    }

    fn created(&mut self) -> Result<Vec<u64>, StoreError> {
        self.numbers(CREATED, &[])
    }

    fn changes(&mut self, span: &Span) -> Result<Vec<Record>, StoreError> {
        let [experiment, after, before, limit] = span.parameters();
        self.records(CHANGES, &[&experiment, &after, &before, &limit])
    }

    fn read(&mut self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        // The server looks at the sizes of all that may be in the page.
        let upto = after.saturating_add(limit.min(MOST_ROWS) as u64);
        self.records(READ, &[&number(after), &number(upto), &PAGE])
    }

    fn get(&mut self, wanted: u64) -> Result<Option<Record>, StoreError> {
        Ok(self.records(GET, &[&number(wanted)])?.pop())
    }

    fn find(&mut self, keys: &[(u64, Key)]) -> Result<Vec<Option<Found>>, StoreError> {
        let mut by_number: (Vec<i64>, Vec<i64>, Vec<i64>) = Default::default();
        let mut by_id: (Vec<i64>, Vec<i64>, Vec<&str>) = Default::default();
        for (place, (experiment, key)) in (0..).zip(keys) {
            let experiment = number(*experiment);
            match key {
                Key::Number(wanted) => {
                    by_number.0.push(place);
                    by_number.1.push(experiment);
                    by_number.2.push(number(*wanted));
                }
                // No id has a NUL, and the server's texts cannot.
                Key::Id(id) if id.contains('\0') => {}
                Key::Id(id) => {
                    by_id.0.push(place);
                    by_id.1.push(experiment);
                    by_id.2.push(id);
                }
            }
        }
        let values: Parameters = &[
            &by_number.0,
            &by_number.1,
            &by_number.2,
            &by_id.0,
            &by_id.1,
            &by_id.2,
            &PAGE,
        ];
        let (mut found, beyond) = self.found(FIND, values)?;
        let places = 0..beyond.unwrap_or(keys.len() as i64);
        Ok(places.map(|place| found.remove(&place)).collect())
    }

    fn decisions(&mut self, span: &Span) -> Result<Vec<Found>, StoreError> {
        let [experiment, after, before, limit] = span.parameters();
        let sql = if span.newest_first {
            DECISIONS
        } else {
            DECISIONS_AFTER
        };
        let limit = limit.min(MOST_ROWS as i64);
        let (found, _) = self.found(sql, &[&experiment, &after, &before, &limit, &PAGE])?;
        let mut found: Vec<Found> = found.into_values().collect();
        found.sort_by_key(|found| found.decision.number);
        if span.newest_first {
            found.reverse();
        }
        Ok(found)
    }

    fn overdue(&mut self, span: &Span) -> Result<Vec<u64>, StoreError> {
        let [experiment, after, before, limit] = span.parameters();
        self.numbers(OVERDUE, &[&experiment, &after, &before, &limit])
    }

    fn snapshots(&mut self) -> Result<Vec<u64>, StoreError> {
        self.numbers("SELECT experiment FROM snapshots ORDER BY experiment", &[])
    }

    fn snapshot(&mut self, experiment: u64) -> Result<Option<Snapshot>, StoreError> {
        let sql = "SELECT number, body FROM snapshots WHERE experiment = $1";
        let rows = self.rows(sql, &[&number(experiment)])?;
        let snapshot = |row: &Row| {
            Ok(Snapshot {
                experiment,
                number: column::<i64>(row, 0)? as u64,
                body: column(row, 1)?,
            })
        };
        rows.first().map(snapshot).transpose()
    }

    fn keep_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let (experiment, upto) = (number(snapshot.experiment), number(snapshot.number));
        self.execute(KEEP_SNAPSHOT, &[&experiment, &upto, &snapshot.body])
            .map(|_| ())
    }

    fn tokens(&mut self) -> Result<Vec<StoredToken>, StoreError> {
        let rows = self.rows(
            "SELECT name, role, digest, created, scope, expires, rate \
             FROM tokens ORDER BY name",
            &[],
        )?;
        let token = |row: &Row| {
            let digest: Vec<u8> = column(row, 2)?;
            Ok(StoredToken {
                name: column(row, 0)?,
                role: column(row, 1)?,
                digest: (digest.try_into()).map_err(|_| StoreError::new("a token is damaged"))?,
                created: Timestamp(column(row, 3)?),
                scope: column(row, 4)?,
                expires: column::<Option<i64>>(row, 5)?.map(Timestamp),
                rate: column(row, 6)?,
            })
        };
        rows.iter().map(token).collect()
    }

    fn add_token(&mut self, token: &StoredToken) -> Result<bool, StoreError> {
        let sql = "INSERT INTO tokens \
             (name, role, digest, created, scope, expires, rate) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) \
             ON CONFLICT (name) DO NOTHING";
        let digest: &[u8] = &token.digest;
        let values: Parameters = &[
            &token.name,
            &token.role,
            &digest,
            &token.created.0,
            &token.scope,
            &token.expires.map(|time| time.0),
            &token.rate,
        ];
        Ok(self.execute(sql, values)? == 1)
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }

    fn revoke_token(&mut self, name: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE tokens SET role = $2, digest = $3 WHERE name = $1 AND role <> $2";
        let nothing: &[u8] = &[0; 32];
        Ok(self.execute(sql, &[&name, &REVOKED, &nothing])? == 1)
    }
}

async fn prepared(
    client: &Client,
    statements: &mut HashMap<&'static str, Statement>,
    sql: &'static str,
) -> Result<Statement, Error> {
    if let Some(statement) = statements.get(sql) {
        return Ok(statement.clone());
    }
    let statement = client.prepare(sql).await?;
    statements.insert(sql, statement.clone());
    Ok(statement)
}

fn begun(row: Option<(i64, i64)>) -> Result<Begun, StoreError> {
    let (last, now) = row.ok_or_else(|| StoreError::new("the log's counter is missing"))?;
    Ok(Begun {
        last: last as u64,
        now: Timestamp(now),
    })
}

fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    place: usize,
) -> Result<T, StoreError> {
    row.try_get(place).map_err(of)
}

fn record(row: &Row) -> Result<Record, StoreError> {
    let number = column::<i64>(row, 0)? as u64;
    let kind: i16 = column(row, 3)?;
    let unknown = || StoreError::new(format!("event {number} is of an unknown kind, {kind}"));
    Ok(Record {
        number,
        time: Timestamp(column(row, 1)?),
        experiment: column::<i64>(row, 2)? as u64,
        kind: EventKind::from_number(kind.into()).ok_or_else(unknown)?,
        decision: column::<Option<i64>>(row, 4)?.map(|n| n as u64),
        id: column(row, 5)?,
        body: column(row, 6)?,
    })
}
