//! State that the parts of the search share: the best policy, the proof so far, and the budget.

use super::policy::Policy;
use super::problem::{ConeLimits, ConeProblem};

/// The caller's limits and what is left of them.
pub(crate) struct WorkBudget<'a, 'l> {
    limits: &'a mut ConeLimits<'l>,
    pub spent: u64,
    polled: u64,
    over: bool,
}

/// Work between two looks at the caller's clock.
const POLL: u64 = 20_000;

impl<'a, 'l> WorkBudget<'a, 'l> {
    pub(crate) fn new(limits: &'a mut ConeLimits<'l>) -> Self {
        Self {
            limits,
            spent: 0,
            polled: 0,
            over: false,
        }
    }

    pub(crate) fn relative_gap(&self) -> f64 {
        self.limits.relative_gap.max(0.0)
    }

    /// Books `work`; true once the limits are reached, and from then on.
    pub(crate) fn spend(&mut self, work: u64) -> bool {
        self.spent = self.spent.saturating_add(work);
        self.over |= self.spent >= self.limits.work;
        if !self.over && self.spent - self.polled >= POLL {
            self.polled = self.spent;
            if let Some(stop) = &mut self.limits.stop {
                self.over = stop();
            }
        }
        self.over
    }
}

/// The best policy and what is known about all others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Search {
    pub best: Policy,
    trial: Policy,
    /// The largest objective seen at a policy within the guardrails: that of `best`, but for
    /// rounding.
    pub reached: f64,
    /// The largest bound of what was set aside unsearched.
    pub proven: f64,
    size: f64,
    relative_gap: f64,
    pub nodes: u64,
    pub pairs: u64,
}

impl Search {
    /// Begins with the safe action.
    pub(crate) fn begin(&mut self, problem: &ConeProblem<'_>, size: f64, relative_gap: f64) {
        self.best.set_safe(problem);
        self.size = size;
        self.relative_gap = relative_gap;
        self.nodes = 0;
        self.pairs = 0;
        self.reached = self.best.value;
        self.proven = f64::NEG_INFINITY;
    }

    /// Gap at which a policy is certified.
    pub(crate) fn tolerance(&self) -> f64 {
        self.relative_gap * self.best.value.abs().max(1e-3 * self.size)
    }

    /// Objective up to which nothing needs to be searched.
    pub(crate) fn target(&self) -> f64 {
        self.best.value + self.tolerance()
    }

    /// Sets aside everything whose objective is at most `bound`.
    pub(crate) fn dismiss(&mut self, bound: f64) {
        // `max` would drop a NaN, which proves nothing.
        let bound = if bound.is_nan() { f64::INFINITY } else { bound };
        self.proven = self.proven.max(bound);
    }

    /// Tries a policy that nothing else vouches for.
    pub(crate) fn hint(
        &mut self,
        problem: &ConeProblem<'_>,
        support: impl Iterator<Item = (usize, f64)>,
    ) {
        if self.trial.set(problem, support) && self.trial.value > self.best.value {
            self.keep_trial();
        }
    }

    /// Tries a policy within the guardrails; true if it is the best so far.
    pub(crate) fn offer(
        &mut self,
        problem: &ConeProblem<'_>,
        support: impl Iterator<Item = (usize, f64)>,
    ) -> bool {
        let fits = self.trial.set(problem, support);
        self.reached = self.reached.max(self.trial.raw);
        let better = fits && self.trial.value > self.best.value;
        if better {
            self.keep_trial();
        }
        better
    }

    fn keep_trial(&mut self) {
        std::mem::swap(&mut self.best, &mut self.trial);
        self.reached = self.reached.max(self.best.value);
    }
}
