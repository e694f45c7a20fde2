//! Shadow prices: what one more unit of a threshold would earn to first order.
//!
//! Where the policy is best, ∂f/∂π_a = ν + Σ_i λ_i ∂g_i/∂π_a for every action a of its support, and
//! λ_i is the price of guardrail i. Two actions and one guardrail fix λ; with more the prices are
//! fitted by least squares, not negative, and zero for a guardrail that is not used up.

use super::policy::Policy;
use super::problem::ConeProblem;

/// A guardrail is used up if less than this share of the safe action's margin is left.
const USED_UP: f64 = 1e-9;
/// A share this small is there for rounding's sake, and says nothing about prices.
const GRAIN: f64 = 1e-10;
/// Passes over the prices; one is exact for one guardrail.
const PASSES: usize = 60;

/// Workspace of the price fit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prices {
    /// ∂f less its mean over the support, later the residual.
    rest: Vec<f64>,
    /// ∂g_i less its mean over the support, one row per guardrail; zero if not used up.
    slopes: Vec<f64>,
}

impl Prices {
    pub(crate) fn fit(&mut self, problem: &ConeProblem<'_>, policy: &Policy, out: &mut Vec<f64>) {
        let support = || policy.support.iter().filter(|entry| entry.1 > GRAIN);
        let (n, m) = (support().count(), problem.costs.len());
        out.clear();
        out.resize(m, 0.0);
        if n < 2 || m == 0 {
            return;
        }
        let square: f64 = policy.mean.iter().map(|z| z * z).sum();
        let (norm, length) = (square.sqrt(), (policy.along.powi(2) + square).sqrt());
        let share = |x: f64, of: f64| if of > 0.0 { x / of } else { 0.0 };
        let room = 2 * problem.dimension + 8;
        self.rest.clear();
        self.rest.reserve(room);
        self.slopes.clear();
        self.slopes.reserve(room * m);
        self.slopes.resize(n * m, 0.0);
        for (r, &(a, _)) in support().enumerate() {
            let column = (0..problem.dimension).map(|j| problem.across[j * problem.stride + a]);
            let inner: f64 = column.zip(&policy.mean).map(|(x, z)| x * z).sum();
            let outer = policy.along * problem.along[a] + inner;
            let radius = problem.reward_radius;
            self.rest
                .push(problem.reward[a] + radius * share(outer, length));
            for i in 0..m {
                let safe = problem.costs[i][problem.safe];
                let room = problem.thresholds[i] - policy.costs[i];
                if room <= USED_UP * (problem.thresholds[i] - safe) {
                    let norm_slope = problem.cost_radii[i] * share(inner, norm);
                    self.slopes[i * n + r] = problem.costs[i][a] + norm_slope;
                }
            }
        }
        centre(&mut self.rest);
        self.slopes.chunks_exact_mut(n).for_each(centre);
        for _ in 0..if m == 1 { 1 } else { PASSES } {
            for (price, slope) in out.iter_mut().zip(self.slopes.chunks_exact(n)) {
                let square: f64 = slope.iter().map(|x| x * x).sum();
                if square > 0.0 {
                    let product: f64 = slope.iter().zip(&self.rest).map(|(x, y)| x * y).sum();
                    let next = (*price + product / square).max(0.0);
                    for (rest, x) in self.rest.iter_mut().zip(slope) {
                        *rest -= (next - *price) * x;
                    }
                    *price = next;
                }
            }
        }
    }
}

fn centre(row: &mut [f64]) {
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    row.iter_mut().for_each(|x| *x -= mean);
}
