//! Saving and restoring the estimates of one arm.

use serde::{Deserialize, Serialize};

use super::ends::{Side, SignalRule, count};
use super::{Estimates, bucket};
use crate::interval::{Interval, Mixture, Place};

/// One signal of one arm, in the arm's own standard units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalState {
    /// Sum of the standardised observations.
    pub sum: f64,
    /// Lower end in force.
    pub lower: f64,
    /// Upper end in force.
    pub upper: f64,
    /// Tightest ends of the newest bucket of counts.
    pub(super) newer: (f64, f64),
}

impl SignalState {
    /// No observation yet, with the interval that holds before the first.
    pub(super) fn before(Interval { lower, upper }: Interval) -> Self {
        Self {
            sum: 0.0,
            lower,
            upper,
            newer: (lower, upper),
        }
    }
}

/// All there is to save of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedArm {
    /// Number n of outcomes.
    pub pulls: u64,
    /// Places in the budgets of safety and of optimism.
    places: [Place; 2],
    /// The reward, then one entry per guardrail.
    pub signals: Vec<SignalState>,
    /// Per signal, where intervals are `mixture` and the arm was pulled, else empty.
    mixture: Vec<Mixture>,
}

impl SavedArm {
    /// True if it holds this number of signals, with sums and ends that can be.
    pub fn fits(&self, signals: usize) -> bool {
        self.signals.len() == signals && self.is_sound()
    }

    /// True if every number can stand in an estimate.
    pub(crate) fn is_sound(&self) -> bool {
        let possible_bet = |own: &Mixture| [0, self.pulls].contains(&own.count()) && own.is_sound();
        // Counts beyond any life would make the next one overflow.
        self.pulls < u64::MAX / 2
            && [0, self.signals.len()].contains(&self.mixture.len())
            && self.mixture.iter().all(possible_bet)
    }
}

impl Estimates {
    /// The last places that were given: those of arms that were cleared are not given again.
    pub(crate) fn last_places(&self) -> [Place; 2] {
        [self.safety.last(), self.optimism.last()]
    }

    /// Takes note of places given before.
    pub(crate) fn restore_places(&mut self, [safety, optimism]: [Place; 2]) {
        self.safety.restore(safety);
        self.optimism.restore(optimism);
    }

    /// State of one arm for a snapshot.
    pub fn save(&self, arm: usize) -> SavedArm {
        let signals = self.rules.len();
        let own = arm * signals..(arm + 1) * signals;
        SavedArm {
            pulls: self.pulls[arm],
            places: [self.arms[arm].safety, self.arms[arm].optimism],
            signals: self.state[own.clone()].to_vec(),
            mixture: if self.wants_mixture && self.pulls[arm] > 0 {
                self.mixture[own].to_vec()
            } else {
                Vec::new()
            },
        }
    }

    /// Takes up an arm's saved state in place of its own; the lengths have been checked. False if its places
    /// or its bets are not those of such an arm.
    #[must_use]
    pub fn restore(&mut self, arm: usize, saved: &SavedArm) -> bool {
        let signals = self.rules.len();
        let from = arm * signals;
        let [safety, optimism] = saved.places;
        let needs = count(&self.rules, self.arms[arm].is_safe, Side::Safety) > 0;
        if (saved.pulls > 0 && !optimism.is_given())
            || safety.is_given() != (needs && optimism.is_given())
            || !self.bets_fit(saved)
        {
            return false;
        }
        self.pulls[arm] = saved.pulls;
        self.state[from..from + signals].copy_from_slice(&saved.signals);
        if !saved.mixture.is_empty() {
            self.mixture[from..from + signals].copy_from_slice(&saved.mixture);
        }
        let own = &mut self.arms[arm];
        (own.safety, own.optimism) = (safety, optimism);
        self.safety.restore(safety);
        self.optimism.restore(optimism);
        if optimism.is_given() {
            self.set_levels(arm);
        }
        let (last, due) = self.computed_around(saved.pulls);
        (self.arms[arm].bucket, self.arms[arm].due) = (bucket(last), due);
        true
    }

    /// True if there are bets for every signal that wants them, counting all outcomes.
    fn bets_fit(&self, saved: &SavedArm) -> bool {
        if !self.wants_mixture || saved.pulls == 0 {
            return saved.mixture.is_empty();
        }
        let counted = |(lane, own): (&SignalRule, &Mixture)| {
            (own.count() == saved.pulls) == lane.rule.wants_mixture()
        };
        saved.mixture.len() == self.rules.len()
            && std::iter::zip(&self.rules, &saved.mixture).all(counted)
    }
}
