//! The policies of all blocks and their sums in floating point.

use crate::lp::largest;

/// One block of the problem.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub safe: usize,
    pub rewards: Vec<f64>,
    /// One row per coupling row.
    pub costs: Vec<Vec<f64>>,
    /// One row per local row.
    pub local: Vec<Vec<f64>>,
    /// Largest absolute reward, and the largest absolute cost per coupling row.
    pub reward_scale: f64,
    pub cost_scales: Vec<f64>,
}

impl Block {
    pub(super) fn set(
        &mut self,
        safe: usize,
        rewards: &[f64],
        costs: &[impl AsRef<[f64]>],
        local: &[impl AsRef<[f64]>],
    ) {
        self.safe = safe.min(rewards.len().saturating_sub(1));
        copy(&mut self.rewards, rewards);
        self.costs.resize_with(costs.len(), Vec::new);
        self.local.resize_with(local.len(), Vec::new);
        self.cost_scales.clear();
        for (row, given) in self.costs.iter_mut().zip(costs) {
            copy(row, given.as_ref());
            self.cost_scales.push(largest(given.as_ref()));
        }
        for (row, given) in self.local.iter_mut().zip(local) {
            copy(row, given.as_ref());
        }
        self.reward_scale = largest(rewards);
    }

    /// True if the policy keeps every local threshold, as summed in the order listed.
    pub(super) fn keeps(&self, policy: &[(usize, f64)], thresholds: &[f64]) -> bool {
        let rows = self.local.iter().zip(thresholds);
        rows.fold(true, |kept, (row, &t)| kept & (sum(row, policy) <= t))
    }

    /// Mixes the safe action into the policy: `share` of it.
    fn retreat(&self, policy: &mut Vec<(usize, f64)>, share: f64) {
        for entry in policy.iter_mut() {
            entry.1 *= 1.0 - share;
        }
        match policy.iter().position(|entry| entry.0 >= self.safe) {
            Some(at) if policy[at].0 == self.safe => policy[at].1 += share,
            at => policy.insert(at.unwrap_or(policy.len()), (self.safe, share)),
        }
        policy.retain(|entry| entry.1 > 0.0);
    }

    /// Mixes in the safe action, doubling its share until the policy keeps the local thresholds in
    /// floating point; in the last resort nothing else is left.
    pub(super) fn settle(&self, policy: &mut Vec<(usize, f64)>, thresholds: &[f64]) {
        let safe = [(self.safe, 1.0)];
        let mut share = f64::EPSILON;
        if self.keeps(policy, thresholds) || !self.keeps(&safe, thresholds) {
            return;
        }
        while share < 1.0 {
            self.retreat(policy, share);
            if self.keeps(policy, thresholds) {
                return;
            }
            share *= 2.0;
        }
        policy.clear();
        policy.extend(safe);
    }
}

fn copy(to: &mut Vec<f64>, from: &[f64]) {
    to.clear();
    to.extend_from_slice(from);
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Σ_a π_a row_a, in the order of the policy.
pub(super) fn sum(row: &[f64], policy: &[(usize, f64)]) -> f64 {
    policy.iter().map(|&(a, p)| p * row[a]).sum()
}

/// The policies as published, with what each block adds to the sums.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockTable {
    policies: Vec<Vec<(usize, f64)>>,
    values: Vec<f64>,
    /// One row per coupling row.
    costs: Vec<Vec<f64>>,
    changed: Vec<usize>,
    is_changed: Vec<bool>,
    scratch: Vec<(usize, f64)>,
}

impl BlockTable {
    pub(super) fn resize(&mut self, blocks: usize, coupling: usize, local: usize) {
        let room = || Vec::with_capacity(coupling + local + 2);
        self.policies.resize_with(blocks, room);
        self.values.resize(blocks, 0.0);
        self.is_changed.resize(blocks, false);
        self.costs.resize_with(coupling, Vec::new);
        for row in &mut self.costs {
            row.resize(blocks, 0.0);
        }
    }

    pub(super) fn policy(&self, block: usize) -> &[(usize, f64)] {
        &self.policies[block]
    }

    pub(super) fn changed(&self) -> &[usize] {
        &self.changed
    }

    /// Starts a new list of changes.
    pub(super) fn begin(&mut self) {
        for &block in &self.changed {
            if let Some(flag) = self.is_changed.get_mut(block) {
                *flag = false;
            }
        }
        self.changed.clear();
    }

