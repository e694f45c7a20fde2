//! Changes of an experiment: what was done to it, when, and by whom.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use banister_engine::{
    Author, Event, ExperimentInfo, Imported, ReadExperimentInfo, ReadImports, Record, Span, Store,
    Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::decisions::Page;
use crate::answer;
use crate::app::App;
use crate::body::{InPath, InQuery};
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
    /// `created`, `changed`, `arm_added`, `arm_retired`, `arm_forgotten`, `weights_told`, `imported`, `alarm_raised` or
    /// `alarms_acknowledged`.
    pub kind: &'static str,
    /// The change itself: the fields that were set, the arm, the alarm or the note.
    pub change: Value,
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
    let changes = records
        .iter()
        .map(|record| changed(record, &info, &imports));
    let changes = changes.collect::<Result<_, Problem>>()?;
    Ok(answer::json(&ChangeList { changes }))
}

fn changed(
    record: &Record,
    info: &ExperimentInfo,
    imports: &[Imported],
) -> Result<Changed, Problem> {
    let (author, event) = record.read()?;
    let parsed = |json: &str| -> Result<Value, Problem> {
        let damaged = |e| format!("the log is damaged: event {}: {e}", record.number);
        serde_json::from_str(json).map_err(|e| Problem::unavailable(damaged(e)))
    };
    let name = |arm: u32| info.arms.get(arm as usize);
    let (kind, change) = match event {
        Event::Created(json) => ("created", parsed(&json)?),
        Event::Changed(json) => ("changed", parsed(&json)?),
        Event::NewArm(json) => ("arm_added", parsed(&json)?),
        Event::ArmRetired { arm } => ("arm_retired", json!({ "name": name(arm) })),
        Event::ArmForgotten { arm } => ("arm_forgotten", json!({ "name": name(arm) })),
        Event::WeightsTold { arm, weights } => {
            let weights = parsed(&weights)?;
            (
                "weights_told",
                json!({ "name": name(arm), "weights": weights }),
            )
        }
        Event::Imported(_) => {
            let import = imports.iter().find(|import| import.number == record.number);
            (
                "imported",
                json!({ "outcomes": import.map(|import| import.outcomes) }),
            )
        }
        Event::AlarmRaised(json) => ("alarm_raised", parsed(&json)?),
        Event::AlarmsAcknowledged(note) => ("alarms_acknowledged", json!({ "note": note })),
        _ => ("other", Value::Null),
    };
    Ok(Changed {
        number: record.number,
        time: record.time,
        author: author.name().to_string(),
        kind,
        change,
    })
}

/// Writes a line into the service's own log about something that an administrator did. `number` is the
/// experiment's last event: the same one twice means that the second changed nothing.
pub fn announce(
    author: &Author,
    experiment: &str,
    kind: &str,
    number: u64,
    change: impl Serialize,
) {
    let change = serde_json::to_string(&change);
    let mut change = change.unwrap_or_else(|e| format!("no JSON: {e}"));
    if change.len() > LONGEST_LINE {
        change = change.chars().take(LONGEST_LINE).chain(['…']).collect();
    }
    let token = author.name();
    tracing::info!(token, experiment, kind, number, change, "changed");
}
