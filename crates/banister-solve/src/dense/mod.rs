//! Dense kernels for many short vectors at once.
//!
//! Vectors are columns of a **coordinate-major** table: coordinate j of column a is
//! `table[j * stride + a]`, so that a pass over columns vectorises. Every column's numbers are made
//! by the same operations in the same order whatever the vector width: results are the same on every
//! CPU.

/// Declares a kernel that runs with wider vectors where the processor has them. No instruction fuses
/// a product with a sum, so the width does not show in the results.
macro_rules! wide {
    ($(#[$doc:meta])* $name:ident, $body:ident, ($($arg:ident: $type:ty),*)) => {
        $(#[$doc])*
        pub fn $name($($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn widest($($arg: $type),*) {
                    $body($($arg),*);
                }
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $type),*) {
                    $body($($arg),*);
                }
                // SAFETY: the processor has just been asked whether it knows these instructions.
                #[allow(unsafe_code)]
                if std::arch::is_x86_feature_detected!("avx512f") {
                    return unsafe { widest($($arg),*) };
                } else if std::arch::is_x86_feature_detected!("avx2") {
                    return unsafe { wide($($arg),*) };
                }
            }
            $body($($arg),*);
        }
    };
}

mod intervals;
mod lower;
mod pass;
mod rank_one;

pub use intervals::{add_scaled, both_ends, reach, upper_ends};
pub use lower::{add_product, add_square, dot, inverse_factor, lower_times, lower_times_table};
pub use pass::{WhitenPass, Whitened};
pub use rank_one::{Followed, RankOne};

use crate::scan::LANES;

/// The stride for a table of so many columns: whole chunks, and an odd number of them, so that the
/// rows of a chunk do not fall on the same cache lines.
pub fn stride(columns: usize) -> usize {
    let chunks = columns.div_ceil(LANES).max(1);
    (chunks | 1) * LANES
}
