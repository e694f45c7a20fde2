//! The problem, kept up to date block by block, and its solution.

use super::merged::Merged;
use super::simplex::Simplex;
use super::table::{Block, BlockTable};
use crate::lp::Status;

/// Blocks that each choose a policy, under coupling rows that all share and local rows of their own.
///
/// Rewards and coupling costs come with the blocks' weights multiplied in. Numbers are finite; sizes
/// are the caller's duty.
///
/// ```
/// use banister_solve::{BlockLp, Status};
///
/// // Two segments that share a budget of 0.5; the second makes more of it.
/// let mut lp = BlockLp::new(1, 0);
/// lp.set(0, 0, &[0.0, 0.2], &[&[0.0, 0.5]], &[]);
/// lp.set(1, 0, &[0.0, 0.4], &[&[0.0, 0.5]], &[]);
/// let solution = lp.solve(&[0.5], &[]);
/// assert_eq!((solution.status, solution.value), (Status::Optimal, 0.4));
/// assert_eq!(lp.policy(0), [(0, 1.0)]);
/// assert_eq!(lp.policy(1), [(1, 1.0)]);
/// ```
#[derive(Debug, Clone)]
pub struct BlockLp {
    coupling: usize,
    local: usize,
    blocks: Vec<Block>,
    /// Number of blocks in use: those behind it keep their memory.
    used: usize,
    dirty: Vec<usize>,
    is_dirty: Vec<bool>,
    local_thresholds: Vec<f64>,
    table: BlockTable,
    method: Method,
    solution: BlockSolution,
}

#[derive(Debug, Clone)]
enum Method {
    Merged(Box<Merged>),
    Simplex(Box<Simplex>),
}

impl BlockLp {
    /// A problem without blocks, with this many coupling rows and local rows.
    pub fn new(coupling: usize, local: usize) -> Self {
        let method = if (coupling, local) == (1, 0) {
            Method::Merged(Box::default())
        } else {
            Method::Simplex(Box::new(Simplex::new(coupling, local)))
        };
        Self {
            coupling,
            local,
            blocks: vec![],
            used: 0,
            dirty: vec![],
            is_dirty: vec![],
            local_thresholds: vec![],
            table: BlockTable::default(),
            method,
            solution: BlockSolution {
                costs: vec![0.0; coupling],
                prices: vec![0.0; coupling],
                ..BlockSolution::default()
            },
        }
    }

    /// Replaces a block, or adds one where `block` is [`BlockLp::blocks`].
    ///
    /// `safe` is the action whose local costs keep the local thresholds; `costs` has one row per
    /// coupling row and `local` one per local row, each with one number per action.
    pub fn set<Row: AsRef<[f64]>>(
        &mut self,
        block: usize,
        safe: usize,
        rewards: &[f64],
        costs: &[Row],
        local: &[Row],
    ) {
        debug_assert!(block <= self.used && !rewards.is_empty());
        debug_assert!((costs.len(), local.len()) == (self.coupling, self.local));
        if block == self.used {
            self.used += 1;
            if self.blocks.len() < self.used {
                self.blocks.push(Block::default());
                self.is_dirty.push(false);
            }
        }
        self.blocks[block].set(safe, rewards, costs, local);
        self.mark_dirty(block);
    }

    fn mark_dirty(&mut self, block: usize) {
        if !self.is_dirty[block] {
            self.is_dirty[block] = true;
            self.dirty.push(block);
        }
    }

    /// Keeps the first `blocks` blocks.
    pub fn truncate(&mut self, blocks: usize) {
        if blocks >= self.used {
            return;
        }
        self.used = blocks;
        let is_dirty = &mut self.is_dirty;
        self.dirty.retain(|&block| {
            is_dirty[block] &= block < blocks;
            block < blocks
        });
    }

    /// Number of blocks.
    #[inline]
    pub fn blocks(&self) -> usize {
        self.used
    }

    /// Solves, from where the last solve ended.
    ///
    /// With one coupling row and no local one the work is in proportion to the blocks set since the
    /// last solve and to those whose policy changes, but for summing one number per block; else it
    /// is a few passes over all blocks.
    pub fn solve(&mut self, thresholds: &[f64], local_thresholds: &[f64]) -> &BlockSolution {
        debug_assert!((thresholds.len(), local_thresholds.len()) == (self.coupling, self.local));
        if self.local_thresholds != local_thresholds {
            self.local_thresholds.clear();
            self.local_thresholds.extend_from_slice(local_thresholds);
            for block in 0..self.used {
                self.mark_dirty(block);
            }
        }
        self.dirty.sort_unstable();
        let blocks = &self.blocks[..self.used];
        self.table.begin();
        self.table.resize(self.used, self.coupling, self.local);
        for &block in &self.dirty {
            self.is_dirty[block] = false;
            self.table.mark(block);
        }
        let (dirty, table, out) = (&self.dirty, &mut self.table, &mut self.solution);
        match &mut self.method {
            Method::Merged(merged) => merged.solve(blocks, dirty, thresholds[0], table, out),
            Method::Simplex(simplex) => {
                simplex.solve(blocks, dirty, thresholds, local_thresholds, table, out);
            }
        }
        self.dirty.clear();
        &self.solution
    }

    /// Solution of the last solve.
    #[inline]
    pub fn solution(&self) -> &BlockSolution {
        &self.solution
    }

    /// Policy of a block as (action, probability), by increasing action: at most one action more than
    /// there are rows, and a grain of the safe action where rounding would break a threshold. Empty if
    /// the problem is infeasible.
    #[inline]
    pub fn policy(&self, block: usize) -> &[(usize, f64)] {
        self.table.policy(block)
    }

    /// Shadow prices of a block's local rows.
    #[inline]
    pub fn block_prices(&self, block: usize) -> &[f64] {
        match &self.method {
            Method::Merged(_) => &[],
            Method::Simplex(simplex) => simplex.block_prices(block),
        }
    }

    /// Blocks that were set before the last solve, or whose policy it changed; in no order.
    #[inline]
    pub fn changed(&self) -> &[usize] {
        self.table.changed()
    }
}

/// Sums and certificate of a table of policies, one per block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlockSolution {
    /// End of the solve. [`Status::Infeasible`] also where work ran out before a table was found.
    pub status: Status,
    /// The objective at the table, summed over the blocks in their order.
    pub value: f64,
    /// A proven upper bound on the objective of every feasible table.
    pub upper_bound: f64,
    /// Cost per coupling row, summed over the blocks in their order: never above its threshold if
    /// the safe actions' costs are not, else up to rounding.
    pub costs: Vec<f64>,
    /// Shadow price per coupling row.
    pub prices: Vec<f64>,
    /// Pivots, or edges passed for one coupling row.
    pub pivots: usize,
    /// Steps back from a threshold that rounding had crossed.
    pub retreats: usize,
}

impl BlockSolution {
    /// Largest possible distance of the table's value from the best one.
    #[inline]
    pub fn gap(&self) -> f64 {
        (self.upper_bound - self.value).max(0.0)
    }

    pub(super) fn set_infeasible(&mut self) {
        self.status = Status::Infeasible;
        self.value = f64::NEG_INFINITY;
        self.upper_bound = f64::NEG_INFINITY;
        self.costs.fill(0.0);
        self.prices.fill(0.0);
    }
}
