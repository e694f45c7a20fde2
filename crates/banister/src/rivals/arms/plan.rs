//! A round's policy as a rule makes it.

use banister_solve::{Solution, Status};

use crate::bounds::Bounds;

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

    /// All arms alike, as no policy met the rule's program; `reward` is what the rule makes of them.
    pub fn surrender(&mut self, reward: &[f64]) {
        let share = 1.0 / reward.len() as f64;
        self.policy.clear();
        self.policy
            .extend((0..reward.len()).map(|arm| (arm, share)));
        self.status = Status::Infeasible;
        self.value = self.expected(reward);
        self.upper_bound = self.value;
        self.prices.fill(0.0);
    }

    /// Σ π_a x_a.
    pub fn expected(&self, of: &[f64]) -> f64 {
        self.policy.iter().map(|&(arm, p)| p * of[arm]).sum()
    }

    /// Mixes in as much of the safe arm, whose costs must be within, as π·u needs to keep every
    /// threshold: the share λ = max_i (π·u_i − τ_i)/(π·u_i − u_{0,i}), and a grain more where rounding
    /// would break one. Nothing is mixed into a policy that keeps them. `value` becomes π·`reward`.
    pub fn mix_safe(&mut self, bounds: &Bounds, reward: &[f64]) {
        let rows = || std::iter::zip(&bounds.cost_upper, &bounds.thresholds);
        let mut share = 0.0_f64;
        for (upper, &threshold) in rows() {
            let cost = self.expected(upper);
            if cost > threshold {
                share = share.max((cost - threshold) / (cost - upper[bounds.safe]));
            }
        }
        let mut grain = f64::EPSILON;
        while share > 0.0 {
            self.give(bounds.safe, share);
            if rows().all(|(upper, &threshold)| self.expected(upper) <= threshold) {
                break;
            }
            share = grain;
            grain *= 2.0;
        }
        self.value = self.expected(reward);
    }

    /// Scales the policy down to make room for a share of one arm, of all at most.
    pub fn give(&mut self, arm: usize, share: f64) {
        if !(share < 1.0) {
            self.policy.clear();
            self.policy.push((arm, 1.0));
            return;
        }
        for entry in &mut self.policy {
            entry.1 *= 1.0 - share;
        }
        match self.policy.binary_search_by_key(&arm, |entry| entry.0) {
            Ok(place) => self.policy[place].1 += share,
            Err(place) => self.policy.insert(place, (arm, share)),
        }
    }
}
