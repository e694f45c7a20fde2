//! The concave hull of one block's points (c, r), from the cheapest action to the most rewarding.

use super::table::Block;

/// Corners by increasing cost, and the slopes of the edges between them, which decrease.
#[derive(Debug, Clone, Default)]
pub(super) struct Hull {
    order: Vec<usize>,
    pub corners: Vec<Corner>,
    pub slopes: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    pub action: usize,
    pub cost: f64,
    pub reward: f64,
}

impl Hull {
    pub(super) fn build(&mut self, block: &Block) {
        let (r, c) = (&block.rewards, &block.costs[0]);
        if self.order.len() != r.len() {
            self.order.clear();
            self.order.extend(0..r.len());
        }
        // Of identical actions the safe one stands first, then the lower index.
        self.order.sort_unstable_by(|&a, &b| {
            let cost = c[a].total_cmp(&c[b]);
            let reward = || r[b].total_cmp(&r[a]);
            let index = || (a != block.safe, a).cmp(&(b != block.safe, b));
            cost.then_with(reward).then_with(index)
        });
        self.corners.clear();
        self.slopes.clear();
        for &action in &self.order {
            let (cost, reward) = (c[action], r[action]);
            let corner = Corner {
                action,
                cost,
                reward,
            };
            let Some(mut last) = self.corners.last().copied() else {
                self.corners.push(corner);
                continue;
            };
            if reward <= last.reward {
                continue;
            }
            let mut slope = last.slope_to(corner);
            // The slopes as rounded decide, so that they decrease strictly.
            while self.slopes.last().is_some_and(|&before| slope >= before) {
                self.slopes.pop();
                self.corners.pop();
                last = self.corners[self.slopes.len()];
                slope = last.slope_to(corner);
            }
            self.corners.push(corner);
            self.slopes.push(slope);
        }
    }

    /// Slope of the edge that leaves corner `at` towards higher cost, if any.
    pub(super) fn next(&self, at: usize) -> Option<f64> {
        self.slopes.get(at).copied()
    }

    /// Slope of the edge that arrives at corner `at`, if any.
    pub(super) fn last(&self, at: usize) -> Option<f64> {
        self.slopes[..at].last().copied()
    }
}

impl Corner {
    fn slope_to(self, other: Self) -> f64 {
        // Costs that differ by next to nothing must not make a price infinite.
        ((other.reward - self.reward) / (other.cost - self.cost)).min(f64::MAX)
    }
}
