//! The primal method from a feasible start, and the policy read off its last basis.

use super::basis::{FEASIBLE, PIVOT, Simplex, dot};
use crate::lp::problem::Lp;
use crate::lp::scan::{price, price_position, reduced};
use crate::lp::solution::{Solution, Status};

/// Degenerate pivots in a row after which Bland's rule takes over.
const DEGENERATE: usize = 50;
enum Step {
    Optimal { top: f64 },
    Moved,
    Stuck { top: f64 },
}

impl Simplex {
    pub(super) fn solve_from(&mut self, lp: &Lp<'_>, start: usize, out: &mut Solution) {
        let m = lp.costs.len();
        let n = m + 1;
        out.clear(m);
        self.pivots = 0;
        self.x.resize(n, 0.0);
        self.y.resize(n, 0.0);
        self.column.resize(n, 0.0);
        self.inverse.resize(n * n, 0.0);
        self.matrix.resize(n * n, 0.0);
        if !self.warm(lp) {
            self.cold(lp, start);
        }
        let (status, top) = self.primal(lp, start);
        self.publish(lp, start, status, top, out);
    }

    /// Tries to go on from the last basis; on success it is primal feasible and factored.
    fn warm(&mut self, lp: &Lp<'_>) -> bool {
        let n = lp.costs.len() + 1;
        let limit = lp.reward.len() + lp.costs.len();
        if self.basis.len() != n || self.basis.iter().any(|&b| b >= limit) || !self.factor(lp) {
            return false;
        }
        self.values(lp);
        self.is_feasible() || self.dual(lp)
    }

    fn cold(&mut self, lp: &Lp<'_>, start: usize) {
        let (k, m) = (lp.reward.len(), lp.costs.len());
        self.basis.clear();
        self.basis.extend(k..k + m);
        self.basis.push(start);
        // Slack columns and one action: always regular.
        self.factor(lp);
        self.values(lp);
    }

    fn primal(&mut self, lp: &Lp<'_>, start: usize) -> (Status, f64) {
        let limit = 200 + 50 * lp.costs.len();
        let mut stalled = 0;
        let mut fresh = self.pivots == 0;
        for _ in 0..limit {
            let before = self.pivots;
            match self.primal_step(lp, stalled >= DEGENERATE, &mut stalled) {
                Step::Moved => fresh &= self.pivots == before,
                Step::Optimal { top } if fresh => return (Status::Optimal, top),
                Step::Stuck { top } if fresh => return (Status::Budget, top),
                // Verify on a fresh factorisation before believing in optimality.
                Step::Optimal { top } | Step::Stuck { top } => {
                    let regular = self.factor(lp);
                    self.values(lp);
                    if !regular || !self.is_feasible() {
                        self.cold(lp, start);
                    } else if self.is_proven(lp, top) {
                        return (Status::Optimal, top);
                    }
                    fresh = true;
                }
            }
        }
        if !self.factor(lp) {
            self.cold(lp, start);
        }
        self.values(lp);
        if self.x.iter().any(|&x| x < -1e-9) {
            self.cold(lp, start);
        }
        self.multipliers(lp);
        for y in &mut self.y[..lp.costs.len()] {
            *y = y.max(0.0);
        }
        let m = lp.costs.len();
        let (top, _) = price(lp.reward, lp.costs, &self.y[..m], f64::INFINITY, 0.0);
        (Status::Budget, top)
    }

    /// True if the basic values are worth what the prices of the last pass allow at most: those
    /// prices are a proof whatever the basis, so another pass would show nothing new.
    fn is_proven(&self, lp: &Lp<'_>, top: f64) -> bool {
        let worth = |(&b, &x): (&usize, &f64)| lp.reward.get(b).map_or(0.0, |v| v * x);
        let value: f64 = self.basis.iter().zip(&self.x).map(worth).sum();
        let bound = top + dot(&self.y[..lp.costs.len()], lp.thresholds);
        bound - value <= 4.0 * self.tolerance()
    }

