//! The best column of one block at given prices.

use super::column::{Column, Purifier};
use crate::lp::{Lp, LpSolver, Status, largest};
use crate::segments::table::Block;

#[derive(Debug, Clone, Default)]
pub(super) struct Pricer {
    lp: LpSolver,
    reduced: Vec<f64>,
    policy: Vec<(usize, f64)>,
    purifier: Purifier,
    pub column: Column,
    /// Prices of the block's local rows.
    pub local_prices: Vec<f64>,
}

impl Pricer {
    pub(super) fn new(coupling: usize, local: usize) -> Self {
        Self {
            column: Column::with_room(coupling, local),
            ..Self::default()
        }
    }

    /// Finds the block's best policy for r − λ·c, or −λ·c where rewards do not count, and returns the
    /// bound on all of them; nothing if no policy keeps the local thresholds.
    pub(super) fn price(
        &mut self,
        block: &Block,
        prices: &[f64],
        rewards_count: bool,
        local_thresholds: &[f64],
    ) -> Option<f64> {
        self.reduced.clear();
        if rewards_count {
            self.reduced.extend_from_slice(&block.rewards);
        } else {
            self.reduced.resize(block.rewards.len(), 0.0);
        }
        for (row, &price) in block.costs.iter().zip(prices) {
            if price != 0.0 {
                for (x, cost) in self.reduced.iter_mut().zip(row) {
                    *x -= price * cost;
                }
            }
        }
        if block.local.is_empty() {
            let (mut top, mut action) = (self.reduced[block.safe], block.safe);
            for (a, &x) in self.reduced.iter().enumerate() {
                if x > top {
                    (top, action) = (x, a);
                }
            }
            self.policy.clear();
            self.policy.push((action, 1.0));
            return Some(top);
        }
        // At unit scale: a block of small weight has small numbers, and the solver's tolerances do not.
        let scale = match largest(&self.reduced) {
            scale if scale > 0.0 => scale,
            _ => 1.0,
        };
        self.reduced.iter_mut().for_each(|x| *x /= scale);
        let lp = Lp {
            reward: &self.reduced,
            costs: &block.local,
            thresholds: local_thresholds,
        };
        let solution = self.lp.solve_vertex(&lp, Some(block.safe));
        if solution.status == Status::Infeasible {
            return None;
        }
        let top = scale * solution.upper_bound;
        self.local_prices.clear();
        self.local_prices
            .extend(solution.prices.iter().map(|price| price * scale));
        self.policy.clone_from(&solution.support);
        let rows = block.costs.len() + block.local.len();
        if self.policy.len() > 1 + rows || !block.keeps(&self.policy, local_thresholds) {
            // Identical actions share their mass, for one.
            self.purifier
                .purify(&mut self.policy, block, local_thresholds);
        }
        Some(top)
    }

    /// The column of the policy last found.
    pub(super) fn make_column(&mut self, block: &Block) {
        self.column.set(block, &self.policy);
    }

    /// The first action that gains more than `slack` over `level` in the last pricing, for Bland's rule;
    /// without local rows only.
    pub(super) fn choose_first(&mut self, block: &Block, level: f64, slack: f64) {
        if block.local.is_empty()
            && let Some(a) = self.reduced.iter().position(|x| x - level > slack)
        {
            self.column.set(block, &[(a, 1.0)]);
        }
    }
}
