//! Estimates: statistics and intervals of every arm and signal.
//!
//! Only outcomes that have arrived count; a pending decision changes nothing here, so widths never
//! shrink on promises. Outcomes may come late, in any order and in batches.

use serde::{Deserialize, Serialize};

use crate::interval::{Bernstein, Count, Interval, Intervals, Level, Rule};
use crate::problem::CheckedProblem;
use crate::problem::Direction;
use crate::problem::Signal;

/// Statistics and intervals in force of every signal of every arm (by arm number, retired ones
/// too), one record per arm: the reward, then one entry per guardrail.
#[derive(Debug, Clone)]
pub struct Estimates {
    rules: Vec<SignalRule>,
    /// True if all intervals are a mean ± a constant/√n, in force as they are.
    symmetric: bool,
    /// True if some rule reads the logarithm of the count.
    wants_log: bool,
    /// The widest rule's half-width for n = 1, for the paper's bonus.
    widest: f64,
    pulls: Vec<u64>,
    state: Vec<SignalState>,
    /// Only filled where some rule is `bernstein`.
    bernstein: Vec<Bernstein>,
    /// The cost whose last outcome contradicts those before: its mean has changed.
    refuted: Option<usize>,
}

/// Rule for bounding one signal.
#[derive(Debug, Clone, Copy)]
pub struct SignalRule {
    pub(crate) rule: Rule,
    /// True if the lower end is wanted (not for the reward).
    pub(crate) both_sides: bool,
    /// True if intervals are intersected over time.
    pub(crate) intersect: bool,
    /// Origin of the standard units: y = (x − origin)·scale.
    pub(crate) origin: f64,
    /// Scale of the standard units; see `origin`.
    pub(crate) scale: f64,
}

impl SignalRule {
    /// The rules of a problem's signals, the reward first: `kind` chooses the interval of a signal,
    /// `intersect` whether that kind is intersected over time.
    pub fn all(
        problem: &CheckedProblem,
        level: &Level,
        kind: impl Fn(&Signal) -> Intervals,
        intersect: impl Fn(Intervals) -> bool,
    ) -> Vec<Self> {
        let rule = |signal: &Signal, cost: bool, direction: Direction| {
            let kind = kind(signal);
            let bounded = signal.sub_gaussian.is_none();
            let (origin, scale) = signal.affine(direction);
            Self {
                rule: Rule::new(kind, level, signal.r(), bounded, cost),
                both_sides: cost,
                intersect: intersect(kind),
                origin,
                scale,
            }
        };
        let guardrails = problem.guardrails.iter();
        let costs = guardrails.map(|g| rule(&g.signal, true, g.direction));
        std::iter::once(rule(&problem.reward, false, Direction::AtMost))
            .chain(costs)
            .collect()
    }

    #[inline]
    fn standardise(&self, x: f64) -> f64 {
        (x - self.origin) * self.scale
    }
}

/// One signal of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalState {
    /// Sum of the standardised observations.
    pub sum: f64,
    /// Lower end in force.
    pub lower: f64,
    /// Upper end in force.
    pub upper: f64,
}

impl Estimates {
    /// No arms yet, with one rule per signal.
    pub fn new(rules: Vec<SignalRule>) -> Self {
        Self {
            symmetric: rules.iter().all(|r| r.rule.is_symmetric() && !r.intersect),
            wants_log: rules.iter().any(|r| r.rule.wants_log()),
            widest: rules.iter().map(|r| r.rule.width()).fold(0.0, f64::max),
            rules,
            pulls: Vec::new(),
            state: Vec::new(),
            bernstein: Vec::new(),
            refuted: None,
        }
    }

    /// The signal that the last outcome refuted, once.
    #[inline]
    pub(crate) fn take_refuted(&mut self) -> Option<usize> {
        self.refuted.take()
    }

    /// n: outcomes of every arm.
    #[inline]
    pub fn pulls(&self) -> &[u64] {
        &self.pulls
    }

