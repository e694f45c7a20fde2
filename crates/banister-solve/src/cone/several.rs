//! Several guardrails: mixtures of them as one.
//!
//! A policy that meets all guardrails meets every mixture Σω_i(w_i'π + κ_i‖Zπ‖) ≤ Σω_iτ_i with
//! ω ≥ 0. That is one guardrail, whose problem is solved to a certificate, and its value bounds
//! ours (surrogate duality). If its best policy meets all guardrails, that policy is ours too.
//! Otherwise it fails some of them: ω moves to where every policy that was ahead so far fails.
//! Policies within all guardrails come from those ahead, mixed with each other and with the safe
//! action, and are improved by one action at a time (`polish.rs`).
//!
//! The gap need not close: two policies may be best at the decisive mixture, each failing another
//! guardrail. It is reported as it is.

use super::polish::Polish;
use super::problem::ConeProblem;
use super::search::Search;

/// Mixtures tried per guardrail.
pub(super) const TRIES: usize = 8;
/// Steps of regret matching between two tries.
const STEPS: usize = 500;

/// Workspace of the mixtures.
#[derive(Debug, Clone, Default)]
pub(crate) struct Several {
    /// Shares of the guardrails, each in units of the safe action's margin.
    shares: Vec<f64>,
    sums: Vec<f64>,
    regrets: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// Excess of each policy ahead over each threshold, m numbers each.
    failures: Vec<f64>,
    /// The policies ahead, one after the other, and where each ends.
    policies: Vec<(usize, f64)>,
    ends: Vec<usize>,
    mixed: Vec<(usize, f64)>,
    pub(super) polish: Polish,
}

impl Several {
    /// Begins with equal shares.
    pub(super) fn begin(&mut self, problem: &ConeProblem<'_>) {
        let (m, dimension) = (problem.costs.len(), problem.dimension);
        // Room for every try, so that no later round needs more.
        let (tries, support) = (TRIES * m, 2 * dimension + 8);
        let more = |room: usize, has: usize| room.saturating_sub(has);
        self.failures.reserve(more(tries * m, self.failures.len()));
        let policies = more(tries * support, self.policies.len());
        self.policies.reserve(policies);
        self.ends.reserve(more(tries, self.ends.len()));
        self.mixed.reserve(more(2 * support, self.mixed.len()));
        self.shares.clear();
        self.shares.resize(m, 1.0 / m as f64);
        self.failures.clear();
        self.policies.clear();
        self.ends.clear();
        self.polish.begin(problem);
    }

    /// Sets the weights of the guardrails to their shares, each per unit of the safe action's margin.
    pub(super) fn weigh(&mut self, problem: &ConeProblem<'_>) {
        let shares = self.shares.iter().enumerate();
        self.weights.clear();
        self.weights
            .extend(shares.map(|(i, share)| share / margin(problem, i)));
    }

    /// Offers mixtures of the policy ahead with those ahead before.
    pub(super) fn mix_policies(&mut self, problem: &ConeProblem<'_>, search: &mut Search) {
        let mut from = 0;
        for &end in &self.ends {
            for eighth in 1..8 {
                let share = f64::from(eighth) / 8.0;
                let old = self.policies[from..end]
                    .iter()
                    .map(|&(a, w)| (a, w * share));
                let new = search.ahead.iter().map(|&(a, w)| (a, w * (1.0 - share)));
                self.mixed.clear();
                self.mixed.extend(old.chain(new));
                search.hint(problem, self.mixed.iter().copied());
            }
            from = end;
        }
        self.policies.extend_from_slice(&search.ahead);
        self.ends.push(self.policies.len());
    }

    /// Records how far the policy ahead fails each guardrail.
    pub(super) fn record_failures(&mut self, problem: &ConeProblem<'_>, search: &Search) {
        let costs = search.ahead_costs.iter().enumerate();
        let failures = costs.map(|(i, cost)| (cost - problem.thresholds[i]) / margin(problem, i));
        self.failures.extend(failures);
    }

    /// Shares that make the policies ahead fail their mixture by as much as possible: the
    /// guardrails' side of a matrix game, by regret matching (Tammelin 2014) against the policy that
    /// fails least, later steps counting more. False if some policy fails no mixture by more than
    /// rounding: no share gives a better bound.
    pub(super) fn balance(&mut self) -> bool {
        let m = self.shares.len();
        let size = self.failures.iter().fold(0.0_f64, |x, f| x.max(f.abs()));
        if !(size > 0.0 && size.is_finite()) {
            return false;
        }
        self.sums.clear();
        self.sums.resize(m, 0.0);
        self.regrets.clear();
        self.regrets.resize(m, 0.0);
        self.shares.fill(1.0 / m as f64);
        for step in 0..STEPS {
            let Some(worst) = least_failing(&self.failures, &self.shares) else {
                return false;
            };
            let mixed = product(worst, &self.shares);
            let mut total = 0.0;
            for (regret, f) in self.regrets.iter_mut().zip(worst) {
                *regret = (*regret + f - mixed).max(0.0);
                total += *regret;
            }
            for (share, regret) in self.shares.iter_mut().zip(&self.regrets) {
                *share = if total > 0.0 {
                    regret / total
                } else {
                    1.0 / m as f64
                };
            }
            for (sum, share) in self.sums.iter_mut().zip(&self.shares) {
                *sum += (step + 1) as f64 * share;
            }
        }
        let total: f64 = self.sums.iter().sum();
        for (share, sum) in self.shares.iter_mut().zip(&self.sums) {
            *share = sum / total;
        }
        least_failing(&self.failures, &self.shares)
            .is_some_and(|row| product(row, &self.shares) > 1e-9 * size)
    }
}

/// Margin of the safe action, τ_i − w_{i,safe}.
pub(super) fn margin(problem: &ConeProblem<'_>, i: usize) -> f64 {
    problem.thresholds[i] - problem.costs[i][problem.safe]
}

fn product(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The policy that fails a mixture least.
fn least_failing<'a>(failures: &'a [f64], shares: &[f64]) -> Option<&'a [f64]> {
    let rows = failures.chunks_exact(shares.len());
    rows.min_by(|a, b| product(a, shares).total_cmp(&product(b, shares)))
}
