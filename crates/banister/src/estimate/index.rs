//! Estimates that `index` optimism is made of.

use super::Estimates;
use crate::interval::{Count, End, Observed, Place};

impl Estimates {
    /// Outcomes of a signal, and as many as its bound would need without any cost to leave the top of the range:
    /// n + ln(1/δ_s).
    pub(crate) fn worth(&self, arm: usize, signal: usize) -> f64 {
        let log_level = match self.arms[arm].log_safety {
            // Not pulled yet: the first one's, about the level that it would have.
            0.0 => self.safety.log_level(Place::FIRST, 1),
            given => given,
        };
        self.count(arm, signal) as f64 + self.rules[signal].rule.log_term(log_level)
    }

    /// r̃ or c̃ of `index` optimism in standard units, given the arm's fair share of outcomes (`optimism`) and how many wait.
    pub(crate) fn index(&self, arm: usize, signal: usize, end: End, of: (f64, u64)) -> f64 {
        if let Some(sum) = self.rules[signal].sum {
            let found = self.weighted(sum, arm, |term| Some([self.index(arm, term, end, of)]));
            return found.map_or(end.trivial(), |[index]| index);
        }
        let place = arm * self.rules.len() + signal;
        let (units, n) = (&self.units[place], self.count(arm, signal));
        if n == 0 {
            return units.common(end.trivial());
        }
        let rule = &self.rules[signal].rule;
        let log_x = libm::log1p(of.0 / (n + of.1) as f64);
        if let Some((own, middle)) = self.window(arm, signal) {
            let moved = units.drift * (self.until - middle);
            let index = own.index(end, log_x);
            return units.common(match end {
                End::Lower => (index - moved).max(0.0),
                End::Upper => (index + moved).min(1.0),
            });
        }
        let observed = Observed {
            count: Count::new(n),
            sum: self.state[place].sum,
            mixture: self.mixture.get(place),
        };
        units.common(rule.index(end, &observed, units.r, log_x))
    }
}
