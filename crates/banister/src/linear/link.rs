//! Links: from ⟨x, θ⟩ to the mean of a signal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Map from ⟨x, θ⟩ to the mean of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// The mean itself, in the signal's units.
    #[default]
    Identity,
    /// σ(z) = 1/(1 + e^{−z}) of the way from the low end of the range to the high one: for yes or no, and for any
    /// signal that never leaves its range.
    Logistic,
}

impl Link {
    /// True for the default.
    pub fn is_identity(&self) -> bool {
        *self == Self::Identity
    }
}

/// σ(z).
#[inline]
pub(crate) fn sigmoid(z: f64) -> f64 {
    if z >= 0.0 {
        1.0 / (1.0 + libm::exp(-z))
    } else {
        let odds = libm::exp(z);
        odds / (1.0 + odds)
    }
}

/// σ⁻¹(p), infinite at the ends.
pub(crate) fn log_odds(p: f64) -> f64 {
    libm::log(p / (1.0 - p))
}

/// m(z) = ln(1 + e^z), whose derivative is σ.
fn softplus(z: f64) -> f64 {
    z.max(0.0) + libm::log1p(libm::exp(-z.abs()))
}

/// The largest a with m(z + u) ≥ m(z) + σ(z) u + a u²/2 for all u from `down` ≤ 0 to `up` ≥ 0; never more than it.
///
/// The best a at one u, r(u), rises with |u| and then falls, or only falls, so the ends decide: for z ≥ 0 and u > 0,
/// m'' falls along the way. For u = −U < 0, r'(U) has the sign of J(U) = ∫₀^U (U − v) v k(v) dv with
/// k(v) = −m'''(z − v), positive before v = z and negative after; J'' = U k(U) and J(0) = J'(0) = 0, so that J' rises and
/// then falls, and J changes its sign at most once, from + to −. z < 0 is the mirror image. r(0) = σ'(z) is no
/// smaller than r at the end that points away from 0.
pub(super) fn curvature(z: f64, down: f64, up: f64) -> f64 {
    at_one_end(z, down).min(at_one_end(z, up))
}

fn at_one_end(z: f64, u: f64) -> f64 {
    let (slope, w) = (sigmoid(z) * sigmoid(-z), u.abs());
    if w < 0.05 {
        // |m'''| ≤ m'', so m'' falls by no more than e^{−|u|}, and 2(e^{−w} − 1 + w)/w² ≥ 1 − w/3.
        return slope * (1.0 - w / 3.0);
    }
    let square = w * w;
    let concordant = slope * 2.0 * (libm::expm1(-w) + w) / square;
    let exact = 2.0 * (softplus(z + u) - softplus(z) - sigmoid(z) * u) / square;
    // With the digits that the difference loses.
    let lost = 16.0 * f64::EPSILON * (1.0 + z.abs() + w) / square;
    concordant.max(exact - lost)
}
