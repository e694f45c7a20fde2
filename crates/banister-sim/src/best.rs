//! The best feasible policies of rounds that differ, and their average.

use banister::solve::{Lp, LpSolver, Status};

use crate::results::GuardrailInfo;
use crate::world::sign;

/// Solves the linear program of each round on true means, from the last round's solution.
pub(crate) struct Best {
    /// Per signal 1, or −1 where a guardrail bounds it from below.
    signs: Vec<f64>,
    thresholds: Vec<f64>,
    solver: LpSolver,
    rounds: f64,
    reward_sum: f64,
    cost_sums: Vec<f64>,
}

impl Best {
    pub(crate) fn new(guardrails: &[GuardrailInfo]) -> Self {
        Self {
            signs: std::iter::once(1.0)
                .chain(guardrails.iter().map(sign))
                .collect(),
            thresholds: guardrails.iter().map(|g| sign(g) * g.threshold).collect(),
            solver: LpSolver::default(),
            rounds: 0.0,
            reward_sum: 0.0,
            cost_sums: vec![0.0; guardrails.len()],
        }
    }

    /// What a signal's means are multiplied by, so that guardrails bound them from above.
    #[inline]
    pub(crate) fn sign(&self, signal: usize) -> f64 {
        self.signs[signal]
    }

    /// Whether an action alone keeps every guardrail, by signed means.
    pub(crate) fn admits(&self, means: &[Vec<f64>], action: usize) -> bool {
        std::iter::zip(&means[1..], &self.thresholds).all(|(row, limit)| row[action] <= *limit)
    }

    /// Forgets the last solution: it speaks of actions by number.
    pub(crate) fn reset(&mut self) {
        self.solver.reset();
    }

    /// Solves a round on signed means; `start` is an action that keeps every guardrail.
    #[inline]
    pub(crate) fn solve(&mut self, means: &[Vec<f64>], start: Option<usize>) -> Status {
        let lp = Lp {
            reward: &means[0],
            costs: &means[1..],
            thresholds: &self.thresholds,
        };
        self.solver.solve(&lp, start).status
    }

    /// Counts the last solution as a round's; r*, its reward.
    #[inline]
    pub(crate) fn count(&mut self) -> f64 {
        let best = self.solver.solution();
        self.rounds += 1.0;
        self.reward_sum += best.value;
        for ((sum, cost), sign) in
            (self.cost_sums.iter_mut().zip(&best.costs)).zip(&self.signs[1..])
        {
            *sum += sign * cost;
        }
        best.value
    }

    /// Mean reward and costs of the rounds counted.
    pub(crate) fn average(&self) -> (f64, Vec<f64>) {
        let costs = self.cost_sums.iter().map(|sum| sum / self.rounds);
        (self.reward_sum / self.rounds, costs.collect())
    }
}
