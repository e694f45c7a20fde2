//! Linear programs over the simplex with few constraints, solved to a certificate.
//!
//! The problem, for K actions and m guardrails (math: "the policy LP"):
//!
//! ```text
//!   maximise   Σ_a π_a V_a
//!   subject to Σ_a π_a u_{i,a} ≤ τ_i   for i = 1..m,     π ≥ 0,  Σ_a π_a = 1.
//! ```
//!
//! It always has an optimal solution on at most m + 1 actions. One guardrail is the reading of a
//! concave envelope at τ (`envelope.rs`), also incrementally when few actions change ([`BlockedLp`]);
//! more guardrails are a revised simplex with m + 1 rows (`simplex/`). [`LpSolver`] chooses.
//!
//! The exact OPLB problem, a convex objective maximised within second-order cones, is solved by
//! [`ConeSolver`] (`cone/`).
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

mod blocks;
mod cone;
pub mod dense;
mod envelope;
mod once;
mod scan;
mod simplex;
mod solution;

pub use blocks::BlockedLp;
pub use cone::{ConeLimits, ConeProblem, ConeSolution, ConeSolver, solve_cone_once};
pub use once::{OnceSolver, solve_once};
pub use solution::{Lp, LpError, MAX_RETREATS, Solution, Status};

use envelope::Envelope;
use simplex::Simplex;

/// Solves a sequence of similar policy LPs, each warm-started from the one before.
///
/// No allocation happens once a problem of the largest size has been seen.
#[derive(Debug, Clone, Default)]
pub struct LpSolver {
    envelope: Envelope,
    simplex: Simplex,
    solution: Solution,
}

/// Where a solver stopped, so that a restored agent starts from the same place.
///
/// Indices below K are actions; K + i is the slack of guardrail i.
pub type Basis = Vec<usize>;

impl LpSolver {
    /// Solves `lp`. `start` is an action known to meet every threshold (the safe action); without
    /// one a feasible start is searched for, and [`Status::Infeasible`] says there is none.
    ///
    /// Sizes and finiteness are the caller's duty: [`Lp::check`] is for input from outside.
    #[inline]
    pub fn solve(&mut self, lp: &Lp<'_>, start: Option<usize>) -> &Solution {
        self.solve_vertex(lp, start);
        self.share(lp)
    }

    /// [`LpSolver::solve`] without looking for identical actions, where only the value is wanted, or
    /// another solve may follow.
    #[inline]
    pub fn solve_vertex(&mut self, lp: &Lp<'_>, start: Option<usize>) -> &Solution {
        match lp.costs.len() {
            0 => envelope::solve_free(lp, &mut self.solution),
            1 => self.envelope.solve(lp, start, &mut self.solution),
            _ => self.simplex.solve(lp, start, &mut self.solution),
        }
        &self.solution
    }

    /// Lets identical actions share their mass equally in the policy of the last solve, of this `lp`.
    #[inline]
    pub fn share(&mut self, lp: &Lp<'_>) -> &Solution {
        if lp.costs.len() == 1 {
            self.envelope.share(lp, &mut self.solution);
        }
        &self.solution
    }

    /// The last solution.
    pub fn solution(&self) -> &Solution {
        &self.solution
    }

    /// The warm start the next call would use.
    pub fn basis(&self) -> Basis {
        match self.simplex.basis() {
            [] => self.envelope.basis(),
            basis => basis.to_vec(),
        }
    }

    /// Continues from a basis that [`LpSolver::basis`] gave, for a problem with `guardrails`
    /// guardrails. A basis that does not fit the next problem is ignored.
    pub fn set_basis(&mut self, basis: &[usize], guardrails: usize) {
        self.reset();
        if guardrails <= 1 {
            self.envelope.set_basis(basis);
        } else {
            self.simplex.set_basis(basis);
        }
    }

    /// Forgets the warm start (after actions were added or removed).
    pub fn reset(&mut self) {
        self.envelope.set_basis(&[]);
        self.simplex.set_basis(&[]);
    }
}
