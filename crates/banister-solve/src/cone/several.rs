//! Several guardrails: mixtures of them as one.
//!
//! A policy that meets all guardrails meets every mixture Σω_i(w_i'π + κ_i‖Zπ‖) ≤ Σω_iτ_i with
//! ω ≥ 0. That is one guardrail, whose problem is solved to a certificate, and its value bounds
//! ours (surrogate duality). If its best policy meets all guardrails, that policy is ours too.
//! Otherwise it fails some of them: ω moves towards those, by multiplicative weights against every
//! policy that was ahead so far. Policies within all guardrails come from those ahead, mixed with
//! each other and with the safe action.
//!
//! The gap need not close: two policies may be best at the decisive mixture, each failing another
//! guardrail. It is reported as it is.

use super::ConeSolver;
use super::problem::ConeProblem;
use super::search::Budget;

/// Mixtures tried per guardrail.
const TRIES: usize = 8;
/// Steps of multiplicative weights between two tries.
const STEPS: usize = 200;

/// The mixtures' workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Several {
    /// Shares of the guardrails, each in units of the safe action's margin.
    shares: Vec<f64>,
    sums: Vec<f64>,
    weights: Vec<f64>,
    /// How far each policy ahead failed, m numbers each.
    failures: Vec<f64>,
    /// The policies ahead, one after the other, and where each ends.
    policies: Vec<(usize, f64)>,
    ends: Vec<usize>,
    mixed: Vec<(usize, f64)>,
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
        self.several.begin(m);
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
            let failures = self.search.ahead_costs.iter().enumerate();
            let failures = failures.map(|(i, cost)| (cost - problem.thresholds[i]) / margin(i));
            self.several.failures.extend(failures);
            if bound - self.search.best.value <= self.search.tolerance() {
                break;
            }
            self.several.balance(m);
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
    fn begin(&mut self, m: usize) {
        self.shares.clear();
        self.shares.resize(m, 1.0 / m as f64);
        self.failures.clear();
        self.policies.clear();
        self.ends.clear();
    }

    /// Shares that make the policies ahead fail their mixture by as much as possible: the
    /// guardrails' side of a matrix game, by multiplicative weights (Freund and Schapire 1999).
    fn balance(&mut self, m: usize) {
        let size = self.failures.iter().fold(0.0_f64, |x, f| x.max(f.abs()));
        if !(size > 0.0 && size.is_finite()) {
            return;
        }
        self.sums.clear();
        self.sums.resize(m, 0.0);
        self.shares.fill(1.0 / m as f64);
        for step in 0..STEPS {
            let fails = |row: &[f64]| -> f64 {
                let terms = row.iter().zip(&self.shares);
                terms.map(|(f, share)| f * share).sum()
            };
            let rows = self.failures.chunks_exact(m);
            let Some(worst) = rows.min_by(|a, b| fails(a).total_cmp(&fails(b))) else {
                return;
            };
            let rate = 1.0 / (2.0 + step as f64).sqrt() / size;
            let mut total = 0.0;
            for (share, f) in self.shares.iter_mut().zip(worst) {
                *share = (*share * (1.0 + 0.5 * rate * f)).max(1e-6);
                total += *share;
            }
            for (share, sum) in self.shares.iter_mut().zip(&mut self.sums) {
                *share /= total;
                *sum += *share;
            }
        }
        for (share, sum) in self.shares.iter_mut().zip(&self.sums) {
            *share = sum / STEPS as f64;
        }
    }
}
