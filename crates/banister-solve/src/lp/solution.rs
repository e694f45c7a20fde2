//! The policy and its certificate, and the last steps that every method shares: identical actions share
//! their mass, and rounding never leaves a cost above its threshold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::Lp;

/// End of a solve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SolverStatus")]
pub enum Status {
    /// The policy is optimal up to rounding; `upper_bound` proves it.
    #[default]
    Optimal,
    /// Work ran out: the policy is feasible and `upper_bound` is valid, but they may not meet.
    Budget,
    /// No policy meets the thresholds in floating point; there is no policy in the answer.
    Infeasible,
}

/// Most steps back from a threshold that rounding crossed: they double from one unit in the last place
/// to the whole, once for the pair and once for actions that share its mass.
pub const MAX_RETREATS: usize = 108 + 2 * SHRINKS as usize;

/// Room below a threshold, relative to it, that a way back from rounding needs.
const ROOM: f64 = 1e-9;
/// Doubling steps by which masses shrink: to about 1e-13 of them in all.
const SHRINKS: u32 = 9;
/// A gap beyond this, relative to the largest reward, is not rounding.
const GAP: f64 = 1e-9;

/// A policy and its certificate.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Solution {
    /// End of the solve.
    pub status: Status,
    /// The policy as (action, probability), by increasing action; probabilities are positive.
    ///
    /// At most m + 1 distinct columns; actions with identical columns share their mass equally. Where
    /// rounding would break a threshold, a grain of the start action may come on top, or all masses are
    /// smaller by a few units in the last place.
    pub support: Vec<(usize, f64)>,
    /// The objective at the policy.
    pub value: f64,
    /// A proven upper bound on the objective of every feasible policy.
    pub upper_bound: f64,
    /// The policy's cost per guardrail: never above its threshold.
    pub costs: Vec<f64>,
    /// Shadow price per guardrail: what one more unit of its threshold would earn.
    pub prices: Vec<f64>,
    /// Pivots (passes over the actions, for one guardrail) used.
    pub pivots: usize,
    /// Steps back from a threshold that rounding had crossed: at most [`MAX_RETREATS`].
    pub retreats: usize,
}

impl Solution {
    /// Largest possible distance of the policy's value from the best one.
    #[inline]
    pub fn gap(&self) -> f64 {
        (self.upper_bound - self.value).max(0.0)
    }

    #[inline]
    pub(crate) fn clear(&mut self, guardrails: usize) {
        self.status = Status::Optimal;
        self.support.clear();
        self.pivots = 0;
        self.retreats = 0;
        if self.costs.len() != guardrails {
            self.costs.resize(guardrails, 0.0);
            self.prices.resize(guardrails, 0.0);
        }
    }

    /// The cost and the price of the only guardrail.
    #[inline]
    pub(crate) fn set_single(&mut self, cost: f64, price: f64) {
        match (&mut self.costs[..], &mut self.prices[..]) {
            ([old_cost], [old_price]) => (*old_cost, *old_price) = (cost, price),
            _ => (self.costs, self.prices) = (vec![cost], vec![price]),
        }
    }

    #[cold]
    pub(crate) fn set_infeasible(&mut self, guardrails: usize) {
        self.clear(guardrails);
        self.status = Status::Infeasible;
        self.support.clear();
        self.value = f64::NEG_INFINITY;
        self.upper_bound = f64::NEG_INFINITY;
        self.costs.fill(0.0);
        self.prices.fill(0.0);
    }

    /// Value and costs, recomputed from the support in the order listed.
    pub(crate) fn evaluate(&mut self, lp: &Lp<'_>) {
        self.value = self.support.iter().map(|&(a, p)| p * lp.reward[a]).sum();
        for (cost, row) in self.costs.iter_mut().zip(lp.costs) {
            *cost = self.support.iter().map(|&(a, p)| p * row[a]).sum();
        }
    }

