//! A revised simplex with one convexity row per block, of which only a working basis as large as the
//! number of coupling rows is factored.
//!
//! A column is a policy of one block: an action, or with local rows a corner of the policies that keep
//! them, made by [`LpSolver`](crate::LpSolver) when it is priced. Each block has a key column; the
//! other basic variables (extra columns, slacks) form the working basis, in which an extra column
//! counts as its difference from its block's key. It is small, so it is factored anew at each pivot.
//!
//! Blocks are priced in turn and pivoted on at once. A start that breaks a threshold, the last table
//! after a change, gets one artificial variable, which phase one drives out.
//!
//! Reading order: `column.rs`, `pricing.rs`, `basis.rs` (the algebra), `primal.rs` (pivots),
//! `solve.rs` (starts, phases, the table read off the last basis).
//!
//! Reference: Dantzig and Van Slyke, Generalized upper bounding techniques, 1967.

mod basis;
mod column;
mod pricing;
mod primal;
mod solve;

pub(super) use basis::Simplex;
