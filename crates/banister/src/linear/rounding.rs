//! A proven bound on the distance of a rounded regression from the exact one.
//!
//! All that bounds are made from follows from W, and W is as good as E = WΣWᵀ − I is small: with ‖E‖ ≤ η < 1,
//! ‖x‖² in Σ⁻¹ is yᵀ(I + E)⁻¹y, between ‖y‖²/(1 + η) and ‖y‖²/(1 − η); ⟨x, θ̂⟩ is yᵀ(I + E)⁻¹w and thus within
//! η‖y‖‖w‖/(1 − η) of ⟨y, w⟩; and ln det Σ is within dη/(1 − η). With u the unit roundoff and κ = ‖W‖² tr Σ (by
//! entries, at least the condition number):
//!
//! - A rank-one update leaves E as small as it was, C⁻¹EC⁻ᵀ with ‖C⁻¹‖ ≤ 1, and adds the rounding of y = Wx̃, of
//!   x̃ itself and of C⁻¹W, each at most a multiple of u√κ (constants as in Higham, *Accuracy and Stability of
//!   Numerical Algorithms*, chapters 3, 8 and 10).
//! - An action's own x̃ is off by a multiple of u‖x‖: of u√κ‖y‖ in all, but of much more beside ‖z‖ in Σ⊥⁻¹ for an
//!   action that lies nearly along x_0. What is known there, c_0⟨x, x_0⟩/‖x_0‖², is off by as much.
//! - W made afresh from Σ has the rounding of the sums in Σ and of the factorisation, a multiple of uκ.
//! - ‖Σ⁻¹x‖ is ‖Wᵀ(I + E)⁻¹y‖, within η‖W‖‖y‖/(1 − η) of ‖Wᵀy‖; ln det(V + λ_k) at a larger ridge has the rounding of a
//!   factorisation, of a smaller κ.
//!
//! So updates lose half as many digits as a factorisation does, and W is made afresh only where that is proven
//! better. κ does not change with the units of the features: that a λ is lost beside long features does not
//! depend on scaling them, only on λ.

use serde::{Deserialize, Serialize};

/// Beyond this η nothing that follows from W is used.
const LIMIT: f64 = 1.0 / 16.0;

/// The part of a radius that rounding may take without being counted.
const NEGLIGIBLE: f64 = 1e-5;

/// The part of a range that rounding may take uncounted where it does not fall with the radius.
const NEGLIGIBLE_COST: f64 = 1e-7;

/// Outcomes that are summed plainly before they are added to the long sums.
pub(super) const GROUP: u32 = 32;

/// Relative error of tables of whitened actions beyond which they no longer follow updates.
const FOLLOWING: f64 = 1e-8;

/// Bound on the rounding so far; part of the regression's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rounding {
    /// At least ‖WΣWᵀ − I‖; absent, as JSON has no such number, where nothing is known.
    error: Option<f64>,
    /// ‖W‖² by entries, at some time: it only falls.
    inverse_trace: f64,
    /// tr Σ.
    trace: f64,
    /// Updates that tables of whitened actions may have followed, and what det Σ grew by meanwhile.
    followed: u32,
    growth: f64,
    /// Per signal: Σ_s of the squares of what its targets were made from.
    sizes: Vec<f64>,
}

impl Rounding {
    /// W = I/√λ is exact.
    pub(super) fn new(d: usize, lambda: f64, signals: usize) -> Self {
        Self {
            error: Some(0.0),
            inverse_trace: d as f64 / lambda,
            trace: d as f64 * lambda,
            followed: 0,
            growth: 1.0,
            sizes: vec![0.0; signals],
        }
    }

    pub(super) fn fits(&self, other: &Self) -> bool {
        self.sizes.len() == other.sizes.len()
            && self.error.is_none_or(|error| error >= 0.0)
            && (self.sizes.iter())
                .chain([&self.inverse_trace, &self.trace, &self.growth])
                .all(|x| *x >= 0.0)
    }

    /// True if the regression can be relied upon.
    #[inline]
    pub(crate) fn is_small(&self) -> bool {
        self.error.is_some()
    }

    /// At least ‖WΣWᵀ − I‖; NaN where nothing is known.
    #[inline]
    pub(super) fn error(&self) -> f64 {
        self.error.unwrap_or(f64::NAN)
    }

    fn set(&mut self, error: f64) {
        // NaN fails.
        self.error = (error < LIMIT).then_some(error);
    }

    /// A target was made from parts of this size in all.
    #[inline]
    pub(super) fn add_target(&mut self, signal: usize, size: f64) {
        let sum = self.sizes[signal] + size * size;
        self.sizes[signal] = if sum < f64::MAX { sum } else { f64::MAX };
    }

    /// W could not take an update.
    pub(super) fn give_up(&mut self) {
        self.error = None;
    }

