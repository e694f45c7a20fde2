//! The best policy so far: kept only when, recomputed from the problem itself, it meets every
//! threshold; its shadow prices.

use super::problem::ConeProblem;

/// A policy with its objective and pessimistic costs, recomputed from its support as listed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Policy {
    pub support: Vec<(usize, f64)>,
    pub value: f64,
    /// The objective before any of the safe action was mixed in.
    pub raw: f64,
    pub costs: Vec<f64>,
    /// s'π and Zπ, in the caller's units.
    pub along: f64,
    pub mean: Vec<f64>,
}

impl Policy {
    /// The safe action alone.
    pub(crate) fn set_safe(&mut self, problem: &ConeProblem<'_>) {
        self.support.clear();
        self.support.push((problem.safe, 1.0));
        self.evaluate(problem);
    }

    /// Takes over `support` (any order, any positive scale) and mixes in as much of the safe action
    /// as the thresholds need. False if nothing but the safe action would be left.
    pub(crate) fn set(
        &mut self,
        problem: &ConeProblem<'_>,
        support: impl Iterator<Item = (usize, f64)>,
    ) -> bool {
        self.support.clear();
        self.support
            .reserve(problem.dimension + 8 + problem.costs.len());
        self.support.extend(support.filter(|entry| entry.1 > 1e-12));
        self.support.sort_unstable_by_key(|entry| entry.0);
        // An action may come twice.
        self.support.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 += later.1;
            }
            same
        });
        self.normalise();
        if self.support.is_empty() {
            return false;
        }
        self.evaluate(problem);
        self.raw = self.value;
        let mut grain = f64::EPSILON;
        while grain < 1e-3 {
            let excess = self.excess(problem);
            if excess == 0.0 {
                return true;
            }
            if !(excess < 1.0) {
                return false;
            }
            // Towards the safe action the costs fall in proportion: `excess` is what exact
            // arithmetic needs, the grain grows until rounding agrees.
            self.mix(problem.safe, (excess * (1.0 + grain) + grain).min(1.0));
            self.evaluate(problem);
            grain *= 4.0;
        }
        false
    }

    /// The share of the safe action that brings every cost to its threshold: 0 if all are within.
    fn excess(&self, problem: &ConeProblem<'_>) -> f64 {
        let mut share = 0.0_f64;
        for (i, (&cost, &tau)) in self.costs.iter().zip(problem.thresholds).enumerate() {
            if !(cost <= tau) {
                let safe = problem.costs[i][problem.safe];
                let needed = (cost - tau) / (cost - safe);
                // A cost just above τ must not round to nothing; NaN must not pass.
                share = share.max(if needed > 0.0 {
                    needed
                } else {
                    f64::MIN_POSITIVE
                });
                if needed.is_nan() {
                    return f64::NAN;
                }
            }
        }
        share
    }

    fn mix(&mut self, safe: usize, share: f64) {
        for entry in &mut self.support {
            entry.1 *= 1.0 - share;
        }
        match self.support.binary_search_by_key(&safe, |entry| entry.0) {
            Ok(at) => self.support[at].1 += share,
            Err(at) => self.support.insert(at, (safe, share)),
        }
        self.support.retain(|entry| entry.1 > 0.0);
        self.normalise();
    }

    fn normalise(&mut self) {
        let total: f64 = self.support.iter().map(|entry| entry.1).sum();
        for entry in &mut self.support {
            entry.1 /= total;
        }
    }

    /// Objective and costs from the support, in the order listed.
    pub(crate) fn evaluate(&mut self, problem: &ConeProblem<'_>) {
        self.mean.clear();
        self.mean.resize(problem.dimension, 0.0);
        let (mut reward, mut along) = (0.0, 0.0);
        for &(a, weight) in &self.support {
            reward += weight * problem.reward[a];
            along += weight * problem.along[a];
            for (j, mean) in self.mean.iter_mut().enumerate() {
                *mean += weight * problem.across[j * problem.stride + a];
            }
        }
        self.along = along;
        let square: f64 = self.mean.iter().map(|z| z * z).sum();
        let norm = square.sqrt();
        self.value = reward + problem.reward_radius * (along * along + square).sqrt();
        self.costs.clear();
        for (row, &kappa) in problem.costs.iter().zip(problem.cost_radii) {
            let linear: f64 = self.support.iter().map(|&(a, w)| w * row[a]).sum();
            self.costs.push(linear + kappa * norm);
        }
    }
}

/// A guardrail is used up if less than this share of the safe action's margin is left.
const USED_UP: f64 = 1e-9;
/// A share this small is there for rounding's sake, and says nothing about prices.
const GRAIN: f64 = 1e-10;
/// Passes over the prices; one is exact for one guardrail.
const PASSES: usize = 60;

/// Workspace of the price fit. A shadow price is what one more unit of a threshold would earn to first order.
///
/// Where the policy is best, ∂f/∂π_a = ν + Σ_i λ_i ∂g_i/∂π_a for every action a of its support, and
/// λ_i is the price of guardrail i. Two actions and one guardrail fix λ; with more the prices are
/// fitted by least squares, not negative, and zero for a guardrail that is not used up.
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
