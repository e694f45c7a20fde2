//! Inspection: estimates and intervals of OPLB.

use super::{FeatureLearner, Oplb};
use crate::error::Error;
use crate::interval::Interval;
use crate::linear::{Actions, Evidence};
use crate::path::Within;
use crate::problem::check_vector;

/// Signal 0 is the reward, signal 1 + i guardrail i.
impl FeatureLearner {
    /// Largest effect of rounding on an action's bound, per unit of ‖x‖ in Σ⁻¹. Where a signal regresses on all
    /// coordinates, the radius has it already.
    pub(super) fn rounding(&self, signal: usize) -> f64 {
        let Evidence {
            regression,
            actions,
            space,
            ..
        } = &self.evidence;
        let beta = self.ellipsoid(signal).of(&self.evidence, signal);
        if regression.is_whole(signal) {
            return regression.rounding_reach(signal, beta);
        }
        let slope = if space.safe_length == 0.0 {
            0.0
        } else {
            (self.evidence.along[signal] / space.safe_length).abs()
        };
        regression.rounding_across(signal, beta, slope, actions.longest)
    }

    /// The estimated parameter, in signal units per feature unit, or with a logistic link in log-odds.
    fn parameter(&self, signal: usize) -> Vec<f64> {
        if let Some(logit) = &self.logits[signal] {
            let mut estimate = vec![0.0; self.evidence.space.dimension];
            self.evidence.space.turn(&logit.estimate(), &mut estimate);
            let sign = self.evidence.signals[signal].scale.signum();
            estimate.iter_mut().for_each(|x| *x *= sign);
            return estimate;
        }
        let mut turned = self.evidence.regression.estimate(signal);
        if turned.len() < self.evidence.space.dimension {
            turned.push(self.evidence.along[signal] / self.evidence.space.safe_length);
        }
        let mut estimate = vec![0.0; turned.len()];
        self.evidence.space.turn(&turned, &mut estimate);
        let scale = self.evidence.signals[signal].scale;
        estimate.iter_mut().for_each(|x| *x /= scale);
        estimate
    }

    /// The interval of an action's mean by the ellipsoid alone, in standard units, not clipped.
    pub(super) fn interval(&mut self, action: usize, signal: usize) -> Interval {
        let reach = self.reach_of(signal);
        if let Some(logit) = &mut self.logits[signal] {
            let evidence = &self.evidence;
            let x = evidence.actions.features(action);
            let ends = logit.ends(reach, |turned| evidence.space.turn(x, turned));
            return Interval {
                lower: ends.lower,
                upper: ends.upper,
            };
        }
        self.evidence.update_actions();
        let side = usize::from(self.evidence.regression.is_whole(signal));
        let Actions {
            columns,
            solved,
            safe,
            ..
        } = &self.evidence.actions;
        let (mut centre, mut square) =
            (columns.means[signal][action], columns.squares[side][action]);
        if action == *safe && self.safe_estimates.is_some() && side == 1 {
            let (length, mean) = self
                .evidence
                .regression
                .along(signal, self.evidence.space.safe_length);
            (centre, square) = (mean, length * length);
        }
        centre += self.evidence.signals[signal].offset;
        let solved = solved[side].get(action).copied().unwrap_or(0.0);
        let whole = if side == 1 {
            square
        } else {
            columns.squares[1][action]
        };
        let reach =
            self.width(signal).at(square, solved) + self.rounding_beside(signal) * whole.sqrt();
        if (centre + reach).is_nan() {
            // Numbers overflowed: nothing is known.
            return Interval {
                lower: f64::NEG_INFINITY,
                upper: f64::INFINITY,
            };
        }
        Interval {
            lower: centre - reach,
            upper: centre + reach,
        }
    }

    /// Distance of a parameter from its estimate, in units of the confidence set's radius.
    fn confidence(&self, signal: usize, parameter: &[f64]) -> f64 {
        let mut turned = vec![0.0; self.evidence.space.dimension];
        self.evidence.space.turn(parameter, &mut turned);
        let scale = self.evidence.signals[signal].scale;
        if let Some(logit) = &self.logits[signal] {
            turned.iter_mut().for_each(|x| *x *= scale.signum());
            return logit.distance(&turned, self.reach_of(signal));
        }
        turned.iter_mut().for_each(|x| *x *= scale);
        let regression = &self.evidence.regression;
        if self.checked.single.is_some() {
            let estimate = regression.estimate(signal);
            let difference: Vec<f64> = std::iter::zip(&estimate, &turned)
                .map(|(estimate, truth)| estimate - truth)
                .collect();
            return regression.length(&difference) / self.radius(signal);
        }
        let lengths = regression.noise_lengths(signal, &turned);
        let squares = self.levels(signal).squared_radii(&self.evidence, signal);
        let scale = self.checked.config.radius_scale;
        let ratios =
            std::iter::zip(lengths, squares).map(|(l, square)| l / (scale * square.sqrt()));
        // In this order a ratio that is not a number is kept.
        ratios.fold(0.0, |most, ratio| if ratio <= most { most } else { ratio })
    }
}

/// Signal 0 is the reward, signal 1 + i guardrail i.
impl Oplb {
    /// The estimated parameter, in signal units per feature unit, or with a logistic link in log-odds.
    pub fn parameter(&self, signal: usize) -> Result<Vec<f64>, Error> {
        self.check_signal(signal)?;
        Ok(self.learner.parameter(signal))
    }

    /// The interval of the mean of an action of the last round by the ellipsoid alone, in standard units, not clipped.
    pub fn interval(&mut self, action: usize, signal: usize) -> Result<Interval, Error> {
        self.check_signal(signal)?;
        let column = (action < self.shell.actions())
            .then(|| self.learner.evidence.column(&self.shell.arms, action));
        let Some(Some(column)) = column else {
            let last = self.shell.actions() - 1;
            return Err(Error::NoSuchArm { arm: action, last });
        };
        Ok(self.learner.interval(column, signal))
    }

    /// The radius of a signal's confidence set, in units of its range: β, or β⊥ where the safe cost
    /// is known. `multiscale` radii: of the ellipsoid at λ_0, which contains the set. No such signal: 0.
    pub fn radius(&self, signal: usize) -> f64 {
        self.learner.radius(signal)
    }

    /// Distance of a parameter from its estimate, in units of the confidence set's radius: at most 1
    /// on the event that all guarantees rest on. `multiscale` radii: the largest over the levels of the noise
    /// that the outcomes have if this is the parameter, which is at most S long. `parameter` is in signal units
    /// per feature unit, or with a logistic link in log-odds (only its part across x_0 counts for a guardrail whose
    /// safe cost is known).
    pub fn confidence(&self, signal: usize, parameter: &[f64]) -> Result<f64, Error> {
        self.check_signal(signal)?;
        check_vector(parameter, self.dimension()).within("parameter")?;
        Ok(self.learner.confidence(signal, parameter))
    }

    fn check_signal(&self, signal: usize) -> Result<(), Error> {
        let last = self.learner.evidence.signals.len() - 1;
        if signal <= last {
            return Ok(());
        }
        let allowed = format!("must be 0 to {last}");
        Err(Error::invalid("signal", signal, allowed))
    }
}
