//! Confidence sets of one arm: a ridge regression for signals without a link, a likelihood ratio for each with one.

use crate::path::Within;
use banister_solve::dense;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::estimate::Units;
use crate::fit::{Comparison, Extent, Fit, FitState, Forecast, Model, Sample, Signal};
use crate::interval::Place;
use crate::linear::{
    Ends, LinearSignal, Link, Logit, LogitState, MultiScale, Reach, Regression, RegressionState,
    Ridge, Update, default_ridge, index_width, restore_logits, upper_end,
};
use crate::monitor::Refuted;
use crate::oplb::config::{CheckedOplb, LongFeatures};
use crate::oplb::fit::NEGLIGIBLE;
use crate::problem::{CheckedProblem, check_vector};

/// The longest context: sums of squares stay finite.
const LONGEST: f64 = 1e150;

/// Parameters that the sets of all arms have in common.
#[derive(Debug, Clone)]
pub(super) struct Common {
    pub checked: CheckedOplb,
    /// Signals of an outcome: the reward, then one per guardrail.
    pub signals: usize,
    /// Length d of the context.
    pub numbers: usize,
}

impl Common {
    /// Refuses a context that there cannot be.
    pub(super) fn check(&self, context: &[f64]) -> Result<(), Error> {
        check_vector(context, self.numbers).within("context")?;
        let (length, norm) = (dense::dot(context, context).sqrt(), self.checked.norm);
        if !(length <= LONGEST) {
            let allowed = format!("must be at most {LONGEST:e} long");
            return Err(Error::invalid("context", length, allowed));
        }
        let clips = self.checked.config.long_features == LongFeatures::Clip;
        if length > norm * (1.0 + 1e-12) && !clips {
            let value = format!("a vector of length {length}");
            let allowed = format!(
                "longer than `norm` = {norm}: declare a larger one, or `long_features = \"clip\"`"
            );
            return Err(Error::invalid("context", value, allowed));
        }
        Ok(())
    }

    /// Writes a checked context as it counts: longer ones than `norm` are shortened.
    pub(super) fn write(&self, context: &[f64], out: &mut Vec<f64>) {
        let (length, norm) = (dense::dot(context, context).sqrt(), self.checked.norm);
        let scale = if length > norm { norm / length } else { 1.0 };
        out.clear();
        out.extend(context.iter().map(|x| x * scale));
    }
}

/// Statistics of one arm's outcomes, in units of its own ranges.
#[derive(Debug, Clone)]
pub(super) struct ArmSets {
    /// Signal 0 is the reward, signal 1 + i guardrail i; and the way from its units to those of all arms.
    pub signals: Vec<(LinearSignal, Units)>,
    pub pulls: u64,
    /// Places in the budgets of δ_o and δ.
    pub places: [Place; 2],
    /// ln(1/δ_s) of the reward and of a cost, once it has its places.
    pub log_levels: [f64; 2],
    /// Ridge regression of all signals; those with a link do not look at it.
    pub(super) regression: Regression,
    logits: Vec<Option<Logit>>,
    /// Test of the model, where some cost of it is to be learned.
    pub fit: Option<Box<Fit>>,
    /// Costs with a link of the outcome taken last, beside what was expected of them.
    pub(super) forecasts: Vec<Forecast>,
    /// Room for features, plain and whitened, targets, and an update that no table follows.
    pub(super) x: Vec<f64>,
    y: Vec<f64>,
    pub(super) targets: Vec<f64>,
    update: Update,
}

/// All that outcomes of an arm have changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArmSetsState {
    pulls: u64,
    pub(super) places: [Place; 2],
    regression: RegressionState,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logits: Vec<LogitState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fit: Option<FitState>,
}

impl ArmSets {
    /// No outcomes yet, for the arm with this number; its costs are compared with the model guardrail by guardrail.
    pub(super) fn new(
        common: &Common,
        problem: &CheckedProblem,
        arm: usize,
        comparisons: Vec<Comparison>,
    ) -> Self {
        let (d, checked) = (common.numbers, &common.checked);
        let lambda = match checked.ridge {
            Ridge::Single(lambda) => lambda,
            Ridge::Grid(lambda) => lambda.unwrap_or(1.0),
        };
        let mut regression = Regression::new(d, d, lambda, vec![d; common.signals]);
        regression.set_scales(lambda);
        let logit =
            |link: &Link| (*link == Link::Logistic).then(|| Logit::new(d, checked.parameter_norm));
        let is_tested = |comparison: &Comparison| *comparison != Comparison::Untested;
        let forecasts = vec![Forecast::default(); comparisons.len()];
        let fit = comparisons.iter().any(is_tested).then(|| {
            let size = (d, regression.padded());
            Box::new(Fit::new(size, comparisons, Extent::of_arm(arm), 0))
        });
        let signal = |signal: usize| {
            let (own, all, direction) = problem.signal_of(arm, signal);
            let units = Units::new(own, all, direction);
            (LinearSignal::new(own, direction), units)
        };
        Self {
            signals: (0..common.signals).map(signal).collect(),
            fit,
            forecasts,
            pulls: 0,
            places: [Place::default(); 2],
            log_levels: [f64::INFINITY; 2],
            logits: checked.links.iter().map(logit).collect(),
            x: vec![0.0; regression.padded()],
            y: vec![0.0; regression.padded()],
            targets: vec![0.0; regression.padded_signals()],
            update: Update::default(),
            regression,
        }
    }

