//! Radii of the confidence sets of the regression.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Evidence;
use crate::error::{Error, positive};

/// Width of the confidence ellipsoids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Radius {
    /// R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S.
    #[default]
    Logdet,
    /// R √(d ln((1 + (t−1)L²/λ)/δ_s)) + √λ S, as printed in the paper.
    Paper,
}

impl Radius {
    /// Refuses to go without L where the radius is made from it.
    pub fn check_norm(self, norm: Option<f64>) -> Result<(), Error> {
        if self == Self::Paper && norm.is_none() {
            return Err(Error::invalid(
                "norm",
                "absent",
                "`paper` radii need a bound on the length of feature vectors; `logdet` does not",
            ));
        }
        Ok(())
    }
}

/// Numbers that radii are computed from.
#[derive(Debug, Clone, Copy)]
pub struct Confidence {
    /// Formula of the radius.
    pub radius: Radius,
    /// λ, the ridge.
    pub lambda: f64,
    /// Bias √λ S of the ridge.
    pub bias: f64,
    /// L, infinite if undeclared.
    pub norm: f64,
    /// ln(1/δ_s).
    pub log_level: f64,
}

impl Confidence {
    /// The radius of a signal's confidence set, in units of its range; with what rounding may add, where
    /// that is in proportion to it.
    #[inline]
    pub fn of(&self, evidence: &Evidence, signal: usize) -> f64 {
        let whole = evidence.regression.is_whole(signal);
        let square = match self.radius {
            Radius::Logdet => {
                evidence.regression.log_dets()[usize::from(whole)] + 2.0 * self.log_level
            }
            Radius::Paper => {
                let dimension = if whole {
                    evidence.space.dimension
                } else {
                    evidence.space.across
                };
                let growth = evidence.outcomes as f64 * self.norm * self.norm / self.lambda;
                dimension as f64 * (libm::log(1.0 + growth) + self.log_level)
            }
        };
        let beta = evidence.signals[signal].r * square.max(0.0).sqrt() + self.bias;
        if whole {
            beta + evidence.regression.rounding_reach(signal, beta)
        } else {
            beta
        }
    }
}

/// An upper end in standard units, within the range; the most there can be if it is not a number.
#[inline]
pub fn upper_end(x: f64) -> f64 {
    if x < 1.0 { x.max(0.0) } else { 1.0 }
}

/// Half-width of an action's index, given its ‖x‖² in Σ⁻¹ (math 25 with n = 1/‖x‖² outcomes): a sum of noise along one
/// direction, at a level that falls with t/n. Sets of parameters hold in all directions at once, and are wider by ln det Σ.
#[inline]
pub(crate) fn index_width(r: f64, outcomes: f64, square: f64) -> f64 {
    r * (2.0 * libm::log1p(outcomes * square) * square).sqrt()
}

/// The smallest λ beside features of length 1: below it rounding undoes it.
const LEAST_LAMBDA: f64 = 1e-9;

/// Refuses a ridge that is too small to be one, beside features that are at most `norm` long.
pub fn check_lambda(lambda: f64, norm: Option<f64>) -> Result<(), Error> {
    let least = LEAST_LAMBDA * norm.map_or(1.0, |norm| (norm * norm).min(1.0));
    if positive("lambda", lambda)? >= least {
        return Ok(());
    }
    let allowed = format!("must be at least {least:e}: rounding would undo it");
    Err(Error::invalid("lambda", lambda, allowed))
}