    /// Adds an arm without outcomes, under the next number.
    pub fn add_arm(&mut self) {
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
    pub fn of(&self, arm: usize) -> &[SignalState] {
        let signals = self.rules.len();
        let from = arm * signals;
        &self.state[from..from + signals]
    }

    /// Takes one outcome of `arm` and updates its intervals.
    #[inline(always)]
    pub fn take(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Count {
        let pulls = &mut self.pulls[arm];
        *pulls += 1;
        let n = *pulls;
        if !self.symmetric {
            return self.take_any(arm, n, reward, costs);
        }
        let count = Count::new(n, false);
        let signals = self.rules.len();
        let from = arm * signals;
        let states = &mut self.state[from..from + signals];
        let update = |rule: &SignalRule, state: &mut SignalState, x: f64| {
            state.sum += rule.standardise(x);
            let Interval { lower, upper } = rule.rule.symmetric(&count, state.sum);
            (state.lower, state.upper) = (lower, upper);
        };
        update(&self.rules[0], &mut states[0], reward);
        let costs = &costs[..signals - 1];
        for i in 0..costs.len() {
            update(&self.rules[i + 1], &mut states[i + 1], costs[i]);
        }
        count
    }

    /// [`Estimates::take`] where intervals must be searched for or intersected over time.
    #[inline(never)]
    fn take_any(&mut self, arm: usize, n: u64, reward: f64, costs: &[f64]) -> Count {
        let count = Count::new(n, self.wants_log);
        let signals = self.rules.len();
        let places = arm * signals..(arm + 1) * signals;
        let states = &mut self.state[places.clone()];
        let bernsteins = &mut self.bernstein[places];
        for s in 0..signals {
            let lane = &self.rules[s];
            let (state, bernstein) = (&mut states[s], &mut bernsteins[s]);
            let y = lane.standardise(if s == 0 { reward } else { costs[s - 1] });
            state.sum += y;
            if lane.rule.wants_bernstein() {
                bernstein.push(y, lane.rule.log_term());
            }
            let before = (state.lower, state.upper);
            let both = lane.both_sides;
            let narrowed = if lane.intersect {
                lane.rule
                    .narrowed(&count, state.sum, bernstein, before, both)
            } else {
                None
            };
            let new = narrowed.unwrap_or_else(|| {
                // An empty intersection is a refutation, never a point: all outcomes so far count anew.
                if lane.intersect && both {
                    self.refuted = Some(s);
                }
                lane.rule
                    .interval(&count, state.sum, bernstein, before, both)
            });
            (state.lower, state.upper) = (new.lower, new.upper);
        }
        count
    }

    /// Centre of the reward interval and the largest radius of all signals, unclipped, as the
    /// paper's bonus wants them.
    #[inline]
    pub(crate) fn centre_and_radius(&self, arm: usize, count: &Count) -> (f64, f64) {
        let sum = self.state[arm * self.rules.len()].sum;
        let (centre, _) = self.rules[0].rule.centre_and_radius(count, sum);
        (centre, self.rules[0].rule.radius(count, self.widest))
    }

    pub(crate) fn interval(&self, arm: usize, signal: usize) -> Option<Interval> {
        let state = self.pulls.get(arm).and_then(|_| self.of(arm).get(signal))?;
        Some(Interval {
            lower: state.lower,
            upper: state.upper,
        })
    }

    /// Mean of a signal's observations, if there are any, and an interval with both its ends.
    pub(crate) fn summary(&self, arm: usize, signal: usize) -> (Option<f64>, Interval) {
        let place = arm * self.rules.len() + signal;
        let (rule, state) = (&self.rules[signal], &self.state[place]);
        let n = self.pulls[arm];
        let mut ends = Interval {
            lower: state.lower,
            upper: state.upper,
        };
        if !rule.both_sides {
            // Optimism never asks for the lower end, so it is not kept.
            let count = Count::new(n, rule.rule.wants_log());
            let guide = (0.0, 1.0);
            let bernstein = &self.bernstein[place];
            let fresh = (rule.rule).interval(&count, state.sum, bernstein, guide, true);
            ends = if fresh.lower <= ends.upper {
                Interval {
                    lower: fresh.lower,
                    ..ends
                }
            } else {
                // The mean has risen above what was possible before: all outcomes so far count.
                fresh
            };
        }
        ((n > 0).then(|| state.sum / n as f64), ends)
    }

    /// State of one arm for a snapshot.
    pub fn save(&self, arm: usize) -> SavedArm {
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

    /// Takes up an arm's saved state in place of its own; the lengths have been checked.
    pub fn replace(&mut self, arm: usize, saved: &SavedArm) {
        let from = arm * self.rules.len();
        self.pulls[arm] = saved.pulls;
        self.state[from..from + self.rules.len()].copy_from_slice(&saved.signals);
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
pub struct SavedArm {
    /// Number n of outcomes.
    pub pulls: u64,
    /// The reward, then one entry per guardrail.
    pub signals: Vec<SignalState>,
    /// Per signal, where intervals are `bernstein`; empty otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bernstein: Vec<Bernstein>,
}

impl SavedArm {
    /// True if it holds this number of signals, with their ends in order and no Bernstein states.
    pub fn fits(&self, signals: usize) -> bool {
        self.signals.len() == signals
            && self.bernstein.is_empty()
            && self.signals.iter().all(|s| s.lower <= s.upper)
    }
}