    /// Splits the mass of each supported action over all actions with an identical column.
    pub(crate) fn share_ties(&mut self, lp: &Lp<'_>) {
        let (k, distinct) = (lp.reward.len(), self.support.len());
        let mut total = 0;
        for (action, mass) in &mut self.support {
            let twins = (0..k).filter(|&a| lp.identical(a, *action)).count();
            total += twins;
            if twins > 1 {
                *mass /= twins as f64;
            }
        }
        if total == distinct {
            return;
        }
        // The shares of the supported actions it is identical to; in the order of the actions.
        for a in 0..k {
            let owners = self.support[..distinct].iter();
            let share: f64 = owners
                .filter(|owner| lp.identical(a, owner.0))
                .map(|owner| owner.1)
                .sum();
            if share > 0.0 {
                self.support.push((a, share));
            }
        }
        self.support.drain(..distinct);
    }

    /// Shares the mass among identical actions if there are any, and stays within the thresholds.
    #[cold]
    #[inline(never)]
    pub(crate) fn share(&mut self, lp: &Lp<'_>, start: usize, has_twins: bool) {
        if has_twins {
            self.share_ties(lp);
            self.retreat(lp, Some(start));
        }
    }

    /// True if every cost, as evaluated, is within its threshold.
    pub(crate) fn within(&self, lp: &Lp<'_>) -> bool {
        self.costs.iter().zip(lp.thresholds).all(|(c, t)| c <= t)
    }

    /// Steps back from thresholds that rounding crossed, if it did. Where no start action has room below all of
    /// them, mixing it in would not help, or only once nothing else is left: all masses shrink by a few units in the
    /// last place instead, or grow where costs are negative. Else, or if that is not enough, the start action is mixed
    /// in, doubling its share until every threshold is met in floating point; in the last resort nothing else is left.
    pub(crate) fn retreat(&mut self, lp: &Lp<'_>, start: Option<usize>) {
        self.evaluate(lp);
        if self.within(lp) {
            return;
        }
        let has_room = |a: usize| {
            let mut rows = lp.costs.iter().zip(lp.thresholds);
            rows.all(|(row, tau)| tau - row[a] > ROOM * tau.abs())
        };
        if !start.is_some_and(has_room) && self.shrink(lp) {
            return;
        }
        let Some(start) = start else { return };
        let mut share = f64::EPSILON;
        while share < 1.0 && !self.within(lp) {
            for entry in &mut self.support {
                entry.1 *= 1.0 - share;
            }
            match self.support.iter_mut().find(|entry| entry.0 == start) {
                Some(entry) => entry.1 += share,
                None => self.support.push((start, share)),
            }
            self.support.sort_unstable_by_key(|&(a, _)| a);
            share *= 2.0;
            self.retreats += 1;
            self.evaluate(lp);
        }
        if !self.within(lp) {
            self.support.clear();
            self.support.push((start, 1.0));
            self.evaluate(lp);
        }
        self.judge(lp);
    }

    /// Scales all masses by a hair. False, and all is as it was, if that does not meet the thresholds.
    fn shrink(&mut self, lp: &Lp<'_>) -> bool {
        let mut over = self.costs.iter().zip(lp.thresholds);
        let sign = match over.find(|(cost, tau)| cost > tau) {
            Some((cost, _)) => -cost.signum(),
            None => return true,
        };
        let mut total = 1.0;
        for step in 0..SHRINKS {
            let factor = 1.0 + sign * f64::EPSILON * f64::from(1 << step);
            self.support.iter_mut().for_each(|entry| entry.1 *= factor);
            total *= factor;
            self.retreats += 1;
            self.evaluate(lp);
            if self.within(lp) {
                return true;
            }
        }
        self.support.iter_mut().for_each(|entry| entry.1 /= total);
        self.evaluate(lp);
        false
    }

    /// Says so where the way back from a threshold cost more than rounding.
    pub(crate) fn judge(&mut self, lp: &Lp<'_>) {
        let scale = lp.reward.iter().fold(1.0_f64, |a, v| a.max(v.abs()));
        if !(self.gap() <= GAP * scale) {
            self.status = Status::Budget;
        }
    }
}
