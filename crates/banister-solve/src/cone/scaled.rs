//! The problem with one guardrail, in the form the search works in.
//!
//! ```text
//!   maximise a'π + ρ √((s'π)² + ‖Zπ‖²)   subject to   k‖Zπ‖ ≤ u'π,  π in the simplex,
//! ```
//!
//! with k = 1 and u = (τ − w)/κ, or k = 0 and u = τ − w where the guardrail has no norm. Lengths
//! are in units of the longest Z_a, so that tolerances mean the same whatever the caller's units.

use super::pair_passes::{End, PairRows};
use super::passes::{self, BLOCK};
use super::problem::ConeProblem;

/// The problem's rows, padded to whole blocks; the padding has reward −∞.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScaledProblem {
    pub actions: usize,
    pub dimension: usize,
    pub safe: usize,
    pub rho: f64,
    /// True if the guardrail has a norm (k = 1).
    pub cone: bool,
    pub reward: Vec<f64>,
    pub along: Vec<f64>,
    pub u: Vec<f64>,
    /// Z, block by block (see `passes.rs`).
    pub z: Vec<f64>,
    pub squares: Vec<f64>,
    pub norms: Vec<f64>,
    /// f_a: the objective at each action.
    pub value: Vec<f64>,
    /// Slack u_a − k‖Z_a‖ of the guardrail at each action, not negative where the action meets it.
    pub slack: Vec<f64>,
    /// The largest |f_a|: the size of the numbers at hand.
    pub size: f64,
    /// The caller's length that is one here; a power of two.
    pub unit: f64,
    /// κ in these units; 1 without a norm. One unit of u is worth this much of τ.
    pub kappa: f64,
    /// Largest |u_a| of all actions.
    pub reach: f64,
    /// True if the numbers make sense: finite, ρ ≥ 0, the safe action certain.
    pub sound: bool,
}

impl ScaledProblem {
    /// Reads the part of the problem that does not depend on the guardrails.
    pub(crate) fn load(&mut self, problem: &ConeProblem<'_>) {
        let (k, p) = (problem.actions(), problem.dimension);
        let width = k.div_ceil(BLOCK) * BLOCK;
        self.actions = k;
        self.dimension = p;
        self.safe = problem.safe;
        for row in [
            &mut self.along,
            &mut self.u,
            &mut self.squares,
            &mut self.norms,
            &mut self.slack,
        ] {
            row.clear();
            row.resize(width, 0.0);
        }
        for row in [&mut self.reward, &mut self.value] {
            row.clear();
            row.resize(width, f64::NEG_INFINITY);
        }
        self.z.clear();
        self.z.resize(width * p, 0.0);
        self.reward[..k].copy_from_slice(problem.reward);
        self.along[..k].copy_from_slice(&problem.along[..k]);
        for j in 0..p {
            let row = &problem.across[j * problem.stride..][..k];
            for (b, part) in row.chunks(BLOCK).enumerate() {
                self.z[(b * p + j) * BLOCK..][..part.len()].copy_from_slice(part);
            }
        }
        passes::squares(&self.z, p, &mut self.squares);
        let longest = passes::top(&self.squares).sqrt();
        // A power of two: scaling by it rounds nothing.
        self.unit = power_of_two(longest);
        self.rho = problem.reward_radius * self.unit;
        let scale = 1.0 / self.unit;
        self.z.iter_mut().for_each(|z| *z *= scale);
        self.along.iter_mut().for_each(|s| *s *= scale);
        for a in 0..k {
            self.squares[a] *= scale * scale;
            self.norms[a] = self.squares[a].sqrt();
            let s = self.along[a];
            self.value[a] = self.reward[a] + self.rho * (s * s + self.squares[a]).sqrt();
        }
        self.size = self.value[..k].iter().fold(0.0, |x, f| f.abs().max(x));
        // A sum of finite numbers may overflow; such a problem is not sound either.
        let rows = [&self.value[..k], &self.norms[..k], &self.along[..k]];
        let finite = rows.iter().all(|row| row.iter().sum::<f64>().is_finite());
        let mut radii = problem.cost_radii.iter();
        let radii = radii.all(|kappa| *kappa >= 0.0) && self.rho >= 0.0;
        self.sound = finite && radii && self.norms[self.safe] == 0.0;
    }

    /// Takes `weights` of the guardrails as one: Σω_i w_i'π + (Σω_iκ_i)‖Zπ‖ ≤ Σω_iτ_i holds for
    /// every policy that meets them all. With one guardrail and weight 1 it is that guardrail.
    pub(crate) fn guard(&mut self, problem: &ConeProblem<'_>, weights: &[f64]) -> bool {
        let k = self.actions;
        let parts = || problem.thresholds.iter().zip(problem.costs).zip(weights);
        let kappa: f64 = problem
            .cost_radii
            .iter()
            .zip(weights)
            .map(|(k, w)| k * w)
            .sum();
        let kappa = kappa * self.unit;
        let longest = self.norms[..k].iter().fold(0.0_f64, |a, &b| a.max(b));
        self.cone = kappa > 0.0 && longest > 0.0;
        self.kappa = if self.cone { kappa } else { 1.0 };
        self.u.fill(0.0);
        for ((&tau, row), &weight) in parts() {
            for (u, w) in self.u[..k].iter_mut().zip(row) {
                *u += weight * (tau - w);
            }
        }
        for a in 0..k {
            self.u[a] /= self.kappa;
            let norm = if self.cone { self.norms[a] } else { 0.0 };
            self.slack[a] = self.u[a] - norm;
        }
        self.reach = self.u[..k].iter().fold(0.0, |x, u| u.abs().max(x));
        let finite = self.u.iter().map(|u| u * u).sum::<f64>().is_finite();
        finite && kappa.is_finite() && self.u[self.safe] > 0.0
    }

    /// Coordinate j of action a.
    #[inline]
    pub(crate) fn z(&self, j: usize, a: usize) -> f64 {
        self.z[(a / BLOCK * self.dimension + j) * BLOCK + a % BLOCK]
    }

    /// True if action a alone is a feasible policy.
    #[inline]
    pub(crate) fn is_slack(&self, a: usize) -> bool {
        self.slack[a] >= 0.0
    }

    #[inline]
    pub(crate) fn end(&self, a: usize) -> End {
        End {
            reward: self.reward[a],
            along: self.along[a],
            u: self.u[a],
            square: self.squares[a],
        }
    }

    pub(crate) fn pair_rows<'a>(&'a self, gram: &'a [f64]) -> PairRows<'a> {
        PairRows {
            reward: &self.reward,
            along: &self.along,
            u: &self.u,
            squares: &self.squares,
            gram,
        }
    }
}

/// The largest power of two up to x, or 1 where there is none.
fn power_of_two(x: f64) -> f64 {
    if x.is_normal() {
        f64::from_bits(x.to_bits() & 0x7FF0_0000_0000_0000)
    } else {
        1.0
    }
}
