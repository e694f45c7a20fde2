//! Segments under one budget: a policy per block, all under the same coupling rows.
//!
//! ```text
//!   maximise   Σ_s π_s·r_s
//!   subject to Σ_s π_s·c_{s,i} ≤ τ_i      for each coupling row i,
//!              π_s·e_{s,j} ≤ t_j          for each block s and each local row j,
//!              π_s a distribution over the actions of block s.
//! ```
//!
//! For prices λ ≥ 0 of the coupling rows the problem falls apart into its blocks, and
//! `λ·τ + Σ_s max_{π_s} π_s·(r_s − λ·c_s)` bounds the value of every feasible table of policies.
//!
//! | file | subject |
//! |---|---|
//! | `problem.rs` | the problem, kept up to date block by block; sums and certificate |
//! | `table.rs` | the policies of all blocks and their sums in floating point |
//! | `merged.rs` | one coupling row: the edges of the blocks' hulls by decreasing slope, up to the threshold |
//! | `simplex/` | everything else: a revised simplex with one convexity row per block |
//! | `once.rs` | user-supplied problems, in whatever units |

mod merged;
mod once;
mod problem;
mod simplex;
mod table;

pub use once::{Scope, SegmentPrices, SegmentProblem, SegmentSolution};
pub use problem::{BlockLp, BlockSolution};
