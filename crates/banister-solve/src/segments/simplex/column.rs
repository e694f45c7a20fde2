//! A policy of one block, as a column of the problem.

use crate::segments::table::{Block, dot, sum};

#[derive(Debug, Clone, Default)]
pub(super) struct Column {
    /// By increasing action.
    pub support: Vec<(usize, f64)>,
    pub reward: f64,
    /// One per coupling row.
    pub costs: Vec<f64>,
}

impl Column {
    /// Room for a column, so that none is asked for when it is set.
    pub(super) fn with_room(coupling: usize, local: usize) -> Self {
        Self {
            support: Vec::with_capacity(coupling + local + 2),
            reward: 0.0,
            costs: Vec::with_capacity(coupling),
        }
    }

    pub(super) fn set(&mut self, block: &Block, support: &[(usize, f64)]) {
        self.support.clear();
        self.support.extend_from_slice(support);
        self.reward = sum(&block.rewards, support);
        self.costs.clear();
        self.costs
            .extend(block.costs.iter().map(|row| sum(row, support)));
    }

    /// V − λ·c, or −λ·c where rewards do not count.
    pub(super) fn worth(&self, prices: &[f64], rewards_count: bool) -> f64 {
        let reward = if rewards_count { self.reward } else { 0.0 };
        reward - dot(prices, &self.costs)
    }

    /// Position that orders columns, as Bland's rule needs one.
    pub(super) fn rank(&self) -> usize {
        self.support.first().map_or(0, |entry| entry.0)
    }
}

/// Workspace of [`Purifier::purify`].
#[derive(Debug, Clone, Default)]
pub(super) struct Purifier {
    matrix: Vec<f64>,
    pivot_row: Vec<usize>,
}

impl Purifier {
    /// Removes actions from a policy until one per row and one more are left, without a change in any cost
    /// or a loss of reward: along a direction that no row sees, until a probability is zero.
    pub(super) fn purify(
        &mut self,
        policy: &mut Vec<(usize, f64)>,
        block: &Block,
        local_thresholds: &[f64],
    ) {
        while policy.len() > 1 + block.costs.len() + block.local.len()
            && self.remove_one(policy, block)
        {}
        let total: f64 = policy.iter().map(|entry| entry.1).sum();
        policy.iter_mut().for_each(|entry| entry.1 /= total);
        block.settle(policy, local_thresholds);
    }

    fn remove_one(&mut self, policy: &mut Vec<(usize, f64)>, block: &Block) -> bool {
        let Self { matrix, pivot_row } = self;
        let rows = 1 + block.costs.len() + block.local.len();
        let columns = rows + 1;
        let entry = |row: usize, action: usize| match row {
            0 => 1.0,
            _ if row <= block.costs.len() => block.costs[row - 1][action],
            _ => block.local[row - 1 - block.costs.len()][action],
        };
        matrix.clear();
        for row in 0..rows {
            let values = policy[..columns].iter().map(|&(a, _)| entry(row, a));
            matrix.extend(values);
            let scale = matrix[row * columns..]
                .iter()
                .fold(0.0, |a, b| f64::max(a, b.abs()));
            if scale > 0.0 {
                matrix[row * columns..].iter_mut().for_each(|x| *x /= scale);
            }
        }
        // Gauss-Jordan with the largest entry of the row as pivot; the first column that is never a
        // pivot is free.
        pivot_row.clear();
        pivot_row.resize(columns, usize::MAX);
        for row in 0..rows {
            let Some(c) = (0..columns)
                .filter(|&c| pivot_row[c] == usize::MAX)
                .max_by(|&a, &b| {
                    let size = |c: usize| matrix[row * columns + c].abs();
                    size(a).total_cmp(&size(b))
                })
            else {
                break;
            };
            let pivot = matrix[row * columns + c];
            if !(pivot.abs() > 1e-12) {
                continue;
            }
            pivot_row[c] = row;
            for k in 0..columns {
                matrix[row * columns + k] /= pivot;
            }
            for r in 0..rows {
                let factor = matrix[r * columns + c];
                if r == row || factor == 0.0 {
                    continue;
                }
                for k in 0..columns {
                    matrix[r * columns + k] -= factor * matrix[row * columns + k];
                }
            }
        }
        let Some(free) = pivot_row.iter().position(|&row| row == usize::MAX) else {
            return false;
        };
        let direction = |c: usize| match pivot_row[c] {
            _ if c == free => 1.0,
            usize::MAX => 0.0,
            row => -matrix[row * columns + free],
        };
        let gain: f64 = (0..columns)
            .map(|c| direction(c) * block.rewards[policy[c].0])
            .sum();
        let sign = if gain < 0.0 { -1.0 } else { 1.0 };
        let falls = |c: usize| -sign * direction(c);
        let ratio = |c: usize| policy[c].1 / falls(c);
        let Some(out) = (0..columns)
            .filter(|&c| falls(c) > 1e-12)
            .min_by(|&a, &b| ratio(a).total_cmp(&ratio(b)))
        else {
            return false;
        };
        let step = ratio(out);
        for c in 0..columns {
            policy[c].1 = (policy[c].1 - step * falls(c)).max(0.0);
        }
        policy[out].1 = 0.0;
        policy.retain(|entry| entry.1 > 0.0);
        true
    }
}
