//! Signals with a logistic link: their own confidence sets, beside the regression.

use super::FeatureLearner;
use crate::fit::Forecast;
use crate::linear::Reach;

impl FeatureLearner {
    /// True if a signal has a logistic link.
    pub(super) fn is_linked(&self, signal: usize) -> bool {
        self.logits[signal].is_some()
    }

    /// Width of a linked signal's set.
    pub(super) fn reach_of(&self, signal: usize) -> Reach {
        Reach {
            log_level: self.checked.log_level(signal),
            scale: self.checked.config.radius_scale,
        }
    }

    /// Takes the outcome that the regression took last, as observed.
    pub(super) fn learn_linked(&mut self, reward: f64, costs: &[f64]) {
        for signal in 0..self.logits.len() {
            let reach = self.reach_of(signal);
            let Some(logit) = &mut self.logits[signal] else {
                continue;
            };
            let observed = if signal == 0 {
                reward
            } else {
                costs[signal - 1]
            };
            let y = self.evidence.signals[signal].standard(observed);
            let ends = logit.observe(self.evidence.taken(), y, reach);
            if let Some(guardrail) = signal.checked_sub(1) {
                self.forecasts[guardrail] = Forecast { observed: y, ends };
            }
        }
        self.view_safe();
    }

    /// Looks at the safe action, after the sets have changed.
    pub(super) fn view_safe(&mut self) {
        for signal in 0..self.logits.len() {
            let reach = self.reach_of(signal);
            if let Some(logit) = &mut self.logits[signal] {
                self.linked_safe[signal] = logit.ends(reach, |x| {
                    x.copy_from_slice(self.evidence.safe_turned());
                });
            }
        }
    }
}