    /// Forgets all outcomes; it has to be numbered again.
    pub(super) fn clear(&mut self) {
        self.pulls = 0;
        self.places = [Place::default(); 2];
        self.log_levels = [f64::INFINITY; 2];
        self.regression.clear();
        self.logits.iter_mut().flatten().for_each(Logit::clear);
        self.clear_fit();
    }

    /// Starts the test of the model anew.
    pub(super) fn clear_fit(&mut self) {
        if let Some(fit) = &mut self.fit {
            fit.clear();
        }
    }

    fn reach(&self, common: &Common, signal: usize) -> Reach {
        Reach {
            log_level: self.log_levels[usize::from(signal > 0)],
            scale: common.checked.config.radius_scale,
        }
    }

    /// Observes an outcome in a context; the arm has its places.
    pub(super) fn observe(&mut self, common: &Common, context: &[f64], reward: f64, costs: &[f64]) {
        self.pulls += 1;
        let d = common.numbers;
        let observed = |signal: usize| match signal {
            0 => reward,
            _ => costs[signal - 1],
        };
        for signal in 0..common.signals {
            let reach = self.reach(common, signal);
            if let Some(logit) = &mut self.logits[signal] {
                let y = self.signals[signal].0.standard(observed(signal));
                let ends = logit.observe(context, y, reach);
                if let Some(guardrail) = signal.checked_sub(1) {
                    self.forecasts[guardrail] = Forecast { observed: y, ends };
                }
            }
        }
        if let Ridge::Grid(None) = common.checked.ridge
            && self.regression.is_blank()
        {
            // Known before the first outcome, and frozen by it: the grid must not move with what is learned.
            let length = dense::dot(context, context).sqrt();
            self.regression.set_scales(default_ridge(length));
        }
        self.x[..d].copy_from_slice(context);
        for (signal, (own, _)) in self.signals.iter().enumerate() {
            self.targets[signal] = observed(signal) * own.scale;
            let size = self.targets[signal].abs();
            self.regression.add_target(signal, size);
        }
        self.regression
            .observe(&self.x, None, &self.targets, &mut self.update);
    }

    /// Ends of a signal of which nothing is known but the arm's range, in units of all arms.
    pub(super) fn unknown(&self, signal: usize) -> Ends {
        in_common(&self.signals[signal].1, Ends::UNKNOWN)
    }

    /// Ends of all signals in a context, in units of all arms, and the half-widths of their indices after `outcomes` of
    /// all arms; `put` takes the number of each. Before its first outcome, only an arm's ranges are known.
    pub(super) fn view(
        &mut self,
        common: &Common,
        (context, outcomes): (&[f64], u64),
        room: &mut Vec<f64>,
        mut put: impl FnMut(usize, Ends, f64),
    ) {
        let d = common.numbers;
        let (mut square, mut solved) = (0.0, 0.0);
        // Otherwise no signal looks at the regression.
        if self.pulls > 0 && self.logits.iter().any(Option::is_none) {
            self.x[..d].copy_from_slice(context);
            self.regression.whiten(&self.x, &mut self.y);
            room.resize(self.regression.padded(), 0.0);
            solved = self.regression.solved(&self.y[..d], room);
            square = dense::dot(&self.y[..d], &self.y[..d]);
        }
        for signal in 0..common.signals {
            let reach = self.reach(common, signal);
            let (own, units) = &self.signals[signal];
            if let Some(logit) = &mut self.logits[signal] {
                let ends = logit.ends(reach, |x| x.copy_from_slice(context));
                put(signal, in_common(units, ends), f64::INFINITY);
                continue;
            }
            if self.pulls == 0 {
                put(signal, in_common(units, Ends::UNKNOWN), f64::INFINITY);
                continue;
            }
            let levels = MultiScale {
                parameter_norm: common.checked.parameter_norm,
                log_level: reach.log_level,
            };
            let widths = levels.widths_by(&self.regression, own.r, signal);
            let beta = self.ellipsoid(widths.of_square[0], levels.parameter_norm);
            let rounding = self.regression.rounding_reach(signal, beta) * square.sqrt();
            let width = reach.scale * widths.at(square, solved) + rounding;
            let mean = self.regression.predict(signal, &self.y[..d]) + own.offset;
            // NaN says nothing: the lower end is that of the mirrored signal.
            let ends = Ends {
                lower: 1.0 - upper_end(1.0 - (mean - width)),
                mean: upper_end(mean),
                upper: upper_end(mean + width),
            };
            let index = units.stretch * index_width(own.r, outcomes as f64, square);
            put(signal, in_common(units, ends), index);
        }
    }

