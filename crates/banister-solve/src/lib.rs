//! Linear programs over the simplex with few constraints, solved to a certificate.
//!
//! The problem, for K actions and m guardrails (math: "the policy LP"):
//!
//! ```text
//!   maximise   Σ_a π_a V_a
//!   subject to Σ_a π_a u_{i,a} ≤ τ_i   for i = 1..m,     π ≥ 0,  Σ_a π_a = 1.
//! ```
//!
//! It always has an optimal solution on at most m + 1 actions. [`LpSolver`] finds one, for one guardrail
//! from a concave envelope read at τ, for several by a revised simplex; [`BlockedLp`] does so when few
//! actions change between solves, [`BlockLp`] for many policies under one budget. The exact OPLB problem, a convex objective maximised within
//! second-order cones, is solved by [`ConeSolver`].
//!
//! Every [`Solution`] carries a proof: prices λ ≥ 0 give the upper bound
//! `Σ_i λ_i τ_i + max_a (V_a − Σ_i λ_i u_{i,a})`, and its costs, summed in floating point over the
//! support as listed, do not exceed the thresholds.
//!
//! ```
//! use banister_solve::{Lp, LpSolver, Status};
//!
//! let reward = [0.1, 0.9];
//! let costs = vec![vec![0.0, 1.0]];
//! let lp = Lp { reward: &reward, costs: &costs, thresholds: &[0.25] };
//! let mut solver = LpSolver::default();
//! let solution = solver.solve(&lp, Some(0));
//! assert_eq!(solution.status, Status::Optimal);
//! assert_eq!(solution.support, [(0, 0.75), (1, 0.25)]);
//! assert!((solution.prices[0] - 0.8).abs() < 1e-12);
//! ```
//!
//! The crate knows nothing of bandits, reads no clock and starts no threads. In reading order:
//!
//! | module | subject |
//! |---|---|
//! | `lp/` | the policy LP: problem, solution, envelope, blocks, simplex |
//! | `segments/` | many policies under one budget |
//! | `cone/` | exact OPLB, by active sets, a sweep of directions and a scan of pairs |
//! | [`dense`] | kernels for many short vectors at once |
//! | `lanes.rs` | vector width, and the choice of instructions at run time |

mod cone;
pub mod dense;
mod lanes;
mod lp;
mod segments;

pub use cone::{ConeLimits, ConeProblem, ConeSolution, ConeSolver, solve_cone_once};
pub use lp::{
    Basis, BlockedLp, Lp, LpError, LpSolver, MAX_RETREATS, OnceSolver, Solution, Status, solve_once,
};
pub use segments::{BlockLp, BlockSolution, Scope, SegmentPrices, SegmentProblem, SegmentSolution};
