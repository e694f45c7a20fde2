//! The test of every arm's model.

use super::OplbPerArm;
use super::arm::ArmSets;
use crate::fit::{Comparison, Model, Sample, Signal};
use crate::linear::{MultiScale, Regression};
use crate::monitor::Next;
use crate::oplb::fit::NEGLIGIBLE;

impl OplbPerArm {
    /// Comparisons of an arm's costs with its model: a declared safe cost is used instead of one.
    pub(super) fn comparisons(&self, arm: usize) -> Vec<Comparison> {
        let is_safe = arm == self.problem.declared.safe;
        let guardrails = self.problem.guardrails.iter().enumerate();
        let comparison = |(i, g): (usize, &crate::problem::Standard)| {
            if is_safe && g.safe_cost.is_some() {
                Comparison::Untested
            } else {
                self.checked.comparison(i + 1)
            }
        };
        guardrails.map(comparison).collect()
    }

    /// Takes the outcome that an arm's sets took last into the test of its model, and looks at it.
    pub(super) fn test_fit(&mut self, arm: usize) -> Next {
        // Taken out while it reads the rest of the arm.
        let Some(mut fit) = self.arms[arm].fit.take() else {
            return Next::Continue;
        };
        let own = &self.arms[arm];
        let x = &own.x[..self.numbers];
        fit.take(Sample {
            features: x,
            arm: None,
            targets: &own.targets[1..self.signals.len()],
            x,
            forecasts: &own.forecasts,
        });
        let refuted = if own.regression.rounding().is_small() {
            fit.look(&OneArm { agent: self, own })
        } else {
            None
        };
        self.arms[arm].fit = Some(fit);
        match refuted {
            Some(mut refuted) => {
                refuted.arm = Some(arm);
                (self.monitor).refute_model(&refuted, self.outcomes)
            }
            None => Next::Continue,
        }
    }
}

/// The model of one arm.
struct OneArm<'a> {
    agent: &'a OplbPerArm,
    own: &'a ArmSets,
}

impl Model for OneArm<'_> {
    fn regression(&self) -> &Regression {
        &self.own.regression
    }

    fn signal(&self, guardrail: usize) -> Signal {
        let (signal, regression) = (guardrail + 1, &self.own.regression);
        let levels = MultiScale {
            parameter_norm: self.agent.checked.parameter_norm,
            log_level: self.own.log_levels[1],
        };
        let r = self.agent.signals[signal].r;
        let square = levels.widths_by(regression, r, signal).of_square[0];
        let beta = self.own.ellipsoid(square, levels.parameter_norm);
        Signal {
            parameter_norm: levels.parameter_norm,
            r,
            rounding: (regression.rounding_reach(signal, beta)).max(NEGLIGIBLE * beta),
        }
    }

    fn mean(&self, guardrail: usize, target: f64, _: f64) -> f64 {
        target / self.agent.signals[guardrail + 1].scale
    }

    fn of_standard(&self, guardrail: usize, mean: f64) -> f64 {
        self.agent.problem.guardrails[guardrail].signal_of(mean)
    }
}
