//! Exact OPLB: a convex objective maximised over a second-order cone, to a certificate.
//!
//! ```text
//!   maximise   a'π + ρ √((s'π)² + ‖Zπ‖²)
//!   subject to w_i'π + κ_i ‖Zπ‖ ≤ τ_i   for i = 1..m,     π ≥ 0,  Σ_a π_a = 1.
//! ```
//!
//! One guardrail (math: "OPLB exactly"): some best policy is a single action (V), a pair of actions
//! that uses up the guardrail (P), or a maximiser over the cone of one of the linear objectives
//! C_φ (C). `pairs.rs` scans the first two, `sweep.rs` the third with the linear problems of
//! `linear.rs`, each leaving out only what a bound rules out.
//!
//! Several guardrails: `branch_and_bound.rs` splits the directions of (s'π, Zπ) into nodes, on each of which
//! the norm of the objective has a concave bound; the convex problem that leaves is solved with all
//! guardrails by `linear.rs`. Nodes end when their bound falls to the best policy.
//!
//! | file | subject |
//! |---|---|
//! | `problem.rs` | the problem, its limits and its answer |
//! | `passes.rs`, `pair_passes.rs` | vectorised passes over actions and over pairs |
//! | `scaled.rs` | the problem in the search's units: one guardrail ‖Zπ‖ ≤ u'π, the others as rows |
//! | `policy.rs`, `search.rs` | the best policy, checked against the problem, its shadow prices; the proof so far |
//! | `kkt.rs`, `linear.rs` | a linear objective over the cone, by active sets, with its proof |
//! | `sweep.rs` | all directions φ, closed by bounds or left to the pairs |
//! | `pairs.rs` | single actions, and the pairs that no bound rules out |
//! | `branch_and_bound.rs` | several guardrails: branch and bound over directions |
//! | `solver.rs` | the search as a whole |
//!
//! Every bound is computed from all actions by a formula that holds whatever led to it, so rounding
//! and degeneracy may cost tightness, never validity; every policy is recomputed from the problem
//! and moved towards the safe action until it meets every threshold in floating point.

mod branch_and_bound;
mod kkt;
mod linear;
mod pair_passes;
mod pairs;
mod passes;
mod policy;
mod problem;
mod scaled;
mod search;
mod solver;
mod sweep;

pub use problem::{ConeLimits, ConeProblem, ConeSolution};
pub use solver::{ConeSolver, solve_cone_once};
