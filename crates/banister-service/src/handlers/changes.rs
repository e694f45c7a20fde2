//! Changes of an experiment: what was done to it, when, and by whom.

use axum::extract::State;
use axum::response::Response;
use banister_engine::{Author, Event, Facts, ReadFacts, Record, Timestamp};
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
    /// Name of the token, `anonymous` where none was needed, `banister` for the service itself; null in logs
    /// of versions that did not keep it.
    pub author: Option<String>,
    /// `created`, `changed`, `arm_added`, `arm_retired`, `alarm_raised` or `alarms_acknowledged`.
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
    let facts = app.query(ReadFacts(name.into())).await?;
    let key = facts.key;
    let records = app
        .read(move |store| store.changes(key, before, limit))
        .await?;
    let changes = records.iter().map(|record| changed(record, &facts));
    let changes = changes.collect::<Result<_, Problem>>()?;
    Ok(answer::json(&ChangeList { changes }))
}

fn changed(record: &Record, facts: &Facts) -> Result<Changed, Problem> {
    let (author, event) = record.read()?;
    let parsed = |json: &str| serde_json::from_str(json).unwrap_or_default();
    let (kind, change) = match event {
        Event::Created(json) => ("created", parsed(&json)),
        Event::Changed(json) => ("changed", parsed(&json)),
        Event::NewArm(json) => ("arm_added", parsed(&json)),
        Event::ArmAdded { name, .. } => ("arm_added", json!({ "name": name })),
        Event::ArmRetired { arm } => (
            "arm_retired",
            json!({ "name": facts.arms.get(arm as usize) }),
        ),
        Event::AlarmRaised(json) => ("alarm_raised", parsed(&json)),
        Event::AlarmsAcknowledged(note) => ("alarms_acknowledged", json!({ "note": note })),
        _ => ("other", Value::Null),
    };
    Ok(Changed {
        number: record.number,
        time: record.time,
        author: author.map(|author| author.name().to_string()),
        kind,
        change,
    })
}

/// Writes a line into the service's own log about something that an administrator did.
pub fn announce(author: &Author, experiment: &str, kind: &str, change: impl Serialize) {
    let mut change = serde_json::to_string(&change).unwrap_or_default();
    if change.len() > LONGEST_LINE {
        change = change.chars().take(LONGEST_LINE).chain(['…']).collect();
    }
    tracing::info!(token = author.name(), experiment, kind, change, "changed");
}
