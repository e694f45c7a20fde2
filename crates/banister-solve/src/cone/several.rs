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

use super::ConeSolver;
use super::polish::Polish;
use super::problem::ConeProblem;
use super::search::Budget;

/// Mixtures tried per guardrail.
const TRIES: usize = 8;
/// Steps of regret matching between two tries.
const STEPS: usize = 500;

/// The mixtures' workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Several {
    /// Shares of the guardrails, each in units of the safe action's margin.
    shares: Vec<f64>,
    sums: Vec<f64>,
    regrets: Vec<f64>,
    weights: Vec<f64>,
    /// How far each policy ahead failed, m numbers each.
    failures: Vec<f64>,
    /// The policies ahead, one after the other, and where each ends.
    policies: Vec<(usize, f64)>,
    ends: Vec<usize>,
    mixed: Vec<(usize, f64)>,
    polish: Polish,
}

impl ConeSolver {
    /// The best bound that mixtures of the guardrails prove; `None` if the problem makes no sense.
    pub(super) fn several(
        &mut self,
        problem: &ConeProblem<'_>,
        budget: &mut Budget<'_, '_>,
    ) -> Option<f64> {
        let m = problem.costs.len();
        let margin = |i: usize| problem.thresholds[i] - problem.costs[i][problem.safe];
        if !(0..m).all(|i| margin(i) > 0.0) {
            return None;
        }
        let mut bound = f64::INFINITY;
        self.several.begin(m, problem.dimension);
        self.several.polish.begin(problem);
        for _ in 0..TRIES * m {
            self.several.weights.clear();
            let scaled = (0..m).map(|i| self.several.shares[i] / margin(i));
            self.several.weights.extend(scaled);
            let weights = std::mem::take(&mut self.several.weights);
            self.search.restart();
            let single = self.single(problem, budget, &weights);
            self.several.weights = weights;
            bound = bound.min(single?);
            if self.search.ahead.is_empty() || budget.spend(1) {
                break;
            }
            self.mix_policies(problem);
            self.several.polish.run(problem, &mut self.search, budget);
            let failures = self.search.ahead_costs.iter().enumerate();
            let failures = failures.map(|(i, cost)| (cost - problem.thresholds[i]) / margin(i));
            self.several.failures.extend(failures);
            if bound - self.search.best.value <= self.search.tolerance() {
                break;
            }
            if !self.several.balance(m) {
                break;
            }
        }
        Some(bound)
    }

    /// Offers mixtures of the policy ahead with those ahead before.
    fn mix_policies(&mut self, problem: &ConeProblem<'_>) {
        let Several {
            policies,
            ends,
            mixed,
            ..
        } = &mut self.several;
        let mut from = 0;
        for &end in ends.iter() {
            for eighth in 1..8 {
                let share = f64::from(eighth) / 8.0;
                mixed.clear();
                let old = policies[from..end].iter().map(|&(a, w)| (a, w * share));
                mixed.extend(old);
                let new = self
                    .search
                    .ahead
                    .iter()
                    .map(|&(a, w)| (a, w * (1.0 - share)));
                mixed.extend(new);
                self.search.hint(problem, mixed.iter().copied());
            }
            from = end;
        }
        policies.extend_from_slice(&self.search.ahead);
        ends.push(policies.len());
    }
}

impl Several {
    fn begin(&mut self, m: usize, dimension: usize) {
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
    }

    /// Shares that make the policies ahead fail their mixture by as much as possible: the
    /// guardrails' side of a matrix game, by regret matching (Tammelin 2014) against the policy that
    /// fails least, later steps counting more. False if some policy fails no mixture by more than
    /// rounding: no share gives a better bound.
    fn balance(&mut self, m: usize) -> bool {
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

fn product(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The policy that fails a mixture least.
fn least_failing<'a>(failures: &'a [f64], shares: &[f64]) -> Option<&'a [f64]> {
    let rows = failures.chunks_exact(shares.len());
    rows.min_by(|a, b| product(a, shares).total_cmp(&product(b, shares)))
}
