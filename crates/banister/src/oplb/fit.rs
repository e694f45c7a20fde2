//! The test of the model, beside the other tests.

use super::FeatureLearner;
use super::config::CheckedOplb;
use crate::fit::{Comparison, Extent, Fit, Model, Sample, Signal};
use crate::guarded::Shell;
use crate::linear::{Evidence, Link, Regression};
use crate::monitor::Next;
use crate::round::{Choice, Outcome};

/// Part of a radius that rounding may take without being counted.
pub(super) const NEGLIGIBLE: f64 = 1e-5;

impl CheckedOplb {
    /// Comparison of a signal with its model: sets that are scaled down prove nothing.
    pub(super) fn comparison(&self, signal: usize) -> Comparison {
        match self.links[signal] {
            Link::Identity => Comparison::Residuals,
            Link::Logistic if self.config.radius_scale >= 1.0 => Comparison::Intervals,
            Link::Logistic => Comparison::Untested,
        }
    }

    /// The test of the model that all actions share; none where there is nothing to compare.
    pub(super) fn new_fit(&self, evidence: &Evidence) -> Option<Box<Fit>> {
        let signals = 1..=evidence.guardrails();
        let comparisons: Vec<Comparison> = signals.map(|i| self.comparison(i)).collect();
        let is_tested = |comparison: &Comparison| *comparison != Comparison::Untested;
        comparisons.iter().any(is_tested).then(|| {
            let size = (evidence.dimension(), evidence.regression.padded());
            let mut fit = Fit::new(size, comparisons, Extent::SHARED, evidence.arms());
            fit.set_level(self.fit_level(0));
            Box::new(fit)
        })
    }
}

impl FeatureLearner {
    /// Takes the outcome that the regression took last into the test of the model, and looks at it.
    pub(super) fn test_fit(&mut self, shell: &mut Shell, outcome: &Outcome) -> Next {
        // Taken out while it reads the rest of the learner.
        let Some(mut fit) = self.fit.take() else {
            return Next::Continue;
        };
        let evidence = &self.evidence;
        let arm = (outcome.choice == Choice::Arms).then_some(outcome.action);
        fit.observe(Sample {
            features: evidence.features_of(outcome),
            arm,
            targets: &evidence.targets()[1..],
            x: evidence.taken(),
            forecasts: &self.forecasts,
        });
        let refuted = if evidence.is_reliable() {
            fit.look(self)
        } else {
            None
        };
        self.fit = Some(fit);
        match refuted {
            Some(refuted) => (shell.monitor).refute_model(&refuted, shell.outcomes),
            None => Next::Continue,
        }
    }
}

impl Model for FeatureLearner {
    fn regression(&self) -> &Regression {
        &self.evidence.regression
    }

    fn signal(&self, guardrail: usize) -> Signal {
        let signal = guardrail + 1;
        let beta = self.ellipsoid(signal).of(&self.evidence, signal);
        Signal {
            parameter_norm: self.parameter_norm_across(signal),
            r: self.evidence.signals[signal].r,
            rounding: self.rounding(signal).max(NEGLIGIBLE * beta),
        }
    }

    fn mean(&self, guardrail: usize, target: f64, last: f64) -> f64 {
        self.evidence.signal_mean(guardrail + 1, target, last)
    }

    fn of_standard(&self, guardrail: usize, mean: f64) -> f64 {
        self.evidence.problem.guardrails[guardrail].signal_of(mean)
    }
}
