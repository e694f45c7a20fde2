//! Memory of a rule in snapshots.

use banister::Error;
use banister::toolkit::broken;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A part of a snapshot in its own type; `what` names it in errors.
pub(crate) fn part<T: DeserializeOwned>(what: &str, value: &Value) -> Result<T, Error> {
    serde_json::from_value(value.clone()).map_err(|e| broken(format!("its {what}: {e}")))
}

/// A part of a snapshot as JSON.
pub(crate) fn to_part(value: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|e| broken(e.to_string()))
}
