//! Dense kernels for many short vectors at once.
//!
//! Vectors are columns of a **coordinate-major** table: coordinate j of column a is
//! `table[j * stride + a]`, so that a pass over columns vectorises, with the same results on every CPU
//! (see `lanes.rs`).
//!
//! Reading order: `lower.rs` (lower triangular matrices: products, factors), `rank_one.rs` (the update
//! by one outcome), `pass.rs` (new actions whitened and predicted), `intervals.rs` (ends of intervals).

mod intervals;
mod lower;
mod pass;
mod rank_one;

pub use intervals::{
    LEVELS, Widths, add_scaled, both_ends, both_ends_within, reach, upper_ends, upper_ends_within,
};
pub use lower::{
    add_product, add_square, dot, factor_shifted, inverse_factor, lower_times, lower_times_table,
    transposed_times,
};
pub use pass::{WhitenPass, Whitened};
pub use rank_one::{Followed, RankOne};

use crate::lanes::LANES;

/// Stride for a table of `columns` columns: whole chunks, and an odd number of them, so that the
/// rows of a chunk do not fall on the same cache lines.
#[inline]
pub fn stride(columns: usize) -> usize {
    let chunks = columns.div_ceil(LANES).max(1);
    (chunks | 1) * LANES
}
