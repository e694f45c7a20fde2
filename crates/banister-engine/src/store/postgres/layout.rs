//! The tables of the log, in the connection's default schema.

use std::time::Duration;

use super::error::of;
use super::session::Session;
use crate::store::{LAYOUT_VERSION, StoreError, new_id, unknown_layout};

const APPLICATION: &str = "banister";
/// Lock of the process that lays out the tables ("banister" in bytes).
const LOCK: i64 = 0x6261_6e69_7374_6572;

/// Longest time of a statement that changes the layout.
const LONGEST: Duration = Duration::from_secs(3600);

/// The tables. Texts are compared byte by byte: an index must not depend on the
/// machine's languages.
const LAYOUT: &str = r#"
CREATE TABLE meta (
  one SMALLINT PRIMARY KEY CHECK (one = 1),
  application TEXT NOT NULL,
  version INTEGER NOT NULL,
  id TEXT NOT NULL
);
CREATE TABLE counter (one SMALLINT PRIMARY KEY CHECK (one = 1), last BIGINT NOT NULL)
  WITH (fillfactor = 10);
INSERT INTO counter VALUES (1, 0);
CREATE TABLE events (
  number BIGINT PRIMARY KEY,
  time BIGINT NOT NULL,
  experiment BIGINT NOT NULL,
  kind SMALLINT NOT NULL,
  decision BIGINT,
  id TEXT COLLATE "C",
  body BYTEA NOT NULL
);
-- An id belongs to one decision of an experiment, and a decision has one outcome.
CREATE UNIQUE INDEX events_id ON events (experiment, id) WHERE id IS NOT NULL;
CREATE UNIQUE INDEX events_outcome ON events (decision) WHERE kind = 5;
CREATE INDEX events_part ON events (decision) WHERE kind = 4;
CREATE INDEX events_decision ON events (experiment, number) WHERE kind = 3;
CREATE INDEX events_admin ON events (experiment, number) WHERE kind = 1;
CREATE TABLE snapshots (
  experiment BIGINT PRIMARY KEY,
  number BIGINT NOT NULL,
  body BYTEA NOT NULL
);
CREATE TABLE tokens (
  name TEXT COLLATE "C" PRIMARY KEY,
  role TEXT NOT NULL,
  digest BYTEA NOT NULL,
  created BIGINT NOT NULL,
  scope TEXT,
  expires BIGINT,
  rate DOUBLE PRECISION
);
"#;

/// Lays the tables out, unless they are there.
pub(super) fn lay_out(session: &mut Session) -> Result<(), StoreError> {
    if version(session)? == LAYOUT_VERSION {
        return Ok(());
    }
    // Several replicas may start at once: all but one wait here, and find the tables then.
    let begin = format!(
        "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; \
         SELECT pg_advisory_xact_lock({LOCK})"
    );
    run(session, &begin)?;
    if version(session)? == 0 {
        run(session, LAYOUT)?;
        let id = new_id();
        let meta =
            format!("INSERT INTO meta VALUES (1, '{APPLICATION}', {LAYOUT_VERSION}, '{id}')");
        run(session, &meta)?;
    }
    run(session, "COMMIT")
}

/// Runs statements that may take their time: an index over many events does.
fn run(session: &mut Session, sql: &str) -> Result<(), StoreError> {
    session.run_within(LONGEST, async |client| client.batch_execute(sql).await)
}

/// Checks that the tables are there.
pub(super) fn check(session: &mut Session) -> Result<(), StoreError> {
    if version(session)? == 0 {
        return Err(StoreError::passing("the database has no log yet"));
    }
    Ok(())
}

/// The layout of the log; 0 if the schema is empty, an error if it holds something else.
fn version(session: &mut Session) -> Result<i32, StoreError> {
    let sql = "SELECT current_schema()::text, current_setting('server_encoding')";
    let row = session.run(async |client| client.query_one(sql, &[]).await)?;
    let schema: Option<String> = row.try_get(0).map_err(of)?;
    let encoding: String = row.try_get(1).map_err(of)?;
    if encoding != "UTF8" && encoding != "SQL_ASCII" {
        return Err(StoreError::new(format!(
            "the database's encoding is {encoding}: ids need one made with UTF8"
        )));
    }
    let schema = schema.ok_or_else(|| {
        StoreError::new("the database user has no schema to keep tables in (see search_path)")
    })?;
    let sql = "SELECT c.relname::text, EXISTS (SELECT FROM pg_attribute AS a \
         WHERE a.attrelid = c.oid AND a.attname = 'application' AND NOT a.attisdropped) \
         FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE n.nspname = $1 \
         AND c.relname IN ('meta', 'counter', 'events', 'snapshots', 'tokens') ORDER BY 1";
    let mut first = None;
    for row in session.run(async |client| client.query(sql, &[&schema]).await)? {
        let table: String = row.try_get(0).map_err(of)?;
        let ours: bool = row.try_get(1).map_err(of)?;
        if table == "meta" && ours {
            return known(session);
        }
        first = first.or(Some(table));
    }
    match first {
        None => Ok(0),
        Some(table) => Err(StoreError::new(format!(
            "the schema `{schema}` has a table `{table}` of another program: \
             give the log a database or a schema of its own"
        ))),
    }
}

/// Checks that the log is of a layout that this program knows.
fn known(session: &mut Session) -> Result<i32, StoreError> {
    let sql = "SELECT application::text, version::integer FROM meta";
    let row = session.run(async |client| client.query_opt(sql, &[]).await)?;
    let (application, version): (String, i32) = match row {
        Some(row) => (row.try_get(0).map_err(of)?, row.try_get(1).map_err(of)?),
        None => (String::new(), 0),
    };
    match (application.as_str(), version) {
        (APPLICATION, LAYOUT_VERSION) => Ok(version),
        (APPLICATION, other) => Err(unknown_layout(other)),
        _ => Err(StoreError::new("the database is another program's")),
    }
}
