//! Pricing blocks in turn, and the exchange of one basic variable.

use super::basis::{Basic, FEASIBLE, PIVOT, Simplex};
use crate::segments::table::{Block, dot};

/// Degenerate pivots in a row after which Bland's rule takes over.
const DEGENERATE: usize = 50;
/// Blocks priced before the best of them enters.
const BATCH: usize = 64;
/// Gains that count as zero, relative to the block's numbers.
const GAIN: f64 = 4e-13;

/// End of a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    Optimal,
    /// Work ran out, or no pivot was large enough.
    Stuck,
    /// The policies of some block cannot keep the local thresholds.
    NoPolicy,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Entering {
    Slack(usize),
    /// The priced column of this block.
    Block(usize),
}

#[derive(Debug, Clone, Copy)]
enum Leaving {
    Work(usize),
    /// Key of a block.
    Key(usize),
}

impl Simplex {
    /// The primal method from a feasible basis, until no column gains or, in phase one, the artificial
    /// variable is gone.
    pub(super) fn run(
        &mut self,
        blocks: &[Block],
        thresholds: &[f64],
        local_thresholds: &[f64],
        phase_one: bool,
    ) -> End {
        let limit = self.effort + 2000 + 200 * blocks.len();
        self.version += 1;
        self.multipliers(phase_one);
        let (mut at, mut clean, mut stalled) = (0, 0, 0);
        loop {
            if phase_one && !self.work.contains(&Basic::Artificial) {
                return End::Optimal;
            }
            let bland = stalled >= DEGENERATE;
            let entering = if let Some(i) = self.prices.iter().position(|&price| price < 0.0) {
                Entering::Slack(i)
            } else if clean >= blocks.len() {
                return End::Optimal;
            } else {
                let batch = if bland { 1 } else { BATCH };
                let mut best = (0.0, None);
                for _ in 0..batch.min(blocks.len()) {
                    let s = at;
                    at = (at + 1) % blocks.len();
                    let Some(gain) = self.gain(s, &blocks[s], local_thresholds, phase_one, bland)
                    else {
                        return End::NoPolicy;
                    };
                    clean = if gain > 0.0 { 0 } else { clean + 1 };
                    if gain > best.0 {
                        best = (gain, Some(s));
                        std::mem::swap(&mut self.best, &mut self.pricer.column);
                    }
                }
                let (_, Some(s)) = best else {
                    continue;
                };
                std::mem::swap(&mut self.best, &mut self.pricer.column);
                Entering::Block(s)
            };
            if self.effort + self.pivots >= limit {
                return End::Stuck;
            }
            let version = self.version;
            let Some(step) = self.pivot(entering, thresholds, phase_one, bland) else {
                return End::Stuck;
            };
            stalled = if step <= FEASIBLE { stalled + 1 } else { 0 };
            if self.version != version {
                clean = 0;
                if bland {
                    at = 0;
                }
            }
        }
    }

    /// Prices a block: what its best column gains, zero if that is rounding.
    fn gain(
        &mut self,
        s: usize,
        block: &Block,
        local_thresholds: &[f64],
        phase_one: bool,
        bland: bool,
    ) -> Option<f64> {
        if self.priced[s] == self.version {
            return Some(0.0);
        }
        self.effort += 1;
        let top = self
            .pricer
            .price(block, &self.prices, !phase_one, local_thresholds)?;
        self.priced[s] = self.version;
        self.tops[s] = top;
        self.local_prices[s].clone_from(&self.pricer.local_prices);
        let level = self.keys[s].worth(&self.prices, !phase_one);
        let reward_scale = if phase_one { 0.0 } else { block.reward_scale };
        let slack = GAIN * (reward_scale + dot(&self.prices, &block.cost_scales));
        // Without local rows the bound is the best column's worth: most blocks need no column.
        if block.local.is_empty() && top - level <= slack {
            return Some(0.0);
        }
        self.pricer.make_column(block);
        if bland {
            self.pricer.choose_first(block, level, slack);
        }
        let worth = self.pricer.column.worth(&self.prices, !phase_one);
        if worth - level <= slack {
            return Some(0.0);
        }
        // It is not done with at these prices.
        self.priced[s] = 0;
        Some(worth - level)
    }

