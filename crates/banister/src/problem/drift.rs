//! Declared drift: how fast means may move.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, finite};

/// Most that the mean of a signal may move in a unit of time, for every arm: |μ_t − μ_s| ≤ by·|t − s|.
///
/// ```
/// use banister::Guardrail;
///
/// let complaints: Guardrail = serde_json::from_value(serde_json::json!({
///     "name": "complaints", "at_most": 0.2, "drift": {"by": 1e-6, "per": "decision"},
/// }))?;
/// assert!(complaints.drift.is_some());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// Distance, in the units of the signal.
    pub by: f64,
    /// Unit of time.
    pub per: DriftUnit,
}

/// Unit of time of a drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DriftUnit {
    /// One decision of the agent.
    Decision,
}

impl Drift {
    /// Refuses what is no speed; `width` is that of the signal's range.
    pub(super) fn check(&self, field: &str, width: f64) -> Result<(), Error> {
        let field = format!("{field}.drift.by");
        if finite(&field, self.by)? < 0.0 {
            return Err(Error::invalid(field, self.by, "must be at least 0"));
        }
        if self.by > width {
            let allowed = format!("must be at most {width}, the width of the signal's range");
            return Err(Error::invalid(field, self.by, allowed));
        }
        Ok(())
    }
}
