//! Changes of an experiment: what was done to it, when, and by whom.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use banister_engine::{
    Author, Event, Imported, ReadExperimentInfo, ReadImports, Record, Span, Store, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::decisions::Page;
use crate::app::App;
use crate::body::{InPath, InQuery, json};
use crate::problem::Problem;

/// Most characters of a change in the service's own log.
const LONGEST_LINE: usize = 2000;

/// Changes of an experiment, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangeList {
    /// The changes.
    pub changes: Vec<Changed>,
}

/// A change of an experiment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Changed {
    /// Its number in the log.
    pub number: u64,
    /// Time.
    pub time: Timestamp,
    /// Name of the token, `anonymous` where none was needed, `banister` for the service itself.
    pub author: String,
    #[serde(flatten)]
    pub content: Content,
}

/// Content of a change, as the event of an edit has it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    /// `created`, `changed`, `arm_added`, `arm_retired`, `arm_forgotten`, `weights_told`, `imported`, `alarm_raised` or
    /// `alarms_acknowledged`.
    pub kind: String,
    /// The change itself: the fields that were set, the arm, the alarm or the note.
    pub change: Value,
}

impl Content {
    pub fn new(kind: &str, change: Value) -> Self {
        let kind = kind.to_string();
        Self { kind, change }
    }
}

pub async fn list(
    State(app): State<App>,
    InPath(name): InPath<String>,
    InQuery(page): InQuery<Page>,
) -> Result<Response, Problem> {
    let (before, limit) = page.check()?;
    let name: Arc<str> = name.into();
    let info = app.query(ReadExperimentInfo(name.clone())).await?;
    let imports = app.query(ReadImports(name)).await?;
    let key = info.key;
    let read = move |store: &mut dyn Store| {
        let mut records = store.changes(&Span::before(key, before, limit))?;
        // Imports are events of their own kind; the last one of each stands for it.
        let newest = imports.iter().rev().filter(|import| import.number < before);
        for import in newest.take(limit) {
            records.extend(store.get(import.number)?);
        }
        records.sort_by_key(|record| Reverse(record.number));
        records.truncate(limit);
        Ok((records, imports))
    };
    let (records, imports) = app.read(read).await?;
    let changes = records.iter().map(|record| changed(record, &imports));
    let changes = changes.collect::<Result<_, Problem>>()?;
    Ok(json(&ChangeList { changes }))
}

fn changed(record: &Record, imports: &[Imported]) -> Result<Changed, Problem> {
    let (author, event) = record.read()?;
    let damaged = |e: serde_json::Error| {
        Problem::unavailable(format!("the log is damaged: event {}: {e}", record.number))
    };
    let parsed = |json: &str| serde_json::from_str(json).map_err(damaged);
    let content = match event {
        Event::Edited(json) => serde_json::from_str(&json).map_err(damaged)?,
        Event::Created(json) => Content::new("created", parsed(&json)?),
        Event::AlarmRaised(json) => Content::new("alarm_raised", parsed(&json)?),
        Event::Imported(_) => {
            let import = imports.iter().find(|import| import.number == record.number);
            let outcomes = import.map(|import| import.outcomes);
            Content::new("imported", json!({ "outcomes": outcomes }))
        }
        _ => Content::new("other", Value::Null),
    };
    Ok(Changed {
        number: record.number,
        time: record.time,
        author: author.name().to_string(),
        content,
    })
}

/// Writes a line into the service's own log about something that an administrator did. `number` is the
/// experiment's last event: the same one twice means that the second changed nothing.
pub fn announce(author: &Author, experiment: &str, number: u64, content: Content) {
    let (kind, mut change) = (content.kind, content.change.to_string());
    if change.len() > LONGEST_LINE {
        change = change.chars().take(LONGEST_LINE).chain(['…']).collect();
    }
    let token = author.name();
    tracing::info!(token, experiment, kind, number, change, "changed");
}
