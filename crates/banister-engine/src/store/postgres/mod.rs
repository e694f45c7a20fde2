//! The log in a PostgreSQL database, which any number of processes may share.
//!
//! Whoever writes holds the counter's row, so commits follow one another and numbers have no gaps. A
//! commit is three round trips: begin and take the row, insert the whole batch, commit.

mod connection;
mod error;
mod layout;
mod listen;
mod sql;
mod tls;

use std::collections::HashMap;

use postgres::types::ToSql;
use postgres::{Client, Row, SimpleQueryMessage, Statement};

use super::{Found, Key, REVOKED, Snapshot, Store, StoreError, StoredToken};
use crate::events::{EventKind, Record};
use crate::time::Timestamp;

pub(super) use connection::shown;
pub(super) use listen::listen;

use error::{lost, of};
use sql::{
    BEGIN, CHANGES, CREATED, DECISIONS, DECISIONS_AFTER, FIND, GET, INSERT, KEEP_SNAPSHOT, OVERDUE,
    READ,
};

/// Channel on which every commit is announced.
const CHANNEL: &str = "banister_engine";
/// Bodies of one statement, in bytes; a message of the protocol has room for a gigabyte.
const MOST_BYTES: usize = 64 << 20;

type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

pub(super) struct Postgres {
    /// `None`: it broke, and its owner has to open another.
    client: Option<Client>,
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
    pub(super) fn open(url: &str) -> Result<Self, StoreError> {
        let mut client = connection::open(url)?;
        layout::lay_out(&mut client)?;
        Ok(Self::new(client))
    }

    /// Opens the database for reading.
    pub(super) fn open_reader(url: &str) -> Result<Self, StoreError> {
        let mut client = connection::open(url)?;
        layout::check(&mut client)?;
        let read_only = "SET default_transaction_read_only = on";
        client.batch_execute(read_only).map_err(of)?;
        Ok(Self::new(client))
    }

    fn new(client: Client) -> Self {
        Self {
            client: Some(client),
            statements: HashMap::new(),
            stage: Stage::Idle,
        }
    }

    /// Does something with the connection, and remembers if that broke the transaction.
    fn with<T>(
        &mut self,
        act: impl FnOnce(
            &mut Client,
            &mut HashMap<&'static str, Statement>,
        ) -> Result<T, postgres::Error>,
    ) -> Result<T, StoreError> {
        let client = self.client.as_mut().ok_or_else(lost)?;
        act(client, &mut self.statements).map_err(|error| {
            if self.stage == Stage::Begun {
                self.stage = Stage::Failed;
            }
            of(error)
        })
    }

    fn rows(&mut self, sql: &'static str, values: Parameters) -> Result<Vec<Row>, StoreError> {
        self.with(|client, statements| {
            let statement = prepared(client, statements, sql)?;
            client.query(&statement, values)
        })
    }

    fn execute(&mut self, sql: &'static str, values: Parameters) -> Result<u64, StoreError> {
        self.with(|client, statements| {
            let statement = prepared(client, statements, sql)?;
            client.execute(&statement, values)
        })
    }

    fn records(
        &mut self,
        sql: &'static str,
        values: Parameters,
    ) -> Result<Vec<Record>, StoreError> {
        self.rows(sql, values)?.iter().map(record).collect()
    }

    /// Decisions with their reports, by place.
    fn found(
        &mut self,
        sql: &'static str,
        values: Parameters,
    ) -> Result<HashMap<i64, Found>, StoreError> {
        let mut records = Vec::new();
        for row in self.rows(sql, values)? {
            records.push((column::<i64>(&row, 7)?, record(&row)?));
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
        Ok(found)
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

    fn numbers(&mut self, sql: &'static str, values: Parameters) -> Result<Vec<u64>, StoreError> {
        let rows = self.rows(sql, values)?;
        let number = |row| column::<i64>(row, 0).map(|number| number as u64);
        rows.iter().map(number).collect()
    }
}

impl Store for Postgres {
    fn begin(&mut self) -> Result<u64, StoreError> {
        if self.stage != Stage::Idle {
            return Err(StoreError::new("a transaction has begun already"));
        }
        self.stage = Stage::Begun;
        let begun = self.with(|client, _| client.simple_query(BEGIN));
        let last = begun.and_then(|messages| {
            let last = messages.iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
                _ => None,
            });
            last.ok_or_else(|| StoreError::new("the log's counter is missing"))
        });
        if last.is_err() {
            self.rollback();
        }
        last
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
        self.with(|client, _| client.batch_execute("COMMIT"))?;
        self.stage = Stage::Idle;
        Ok(())
    }

    fn rollback(&mut self) {
        // Without a transaction there is nothing to undo.
        if self.stage == Stage::Idle {
            return;
        }
        self.stage = Stage::Idle;
        if self
            .with(|client, _| client.batch_execute("ROLLBACK"))
            .is_err()
        {
            // The server undoes what a lost connection leaves behind.
            self.client = None;
        }
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        // The server writes a new version of the row, though nothing in it changes.
        self.execute("UPDATE counter SET last = last WHERE one = 1", &[])
            .map(|_| ())
    }

