//! Estimates: what the outcomes that have arrived say about every arm and signal.
//!
//! Only outcomes that have arrived count; a pending decision changes nothing here, so widths never
//! shrink on promises. Outcomes may come late, in any order and in batches.

use serde::{Deserialize, Serialize};

use crate::interval::{Bernstein, Interval, Rule};

/// One signal's statistics and intervals, one entry per arm (by arm number, retired ones too).
#[derive(Debug, Clone)]
pub(crate) struct SignalEstimates {
    rule: Rule,
    /// Whether the lower end is wanted (not for the reward).
    both_sides: bool,
    /// Whether intervals are intersected over time.
    intersect: bool,
    pub sums: Vec<f64>,
    pub bernstein: Vec<Bernstein>,
    pub intervals: Vec<Interval>,
}

/// All there is to save of one arm's signal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedSignal {
    pub sum: f64,
    pub lower: f64,
    pub upper: f64,
    pub centre: f64,
    pub radius: f64,
    #[serde(default, skip_serializing_if = "is_fresh")]
    pub bernstein: Bernstein,
}

fn is_fresh(state: &Bernstein) -> bool {
    *state == Bernstein::default()
}

impl SignalEstimates {
    pub(crate) fn new(rule: Rule, both_sides: bool, intersect: bool) -> Self {
        Self {
            rule,
            both_sides,
            intersect,
            sums: Vec::new(),
            bernstein: Vec::new(),
            intervals: Vec::new(),
        }
    }

    pub(crate) fn add_arm(&mut self) {
        let state = Bernstein::default();
        let unknown = Interval::UNKNOWN;
        let before = (unknown.lower, unknown.upper);
        self.intervals
            .push(self.rule.interval(0, 0.0, &state, before, self.both_sides));
        self.sums.push(0.0);
        self.bernstein.push(state);
    }

    /// Takes one standardised observation of `arm`, its n-th.
    #[inline]
    pub(crate) fn push(&mut self, arm: usize, y: f64, n: u64) {
        self.sums[arm] += y;
        self.rule.push(&mut self.bernstein[arm], y);
        let old = self.intervals[arm];
        let mut new = self.rule.interval(
            n,
            self.sums[arm],
            &self.bernstein[arm],
            (old.lower, old.upper),
            self.both_sides,
        );
        if self.intersect {
            new.lower = new.lower.max(old.lower);
            new.upper = new.upper.min(old.upper);
            // Off the good event the intersection can be empty: fall back to the pessimistic side
            // for costs and rewards alike, an interval that has its ends in order.
            if new.lower > new.upper {
                new.lower = new.upper;
            }
        }
        self.intervals[arm] = new;
    }

    pub(crate) fn save(&self, arm: usize) -> SavedSignal {
        let interval = self.intervals[arm];
        SavedSignal {
            sum: self.sums[arm],
            lower: interval.lower,
            upper: interval.upper,
            centre: interval.centre,
            radius: interval.radius,
            bernstein: self.bernstein[arm],
        }
    }

    pub(crate) fn restore(&mut self, saved: &SavedSignal) {
        self.sums.push(saved.sum);
        self.bernstein.push(saved.bernstein);
        self.intervals.push(Interval {
            lower: saved.lower,
            upper: saved.upper,
            centre: saved.centre,
            radius: saved.radius,
        });
    }
}