    fn primal_step(&mut self, lp: &Lp<'_>, bland: bool, stalled: &mut usize) -> Step {
        let (k, m) = (lp.reward.len(), lp.costs.len());
        self.multipliers(lp);
        let tolerance = self.tolerance();
        let mut entering = None;
        let mut gain = tolerance;
        for i in 0..m {
            if self.y[i] >= -tolerance {
                // Rounding must not leave a price negative: the bound below would not be one.
                self.y[i] = self.y[i].max(0.0);
            } else if -self.y[i] > gain {
                gain = -self.y[i];
                entering = Some(k + i);
            }
        }
        let (top, ties) = price(
            lp.reward,
            lp.costs,
            &self.y[..m],
            self.y[m],
            8.0 * tolerance,
        );
        self.ties = ties;
        if entering.is_none() && top - self.y[m] <= tolerance {
            return Step::Optimal { top };
        }
        let prices = &self.y[..m];
        if bland {
            let gains =
                |a: &usize| reduced(lp.reward, lp.costs, prices, *a) - self.y[m] > tolerance;
            let slack = || (0..m).find(|&i| self.y[i] < 0.0).map(|i| k + i);
            entering = (0..k).find(gains).or_else(slack);
        } else if top - self.y[m] > gain {
            entering = Some(price_position(lp.reward, lp.costs, prices, top));
        }
        let Some(entering) = entering else {
            return Step::Optimal { top };
        };
        self.direction(lp, entering);
        let Some(row) = self.leaving(bland) else {
            return Step::Stuck { top };
        };
        *stalled = if self.x[row] <= FEASIBLE {
            *stalled + 1
        } else {
            0
        };
        self.pivot(row, entering);
        Step::Moved
    }

    /// The row whose variable reaches zero first; among ties the largest pivot, for stability
    /// (under Bland's rule the smallest variable).
    fn leaving(&self, bland: bool) -> Option<usize> {
        let mut row: Option<usize> = None;
        let mut best = f64::INFINITY;
        for r in 0..self.basis.len() {
            if self.column[r] <= PIVOT {
                continue;
            }
            let ratio = self.x[r].max(0.0) / self.column[r];
            let better = match row {
                None => true,
                Some(_) if ratio < best - FEASIBLE => true,
                Some(old) if ratio <= best + FEASIBLE => {
                    if bland {
                        self.basis[r] < self.basis[old]
                    } else {
                        self.column[r] > self.column[old]
                    }
                }
                Some(_) => false,
            };
            if better {
                row = Some(r);
                best = best.min(ratio);
            }
        }
        row
    }

    fn publish(&mut self, lp: &Lp<'_>, start: usize, status: Status, top: f64, out: &mut Solution) {
        let (k, m) = (lp.reward.len(), lp.costs.len());
        out.status = status;
        out.pivots = self.pivots;
        out.prices.copy_from_slice(&self.y[..m]);
        out.upper_bound = top + dot(&self.y[..m], lp.thresholds);
        let basic = self.basis.iter().filter(|&&b| b < k).count();
        let mut shift = 0.0;
        loop {
            self.read_support(k, out);
            if self.ties > basic {
                out.share_ties(lp);
            }
            out.evaluate(lp);
            if out.within(lp) {
                return;
            }
            // Rounding left a sum above its threshold: aim a hair lower, from the same basis.
            shift = if shift == 0.0 {
                f64::EPSILON
            } else {
                4.0 * shift
            };
            if shift > 1e-13 {
                break;
            }
            self.lower_values(lp, shift);
        }
        self.values(lp);
        self.read_support(k, out);
        if self.ties > basic {
            out.share_ties(lp);
        }
        out.retreat(lp, Some(start));
    }

    /// The policy that the basic values describe.
    fn read_support(&self, k: usize, out: &mut Solution) {
        out.support.clear();
        let mut total = 0.0;
        for (&b, &x) in self.basis.iter().zip(&self.x) {
            if b < k && x > FEASIBLE {
                out.support.push((b, x));
                total += x;
            }
        }
        for entry in &mut out.support {
            entry.1 /= total;
        }
        out.support.sort_unstable_by_key(|&(a, _)| a);
    }
}
