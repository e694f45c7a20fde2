//! Blocks of the table: a segment, or the pool.

use crate::bounds::Bounds;
use crate::problem::{Scope, Standard};

/// One block: what is known of its arms, and its policy.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Bounds of its columns; `bounds.safe` is the base's.
    pub bounds: Bounds,
    /// Column of the safe arm.
    pub safe: usize,
    /// r̂ by column.
    pub means: Vec<f64>,
    /// D by column.
    pub spread: Vec<f64>,
    /// True if nothing but the safe arm may be played.
    pub safe_only: bool,
    /// p̂ of the block.
    pub weight: f64,
    /// Outcomes by column.
    pub pulls: Vec<u64>,
    /// The policy by columns, before it is mixed with the safe arm.
    pub policy: Vec<(usize, f64)>,
    /// π·u before mixing, per guardrail.
    pub costs: Vec<f64>,
}

impl Block {
    pub(super) fn new(thresholds: &[f64], columns: usize) -> Self {
        let mut bounds = Bounds::new(thresholds.to_vec(), 0.0);
        bounds.resize(columns);
        Self {
            bounds,
            safe: 0,
            means: vec![0.0; columns],
            spread: vec![0.0; columns],
            safe_only: true,
            weight: 0.0,
            pulls: vec![0; columns],
            policy: Vec::with_capacity(thresholds.len() + 2),
            costs: vec![0.0; thresholds.len()],
        }
    }

    /// Chooses the base, the arm that others are mixed with to keep thresholds: one whose costs are bounded at most as
    /// high as the safe arm's. The lemma of `optimism` holds with any, and where the pool has seldom played the safe
    /// arm, the bounds of the one that it played instead are the tight ones. Bounds of relative costs rest on the safe
    /// arm's outcomes: there it stays the base, so that it is played; and where guardrails hold in each segment, one
    /// without a margin of its safe arm plays that, on which nothing but its declaration is needed.
    pub(super) fn choose_base(&mut self, guardrails: &[Standard]) {
        let bounds = &mut self.bounds;
        bounds.safe = self.safe;
        let is_plain = |g: &Standard| g.factor == 0.0 && g.scope == Scope::Overall;
        if guardrails.iter().all(is_plain) {
            for a in 0..bounds.columns() {
                let beyond = |row: &Vec<f64>| row[a] - row[bounds.safe];
                let costs = || bounds.cost_upper.iter().map(beyond);
                if costs().all(|cost| cost <= 0.0) && costs().any(|cost| cost < 0.0) {
                    bounds.safe = a;
                }
            }
        }
        bounds.update_margins(None);
        // A segment without data, or whose safe arm is not known to keep its own guardrails, plays the safe arm.
        let lacks = |(g, margin): (&Standard, &f64)| g.scope == Scope::Each && !(*margin > 0.0);
        self.safe_only = self.weight <= 0.0 || guardrails.iter().zip(&bounds.margins).any(lacks);
        if self.safe_only {
            bounds.safe = self.safe;
        }
    }
}
