//! Budgets of bandits with knapsacks: τ_i for each of T rounds.
//!
//! In that setting one can always stop, at no cost. Here the safe arm is what is left to play, so what it
//! costs until the end is set aside, as far as that is known.

use banister::Error;
use banister::toolkit::broken;
use serde::{Deserialize, Serialize};

use super::ArmEvidence;

/// The budgets, and what has been observed to be spent of them, in standard units.
pub(super) struct Knapsacks {
    /// T.
    pub horizon: u64,
    /// B_i = τ_i·T.
    pub limits: Vec<f64>,
    memory: KnapsacksState,
}

/// State of the budgets, for snapshots.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnapsacksState {
    spent: Vec<f64>,
    /// Some budget was once spent. Sums of sub-Gaussian costs can fall again; this stays.
    over: bool,
}

impl Knapsacks {
    pub fn new(evidence: &ArmEvidence, horizon: u64) -> Self {
        let thresholds = &evidence.bounds.thresholds;
        Self {
            horizon,
            limits: thresholds.iter().map(|t| t * horizon as f64).collect(),
            memory: KnapsacksState {
                spent: vec![0.0; thresholds.len()],
                over: false,
            },
        }
    }

    /// B: the smallest of the budgets and of T, which is the budget of rounds.
    pub fn smallest(&self) -> f64 {
        let limits = self.limits.iter().copied();
        limits.fold(self.horizon as f64, f64::min)
    }

    /// Counts what an outcome cost; `evidence` is still as it was before it.
    pub fn spend(&mut self, evidence: &ArmEvidence, costs: &[f64]) {
        let left = self.horizon.saturating_sub(evidence.outcomes + 1) as f64;
        for (i, guardrail) in evidence.problem.guardrails.iter().enumerate() {
            self.memory.spent[i] += guardrail.standardise(costs[i]);
            let reserved = left * guardrail.safe_cost.unwrap_or(0.0);
            self.memory.over |= self.memory.spent[i] + reserved >= self.limits[i];
        }
    }

    /// True if nothing is left of some budget, or of the rounds.
    pub fn is_over(&self, evidence: &ArmEvidence) -> bool {
        self.memory.over || evidence.outcomes >= self.horizon
    }

    pub fn save(&self) -> KnapsacksState {
        self.memory.clone()
    }

    pub fn restore(&mut self, saved: KnapsacksState) -> Result<(), Error> {
        if saved.spent.len() != self.limits.len() {
            return Err(broken(format!("it holds {} budgets", saved.spent.len())));
        }
        self.memory = saved;
        Ok(())
    }
}
