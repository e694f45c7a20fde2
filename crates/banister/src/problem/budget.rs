//! Budgets over time as declared. Agents have no clock: the service, which has one, keeps them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Budget of a guardrail's signal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Most that the decisions of a period may cost in sum, in the signal's units.
    pub amount: f64,
    /// Period, aligned to UTC: hours, days, weeks from Monday, months.
    pub per: Period,
    /// Reaction to an amount that does not even cover the safe action.
    #[serde(default)]
    pub when_exhausted: WhenExhausted,
    /// True if the policy shifts to the safe action as soon as the amount would not last for the period.
    #[serde(default = "yes")]
    pub pacing: bool,
}

fn yes() -> bool {
    true
}

/// Period of a budget, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Period {
    /// From one full hour to the next.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From Monday to Monday.
    Week,
    /// From the first of a month to the first of the next.
    Month,
}

impl Period {
    /// The name used in configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

/// Reaction to an amount that does not even cover the safe action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhenExhausted {
    /// The safe action is played all the same: it alone may spend more than the amount.
    #[default]
    Safe,
    /// Decisions are refused until the next period: nothing spends more than the amount.
    Refuse,
}
