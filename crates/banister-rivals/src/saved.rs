//! Snapshots of rivals: what every one keeps, and a memory of each one's own.

use banister::toolkit::{broken, check_header};
use banister::{Error, Problem};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Registered;

const VERSION: u32 = 1;

/// A snapshot of a rival.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedRival<C> {
    format: String,
    version: u32,
    pub problem: Problem,
    pub config: C,
    pub saved: Saved,
}

/// What has happened to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    pub outcomes: u64,
    /// What it has seen.
    pub evidence: Value,
    /// What its rule remembers beside that.
    pub memory: Value,
}

/// Parameters with the `kind` by which the registry reads them back.
#[derive(Serialize)]
struct Tagged<'a, C> {
    kind: &'static str,
    #[serde(flatten)]
    config: &'a C,
}

/// `format` in the snapshot of a rival.
pub(crate) const FORMAT: &str = "banister.rival";

/// A rival's snapshot as JSON.
pub(crate) fn write<C: Registered + Serialize>(
    problem: &Problem,
    config: &C,
    saved: Saved,
) -> String {
    let kind = config.kind();
    let snapshot = SavedRival {
        format: FORMAT.into(),
        version: VERSION,
        problem: problem.clone(),
        config: Tagged { kind, config },
        saved,
    };
    // Strings, integers and finite floats only: serialisation has nothing to fail on.
    serde_json::to_string(&snapshot).unwrap_or_default()
}

impl<C: DeserializeOwned> SavedRival<C> {
    /// Reads a snapshot; nothing of `saved` has been checked.
    pub(crate) fn read(json: &str) -> Result<Self, Error> {
        check_header(json, FORMAT, VERSION..=VERSION)?;
        serde_json::from_str(json).map_err(|e| broken(e.to_string()))
    }
}

/// A part of a snapshot in its own type; `what` names it in errors.
pub(crate) fn part<T: DeserializeOwned>(what: &str, value: &Value) -> Result<T, Error> {
    serde_json::from_value(value.clone()).map_err(|e| broken(format!("its {what}: {e}")))
}

/// A part of a snapshot as JSON.
pub(crate) fn to_part(value: impl Serialize) -> Value {
    // Strings, integers and finite floats only: serialisation has nothing to fail on.
    serde_json::to_value(value).unwrap_or_default()
}
