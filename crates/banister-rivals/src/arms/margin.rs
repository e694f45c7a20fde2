//! The largest margin that a policy can have under all guardrails at once.

use banister::solve::{Lp, Status};
use banister::toolkit::Bounds;

use super::program::PhaseOne;

/// max_π min_i (τ_i − π·l_i), and a policy that has it.
pub(super) struct LargestMargin {
    /// A best policy, by increasing arm.
    pub policy: Vec<(usize, f64)>,
    solver: PhaseOne,
    reward: Vec<f64>,
    costs: Vec<Vec<f64>>,
    thresholds: Vec<f64>,
}

impl LargestMargin {
    pub fn new(arms: usize, guardrails: usize) -> Self {
        let others = guardrails.saturating_sub(1);
        Self {
            policy: Vec::with_capacity(arms),
            solver: PhaseOne::default(),
            reward: vec![0.0; arms],
            costs: vec![vec![0.0; arms]; others],
            thresholds: vec![0.0; others],
        }
    }

    /// One program per guardrail j: the largest τ_j − π·l_j of the policies for which it is the smallest margin
    /// of all, π·(l_i − l_j) ≤ τ_i − τ_j.
    pub fn solve(&mut self, bounds: &Bounds) -> f64 {
        let mut largest = f64::NEG_INFINITY;
        for (j, own) in bounds.cost_lower.iter().enumerate() {
            for (reward, l) in self.reward.iter_mut().zip(own) {
                *reward = bounds.thresholds[j] - l;
            }
            let others = (0..bounds.cost_lower.len()).filter(|&i| i != j);
            for (row, i) in others.enumerate() {
                self.thresholds[row] = bounds.thresholds[i] - bounds.thresholds[j];
                let other = &bounds.cost_lower[i];
                for ((cost, l), own) in self.costs[row].iter_mut().zip(other).zip(own) {
                    *cost = l - own;
                }
            }
            let lp = Lp {
                reward: &self.reward,
                costs: &self.costs,
                thresholds: &self.thresholds,
            };
            // From the same start each time, so that a restored search goes on bit by bit.
            self.solver.reset();
            let solution = self.solver.solve(&lp, bounds.safe);
            if solution.status != Status::Infeasible && solution.value > largest {
                largest = solution.value;
                self.policy.clear();
                self.policy.extend_from_slice(&solution.support);
            }
        }
        largest
    }
}
