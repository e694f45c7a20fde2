//! Snapshots of rivals: common statistics, and a memory of each one's own.

use banister::toolkit::{broken, check_header};
use banister::{Error, Problem};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const VERSION: u32 = 2;

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

/// Everything that outcomes changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    pub outcomes: u64,
    /// Statistics of the outcomes.
    pub evidence: Value,
    /// Memory of the rule beside them.
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
pub(crate) fn write<C: Serialize>(
    problem: &Problem,
    kind: &'static str,
    config: &C,
    saved: Saved,
) -> String {
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
        check_header(json, FORMAT, VERSION)?;
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
