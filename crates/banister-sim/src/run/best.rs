//! The best feasible policies of rounds that differ, and their average.

use banister::solve::{Lp, LpSolver, Status};

use crate::results::GuardrailInfo;

/// Solves the linear program of each round on true means, from the last round's solution.
pub(crate) struct BestPolicy {
    /// Per signal 1, or −1 where a guardrail bounds it from below.
    signs: Vec<f64>,
    thresholds: Vec<f64>,
    floor: Floor,
    solver: LpSolver,
    rounds: f64,
    reward_sum: f64,
    cost_sums: Vec<f64>,
}

/// The least probability of the safe action that policies have, and its true means.
#[derive(Default)]
pub(crate) struct Floor {
    pub share: f64,
    /// Reward and costs, in signal units.
    pub means: Vec<f64>,
}

impl BestPolicy {
    /// Prepares for policies with a floor: their free part keeps (τ − f·c_0)/(1 − f).
    pub(crate) fn new(guardrails: &[GuardrailInfo], floor: Floor) -> Self {
        let threshold = |(i, g): (usize, &GuardrailInfo)| {
            let own = floor.means.get(i + 1).copied().unwrap_or(0.0);
            g.direction.sign() * (g.threshold - floor.share * own) / (1.0 - floor.share)
        };
        Self {
            signs: std::iter::once(1.0)
                .chain(guardrails.iter().map(|g| g.direction.sign()))
                .collect(),
            thresholds: guardrails.iter().enumerate().map(threshold).collect(),
            floor,
            solver: LpSolver::default(),
            rounds: 0.0,
            reward_sum: 0.0,
            cost_sums: vec![0.0; guardrails.len()],
        }
    }

    /// Factor of a signal's means that makes guardrails bound them from above.
    #[inline]
    pub(crate) fn sign(&self, signal: usize) -> f64 {
        self.signs[signal]
    }

    /// True where an action alone keeps every guardrail, by signed means.
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

    /// Counts the last solution as a round's, and returns r*, its reward.
    #[inline]
    pub(crate) fn count(&mut self) -> f64 {
        let best = self.solver.solution();
        let f = self.floor.share;
        let whole = |signal: usize, free: f64| {
            if f == 0.0 {
                free
            } else {
                f * self.floor.means[signal] + (1.0 - f) * free
            }
        };
        let reward = whole(0, best.value);
        self.rounds += 1.0;
        self.reward_sum += reward;
        for (i, (sum, cost)) in (self.cost_sums.iter_mut().zip(&best.costs)).enumerate() {
            *sum += whole(i + 1, self.signs[i + 1] * cost);
        }
        reward
    }

    /// Mean reward and costs of the rounds counted.
    pub(crate) fn average(&self) -> (f64, Vec<f64>) {
        let costs = self.cost_sums.iter().map(|sum| sum / self.rounds);
        (self.reward_sum / self.rounds, costs.collect())
    }
}
