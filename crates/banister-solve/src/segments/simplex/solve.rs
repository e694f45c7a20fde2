//! Starts, phases, and the table read off the last basis.

use super::basis::{Basic, Simplex};
use super::column::Column;
use super::primal::End;
use crate::lp::Status;
use crate::segments::problem::BlockSolution;
use crate::segments::table::{Block, BlockTable, dot};

/// Rest of the artificial variable that, beyond this, relative to the row's largest sum, means that no
/// table meets the thresholds.
const ARTIFICIAL: f64 = 1e-10;
/// Starts from the last basis before the safe table is what is left.
const STARTS: usize = 3;
/// A gap beyond this, relative to the largest rewards, is not rounding.
const GAP: f64 = 1e-9;
/// Largest distance below the thresholds, relative to the rows' largest sums, that takes rounding back from the basis.
const RETREAT: f64 = 1e-11;
/// Masses below this are rounding.
const GRAIN: f64 = 1e-15;

impl Simplex {
    pub(in crate::segments) fn block_prices(&self, block: usize) -> &[f64] {
        &self.local_prices[block]
    }

    pub(in crate::segments) fn solve(
        &mut self,
        blocks: &[Block],
        dirty: &[usize],
        thresholds: &[f64],
        local_thresholds: &[f64],
        table: &mut BlockTable,
        out: &mut BlockSolution,
    ) {
        (self.pivots, self.effort) = (0, 0);
        out.retreats = 0;
        self.touched.clear();
        let refreshed = self.refresh(blocks, dirty, local_thresholds);
        self.measure(blocks, thresholds);
        let end = if refreshed {
            self.search(blocks, thresholds, local_thresholds)
        } else {
            None
        };
        let Some(status) = end else {
            self.forget();
            table.clear();
            return out.set_infeasible();
        };
        if status == Status::Budget {
            self.bound(blocks, local_thresholds);
        }
        out.status = status;
        out.upper_bound = dot(&self.prices, thresholds) + self.tops.iter().sum::<f64>();
        out.prices.copy_from_slice(&self.prices);
        if !self.publish(blocks, thresholds, local_thresholds, table, out) {
            out.retreats += table.retreat(blocks, thresholds, local_thresholds);
            self.displaced = true;
        }
        out.pivots = self.pivots;
        for (i, cost) in out.costs.iter_mut().enumerate() {
            *cost = table.cost(i);
        }
        out.value = table.value();
        out.upper_bound = out.upper_bound.max(out.value);
        // Where safe actions stand on their thresholds, a way back from rounding may cost more, and prices may be so
        // large that the bound is nothing but rounding.
        let rewards = blocks.iter().map(|block| block.reward_scale);
        let rounding = f64::EPSILON * dot(&out.prices, &self.sum_scale);
        if !(out.gap() + rounding <= GAP * rewards.sum::<f64>()) {
            out.status = Status::Budget;
        }
    }

    /// Forgets the warm start.
    fn forget(&mut self) {
        self.keys.clear();
        self.prices.fill(0.0);
        self.reset_work();
        self.displaced = true;
    }

    fn reset_work(&mut self) {
        self.work.clear();
        self.work.extend((0..self.coupling).map(Basic::Slack));
    }

    /// Gives each changed block its best column at the last prices, or the safe action where there are
    /// none yet. False if a block has no policy.
    fn refresh(&mut self, blocks: &[Block], dirty: &[usize], local_thresholds: &[f64]) -> bool {
        let n = blocks.len();
        let cold = self.keys.is_empty();
        let gone = |basic: &Basic| match basic {
            Basic::Extra(s) => *s >= n || dirty.binary_search(s).is_ok(),
            _ => false,
        };
        for &basic in &self.work {
            if let Basic::Extra(s) = basic
                && s < n
            {
                self.touched.push(s);
            }
        }
        let lost = self.work.iter().any(gone);
        self.keys.truncate(n);
        if lost {
            self.round_off();
        }
        let (coupling, local) = (self.coupling, local_thresholds.len());
        self.keys
            .resize_with(n, || Column::with_room(coupling, local));
        self.tops.resize(n, 0.0);
        self.priced.resize(n, 0);
        self.local_prices.resize_with(n, Vec::new);
        let changed = if cold { n } else { dirty.len() };
        for i in 0..changed {
            let s = if cold { i } else { dirty[i] };
            let safe = [(blocks[s].safe, 1.0)];
            self.touched.push(s);
            self.priced[s] = 0;
            if cold && blocks[s].keeps(&safe, local_thresholds) {
                self.keys[s].set(&blocks[s], &safe);
                continue;
            }
            let priced = self
                .pricer
                .price(&blocks[s], &self.prices, true, local_thresholds);
            if priced.is_none() {
                return false;
            }
            self.effort += 1;
            self.pricer.make_column(&blocks[s]);
            std::mem::swap(&mut self.keys[s], &mut self.pricer.column);
        }
        true
    }

