//! Guardrails that are weighted sums of learned signals: Σ_k w_{a,k}·u_{a,k} at the weights in force.

use super::Estimates;
use crate::interval::Interval;
use crate::problem::{CheckedProblem, Sum};

/// A weighted sum, in standard units.
#[derive(Debug, Clone)]
pub(super) struct Weighted {
    /// Places of its signals in the row.
    terms: Vec<usize>,
    /// Per number: the value where all signals are at the low ends of their ranges, and what each adds per unit.
    factors: Vec<(f64, Vec<f64>)>,
}

impl Weighted {
    pub(super) fn new(sum: &Sum) -> Self {
        Self {
            terms: sum.terms.clone(),
            factors: Vec::new(),
        }
    }
}

/// Factors of an arm's sum: y = Σ_k w_k·(lo_k + unit_k·y_k)/unit.
fn factors(problem: &CheckedProblem, sum: &Sum, arm: usize) -> (f64, Vec<f64>) {
    let unit = problem.guardrails[sum.guardrail].signal.unit();
    let weights = sum.terms.iter().zip(sum.weights(arm));
    let each = weights.map(|(&term, w)| (w / unit, problem.signal_of(arm, term).1));
    let base = each.clone().map(|(w, signal)| w * signal.lo).sum();
    (base, each.map(|(w, signal)| w * signal.unit()).collect())
}

impl Estimates {
    /// Takes up the weights of what has the signals of an arm, under the next number.
    pub(super) fn add_weights(&mut self, problem: &CheckedProblem, like: usize) {
        for (own, sum) in self.sums.iter_mut().zip(problem.sums()) {
            own.factors.push(factors(problem, sum, like));
        }
    }

    /// Follows new weights of an arm.
    pub(crate) fn follow_weights(&mut self, problem: &CheckedProblem) {
        for (own, sum) in self.sums.iter_mut().zip(problem.sums()) {
            for (place, arm) in own.factors.iter_mut().zip(&self.arms) {
                *place = factors(problem, sum, arm.like);
            }
        }
    }

    /// Σ_k w_k·y_k for some y_k of the signals, each in common units.
    pub(super) fn weighted<const N: usize>(
        &self,
        sum: usize,
        arm: usize,
        y: impl Fn(usize) -> Option<[f64; N]>,
    ) -> Option<[f64; N]> {
        let own = &self.sums[sum];
        let (base, slopes) = &own.factors[arm];
        let mut total = [*base; N];
        for (&term, slope) in own.terms.iter().zip(slopes) {
            for (total, y) in total.iter_mut().zip(y(term)?) {
                *total += slope * y;
            }
        }
        Some(total)
    }

    /// The interval of a sum.
    #[inline(never)]
    pub(super) fn ends_of_sum(&self, sum: usize, arm: usize) -> Interval {
        let ends = |term: usize| {
            let Interval { lower, upper } = self.ends(arm, term);
            Some([lower, upper])
        };
        let found = self.weighted(sum, arm, ends);
        found.map_or(Interval::UNKNOWN, |[lower, upper]| Interval {
            lower,
            upper,
        })
    }
}
