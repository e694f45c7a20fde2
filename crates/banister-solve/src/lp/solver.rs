//! The solver of policy LPs: chooses the method by the number of guardrails and keeps the warm start.

use super::envelope::{self, Envelope};
use super::problem::Lp;
use super::simplex::Simplex;
use super::solution::Solution;

/// Solves a sequence of similar policy LPs, each warm-started from the one before.
///
/// No allocation happens once a problem of the largest size has been seen.
#[derive(Debug, Clone, Default)]
pub struct LpSolver {
    envelope: Envelope,
    simplex: Simplex,
    solution: Solution,
}

/// Basis that a solver stopped at, so that a restored agent starts from the same place.
///
/// Indices below K are actions; K + i is the slack of guardrail i.
pub type Basis = Vec<usize>;

impl LpSolver {
    /// Solves `lp`. `start` is an action known to meet every threshold (the safe action); without
    /// one a feasible start is searched for, and [`Status::Infeasible`](crate::Status::Infeasible) says there is none.
    ///
    /// Sizes and finiteness are the caller's duty: [`Lp::check`] is for user-supplied problems.
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

    /// Solution of the last solve.
    #[inline]
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
