//! One problem from outside, in whatever units it comes.

use crate::{Lp, LpError, LpSolver, Solution, Status};

/// Checks a problem, brings it to unit scale, solves it without a known start, and scales back.
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
    let lp = Lp {
        reward,
        costs,
        thresholds,
    };
    lp.check()?;
    let reward_scale = largest(reward);
    let scaled_reward: Vec<f64> = reward.iter().map(|v| v / reward_scale).collect();
    let scales: Vec<f64> = costs
        .iter()
        .zip(thresholds)
        .map(|(row, tau)| largest(row).max(tau.abs()))
        .collect();
    let scaled_costs: Vec<Vec<f64>> = costs
        .iter()
        .zip(&scales)
        .map(|(row, scale)| row.iter().map(|u| u / scale).collect())
        .collect();
    let scaled_thresholds: Vec<f64> = thresholds.iter().zip(&scales).map(|(t, s)| t / s).collect();
    let scaled = Lp {
        reward: &scaled_reward,
        costs: &scaled_costs,
        thresholds: &scaled_thresholds,
    };
    let mut solver = LpSolver::default();
    solver.solve(&scaled, None);
    let mut solution = solver.solution().clone();
    if solution.status != Status::Infeasible {
        solution.evaluate(&lp);
        solution.upper_bound = (solution.upper_bound * reward_scale).max(solution.value);
        for (price, scale) in solution.prices.iter_mut().zip(&scales) {
            *price *= reward_scale / scale;
        }
    }
    Ok(solution)
}

fn largest(values: &[f64]) -> f64 {
    let top = values.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    if top > 0.0 { top } else { 1.0 }
}
