//! The best policy so far: kept only when, recomputed from the problem itself, it meets every
//! threshold.

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
