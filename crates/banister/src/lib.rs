//! The core of banister.

use serde::{Deserialize, Serialize};

/// Which side of its threshold a guardrail's signal must stay on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The expected signal must not exceed the threshold.
    AtMost,
    /// The expected signal must not fall below the threshold.
    AtLeast,
}