    /// An update by x̃ was applied, after which Σ has this trace; det Σ grew by `total`. Whether tables of
    /// actions can follow.
    #[inline]
    pub(super) fn update(&mut self, d: usize, trace: f64, total: f64) -> bool {
        self.trace = trace.min(f64::MAX);
        if let Some(error) = self.error {
            let d = d as f64;
            let step = d.sqrt() * (d + 6.0) + 3.0 * d + 8.0;
            self.set(error + f64::EPSILON * step * (self.inverse_trace * trace).sqrt());
        }
        self.followed += 1;
        self.growth = (self.growth * total).min(f64::MAX);
        // Squared lengths have fallen by no larger a factor. Each step's rounding is in proportion to what
        // they were then; that of the table adds up, and enters through its products with y.
        let ratio = self.growth.min(self.inverse_trace * trace);
        let (d, steps) = (d as f64, f64::from(self.followed));
        let table = 0.5 * steps * steps * d.sqrt() * (d + 6.0) * ratio.sqrt();
        f64::EPSILON * (steps * (d + 8.0) * ratio + table) <= FOLLOWING
    }

    /// Tables of whitened actions are made afresh before they are used again.
    pub(super) fn follow_anew(&mut self) {
        self.followed = 0;
        self.growth = 1.0;
    }

    /// The error of a W with this ‖W‖², made afresh from a Σ with this trace.
    fn afresh(d: usize, inverse_trace: f64, trace: f64) -> f64 {
        f64::EPSILON * (26 + 4 * d) as f64 * inverse_trace * trace
    }

    /// True if W is better made afresh; otherwise its present ‖W‖² is taken over.
    pub(super) fn prefers_afresh(&mut self, d: usize, inverse_trace: f64, trace: f64) -> bool {
        let Some(error) = self.error else { return true };
        self.inverse_trace = self.inverse_trace.min(inverse_trace);
        Self::afresh(d, self.inverse_trace, trace) <= error
    }

    /// W was made afresh, or could not be.
    pub(super) fn renew(&mut self, d: usize, inverse_trace: Option<f64>, trace: f64) {
        match inverse_trace {
            Some(inverse_trace) if inverse_trace < f64::MAX => {
                self.inverse_trace = inverse_trace;
                self.set(Self::afresh(d, inverse_trace, trace));
            }
            _ => self.error = None,
        }
    }

    /// Largest effect of rounding on ‖Σ⁻¹x‖ = ‖Wᵀ(I + E)⁻¹y‖, computed as ‖Wᵀy‖, per unit of ‖x‖ in Σ⁻¹; NaN where
    /// nothing can be relied upon.
    pub(super) fn solved(&self, d: usize) -> f64 {
        // An action's own product with W is as much as one more update, that with Wᵀ a multiple of u.
        let eta = 2.0 * self.error.unwrap_or(f64::NAN) + f64::EPSILON * (2 * d + 16) as f64;
        eta * self.inverse_trace.sqrt()
    }

    /// Most that rounding takes from ln det(V + ridge·I) when that is factored from a Σ with this trace; infinite
    /// where it may take anything.
    pub(super) fn log_det_afresh(&self, d: usize, ridge: f64) -> f64 {
        let inverse_trace = self.inverse_trace.min(d as f64 / ridge);
        let trace = self.trace + d as f64 * ridge;
        let eta = Self::afresh(d, inverse_trace, trace);
        // ln(1/(1 − η)) ≤ 2η per direction. NaN fails.
        if eta < LIMIT {
            2.0 * d as f64 * eta
        } else {
            f64::INFINITY
        }
    }

    /// Largest effect of rounding on ⟨x, θ̂⟩ = yᵀ(I + E)⁻¹w, computed as ⟨y, w⟩, per unit of ‖x‖ in Σ⁻¹; NaN where
    /// nothing can be relied upon.
    pub(super) fn predicted(&self, signal: usize) -> f64 {
        4.0 * self.error.unwrap_or(f64::NAN) * self.sizes[signal].sqrt()
    }

    /// Largest effect of rounding on a bound per unit of ‖x‖ in Σ⁻¹, beside a radius β; NaN where nothing can be
    /// relied upon.
    fn all(&self, d: f64, signal: usize, beta: f64) -> f64 {
        // Tables of actions: their own product with W, as much as one more update, and what following costs.
        let eta = 2.0 * self.error.unwrap_or(f64::NAN) + FOLLOWING;
        eta * ((d + 2.0) * beta + 2.0 * self.sizes[signal].sqrt())
    }

    /// Largest effect of rounding on a signal's radius β: nothing where that is negligible, more than any radius
    /// where the regression cannot be relied upon.
    #[inline]
    pub(super) fn reach(&self, d: usize, signal: usize, beta: f64) -> f64 {
        let all = self.all(d as f64, signal, beta);
        if all <= NEGLIGIBLE * beta {
            0.0
        } else if all < f64::MAX {
            all
        } else {
            f64::MAX
        }
    }

    /// Largest effect on the bounds of a signal that is known along x_0 to be `slope` per unit of length, per
    /// unit of ‖x‖ in Σ⁻¹; `longest` is the longest action.
    #[inline]
    pub(super) fn reach_across(
        &self,
        d: usize,
        signal: usize,
        beta: f64,
        slope: f64,
        longest: f64,
    ) -> f64 {
        let turn = f64::EPSILON * (2 * d + 8) as f64;
        let size = (beta + self.sizes[signal].sqrt()) * self.inverse_trace.sqrt() + slope;
        let all = self.all(d as f64, signal, beta);
        if all <= NEGLIGIBLE * beta && turn * size * longest <= NEGLIGIBLE_COST {
            return 0.0;
        }
        let all = all + turn * slope * self.trace.sqrt();
        if all < f64::MAX { all } else { f64::MAX }
    }
}