    /// Radius of the ellipsoid at λ_0, which contains the set: rounding is in proportion to it.
    pub(super) fn ellipsoid(&self, square: f64, parameter_norm: f64) -> f64 {
        square.sqrt() + self.regression.lambda().sqrt() * parameter_norm
    }

    /// Distance of a signal's parameter, in standard units or log-odds, from its estimate: at most 1 on the event
    /// that all guarantees rest on.
    pub(super) fn distance(&self, common: &Common, signal: usize, parameter: &[f64]) -> f64 {
        let reach = self.reach(common, signal);
        if self.pulls == 0 {
            return 0.0;
        }
        if let Some(logit) = &self.logits[signal] {
            return logit.distance(parameter, reach);
        }
        let levels = MultiScale {
            parameter_norm: common.checked.parameter_norm,
            log_level: reach.log_level,
        };
        let lengths = self.regression.noise_lengths(signal, parameter);
        let own = self.signals[signal].0.r;
        let squares = levels.widths_by(&self.regression, own, signal).of_square;
        std::iter::zip(lengths, squares)
            .map(|(length, square)| length / (reach.scale * square.sqrt()))
            // In this order a ratio that is not a number is kept.
            .fold(0.0, |most, ratio| if ratio <= most { most } else { ratio })
    }

    /// Takes the outcome observed last into the test of the model, and looks at it.
    pub(super) fn test_fit(&mut self, common: &Common) -> Option<Refuted> {
        // Taken out while it reads the rest of the arm.
        let mut fit = self.fit.take()?;
        let x = &self.x[..common.numbers];
        fit.observe(Sample {
            features: x,
            arm: None,
            targets: &self.targets[1..common.signals],
            x,
            forecasts: &self.forecasts,
        });
        let refuted = if self.regression.rounding().is_small() {
            fit.look(&OneArm { common, own: self })
        } else {
            None
        };
        self.fit = Some(fit);
        refuted
    }

    pub(super) fn save(&self) -> ArmSetsState {
        ArmSetsState {
            pulls: self.pulls,
            places: self.places,
            regression: self.regression.state().clone(),
            logits: self.logits.iter().flatten().map(Logit::save).collect(),
            fit: self.fit.as_ref().map(|fit| fit.save()),
        }
    }

    /// Restores a saved state; `false` if it does not match.
    #[must_use]
    pub(super) fn restore(&mut self, state: ArmSetsState) -> bool {
        self.pulls = state.pulls;
        self.places = state.places;
        let fit = self.fit.as_mut();
        state.pulls < u64::MAX / 2
            && fit.is_none_or(|fit| fit.restore(state.fit).is_ok())
            && self.regression.restore(state.regression)
            && restore_logits(self.logits.iter_mut().flatten(), state.logits)
    }
}

/// Ends in units of all arms.
fn in_common(units: &Units, ends: Ends) -> Ends {
    Ends {
        lower: units.common(ends.lower),
        mean: units.common(ends.mean),
        upper: units.common(ends.upper),
    }
}

/// The model of one arm.
struct OneArm<'a> {
    common: &'a Common,
    own: &'a ArmSets,
}

impl Model for OneArm<'_> {
    fn regression(&self) -> &Regression {
        &self.own.regression
    }

    fn signal(&self, guardrail: usize) -> Signal {
        let (signal, regression) = (guardrail + 1, &self.own.regression);
        let levels = MultiScale {
            parameter_norm: self.common.checked.parameter_norm,
            log_level: self.own.log_levels[1],
        };
        let r = self.own.signals[signal].0.r;
        let square = levels.widths_by(regression, r, signal).of_square[0];
        let beta = self.own.ellipsoid(square, levels.parameter_norm);
        Signal {
            parameter_norm: levels.parameter_norm,
            r,
            rounding: (regression.rounding_reach(signal, beta)).max(NEGLIGIBLE * beta),
        }
    }

    fn mean(&self, guardrail: usize, target: f64, _: f64) -> f64 {
        target / self.own.signals[guardrail + 1].0.scale
    }

    fn of_standard(&self, guardrail: usize, mean: f64) -> f64 {
        let (own, _) = &self.own.signals[guardrail + 1];
        (mean - own.offset) / own.scale
    }
}
