//! A round's policy as a rule makes it.

use banister_solve::{Solution, Status};

/// A policy and what its rule knows about it, in standard units.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// (arm, probability) by increasing arm; probabilities are positive and sum to one.
    pub policy: Vec<(usize, f64)>,
    /// How the rule's own program ended; `Optimal` where it only compares arms.
    pub status: Status,
    /// What the rule maximised, at the policy.
    pub value: f64,
    /// Proven upper bound on that.
    pub upper_bound: f64,
    /// Shadow price per guardrail, where there is a program.
    pub prices: Vec<f64>,
}

impl Plan {
    pub(super) fn new(arms: usize, guardrails: usize) -> Self {
        Self {
            policy: Vec::with_capacity(arms),
            status: Status::Optimal,
            value: 0.0,
            upper_bound: 0.0,
            prices: vec![0.0; guardrails],
        }
    }

    /// One arm alone, whose index is `value`.
    pub fn play(&mut self, arm: usize, value: f64) {
        self.policy.clear();
        self.policy.push((arm, 1.0));
        self.status = Status::Optimal;
        (self.value, self.upper_bound) = (value, value);
        self.prices.fill(0.0);
    }

    /// The policy that a program gave.
    pub fn follow(&mut self, solution: &Solution) {
        self.policy.clear();
        self.policy.extend_from_slice(&solution.support);
        self.status = solution.status;
        self.value = solution.value;
        self.upper_bound = solution.upper_bound;
        self.prices.copy_from_slice(&solution.prices);
    }
}
