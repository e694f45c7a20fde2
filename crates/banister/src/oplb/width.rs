//! Widths of intervals around actions: one ellipsoid, or the best level of a grid of ridges.

use banister_solve::dense::Widths;

use super::FeatureLearner;
use crate::linear::{Confidence, MultiScale, Radius};

/// Half-width of a signal's intervals.
#[derive(Clone, Copy)]
pub(super) enum Width {
    /// Radius of an ellipsoid, per unit of ‖x‖ in the inverse Gram matrix.
    Ellipsoid(f64),
    /// The best level.
    Levels(Widths),
}

impl Width {
    /// At a = ‖x‖² in the inverse Gram matrix and g = ‖Σ⁻¹x‖.
    pub(super) fn at(self, a: f64, g: f64) -> f64 {
        match self {
            Self::Ellipsoid(radius) => radius * a.sqrt(),
            Self::Levels(widths) => widths.at(a, g),
        }
    }
}

impl FeatureLearner {
    /// Radius of a signal's confidence set ([`super::Oplb`]'s).
    pub(super) fn radius(&self, signal: usize) -> f64 {
        if let Some(Some(logit)) = self.logits.get(signal) {
            return logit.radius(self.reach_of(signal));
        }
        if signal < self.evidence.signals.len() {
            self.checked.config.radius_scale * self.ellipsoid(signal).of(&self.evidence, signal)
        } else {
            0.0
        }
    }

    /// The signal's ellipsoid; of `multiscale` radii that of level 0.
    pub(super) fn ellipsoid(&self, signal: usize) -> Confidence {
        let lambda = self.evidence.regression.lambda();
        let confidence = |radius, parameter_norm: f64, log_level| Confidence {
            radius,
            lambda,
            bias: lambda.sqrt() * parameter_norm,
            norm: self.checked.norm,
            log_level,
        };
        match self.checked.single {
            Some(radius) => {
                let log_level = self.checked.log_level(signal);
                confidence(radius, self.checked.parameter_norm, log_level)
            }
            None => {
                let levels = self.levels(signal);
                confidence(Radius::Logdet, levels.parameter_norm, levels.level_price())
            }
        }
    }

    /// The signal's levels, where radii are `multiscale`.
    pub(super) fn levels(&self, signal: usize) -> MultiScale {
        MultiScale {
            parameter_norm: self.parameter_norm_across(signal),
            log_level: self.checked.log_level(signal),
        }
    }

    /// Half-width of a signal's intervals.
    pub(super) fn width(&self, signal: usize) -> Width {
        if self.checked.single.is_some() {
            return Width::Ellipsoid(self.radius(signal));
        }
        let mut widths = self.levels(signal).widths(&self.evidence, signal);
        let scale = self.checked.config.radius_scale;
        if scale != 1.0 {
            let squares = widths.of_square.iter_mut().chain(&mut widths.of_solved);
            squares.for_each(|weight| *weight *= scale * scale);
            widths.bias *= scale;
        }
        Width::Levels(widths)
    }

    /// Most that rounding adds to that width, per unit of ‖x‖ in Σ⁻¹.
    pub(super) fn rounding_beside(&self, signal: usize) -> f64 {
        let is_single = self.checked.single.is_some();
        if self.is_linked(signal) || is_single && self.evidence.regression.is_whole(signal) {
            // The radius has it already.
            0.0
        } else {
            self.rounding(signal)
        }
    }

    /// S, or where the safe cost is known and with it the parameter's part along x_0, the most that is left
    /// of it: S⊥ = √(S² − c_0²/‖x_0‖²).
    pub(super) fn parameter_norm_across(&self, signal: usize) -> f64 {
        let s = self.checked.parameter_norm;
        let length = self.evidence.space.safe_length;
        if length == 0.0 || self.evidence.regression.is_whole(signal) {
            return s;
        }
        let along = (self.evidence.along[signal] / length).abs();
        // With the digits that the difference loses.
        ((s - along).max(0.0) * (s + along) + 8.0 * f64::EPSILON * s * s).sqrt()
    }
}
