//! Change detection: an e-detector beyond each end of a signal's interval.
//!
//! While a mean μ stays, its interval [l, u] holds it, and for a bet with λ(u − y) ≤ 9/10 the factor 1 + λ(y − u) has
//! conditional mean at most one: so has 1 + λ(l − y) beyond the other end. As in the breach detector
//! (`monitor/detector.rs`), M = (M + αγ_n)(1 + λ(y − u)) with Σγ_n ≤ 1, averaged over bets, ever reaches 1 with
//! probability at most α, the end's share of its budget. A jump of the mean is seen after about ln(1/(αγ_n))/I of the
//! arm's own outcomes.

use std::ops::RangeInclusive;

use super::ends::{Ends, Side};
use super::saved::SignalState;
use super::units::Units;
use super::{Estimates, SignalRule};
use crate::interval::{Count, End};

/// Bets on one end.
const BETS: usize = 4;
/// Bets as parts of the largest, closer together where changes are large: those hurt.
const PARTS: [f64; BETS] = [1.0, 0.5, 0.125, 0.02];
/// Wealth of all bets on an end that is proof: one on average.
const PROOF: f64 = BETS as f64;
/// Evidence since a mean may have changed, as a likelihood ratio, from which an arm is suspected of a breach.
const SUSPECT: f64 = 100.0;

/// Wealth of each bet beyond the lower end and beyond the upper one: two by two, as processors multiply.
pub(super) type Wealth = [[f64; 2]; BETS];

/// The detectors of one signal of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Change {
    pub(super) wealth: Wealth,
    /// Ends that were in force before the next outcome, and the largest bet on each, negative for the lower one: what it
    /// wins is bet·(y − end).
    ends: [f64; 2],
    bets: [f64; 2],
    /// αγ_n of each.
    starts: [f64; 2],
}

/// Noise of a signal.
#[derive(Debug, Clone, Copy)]
pub(super) enum Noise {
    /// In [0, 1], as its ends are.
    Bounded,
    /// In [0, 1]; its ends are those at time 0.
    Moving,
    /// With this constant R.
    SubGaussian(f64),
}

/// γ_n, Σ_n γ_n ≤ 1.
pub(super) fn start_weight(n: u64) -> f64 {
    let shifted = n as f64 + 1000.0;
    let log = libm::log(shifted);
    6.9 / (shifted * log * log)
}

impl Change {
    /// Takes up the ends in force until the next computation; `starts` has αγ_n of each, 0 for one that is not watched.
    pub(super) fn follow(&mut self, ends: [f64; 2], starts: [f64; 2], noise: Noise) {
        let [lower, upper] = ends;
        self.ends = ends;
        self.starts = starts;
        self.bets = match noise {
            Noise::Bounded => [1.0 - lower, upper].map(|room| 0.9 / room.max(1e-9)),
            // By its age, at each outcome.
            Noise::Moving => [0.0; 2],
            Noise::SubGaussian(r) => [1.0 / r; 2],
        };
        self.bets[0] = -self.bets[0];
    }

    /// Observes an outcome of a bounded signal. True if a mean beyond an end is proven.
    #[inline(always)]
    pub(super) fn observe(&mut self, y: f64) -> bool {
        let excesses = [y - self.ends[0], y - self.ends[1]];
        let steps = [self.bets[0] * excesses[0], self.bets[1] * excesses[1]];
        self.multiply(|k, end| 1.0 + PARTS[k] * steps[end])
    }

    /// Observes an outcome of a bounded signal whose mean may have moved so much since time 0. Ends age, and stakes are
    /// shares of what is possible at their age; no end of the range can be beaten, so nothing is staked there.
    #[inline(never)]
    pub(super) fn observe_moving(&mut self, y: f64, moved: f64) -> bool {
        let (lower, upper) = (self.ends[0] - moved, self.ends[1] + moved);
        let mut steps = [0.0; 2];
        if lower > 0.0 {
            steps[0] = 0.9 * (lower - y) / (1.0 - lower).max(1e-9);
        }
        if upper < 1.0 {
            steps[1] = 0.9 * (y - upper) / upper.max(1e-9);
        }
        self.multiply(|k, end| 1.0 + PARTS[k] * steps[end])
    }

