//! The policy that a rule plans for a round.

use banister::solve::Solution;
use banister::toolkit::Bounds;

/// A policy and what its rule knows about it, in standard units.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// (arm, probability) by increasing arm; probabilities are positive and sum to one.
    pub policy: Vec<(usize, f64)>,
    /// True if the rule's program had no solution.
    pub infeasible: bool,
    /// Upper bound on the reward of every feasible policy, where the rule knows one below max_a U_a.
    pub bound: f64,
    /// Shadow price per guardrail, where there is a program.
    pub prices: Vec<f64>,
}

impl Plan {
    pub(super) fn new(arms: usize, guardrails: usize) -> Self {
        Self {
            policy: Vec::with_capacity(arms),
            infeasible: false,
            bound: f64::INFINITY,
            prices: vec![0.0; guardrails],
        }
    }

    /// One arm alone.
    pub fn play(&mut self, arm: usize) {
        self.policy.clear();
        self.policy.push((arm, 1.0));
        self.infeasible = false;
        self.bound = f64::INFINITY;
        self.prices.fill(0.0);
    }

    /// The policy that a program gave.
    pub fn follow(&mut self, solution: &Solution) {
        self.policy.clear();
        self.policy.extend_from_slice(&solution.support);
        self.infeasible = false;
        self.bound = f64::INFINITY;
        self.prices.copy_from_slice(&solution.prices);
    }

    /// The policy that a program gave whose value no feasible policy exceeds if the intervals hold.
    pub fn follow_bound(&mut self, solution: &Solution) {
        self.follow(solution);
        self.bound = solution.upper_bound.max(solution.value);
    }

    /// All arms alike, as no policy met the rule's program.
    pub fn surrender(&mut self, arms: usize) {
        let share = 1.0 / arms as f64;
        self.policy.clear();
        self.policy.extend((0..arms).map(|arm| (arm, share)));
        self.infeasible = true;
        self.bound = f64::INFINITY;
        self.prices.fill(0.0);
    }

    /// Σ π_a x_a.
    pub fn expected(&self, of: &[f64]) -> f64 {
        self.policy.iter().map(|&(arm, p)| p * of[arm]).sum()
    }

    /// The arms with positive probability of a dense policy.
    pub fn spread(&mut self, policy: &[f64]) {
        self.policy.clear();
        let entries = policy.iter().copied().enumerate();
        self.policy.extend(entries.filter(|entry| entry.1 > 0.0));
    }

    /// All of another plan for the same problem, without new memory.
    pub fn copy(&mut self, other: &Self) {
        self.policy.clone_from(&other.policy);
        self.infeasible = other.infeasible;
        self.bound = other.bound;
        self.prices.clone_from(&other.prices);
    }

    /// Mixes in as much of the safe arm, whose costs must be within, as π·u needs to keep every threshold.
    pub fn mix_safe(&mut self, bounds: &Bounds) {
        self.mix(&[(bounds.safe, 1.0)], bounds);
    }

    /// Mixes in as much of a baseline π⋄, whose pessimistic costs must be within, as π·u needs to keep every
    /// threshold: the share λ = max_i (π·u_i − τ_i)/(π·u_i − π⋄·u_i), and a grain more where rounding
    /// would break one. Nothing is mixed into a policy that keeps them.
    pub fn mix(&mut self, baseline: &[(usize, f64)], bounds: &Bounds) {
        let rows = || std::iter::zip(&bounds.cost_upper, &bounds.thresholds);
        let mut share = 0.0_f64;
        for (upper, &threshold) in rows() {
            let cost = self.expected(upper);
            if cost > threshold {
                let least: f64 = baseline.iter().map(|&(arm, p)| p * upper[arm]).sum();
                share = share.max((cost - threshold) / (cost - least));
            }
        }
        let mut grain = f64::EPSILON;
        while share > 0.0 {
            self.give(baseline, share);
            if rows().all(|(upper, &threshold)| self.expected(upper) <= threshold) {
                break;
            }
            share = grain;
            grain *= 2.0;
        }
    }

    /// Scales the policy down to make room for a share of another, of all at most.
    fn give(&mut self, other: &[(usize, f64)], share: f64) {
        if !(share < 1.0) {
            self.policy.clear();
            self.policy.extend_from_slice(other);
            return;
        }
        for entry in &mut self.policy {
            entry.1 *= 1.0 - share;
        }
        for &(arm, p) in other {
            match self.policy.binary_search_by_key(&arm, |entry| entry.0) {
                Ok(place) => self.policy[place].1 += share * p,
                Err(place) => self.policy.insert(place, (arm, share * p)),
            }
        }
    }
}
