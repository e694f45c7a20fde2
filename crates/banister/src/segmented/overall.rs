//! A guardrail over all segments: bounds on its mean for the table and for the base, over the frequencies that can be.

use super::block::Block;
use super::frequencies::{Counts, Worst};
use super::segments::{POOL, Segments};

/// Segments and contexts that bounds are made for.
pub(super) struct Contexts<'a> {
    pub segments: &'a Segments,
    pub counts: &'a Counts,
    /// Level of the set of frequencies.
    pub delta: f64,
    /// True if the counts are others than the last time: bounds are minimised anew.
    pub is_new: bool,
}

/// A guardrail over all segments.
#[derive(Debug, Clone)]
pub(super) struct Overall {
    pub guardrail: usize,
    pub threshold: f64,
    worst: Worst,
    worst_base: Worst,
    /// Frequencies of blocks that the row of the program is made with.
    pub weights: Vec<f64>,
    /// Bound on the mean cost of the base everywhere.
    pub base: f64,
    /// Bound on that of the table before mixing.
    pub table: f64,
    /// Mean of its cost bounds at the frequencies observed.
    pub observed: f64,
    /// Room for costs by segment.
    g: Vec<f64>,
}

impl Overall {
    pub(super) fn new(guardrail: usize, threshold: f64) -> Self {
        Self {
            guardrail,
            threshold,
            worst: Worst::default(),
            worst_base: Worst::default(),
            weights: Vec::new(),
            base: 0.0,
            table: 0.0,
            observed: 0.0,
            g: Vec::new(),
        }
    }

    /// Bounds the base's mean; the first row of the program is made with its worst frequencies.
    pub(super) fn bound_base(&mut self, contexts: &Contexts, blocks: &[Block]) {
        let i = self.guardrail;
        let worst = &mut self.worst_base;
        bound(worst, &mut self.g, contexts, |s| base_cost(&blocks[s], i));
        self.base = worst.bound();
        if self.weights.len() != blocks.len() {
            weights_of(contexts, worst, blocks.len(), &mut self.weights);
        }
    }

    /// Bounds the table's mean, and takes its worst frequencies for the next row. Returns the excess over the
    /// threshold as a share of the margin.
    pub(super) fn bound_table(&mut self, contexts: &Contexts, blocks: &[Block]) -> f64 {
        let i = self.guardrail;
        let worst = &mut self.worst;
        bound(worst, &mut self.g, contexts, |s| blocks[s].costs[i]);
        self.table = worst.bound();
        weights_of(contexts, worst, blocks.len(), &mut self.weights);
        (self.table - self.threshold) / (self.threshold - self.base)
    }

    /// Takes the cost of a block's new base into its bound.
    pub(super) fn set_base(
        &mut self,
        segments: &Segments,
        counts: &Counts,
        b: usize,
        block: &Block,
    ) {
        let g = base_cost(block, self.guardrail);
        set_block(&mut self.worst_base, segments, counts, b, g);
        self.base = self.worst_base.bound();
    }

    /// Takes the cost of a block's new policy into the table's bound.
    pub(super) fn set_table(
        &mut self,
        segments: &Segments,
        counts: &Counts,
        b: usize,
        block: &Block,
    ) {
        let g = block.costs[self.guardrail];
        set_block(&mut self.worst, segments, counts, b, g);
        self.table = self.worst.bound();
    }
}

fn base_cost(block: &Block, guardrail: usize) -> f64 {
    block.bounds.cost_upper[guardrail][block.bounds.safe]
}

/// Bounds the mean of a cost by block; unseen segments are the pool's.
fn bound(worst: &mut Worst, g: &mut Vec<f64>, contexts: &Contexts, cost: impl Fn(usize) -> f64) {
    let known = &contexts.segments.list[..contexts.counts.seen.len()];
    g.clear();
    g.extend(known.iter().map(|s| cost(s.block)));
    if contexts.is_new || !worst.is_ready(contexts.counts) {
        worst.refresh(contexts.counts, g, cost(POOL), contexts.delta);
    } else {
        worst.update(contexts.counts, g, cost(POOL));
    }
}

/// Takes a block's cost into a bound, for every segment that the counts know.
fn set_block(worst: &mut Worst, segments: &Segments, counts: &Counts, b: usize, g: f64) {
    let mut set = |s: usize| {
        if let Some(&n) = counts.seen.get(s) {
            worst.set(s, n, g);
        }
    };
    match segments.owners[b] {
        Some(s) => set(s),
        None => {
            (0..counts.seen.len())
                .filter(|&s| segments.list[s].block == b)
                .for_each(set);
            worst.set_unseen(g);
        }
    }
}

/// Sums worst frequencies over the segments of each block; unseen ones are the pool's.
fn weights_of(contexts: &Contexts, worst: &Worst, blocks: usize, out: &mut Vec<f64>) {
    out.clear();
    out.resize(blocks, 0.0);
    if worst.frequencies.len() != contexts.counts.seen.len() {
        out[POOL] = 1.0;
        return;
    }
    for (s, p) in worst.frequencies.iter().enumerate() {
        out[contexts.segments.list[s].block] += p;
    }
    out[POOL] += worst.unseen_frequency();
}