    /// Observes an outcome of a sub-Gaussian signal with constant R: factors exp(λ(y − u) − λ²R²/2), λ ≤ 1/R.
    #[inline(never)]
    pub(super) fn observe_normal(&mut self, y: f64) -> bool {
        let (bets, ends) = (self.bets, self.ends);
        self.multiply(|k, end| {
            let step = PARTS[k] * bets[end] * (y - ends[end]);
            libm::exp((step - 0.5 * PARTS[k] * PARTS[k]).min(400.0))
        })
    }

    /// (M + αγ_n)·factor for each bet on each end. True if they are proof.
    #[inline(always)]
    fn multiply(&mut self, factor: impl Fn(usize, usize) -> f64) -> bool {
        let mut totals = [0.0; 2];
        for (k, wealth) in self.wealth.iter_mut().enumerate() {
            for end in 0..2 {
                wealth[end] = (wealth[end] + self.starts[end]) * factor(k, end);
                debug_assert!(wealth[end] >= 0.0, "a stake of more than there is");
                totals[end] += wealth[end];
            }
        }
        (totals[0] >= PROOF) | (totals[1] >= PROOF)
    }

    fn total(&self, end: usize) -> f64 {
        self.wealth.iter().map(|wealth| wealth[end]).sum()
    }

    /// The end beyond which the mean lies for certain, the upper one first.
    pub(super) fn proven(&self) -> Option<End> {
        let reached = |end: usize| self.total(end) >= PROOF;
        match (reached(1), reached(0)) {
            (true, _) => Some(End::Upper),
            (_, true) => Some(End::Lower),
            _ => None,
        }
    }

    /// True if a mean may well lie beyond an end that safety rests on.
    pub(super) fn is_suspect(&self, ends: Ends) -> bool {
        ends.each().into_iter().enumerate().any(|(end, (_, side))| {
            let start = self.starts[end].max(f64::MIN_POSITIVE);
            side == Some(Side::Safety) && self.total(end) >= SUSPECT * PROOF * start
        })
    }
}

/// True if wealth can stand in a detector.
pub(super) fn is_sound(wealth: &Wealth) -> bool {
    wealth.iter().flatten().all(|w| (0.0..=1e300).contains(w))
}

/// A mean that has changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Changed {
    /// Place of its signal in the row: 0 the reward, 1 + i guardrail i, then the signals of sums.
    pub signal: usize,
    /// That place less one; for the reward, the index of a guardrail on it, where there is one.
    pub guardrail: Option<usize>,
    /// Outcomes that were learned before, and their mean in standard units.
    pub outcomes: u64,
    pub mean: f64,
    /// True if safety rests on it. Else it is forgotten already.
    pub endangers: bool,
    /// True if it moves faster than was declared.
    pub drift: bool,
}

impl Estimates {
    /// The mean that the last outcome proved to have changed, once.
    #[inline]
    pub(crate) fn changed(&mut self) -> Option<Changed> {
        self.changed.take()
    }

    /// True if some cost of an arm may well be beyond an end that safety rests on.
    pub(crate) fn is_suspect(&self, arm: usize) -> bool {
        let (from, is_safe) = (arm * self.rules.len(), usize::from(self.arms[arm].is_safe));
        let own = self.changes.get(from..).unwrap_or_default();
        std::iter::zip(&self.rules, own).any(|(lane, change)| change.is_suspect(lane.ends[is_safe]))
    }

