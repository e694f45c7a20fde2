//! Saving and restoring the estimates of one arm.

use serde::{Deserialize, Serialize};

use super::Estimates;
use super::ends::{Side, count};
use crate::interval::{Bernstein, Count, Place};

/// One signal of one arm, in the arm's own standard units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalState {
    /// Sum of the standardised observations.
    pub sum: f64,
    /// Q, the sum of their squared distances from the mean of those before; NaN where a snapshot does
    /// not have it.
    #[serde(default = "unknown")]
    pub squares: f64,
    /// Lower end in force.
    pub lower: f64,
    /// Upper end in force.
    pub upper: f64,
}

fn unknown() -> f64 {
    f64::NAN
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
        let old = self.places.is_none();
        // Counts beyond any life would make the next one overflow.
        let possible = self.pulls < u64::MAX / 2;
        let fits = |s: &SignalState| {
            if old {
                s.squares.is_nan()
            } else {
                s.squares >= 0.0
            }
        };
        possible && self.signals.iter().all(fits)
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
            bernstein: if self.wants_bernstein {
                self.bernstein[own].to_vec()
            } else {
                Vec::new()
            },
        }
    }

    /// Takes up an arm's saved state in place of its own; the lengths have been checked.
    ///
    /// A snapshot from before arms had places in budgets is brought up to date: the arm is numbered as it
    /// comes, Q is bounded from above, and its ends are computed from all its outcomes.
    ///
    /// False if its places are not those of such an arm.
    #[must_use]
    pub fn restore(&mut self, arm: usize, saved: &SavedArm) -> bool {
        let signals = self.rules.len();
        let from = arm * signals;
        self.pulls[arm] = saved.pulls;
        self.state[from..from + signals].copy_from_slice(&saved.signals);
        for (s, bernstein) in saved.bernstein.iter().enumerate() {
            self.bernstein[from + s] = *bernstein;
        }
        match saved.places {
            Some([safety, optimism]) => {
                let needs = count(&self.rules, arm == self.safe, Side::Safety) > 0;
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

    #[cold]
    fn migrate(&mut self, arm: usize) {
        let (signals, n) = (self.rules.len(), self.pulls[arm] as f64);
        self.number(arm);
        let count = Count::new(self.pulls[arm]);
        for s in 0..signals {
            let place = arm * signals + s;
            let state = &mut self.state[place];
            // Σ(X_j − m_j)² is at most the squared distances from the mean of all, the prior one at 1/2
            // included, plus Σ 1/(j+1); and X² ≤ X.
            let spread = (state.sum - state.sum * state.sum / n).max(0.0);
            state.squares = (spread + 0.25 + libm::log(n + 1.0)).min(n);
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
