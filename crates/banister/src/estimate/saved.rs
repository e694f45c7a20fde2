//! Saving and restoring the estimates of one arm.

use serde::{Deserialize, Serialize};

use super::Estimates;
use super::ends::{Side, SignalRule, count};
use crate::interval::{Bernstein, Count, Interval, Mixture, Place};

/// One signal of one arm, in the arm's own standard units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalState {
    /// Sum of the standardised observations.
    pub sum: f64,
    /// Sum of their squared distances from the mean of those before, in snapshots of mixture intervals
    /// before there were bets; NaN otherwise.
    #[serde(default = "unknown", skip_serializing)]
    squares: f64,
    /// Lower end in force.
    pub lower: f64,
    /// Upper end in force.
    pub upper: f64,
}

fn unknown() -> f64 {
    f64::NAN
}

impl SignalState {
    /// No observation yet, with the interval that holds before the first.
    pub(super) fn before(interval: Interval) -> Self {
        Self {
            sum: 0.0,
            squares: unknown(),
            lower: interval.lower,
            upper: interval.upper,
        }
    }
}

/// All there is to save of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedArm {
    /// Number n of outcomes.
    pub pulls: u64,
    /// Places in the budgets of safety and of optimism; absent from older snapshots.
    #[serde(default)]
    pub(crate) places: Option<[Place; 2]>,
    /// The reward, then one entry per guardrail.
    pub signals: Vec<SignalState>,
    /// Per signal, where intervals are `mixture` and the arm was pulled, else empty; absent from older
    /// snapshots.
    #[serde(default)]
    mixture: Option<Vec<Mixture>>,
    /// Per signal, where intervals are `bernstein`; empty otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bernstein: Vec<Bernstein>,
}

impl SavedArm {
    /// True if it holds this number of signals, with sums and ends that can be, and no Bernstein states.
    pub fn fits(&self, signals: usize) -> bool {
        self.signals.len() == signals && self.bernstein.is_empty() && self.is_sound()
    }

    /// True if every number can stand in an estimate.
    pub(crate) fn is_sound(&self) -> bool {
        // Counts beyond any life would make the next one overflow.
        let possible = self.pulls < u64::MAX / 2;
        // The versions between that of places and that of bets had squares.
        let squared = self.places.is_some() && self.mixture.is_none();
        let fits = |s: &SignalState| {
            if squared {
                s.squares >= 0.0
            } else {
                s.squares.is_nan()
            }
        };
        let bets = self.mixture.as_deref().unwrap_or_default();
        let possible_bet = |own: &Mixture| [0, self.pulls].contains(&own.count()) && own.is_sound();
        possible
            && (self.places.is_some() || self.mixture.is_none())
            && self.signals.iter().all(fits)
            && (bets.is_empty() || bets.len() == self.signals.len())
            && bets.iter().all(possible_bet)
    }
}

impl Estimates {
    /// State of one arm for a snapshot.
    pub fn save(&self, arm: usize) -> SavedArm {
        let signals = self.rules.len();
        let own = arm * signals..(arm + 1) * signals;
        SavedArm {
            pulls: self.pulls[arm],
            places: Some([self.arms[arm].safety, self.arms[arm].optimism]),
            signals: self.state[own.clone()].to_vec(),
            mixture: Some(if self.wants_mixture && self.pulls[arm] > 0 {
                self.mixture[own.clone()].to_vec()
            } else {
                Vec::new()
            }),
            bernstein: if self.wants_bernstein {
                self.bernstein[own].to_vec()
            } else {
                Vec::new()
            },
        }
    }

    /// Takes up an arm's saved state in place of its own; the lengths have been checked.
    ///
    /// A snapshot from before there were bets is brought up to date by the least wealth that its sums
    /// allow; one from before arms had places in budgets too: the arm is numbered as it comes, and its ends
    /// are computed from all its outcomes.
    ///
    /// False if its places or its bets are not those of such an arm.
    #[must_use]
    pub fn restore(&mut self, arm: usize, saved: &SavedArm) -> bool {
        let signals = self.rules.len();
        let from = arm * signals;
        self.pulls[arm] = saved.pulls;
        self.state[from..from + signals].copy_from_slice(&saved.signals);
        for (s, bernstein) in saved.bernstein.iter().enumerate() {
            self.bernstein[from + s] = *bernstein;
        }
        if self.wants_mixture && saved.pulls > 0 {
            if !self.restore_mixture(from, saved) {
                return false;
            }
        } else if saved.mixture.as_ref().is_some_and(|own| !own.is_empty()) {
            return false;
        }
        match saved.places {
            Some([safety, optimism]) => {
                let needs = count(&self.rules, self.arms[arm].is_safe, Side::Safety) > 0;
                if (saved.pulls > 0 && !optimism.is_given())
                    || safety.is_given() != (needs && optimism.is_given())
                {
                    return false;
                }
                let own = &mut self.arms[arm];
                (own.safety, own.optimism) = (safety, optimism);
                self.safety.restore(safety);
                self.optimism.restore(optimism);
                if optimism.is_given() {
                    self.set_levels(arm);
                }
                self.arms[arm].due = self.due_at(saved.pulls);
            }
            None if saved.pulls > 0 => self.migrate(arm),
            None => {}
        }
        true
    }

    /// False if the bets are lacking.
    fn restore_mixture(&mut self, from: usize, saved: &SavedArm) -> bool {
        if let Some(bets) = &saved.mixture {
            if bets.len() != self.rules.len() {
                return false;
            }
            self.mixture[from..from + bets.len()].copy_from_slice(bets);
            let counted = |(lane, own): (&SignalRule, &Mixture)| {
                (own.count() == saved.pulls) == lane.rule.wants_mixture()
            };
            return std::iter::zip(&self.rules, bets).all(counted);
        }
        let n = saved.pulls as f64;
        for (s, state) in saved.signals.iter().enumerate() {
            self.state[from + s].squares = unknown();
            if !self.rules[s].rule.wants_mixture() {
                continue;
            }
            let squares = if saved.places.is_none() {
                // X² ≤ X.
                (state.sum - state.sum * state.sum / n).max(0.0)
            } else {
                // At least the squared distances from the mean of all (Welford).
                state.squares
            };
            self.mixture[from + s] = Mixture::of_moments(saved.pulls, state.sum, squares);
        }
        true
    }

    #[cold]
    fn migrate(&mut self, arm: usize) {
        let signals = self.rules.len();
        self.number(arm);
        let count = Count::new(self.pulls[arm]);
        for s in 0..signals {
            let place = arm * signals + s;
            let state = &mut self.state[place];
            (state.lower, state.upper) = (0.0, 1.0);
            if self.symmetric {
                let rule = &self.rules[s].rule;
                let ends = rule.symmetric(&count, state.sum, self.units[place].widths);
                (state.lower, state.upper) = (ends.lower, ends.upper);
            }
        }
        if !self.symmetric {
            self.recompute(arm);
        }
    }
}
