//! User-supplied problems, in whatever units they come.

use super::problem::{Lp, LpError};
use super::solution::{Solution, Status};
use super::solver::LpSolver;

/// Solves user-supplied problems, one at a time and each for itself: what came before leaves no trace
/// in an answer, only its memory is used again.
///
/// ```
/// let mut solver = banister_solve::OnceSolver::default();
/// let solution = solver.solve(&[1.0, 9.0], &[&[0.0, 2e6]], &[5e5])?;
/// assert_eq!(solution.support, [(0, 0.75), (1, 0.25)]);
/// # Ok::<(), banister_solve::LpError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct OnceSolver {
    solver: LpSolver,
    /// The problem as given, and at unit scale.
    given: Vec<Vec<f64>>,
    reward: Vec<f64>,
    costs: Vec<Vec<f64>>,
    thresholds: Vec<f64>,
    scales: Vec<f64>,
    solution: Solution,
}

impl OnceSolver {
    /// Checks a problem, brings it to unit scale, solves it without a known start, and scales back.
    pub fn solve<R: AsRef<[f64]>>(
        &mut self,
        reward: &[f64],
        costs: &[R],
        thresholds: &[f64],
    ) -> Result<&Solution, LpError> {
        self.given.resize_with(costs.len(), Vec::new);
        for (row, given) in self.given.iter_mut().zip(costs) {
            row.clear();
            row.extend_from_slice(given.as_ref());
        }
        let lp = Lp {
            reward,
            costs: &self.given,
            thresholds,
        };
        lp.check()?;
        let reward_scale = unit([largest(reward)]);
        self.reward.clear();
        self.reward.extend(reward.iter().map(|v| v / reward_scale));
        self.scales.clear();
        let scale = |(row, tau): (&Vec<f64>, &f64)| unit([largest(row), tau.abs()]);
        self.scales
            .extend(self.given.iter().zip(thresholds).map(scale));
        self.costs.resize_with(costs.len(), Vec::new);
        for ((scaled, row), scale) in self.costs.iter_mut().zip(&self.given).zip(&self.scales) {
            scaled.clear();
            scaled.extend(row.iter().map(|u| u / scale));
        }
        self.thresholds.clear();
        let scaled = thresholds.iter().zip(&self.scales).map(|(t, s)| t / s);
        self.thresholds.extend(scaled);
        let scaled = Lp {
            reward: &self.reward,
            costs: &self.costs,
            thresholds: &self.thresholds,
        };
        self.solver.reset();
        self.solution.clone_from(self.solver.solve(&scaled, None));
        let solution = &mut self.solution;
        if solution.status != Status::Infeasible {
            solution.evaluate(&lp);
            solution.upper_bound = (solution.upper_bound * reward_scale).max(solution.value);
            for (price, scale) in solution.prices.iter_mut().zip(&self.scales) {
                *price *= reward_scale / scale;
            }
        }
        Ok(solution)
    }
}

/// [`OnceSolver::solve`] for a single problem.
///
/// ```
/// let solution = banister_solve::solve_once(&[1.0, 9.0], &[vec![0.0, 2e6]], &[5e5])?;
/// assert_eq!(solution.support, [(0, 0.75), (1, 0.25)]);
/// # Ok::<(), banister_solve::LpError>(())
/// ```
pub fn solve_once(
    reward: &[f64],
    costs: &[Vec<f64>],
    thresholds: &[f64],
) -> Result<Solution, LpError> {
    let mut solver = OnceSolver::default();
    solver.solve(reward, costs, thresholds).cloned()
}

/// The power of two at or above the largest of these sizes: dividing by it rounds nothing.
pub(crate) fn unit(sizes: impl IntoIterator<Item = f64>) -> f64 {
    let largest = sizes.into_iter().fold(0.0, f64::max);
    if largest > 0.0 {
        largest.log2().ceil().clamp(-1000.0, 1000.0).exp2()
    } else {
        1.0
    }
}

pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |a, b| f64::max(a, b.abs()))
}
