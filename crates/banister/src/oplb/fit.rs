//! The test of the linear model, beside the other tests.

use super::Oplb;
use super::outcomes::Taken;
use crate::fit::Signal;
use crate::monitor::Next;

/// Part of a radius that rounding may take without being counted.
const NEGLIGIBLE: f64 = 1e-5;

impl Oplb {
    /// Takes the outcome that the regression took last into the test of the model, and looks at it.
    pub(super) fn test_fit(&mut self, taken: Taken) -> Next {
        // Taken out while it reads the rest of the agent.
        let Some(mut fit) = self.fit.take() else {
            return Next::Continue;
        };
        let evidence = &self.evidence;
        let (features, arm) = match taken {
            Taken::Action(action) => (evidence.actions.features(action), Some(action)),
            Taken::Features(features) => (features, evidence.action_with(features)),
        };
        let arm = arm.filter(|_| !evidence.names.is_empty());
        fit.take(evidence, features, arm);
        let refuted = if evidence.is_reliable() {
            fit.look(evidence, |guardrail| self.fitted(guardrail + 1))
        } else {
            None
        };
        self.fit = Some(fit);
        match refuted {
            Some(refuted) => (self.monitor).refute_model(&refuted, self.evidence.outcomes),
            None => Next::Continue,
        }
    }

    /// Starts the test of the model anew, at the level of the epoch.
    pub(super) fn restart_fit(&mut self) {
        if let Some(fit) = &mut self.fit {
            fit.restart(self.checked.fit_level(self.monitor.epoch()));
        }
    }

    /// Parameters of a signal's model.
    fn fitted(&self, signal: usize) -> Signal {
        let beta = self.ellipsoid(signal).of(&self.evidence, signal);
        Signal {
            parameter_norm: self.parameter_norm_across(signal),
            rounding: self.rounding(signal).max(NEGLIGIBLE * beta),
        }
    }
}