    /// Leaves each block the column with the largest mass, and all slacks in the working basis.
    fn round_off(&mut self) {
        for w in 0..self.coupling {
            if let Basic::Extra(s) = self.work[w]
                && s < self.keys.len()
            {
                self.touched.push(s);
                let key = self.key_value(s);
                let extras = self.work.iter().zip(&self.x);
                let most = extras
                    .filter(|(basic, _)| **basic == Basic::Extra(s))
                    .fold(0.0, |a, (_, &x)| f64::max(a, x));
                if most > key {
                    self.promote(s);
                }
            }
        }
        self.reset_work();
    }

    /// Both phases from the last basis: the status, or nothing if there is no feasible table.
    fn search(
        &mut self,
        blocks: &[Block],
        thresholds: &[f64],
        local_thresholds: &[f64],
    ) -> Option<Status> {
        for start in 0..=STARTS {
            if start == STARTS {
                // Only after numerical trouble: from the safe table, if it is one.
                self.round_off();
                for (s, block) in blocks.iter().enumerate() {
                    self.keys[s].set(block, &[(block.safe, 1.0)]);
                    self.touched.push(s);
                }
                self.recount();
            }
            if !self.is_ready(thresholds) {
                let end = self.phase_one(blocks, thresholds, local_thresholds);
                match end {
                    Some(true) => {}
                    Some(false) => return None,
                    None => continue,
                }
            }
            let end = self.run(blocks, thresholds, local_thresholds, false);
            if end == End::NoPolicy {
                return None;
            }
            // Rounding may have gathered on the way.
            self.recount();
            if self.factor() {
                self.values(thresholds, 0.0);
                if self.is_feasible() {
                    return Some(match end {
                        End::Optimal => Status::Optimal,
                        _ => Status::Budget,
                    });
                }
            }
        }
        let safe = |block: &Block| block.keeps(&[(block.safe, 1.0)], local_thresholds);
        self.round_off();
        for (s, block) in blocks.iter().enumerate() {
            self.keys[s].set(block, &[(block.safe, 1.0)]);
            self.touched.push(s);
        }
        self.recount();
        let regular = self.factor();
        self.values(thresholds, 0.0);
        (regular && self.is_feasible() && blocks.iter().all(safe)).then_some(Status::Budget)
    }

    /// True if the basis is feasible; else one with all slacks is made, which may be.
    fn is_ready(&mut self, thresholds: &[f64]) -> bool {
        if self.factor() {
            self.values(thresholds, 0.0);
            if self.is_feasible() {
                return true;
            }
        }
        self.round_off();
        // Slack columns: always regular.
        self.factor();
        self.values(thresholds, 0.0);
        self.is_feasible()
    }

