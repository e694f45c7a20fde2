//! Export of logs as CSV and Parquet, with propensities, and import of CSV.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use banister::logs::Frequencies;
use banister_engine::{
    Author, ExperimentInfo, ImportOutcomes, Key, MOST_IMPORTED, ReadExperimentInfo, Readers, Span,
};
use banister_table::{Limits, ParquetFile, RawTable, TableError};
use bytes::Bytes;
use futures_core::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::changes::{Content, announce};
use super::columns::{self, LogTable};
use crate::app::App;
use crate::body::{self, InPath, InQuery, json};
use crate::memory::Held;
use crate::problem::Problem;

/// Most decisions read at once.
const PAGE: usize = 2000;
/// Bytes of cells in a row group.
const GROUP: usize = 1 << 20;
/// Memory of an export: a page of the log, a row group, and a piece on its way.
const EXPORT: usize = 10 << 20;
/// Memory of a number that is imported: in its column, in its event, and encoded.
const IMPORTED: usize = 32;

/// Exports at a time.
pub const MOST_EXPORTS: usize = 16;
/// Longest time that a piece of an export waits for its reader.
const PATIENCE: Duration = Duration::from_secs(30);

/// Result of an import.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Imported {
    /// Outcomes learned from.
    pub outcomes: u64,
    /// Rows skipped because they are decisions of this experiment, whose outcomes are learned already.
    pub skipped: u64,
    /// The last event of the import.
    pub number: u64,
    /// Statistics of segments that the log cannot teach, with the reasons; empty where decisions have none.
    pub not_taught: Vec<String>,
}

/// The query of an import.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    #[serde(default)]
    frequencies: Frequencies,
}

/// The query of an export.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    #[serde(default)]
    format: Format,
    #[serde(default)]
    escape: Escape,
}

/// Texts that are changed for programs that would misread them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Escape {
    None,
    /// Those that begin with `=`; ids may begin with `@`.
    #[default]
    Equals,
    Formulas,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Csv,
    Parquet,
}

