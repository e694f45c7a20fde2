//! The dual method: repairs a warm basis that new thresholds or costs made infeasible.

use super::basis::{FEASIBLE, PIVOT, Simplex};
use crate::lp::problem::Lp;

impl Simplex {
    /// Dual simplex from an infeasible basis. False if it is not dual feasible or gives up.
    pub(super) fn dual(&mut self, lp: &Lp<'_>) -> bool {
        let (k, m) = (lp.reward.len(), lp.costs.len());
        let n = m + 1;
        for _ in 0..4 * n {
            let Some(row) = (0..n)
                .filter(|&r| self.x[r] < -FEASIBLE)
                .min_by(|&a, &b| self.x[a].total_cmp(&self.x[b]))
            else {
                return true;
            };
            self.multipliers(lp);
            let tolerance = 1e3 * self.tolerance();
            let leaving = &self.inverse[row * n..(row + 1) * n];
            let mut entering = None;
            let mut best = f64::INFINITY;
            for i in 0..m {
                if self.y[i] < -tolerance {
                    return false;
                }
                if leaving[i] < -PIVOT && self.y[i] / -leaving[i] < best {
                    best = self.y[i] / -leaving[i];
                    entering = Some(k + i);
                }
            }
            for a in 0..k {
                let mut reduced = self.y[m] - lp.reward[a];
                let mut alpha = leaving[m];
                for i in 0..m {
                    let cost = lp.costs[i][a];
                    reduced += self.y[i] * cost;
                    alpha += leaving[i] * cost;
                }
                if reduced < -tolerance {
                    return false;
                }
                if alpha < -PIVOT && reduced < best * -alpha {
                    best = reduced.max(0.0) / -alpha;
                    entering = Some(a);
                }
            }
            let Some(entering) = entering else {
                return false;
            };
            self.direction(lp, entering);
            if self.column[row].abs() <= PIVOT {
                return false;
            }
            self.pivot(row, entering);
        }
        false
    }
}
