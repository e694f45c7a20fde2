//! The policy LP: rewards maximised over the simplex under few linear constraints.
//!
//! | file | subject |
//! |---|---|
//! | `problem.rs` | the problem and its checks |
//! | `solution.rs` | the policy and its certificate |
//! | `scan.rs` | vectorised passes over all actions |
//! | `envelope.rs` | one guardrail: the concave envelope of the points (u, V), read at τ |
//! | `blocks.rs` | one guardrail, when few actions change between solves |
//! | `simplex/` | several guardrails |
//! | `solver.rs` | the choice among them, and the warm start |
//! | `once.rs` | user-supplied problems, in whatever units |

mod blocks;
mod envelope;
mod once;
mod problem;
mod scan;
mod simplex;
mod solution;
mod solver;

pub use blocks::BlockedLp;
pub use once::{OnceSolver, solve_once};
pub use problem::{Lp, LpError};
pub use solution::{MAX_RETREATS, Solution, Status};
pub use solver::{Basis, LpSolver};

pub(crate) use once::{largest, unit};
pub(crate) use problem::{exactly, finite};
