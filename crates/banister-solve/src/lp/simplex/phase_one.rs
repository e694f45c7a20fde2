//! Phase one: user-supplied problems come without a safe action to start from.

use super::basis::{Simplex, dot};
use crate::lp::problem::Lp;
use crate::lp::scan::price;
use crate::lp::solution::{Solution, Status};

/// A mass above this on the artificial action means that no policy meets the thresholds.
const ARTIFICIAL: f64 = 1e-10;

/// Distances below the thresholds to aim at, relative to the rows' largest numbers, until rounding leaves the policy
/// within them.
const MARGINS: [f64; 6] = [0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11];

impl Simplex {
    /// Two phases: first the smallest mass on an artificial action, then a price for it that keeps
    /// it out. Only for user-supplied problems: agents always know a safe action.
    pub(super) fn solve_in_two_phases(&mut self, lp: &Lp<'_>, out: &mut Solution) {
        let rows = lp.costs.iter().zip(lp.thresholds);
        let scales: Vec<f64> = rows
            .map(|(row, tau)| row.iter().fold(tau.abs(), |a, &b| a.max(b.abs())))
            .map(|scale| scale.max(1e-300))
            .collect();
        for margin in MARGINS {
            let pairs = lp.thresholds.iter().zip(&scales);
            let thresholds: Vec<f64> = pairs.map(|(tau, scale)| tau - margin * scale).collect();
            let lowered = Lp {
                thresholds: &thresholds,
                ..*lp
            };
            if !self.meet(&lowered, &scales, out) {
                break;
            }
            out.retreat(lp, None);
            if out.within(lp) {
                let (top, _) = price(lp.reward, lp.costs, &out.prices, f64::INFINITY, 0.0);
                out.upper_bound = top + dot(&out.prices, lp.thresholds);
                out.status = Status::Optimal;
                return out.judge(lp);
            }
        }
        out.set_infeasible(lp.costs.len());
    }

    /// Both phases. False if no policy meets the thresholds; else the one found does up to rounding.
    fn meet(&mut self, lp: &Lp<'_>, scales: &[f64], out: &mut Solution) -> bool {
        let k = lp.reward.len();
        let mut reward = vec![0.0; k];
        reward.push(-1.0);
        let mut costs: Vec<Vec<f64>> = Vec::new();
        for ((row, tau), scale) in lp.costs.iter().zip(lp.thresholds).zip(scales) {
            costs.push(row.iter().copied().chain([tau - scale]).collect());
        }
        let spread = lp.reward.iter().fold(1.0_f64, |a, &b| a.max(b.abs()));
        self.basis.clear();
        let inner = |reward: &[f64], simplex: &mut Self, out: &mut Solution| {
            let extended = Lp {
                reward,
                costs: &costs,
                thresholds: lp.thresholds,
            };
            simplex.solve_from(&extended, k, out);
        };
        inner(&reward, self, out);
        if out.value < -ARTIFICIAL {
            self.basis.clear();
            return false;
        }
        reward[..k].copy_from_slice(lp.reward);
        let mut penalty = 1e2 * spread;
        loop {
            reward[k] = -penalty;
            inner(&reward, self, out);
            let mass = out.support.iter().find(|e| e.0 == k).map_or(0.0, |e| e.1);
            if mass <= ARTIFICIAL || penalty > 1e10 * spread {
                break;
            }
            penalty *= 1e2;
        }
        self.basis.clear();
        out.support.retain(|&(a, _)| a < k);
        let total: f64 = out.support.iter().map(|e| e.1).sum();
        for entry in &mut out.support {
            entry.1 /= total;
        }
        true
    }
}