    /// From a basis of slacks, some of them negative: true if a feasible basis was found, false if there
    /// is none, nothing if work ran out.
    fn phase_one(
        &mut self,
        blocks: &[Block],
        thresholds: &[f64],
        local_thresholds: &[f64],
    ) -> Option<bool> {
        let lack = |i: usize| self.x[i] / self.sum_scale[i];
        let worst = (0..self.coupling).min_by(|&a, &b| lack(a).total_cmp(&lack(b)))?;
        for (entry, x) in self.artificial.iter_mut().zip(&self.x) {
            *entry = x.min(0.0);
        }
        self.work[worst] = Basic::Artificial;
        let mut end = End::Stuck;
        if self.factor() {
            self.values(thresholds, 0.0);
            end = self.run(blocks, thresholds, local_thresholds, true);
        }
        if end == End::NoPolicy {
            return Some(false);
        }
        let left = self.work.iter().position(|&b| b == Basic::Artificial);
        let Some(w) = left else {
            return Some(true);
        };
        let remains = |(entry, scale): (&f64, &f64)| -entry * self.x[w] > ARTIFICIAL * scale;
        let mut rows = self.artificial.iter().zip(&self.sum_scale);
        let lacks = rows.any(remains);
        let optimal = end == End::Optimal;
        // A slack takes its place, at zero if anything.
        for i in 0..self.coupling {
            if !self.work.contains(&Basic::Slack(i)) {
                self.work[w] = Basic::Slack(i);
                if self.factor() {
                    self.values(thresholds, 0.0);
                    return if lacks {
                        optimal.then_some(false)
                    } else {
                        Some(true)
                    };
                }
                self.work[w] = Basic::Artificial;
            }
        }
        self.round_off();
        if lacks && optimal { Some(false) } else { None }
    }

    /// The bound at the prices where work ran out, whatever they prove.
    fn bound(&mut self, blocks: &[Block], local_thresholds: &[f64]) {
        for price in &mut self.prices {
            *price = price.max(0.0);
        }
        self.version += 1;
        for (s, block) in blocks.iter().enumerate() {
            let top = self
                .pricer
                .price(block, &self.prices, true, local_thresholds);
            self.tops[s] = top.unwrap_or(f64::INFINITY);
            self.local_prices[s].clone_from(&self.pricer.local_prices);
        }
    }

    /// Puts the policies of the basis into the table. False if rounding leaves them above a threshold.
    fn publish(
        &mut self,
        blocks: &[Block],
        thresholds: &[f64],
        local_thresholds: &[f64],
        table: &mut BlockTable,
        out: &mut BlockSolution,
    ) -> bool {
        if self.displaced {
            self.touched.clear();
            self.touched.extend(0..blocks.len());
            self.displaced = false;
        }
        for i in 0..self.touched.len() {
            let s = self.touched[i];
            if !self.has_extra(s) {
                table.put(s, &blocks[s], &self.keys[s].support);
            }
        }
        let mut shift = 0.0;
        loop {
            for w in 0..self.coupling {
                if let Basic::Extra(s) = self.work[w]
                    && !self.work[..w].contains(&Basic::Extra(s))
                {
                    self.mix(s, &blocks[s], local_thresholds);
                    table.put(s, &blocks[s], &self.policy);
                }
            }
            if table.within(thresholds) {
                return true;
            }
            // Rounding left a sum above its threshold: aim a hair lower, from the same basis.
            shift = if shift == 0.0 {
                f64::EPSILON
            } else {
                4.0 * shift
            };
            if shift > RETREAT {
                return false;
            }
            out.retreats += 1;
            self.values(thresholds, shift);
        }
    }

    /// The mixture of a block's basic columns.
    fn mix(&mut self, s: usize, block: &Block, local_thresholds: &[f64]) {
        let policy = &mut self.policy;
        policy.clear();
        let extra = |w: &usize| self.work[*w] == Basic::Extra(s);
        let key = 1.0
            - (0..self.coupling)
                .filter(extra)
                .map(|w| self.x[w])
                .sum::<f64>();
        let extras = (0..self.coupling)
            .filter(extra)
            .map(|w| (self.x[w], &self.extras[w]));
        for (mass, column) in extras.chain([(key, &self.keys[s])]) {
            let entries = column.support.iter().map(|&(a, p)| (a, mass * p));
            policy.extend(entries.filter(|entry| entry.1 > GRAIN));
        }
        policy.sort_unstable_by_key(|entry| entry.0);
        policy.dedup_by(|next, entry| {
            let same = next.0 == entry.0;
            if same {
                entry.1 += next.1;
            }
            same
        });
        self.purifier.purify(policy, block, local_thresholds);
    }
}
