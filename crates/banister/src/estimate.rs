//! Estimates: what the outcomes that have arrived say about every arm and signal.
//!
//! Only outcomes that have arrived count; a pending decision changes nothing here, so widths never
//! shrink on promises. Outcomes may come late, in any order and in batches.

use serde::{Deserialize, Serialize};

use crate::interval::{Bernstein, Count, Interval, Rule};

/// Statistics and intervals in force of every signal of every arm (by arm number, retired ones
/// too), one record per arm: the reward, then one entry per guardrail.
#[derive(Debug, Clone)]
pub(crate) struct Estimates {
    rules: Vec<SignalRule>,
    /// Whether some rule reads the logarithm of the count.
    wants_log: bool,
    pulls: Vec<u64>,
    state: Vec<SignalState>,
    /// Only filled where some rule is `bernstein`.
    bernstein: Vec<Bernstein>,
}

/// How one signal is bounded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignalRule {
    pub rule: Rule,
    /// Whether the lower end is wanted (not for the reward).
    pub both_sides: bool,
    /// Whether intervals are intersected over time.
    pub intersect: bool,
}

/// One signal of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignalState {
    /// Sum of the standardised observations.
    pub sum: f64,
    /// Lower end in force.
    pub lower: f64,
    /// Upper end in force.
    pub upper: f64,
}

impl Estimates {
    pub(crate) fn new(rules: Vec<SignalRule>) -> Self {
        Self {
            wants_log: rules.iter().any(|r| r.rule.wants_log()),
            rules,
            pulls: Vec::new(),
            state: Vec::new(),
            bernstein: Vec::new(),
        }
    }

    pub(crate) fn pulls(&self) -> &[u64] {
        &self.pulls
    }

    pub(crate) fn add_arm(&mut self) {
        self.pulls.push(0);
        for SignalRule { rule, .. } in &self.rules {
            let before = rule.before_the_first_pull();
            self.state.push(SignalState {
                sum: 0.0,
                lower: before.lower,
                upper: before.upper,
            });
            self.bernstein.push(Bernstein::default());
        }
    }

    /// All signals of an arm.
    #[inline]
    pub(crate) fn of(&self, arm: usize) -> &[SignalState] {
        let signals = self.rules.len();
        &self.state[arm * signals..(arm + 1) * signals]
    }

    /// Counts one more outcome of `arm`; the observations follow by [`Estimates::push`].
    #[inline]
    pub(crate) fn count(&mut self, arm: usize) -> Count {
        self.pulls[arm] += 1;
        Count::new(self.pulls[arm], self.wants_log)
    }

    /// Takes one standardised observation of a signal and updates its interval.
    #[inline]
    pub(crate) fn push(&mut self, arm: usize, signal: usize, y: f64, count: &Count) {
        let SignalRule {
            rule,
            both_sides,
            intersect,
        } = &self.rules[signal];
        let place = arm * self.rules.len() + signal;
        let state = &mut self.state[place];
        state.sum += y;
        if rule.wants_bernstein() {
            self.bernstein[place].push(y, rule.log_term());
        }
        let before = (state.lower, state.upper);
        let new = rule.interval(
            count,
            state.sum,
            &self.bernstein[place],
            before,
            *both_sides,
        );
        if *intersect {
            state.upper = new.upper.min(before.1);
            // Off the good event the intersection can be empty: keep the ends in order.
            state.lower = new.lower.max(before.0).min(state.upper);
        } else {
            state.upper = new.upper;
            state.lower = new.lower;
        }
    }

    /// Centre and radius of the reward interval and the largest radius of all signals, unclipped,
    /// as the paper's bonus wants them.
    #[inline]
    pub(crate) fn centre_and_radius(&self, arm: usize, count: &Count) -> (f64, f64) {
        let mut centre = 0.0;
        let mut radius = 0.0_f64;
        for (s, (rule, state)) in self.rules.iter().zip(self.of(arm)).enumerate() {
            let (c, r) = rule.rule.centre_and_radius(count, state.sum);
            if s == 0 {
                centre = c;
            }
            if r > radius {
                radius = r;
            }
        }
        (centre, radius)
    }

    pub(crate) fn interval(&self, arm: usize, signal: usize) -> Option<Interval> {
        let state = self.pulls.get(arm).and_then(|_| self.of(arm).get(signal))?;
        Some(Interval {
            lower: state.lower,
            upper: state.upper,
        })
    }

    pub(crate) fn save(&self, arm: usize) -> SavedArm {
        let signals = self.rules.len();
        let kept = self.rules.iter().any(|r| r.rule.wants_bernstein());
        SavedArm {
            pulls: self.pulls[arm],
            signals: self.of(arm).to_vec(),
            bernstein: if kept {
                self.bernstein[arm * signals..(arm + 1) * signals].to_vec()
            } else {
                Vec::new()
            },
        }
    }

    /// Takes up one more arm; the lengths have been checked.
    pub(crate) fn restore(&mut self, saved: &SavedArm) {
        self.pulls.push(saved.pulls);
        for s in 0..self.rules.len() {
            self.state.push(saved.signals[s]);
            self.bernstein
                .push(saved.bernstein.get(s).copied().unwrap_or_default());
        }
    }
}

/// All there is to save of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedArm {
    pub pulls: u64,
    pub signals: Vec<SignalState>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bernstein: Vec<Bernstein>,
}
