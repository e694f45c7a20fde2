//! Blocks of the table: a segment, or the pool.

use crate::optimism::Bounds;

/// One block: what is known of its arms, and its policy.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub bounds: Bounds,
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
            means: vec![0.0; columns],
            spread: vec![0.0; columns],
            safe_only: true,
            weight: 0.0,
            pulls: vec![0; columns],
            policy: Vec::with_capacity(thresholds.len() + 2),
            costs: vec![0.0; thresholds.len()],
        }
    }
}
