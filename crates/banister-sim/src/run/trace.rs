//! Traces of runs.

use serde::{Deserialize, Serialize};

use crate::results::RunSummary;

/// Rounding allowed before a policy counts as breaking a guardrail, in units of the signal's range.
pub const TOLERANCE: f64 = 1e-10;

/// One run at its checkpoints. Unknown values are NaN, see [`crate::results`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Cumulative pseudo-regret.
    pub regret: Vec<f64>,
    /// Mean policy reward since the previous checkpoint.
    pub reward: Vec<f64>,
    /// Per guardrail: mean policy signal since the previous checkpoint.
    pub cost: Vec<Vec<f64>>,
    /// Per guardrail: worst policy signal since the previous checkpoint.
    pub worst: Vec<Vec<f64>>,
    /// Per guardrail: mean shadow price since the previous checkpoint.
    pub price: Vec<Vec<f64>>,
    /// Per guardrail: positive violation Σ(c − τ)₊ since the first round.
    pub violation: Vec<Vec<f64>>,
    /// Per guardrail: sum Σ(c − τ) since the first round, of either sign.
    pub net: Vec<Vec<f64>>,
    /// Mean reward and costs of the best feasible policies, where rounds differ.
    pub optimum: Option<(f64, Vec<f64>)>,
    /// Totals of the run.
    pub summary: RunSummary,
}