    /// Forgets some signals of an arm. Levels are those of the next places from now on, of its other signals too: lower
    /// ones, so that what holds goes on holding.
    pub(crate) fn forget(&mut self, arm: usize, signals: RangeInclusive<usize>) {
        for s in 0..self.rules.len() {
            let learned = self.rules[s].twin.map_or(s, |(place, _)| place);
            if signals.contains(&learned) {
                self.reset(arm, s);
            }
        }
        let pulls = self.pulls[arm];
        let own = &mut self.arms[arm];
        (own.since, own.bucket) = (pulls, 0);
        self.give_places(arm);
    }

    /// Some signal's mean has changed. Where safety rests on what is refuted, all outcomes so far count anew.
    #[cold]
    #[inline(never)]
    pub(super) fn follow_change(&mut self, arm: usize) -> Count {
        for s in 0..self.rules.len() {
            let place = arm * self.rules.len() + s;
            let Some(end) = self.changes[place].proven() else {
                continue;
            };
            self.note_change(arm, s, Some(end));
            if self.since[place] < self.pulls[arm] {
                self.changes[place].wealth = Default::default();
                // Neither bucket is kept.
                self.state[place].turn();
                self.state[place].turn();
                if self.units[place].drift == 0.0 {
                    self.bound(arm, s);
                }
            }
        }
        self.recompute(arm)
    }

    /// Takes note of a change, beyond an end or, of a mean that moves, between windows; forgets it where nothing rests on
    /// it. A mean that may move and moved further refutes its declaration, whichever way.
    pub(super) fn note_change(&mut self, arm: usize, signal: usize, end: Option<End>) {
        let drift = self.units[arm * self.rules.len() + signal].drift > 0.0;
        let ends = self.rules[signal].ends[usize::from(self.arms[arm].is_safe)];
        let rests = |(own, side): (End, Option<Side>)| {
            side == Some(Side::Safety) && (drift || Some(own) == end)
        };
        let endangers = ends.each().into_iter().any(rests);
        let shares = |rule: &SignalRule| rule.twin.is_some_and(|(place, _)| place == signal);
        let shared = self.rules.iter().position(shares);
        self.changed = Some(Changed {
            signal,
            guardrail: signal.checked_sub(1).or(shared.map(|s| s - 1)),
            outcomes: self.count(arm, signal),
            mean: self.mean(arm, signal).unwrap_or(0.0),
            endangers,
            drift,
        });
        if !endangers {
            self.forget(arm, signal..=signal);
        }
    }

    /// Copies ends to signals that are learned in another place, and has the detectors of an arm follow all ends.
    pub(super) fn follow_ends(&mut self, arm: usize) {
        let from = arm * self.rules.len();
        for s in 1..self.rules.len() {
            if let Some((place, mirrored)) = self.rules[s].twin {
                let SignalState { lower, upper, .. } = self.state[from + place];
                let own = &mut self.state[from + s];
                (own.lower, own.upper) = if mirrored {
                    (1.0 - upper, 1.0 - lower)
                } else {
                    (lower, upper)
                };
            }
        }
        let Some(alarm_share) = self.alarm_share else {
            return;
        };
        let own = &self.arms[arm];
        let weight = start_weight(own.due - own.since);
        let start = |side: Option<Side>| match side {
            None => 0.0,
            Some(Side::Safety) => weight * alarm_share * libm::exp(-own.log_safety),
            Some(_) => weight * libm::exp(-own.log_optimism),
        };
        for (s, lane) in self.rules.iter().enumerate() {
            let ends = lane.ends[usize::from(own.is_safe)];
            let starts = if lane.is_learned() {
                [start(ends.lower), start(ends.upper)]
            } else {
                [0.0; 2]
            };
            let SignalState { lower, upper, .. } = self.state[from + s];
            let Units { r, drift, .. } = self.units[from + s];
            let noise = match (lane.rule.is_bounded(), drift > 0.0) {
                (false, _) => Noise::SubGaussian(r),
                (true, false) => Noise::Bounded,
                (true, true) => Noise::Moving,
            };
            self.changes[from + s].follow([lower, upper], starts, noise);
        }
    }
}