pub async fn export(
    State(app): State<App>,
    InPath(name): InPath<String>,
    InQuery(wanted): InQuery<Wanted>,
) -> Result<Response, Problem> {
    let format = wanted.format;
    if wanted.escape == Escape::Formulas && format != Format::Csv {
        let (status, allowed) = (StatusCode::BAD_REQUEST, "it is for CSV files alone");
        return Err(Problem::of_field(status, "escape", "formulas", allowed));
    }
    let info = app.query(ReadExperimentInfo(name.into())).await?;
    let (kind, ending) = match format {
        Format::Csv => ("text/csv; charset=utf-8", "csv"),
        Format::Parquet => ("application/vnd.apache.parquet", "parquet"),
    };
    let disposition = format!("attachment; filename=\"{}.{ending}\"", info.experiment);
    let turn = app.exports.clone().try_acquire_owned().map_err(|_| {
        Problem::unavailable("too many exports are running: come again in a moment")
    })?;
    let share = app.memory.reserve(EXPORT).await?;
    let (sender, receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let readers = app.readers.clone();
    let runtime = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || {
        let _turn = (turn, share);
        // A caller that stops reading must not hold a thread for ever.
        let send = |bytes: Vec<u8>| {
            if bytes.is_empty() {
                return !sender.is_closed();
            }
            let sent = sender.send_timeout(Ok(bytes.into()), PATIENCE);
            runtime.block_on(sent).is_ok()
        };
        if let Err(problem) = write(&readers, &info, &wanted, send) {
            let reason = problem.detail.into_string();
            tracing::warn!(reason, "an export broke off");
            // The caller sees that the file is not whole: its transfer is cut.
            let _ = sender.try_send(Err(std::io::Error::other(reason)));
        }
    });
    let headers = [
        (header::CONTENT_TYPE, kind.to_string()),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    let body = Body::from_stream(Pieces(receiver));
    Ok((headers, body).into_response())
}

/// Writes the file piece by piece; breaks off if the caller stops reading. The log's connection is lent for one page at
/// a time, so that slow readers do not hold it.
fn write(
    readers: &Readers,
    info: &ExperimentInfo,
    wanted: &Wanted,
    send: impl Fn(Vec<u8>) -> bool,
) -> Result<(), Problem> {
    let failed = |error: TableError| Problem::unavailable(error.to_string());
    let send = |piece: Vec<u8>| {
        if send(piece) {
            return Ok(());
        }
        Err(Problem::unavailable("nobody takes the file"))
    };
    let escape = match wanted.format {
        Format::Csv => wanted.escape,
        Format::Parquet => Escape::None,
    };
    let mut table = LogTable::new(info, escape);
    let empty = table.finish_table();
    let mut file = match wanted.format {
        Format::Csv => {
            send(empty.to_csv().map_err(failed)?)?;
            None
        }
        Format::Parquet => Some(ParquetFile::new(&empty).map_err(failed)?),
    };
    let mut after = 0;
    loop {
        let page = readers.with(|store| store.decisions(&Span::after(info.key, after, PAGE)))?;
        let Some(last) = page.last() else {
            break;
        };
        after = last.decision.number;
        for found in page {
            table.push(&found)?;
        }
        match &mut file {
            Some(file) => {
                // Few row groups: each adds to the file's last part.
                if table.bytes >= GROUP {
                    file.write(&table.finish_table()).map_err(failed)?;
                }
                send(file.drain())?;
            }
            None => send(table.finish_table().to_csv_rows().map_err(failed)?)?,
        }
    }
    if let Some(mut file) = file {
        if table.bytes > 0 {
            file.write(&table.finish_table()).map_err(failed)?;
        }
        send(file.finish().map_err(failed)?)?;
    }
    Ok(())
}

pub async fn import(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath(name): InPath<String>,
    InQuery(Declared { frequencies }): InQuery<Declared>,
    request: Request,
) -> Result<Response, Problem> {
    let experiment: Arc<str> = name.as_str().into();
    let info = app.query(ReadExperimentInfo(experiment.clone())).await?;
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("absent")
        .to_string();
    if kind.split(';').next().unwrap_or("").trim() != "text/csv" {
        let allowed = "must be text/csv: the Python client converts Parquet files and data frames";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::of_field(status, "content-type", kind, allowed));
    }
    let (content, shares) = body::read(&app, request.into_body(), app.settings.max_import).await?;
    let limits = Limits {
        rows: MOST_IMPORTED,
        bytes: app.memory.most() / 4,
    };
    let read = app.memory.reserve(limits.bytes).await?;
    let table = tokio::task::spawn_blocking(move || {
        let _shares = shares;
        RawTable::from_csv(&content, limits)
    });
    let failed = |_| Problem::unavailable("reading the file failed");
    let table = table.await.map_err(failed)?;
    let table = table.map_err(|error| match error {
        TableError::TooLarge(_) => {
            let detail = format!("{error}: send it in parts");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
        }
        error => {
            let detail = format!("the file cannot be read: {error}");
            Problem::new(StatusCode::BAD_REQUEST, detail)
        }
    })?;
    let numbers = table.len() * (info.width + 1 + info.costs.len());
    let held = Held::current();
    held.add(app.memory.reserve(numbers * IMPORTED).await?);
    let readers = app.readers.clone();
    let made = tokio::task::spawn_blocking(move || {
        let _read = (read, held);
        let own = own_decisions(&readers, &table, info.key)?;
        columns::to_import(&table, &info, frequencies, |id| own.contains(id))
    });
    let (import, skipped, not_taught) = made.await.map_err(failed)??;
    let imported = (app.execute(author.clone(), ImportOutcomes { experiment, import })).await?;
    let content = Content::new("imported", imported.outcomes.into());
    announce(&author, &name, imported.number, content);
    Ok(json(&Imported {
        outcomes: imported.outcomes,
        skipped,
        number: imported.number,
        not_taught,
    }))
}

/// Ids in a table that are decisions of an experiment. What is a decision stays one, so this may be looked
/// up beside the writer.
fn own_decisions(
    readers: &Readers,
    table: &RawTable,
    experiment: u64,
) -> Result<HashSet<String>, Problem> {
    let Some(place) = table.column("decision") else {
        return Ok(HashSet::new());
    };
    let mut own = HashSet::new();
    let mut row = 0;
    while row < table.len() {
        let ids = (row..table.len().min(row + PAGE)).map(|row| table.cell(row, place));
        let keys: Vec<(u64, Key)> = ids.clone().map(|id| (experiment, Key::parse(id))).collect();
        let found = readers.with(|store| store.find(&keys))?;
        row += found.len().max(1);
        own.extend(
            ids.zip(found)
                .filter_map(|(id, found)| found.map(|_| id.to_string())),
        );
    }
    Ok(own)
}

/// A channel's pieces as a body.
struct Pieces(mpsc::Receiver<Result<Bytes, std::io::Error>>);

impl Stream for Pieces {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