    fn last(&mut self) -> Result<u64, StoreError> {
        let rows = self.rows("SELECT last FROM counter WHERE one = 1", &[])?;
        match rows.first() {
            Some(row) => column::<i64>(row, 0).map(|last| last as u64),
            None => Err(StoreError::new("the log's counter is missing")),
        }
    }

    fn created(&mut self) -> Result<Vec<u64>, StoreError> {
        self.numbers(CREATED, &[])
    }

    fn changes(
        &mut self,
        experiment: u64,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let values: Parameters = &[&number(experiment), &number(before), &number(limit as u64)];
        self.records(CHANGES, values)
    }

    fn read(&mut self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.records(READ, &[&number(after), &number(limit as u64)])
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
        ];
        let mut found = self.found(FIND, values)?;
        let places = 0..keys.len() as i64;
        Ok(places.map(|place| found.remove(&place)).collect())
    }

    fn decisions(
        &mut self,
        experiment: u64,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Found>, StoreError> {
        let values: Parameters = &[&number(experiment), &number(before), &number(limit as u64)];
        let mut found: Vec<Found> = self.found(DECISIONS, values)?.into_values().collect();
        found.sort_by_key(|found| std::cmp::Reverse(found.decision.number));
        Ok(found)
    }

    fn decisions_after(
        &mut self,
        experiment: u64,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Found>, StoreError> {
        let values: Parameters = &[&number(experiment), &number(after), &number(limit as u64)];
        let found = self.found(DECISIONS_AFTER, values)?;
        let mut found: Vec<Found> = found.into_values().collect();
        found.sort_by_key(|found| found.decision.number);
        Ok(found)
    }

    fn overdue(
        &mut self,
        experiment: u64,
        after: u64,
        upto: u64,
        limit: usize,
    ) -> Result<Vec<u64>, StoreError> {
        let (experiment, limit) = (number(experiment), number(limit as u64));
        let values: Parameters = &[&experiment, &number(after), &number(upto), &limit];
        self.numbers(OVERDUE, values)
    }

    fn snapshots(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        let sql = "SELECT experiment, number, body FROM snapshots ORDER BY experiment";
        let rows = self.rows(sql, &[])?;
        let snapshot = |row: &Row| {
            Ok(Snapshot {
                experiment: column::<i64>(row, 0)? as u64,
                number: column::<i64>(row, 1)? as u64,
                body: column(row, 2)?,
            })
        };
        rows.iter().map(snapshot).collect()
    }

    fn keep_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let (experiment, upto) = (number(snapshot.experiment), number(snapshot.number));
        self.execute(KEEP_SNAPSHOT, &[&experiment, &upto, &snapshot.body])
            .map(|_| ())
    }

    fn tokens(&mut self) -> Result<Vec<StoredToken>, StoreError> {
        let rows = self.rows(
            "SELECT name, role, digest, created FROM tokens ORDER BY name",
            &[],
        )?;
        let token = |row: &Row| {
            let digest: Vec<u8> = column(row, 2)?;
            Ok(StoredToken {
                name: column(row, 0)?,
                role: column(row, 1)?,
                digest: (digest.try_into()).map_err(|_| StoreError::new("a token is damaged"))?,
                created: Timestamp(column(row, 3)?),
            })
        };
        rows.iter().map(token).collect()
    }

    fn add_token(&mut self, token: &StoredToken) -> Result<bool, StoreError> {
        let sql = "INSERT INTO tokens (name, role, digest, created) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (name) DO UPDATE SET role = excluded.role, digest = excluded.digest, \
             created = excluded.created WHERE tokens.role = $5";
        let digest: &[u8] = &token.digest;
        let values: Parameters = &[
            &token.name,
            &token.role,
            &digest,
            &token.created.0,
            &REVOKED,
        ];
        Ok(self.execute(sql, values)? == 1)
    }

    fn revoke_token(&mut self, name: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE tokens SET role = $2, digest = $3 WHERE name = $1 AND role <> $2";
        let nothing: &[u8] = &[0; 32];
        Ok(self.execute(sql, &[&name, &REVOKED, &nothing])? == 1)
    }
}

fn prepared(
    client: &mut Client,
    statements: &mut HashMap<&'static str, Statement>,
    sql: &'static str,
) -> Result<Statement, postgres::Error> {
    if let Some(statement) = statements.get(sql) {
        return Ok(statement.clone());
    }
    let statement = client.prepare(sql)?;
    statements.insert(sql, statement.clone());
    Ok(statement)
}

/// Numbers beyond what the server counts to are beyond every event, too.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn column<'a, T: postgres::types::FromSql<'a>>(
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