    /// Brings a variable into the basis; returns its value there, or nothing if no pivot is large enough.
    fn pivot(
        &mut self,
        entering: Entering,
        thresholds: &[f64],
        phase_one: bool,
        bland: bool,
    ) -> Option<f64> {
        match entering {
            Entering::Slack(i) => {
                self.entering.fill(0.0);
                self.entering[i] = 1.0;
            }
            Entering::Block(s) => {
                let pairs = self.pricer.column.costs.iter().zip(&self.keys[s].costs);
                for (entry, (new, key)) in self.entering.iter_mut().zip(pairs) {
                    *entry = new - key;
                }
            }
        }
        self.set_direction();
        let (leaving, step) = self.leaving(entering, bland)?;
        self.pivots += 1;
        let w = match (leaving, entering) {
            (Leaving::Key(k), Entering::Block(s)) if s == k => {
                self.touched.push(k);
                for (sum, change) in self.key_costs.iter_mut().zip(&self.entering) {
                    *sum += change;
                }
                std::mem::swap(&mut self.keys[k], &mut self.pricer.column);
                if !self.has_extra(k) {
                    // The working basis is as it was.
                    for (x, change) in self.x.iter_mut().zip(&self.direction) {
                        *x -= step * change;
                    }
                    return Some(step);
                }
                None
            }
            (Leaving::Key(k), _) => {
                self.touched.push(k);
                Some(self.promote(k)?)
            }
            (Leaving::Work(w), _) => Some(w),
        };
        if let Some(w) = w {
            if let Basic::Extra(s) = self.work[w] {
                self.touched.push(s);
            }
            self.work[w] = match entering {
                Entering::Slack(i) => Basic::Slack(i),
                Entering::Block(s) => {
                    std::mem::swap(&mut self.extras[w], &mut self.pricer.column);
                    Basic::Extra(s)
                }
            };
        }
        if !self.factor() {
            return None;
        }
        self.values(thresholds, 0.0);
        self.multipliers(phase_one);
        Some(step)
    }

    /// Makes the extra column with the largest value the key of its block, and returns its place.
    pub(super) fn promote(&mut self, block: usize) -> Option<usize> {
        let extra = |w: &usize| self.work[*w] == Basic::Extra(block);
        let w = (0..self.coupling)
            .filter(extra)
            .max_by(|&a, &b| self.x[a].total_cmp(&self.x[b]))?;
        std::mem::swap(&mut self.keys[block], &mut self.extras[w]);
        let pairs = self.keys[block].costs.iter().zip(&self.extras[w].costs);
        for (sum, (new, old)) in self.key_costs.iter_mut().zip(pairs) {
            *sum += new - old;
        }
        Some(w)
    }

    /// The variable that reaches zero first; among ties the artificial one, then the largest pivot, for
    /// stability (under Bland's rule the first variable).
    fn leaving(&self, entering: Entering, bland: bool) -> Option<(Leaving, f64)> {
        let sizes = self.entering.iter().zip(&self.row_scale);
        let size = sizes.fold(0.0, |a, (x, scale)| f64::max(a, x.abs() / scale));
        let (own, tie) = match entering {
            Entering::Slack(i) => (None, FEASIBLE * self.sum_scale[i]),
            Entering::Block(s) => (Some(s), FEASIBLE),
        };
        let mut best: Option<(Leaving, f64, f64, (usize, usize))> = None;
        let mut consider = |leaving, ratio: f64, pivot: f64, rank| {
            let better = match best {
                None => true,
                Some((_, old, ..)) if ratio < old - tie => true,
                Some((_, old, ..)) if ratio > old + tie => false,
                Some((.., old_rank)) if bland => rank < old_rank,
                Some((_, _, old, _)) => pivot > old,
            };
            if better {
                let least = best.map_or(ratio, |b| b.1.min(ratio));
                best = Some((leaving, least, pivot, rank));
            }
        };
        for w in 0..self.coupling {
            let alpha = self.direction[w];
            let pivot = alpha * self.sizes[w];
            if pivot > PIVOT * size {
                let (weight, rank) = match self.work[w] {
                    Basic::Slack(i) => (pivot / size, (0, i)),
                    Basic::Extra(s) => (pivot / size, (1 + s, self.extras[w].rank())),
                    Basic::Artificial => (f64::INFINITY, (0, 0)),
                };
                consider(Leaving::Work(w), self.x[w].max(0.0) / alpha, weight, rank);
            }
        }
        let mut consider_key = |s: usize| {
            let (mut falls, mut mass) = if own == Some(s) {
                (1.0, 1.0)
            } else {
                (0.0, 0.0)
            };
            for w in 0..self.coupling {
                if self.work[w] == Basic::Extra(s) {
                    falls -= self.direction[w];
                    mass += self.direction[w].abs();
                }
            }
            if falls > PIVOT * mass {
                let ratio = self.key_value(s).max(0.0) / falls;
                let rank = (1 + s, self.keys[s].rank());
                consider(Leaving::Key(s), ratio, falls / mass, rank);
            }
        };
        if let Some(s) = own {
            consider_key(s);
        }
        for (w, &basic) in self.work.iter().enumerate() {
            if let Basic::Extra(s) = basic
                && own != Some(s)
                && !self.work[..w].contains(&basic)
            {
                consider_key(s);
            }
        }
        best.map(|(leaving, ratio, ..)| (leaving, ratio))
    }
}