    pub(super) fn mark(&mut self, block: usize) {
        if !self.is_changed[block] {
            self.is_changed[block] = true;
            self.changed.push(block);
        }
    }

    /// Gives a block this policy.
    pub(super) fn put(&mut self, block: usize, data: &Block, policy: &[(usize, f64)]) {
        if self.policies[block] != policy {
            self.policies[block].clear();
            self.policies[block].extend_from_slice(policy);
            self.mark(block);
        }
        self.values[block] = sum(&data.rewards, policy);
        for (row, costs) in self.costs.iter_mut().zip(&data.costs) {
            row[block] = sum(costs, policy);
        }
    }

    /// Part of the sums that a block adds while its policy is not yet put; for one coupling row.
    pub(super) fn contribute(&mut self, block: usize, value: f64, cost: f64) {
        self.values[block] = value;
        self.costs[0][block] = cost;
    }

    /// Takes every policy away.
    pub(super) fn clear(&mut self) {
        for block in 0..self.policies.len() {
            if !self.policies[block].is_empty() {
                self.policies[block].clear();
                self.mark(block);
            }
        }
    }

    /// Σ over the blocks, in their order.
    pub(super) fn value(&self) -> f64 {
        self.values.iter().sum()
    }

    /// Σ over the blocks of the costs of a coupling row, in their order.
    pub(super) fn cost(&self, row: usize) -> f64 {
        self.costs[row].iter().sum()
    }

    pub(super) fn within(&self, thresholds: &[f64]) -> bool {
        (0..thresholds.len()).all(|i| self.cost(i) <= thresholds[i])
    }

    /// Mixes `share` of the safe action into a block's policy.
    fn retreat_block(&mut self, block: usize, data: &Block, share: f64, local_thresholds: &[f64]) {
        let mut policy = std::mem::take(&mut self.scratch);
        policy.clear();
        policy.extend_from_slice(&self.policies[block]);
        data.retreat(&mut policy, share.min(1.0));
        data.settle(&mut policy, local_thresholds);
        self.put(block, data, &policy);
        self.scratch = policy;
    }

    /// Brings the sums within the thresholds where rounding left them above: block by block a grain of
    /// the safe action, then nothing but safe actions. Returns the number of steps; the sums stay above
    /// only if those of the safe actions are.
    pub(super) fn retreat(
        &mut self,
        blocks: &[Block],
        thresholds: &[f64],
        local_thresholds: &[f64],
    ) -> usize {
        if !is_safe(blocks, thresholds) {
            return 0;
        }
        let mut steps = 0;
        for (s, block) in blocks.iter().enumerate() {
            let spare = |row: usize| self.costs[row][s] - block.costs[row][block.safe];
            let (mut helps, mut hurts, mut share) = (false, false, f64::EPSILON);
            for (i, tau) in thresholds.iter().enumerate() {
                hurts |= spare(i) < 0.0;
                let excess = self.cost(i) - tau;
                if excess > 0.0 && spare(i) > 0.0 {
                    helps = true;
                    share = share.max(2.0 * excess / spare(i));
                }
            }
            if !helps || hurts {
                continue;
            }
            for _ in 0..8 {
                self.retreat_block(s, block, share, local_thresholds);
                steps += 1;
                if self.within(thresholds) {
                    return steps;
                }
                share *= 2.0;
            }
            if steps > 64 {
                break;
            }
        }
        self.retreat_to_safe(blocks, thresholds);
        steps + 1
    }

    /// Nothing but safe actions, if their costs are within the thresholds.
    pub(super) fn retreat_to_safe(&mut self, blocks: &[Block], thresholds: &[f64]) -> bool {
        let is_safe = is_safe(blocks, thresholds);
        if is_safe {
            for (s, block) in blocks.iter().enumerate() {
                self.put(s, block, &[(block.safe, 1.0)]);
            }
        }
        is_safe
    }
}

/// True if the safe actions' costs, summed over the blocks in their order, are within the thresholds.
fn is_safe(blocks: &[Block], thresholds: &[f64]) -> bool {
    let cost = |i: usize| blocks.iter().map(|b| b.costs[i][b.safe]).sum::<f64>();
    (0..thresholds.len()).all(|i| cost(i) <= thresholds[i])
}
