//! Evidence of lifts and of the worth left: statistics of means that stay, and ends on an event of their own.

use super::Estimates;
use super::ends::{Side, count};
use crate::interval::{Count, End, Mixture, Observed};

impl Estimates {
    /// Statistics of a signal in an arm's own range, 0 at its low end; none where its mean may move, where intervals
    /// are others than `mixture`, and where another place of the row has the signal.
    pub(crate) fn statistics(&self, arm: usize, signal: usize) -> Option<Mixture> {
        let (lane, place) = (&self.rules[signal], arm * self.rules.len() + signal);
        let units = &self.units[place];
        let stays = lane.is_learned() && lane.rule.wants_mixture() && units.drift == 0.0;
        let own = self.mixture.get(place).filter(|_| stays)?;
        let is_mirrored = units.scale < 0.0;
        Some(if is_mirrored { own.mirrored() } else { *own })
    }

    /// Times that some arm was numbered again after it was forgotten; rather too many than too few.
    pub(crate) fn restarts(&self) -> u64 {
        let numbered = self.arms.iter().filter(|arm| arm.optimism.is_given());
        self.optimism.used().saturating_sub(numbered.count() as u64)
    }

    /// An end of a signal's interval from all its outcomes, in standard units.
    pub(super) fn end_at(&self, arm: usize, signal: usize, end: End, log_level: f64) -> f64 {
        let place = arm * self.rules.len() + signal;
        let observed = Observed {
            count: Count::new(self.count(arm, signal)),
            sum: self.state[place].sum,
            mixture: self.mixture.get(place),
        };
        let (units, rule) = (&self.units[place], &self.rules[signal].rule);
        units.common(rule.end(end, &observed, units.r, log_level, end.trivial()))
    }

    /// An end for the worth of learning on: safety's as it is in force; others from all outcomes, on an event of
    /// their own in which an arm's share of δ_o is that of its ends for optimism and of its reward's lower end. Those
    /// in force have all of δ_o already.
    pub(crate) fn end_anew(&self, arm: usize, signal: usize, end: End) -> f64 {
        let (lane, own) = (&self.rules[signal], &self.arms[arm]);
        if let Some(sum) = lane.sum {
            let found = self.weighted(sum, arm, |term| Some([self.end_anew(arm, term, end)]));
            return found.map_or(end.trivial(), |[end]| end);
        }
        let (learned, mirrored) = lane.twin.unwrap_or((signal, false));
        let ends = self.rules[learned].ends[usize::from(own.is_safe)];
        let (is_lower, force) = (end == End::Lower, self.ends(arm, signal));
        let side = [ends.upper, ends.lower][usize::from(is_lower != mirrored)];
        if side == Some(Side::Safety) || self.count(arm, signal) == 0 {
            return [force.upper, force.lower][usize::from(is_lower)];
        }
        let shared = 1 + count(&self.rules, own.is_safe, Side::Optimism);
        let log_level = self.optimism.log_level(own.optimism, shared);
        self.end_at(arm, signal, end, log_level)
    }
}
