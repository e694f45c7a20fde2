//! A policy program whose numbers a rule writes anew in every round.

use banister::solve::{Lp, Solution};

use super::ArmEvidence;
use super::phase_one::PhaseOne;

/// LP(`reward`; `costs`) and where its solver stopped.
pub(super) struct Program {
    solver: PhaseOne,
    /// One number per arm.
    pub reward: Vec<f64>,
    /// One row per guardrail.
    pub costs: Vec<Vec<f64>>,
}

impl Program {
    /// Nothing is known yet: rewards 1, costs 0.
    pub fn new(evidence: &ArmEvidence) -> Self {
        let arms = evidence.arms();
        Self {
            solver: PhaseOne::default(),
            reward: vec![1.0; arms],
            costs: vec![vec![0.0; arms]; evidence.problem.guardrails.len()],
        }
    }

    /// Solves it; `hint` is the arm to start from if it is within the thresholds.
    pub fn solve(&mut self, thresholds: &[f64], hint: usize) -> &Solution {
        let lp = Lp {
            reward: &self.reward,
            costs: &self.costs,
            thresholds,
        };
        self.solver.solve(&lp, hint)
    }

    /// Forgets the warm start.
    pub fn reset(&mut self) {
        self.solver.reset();
    }
}
