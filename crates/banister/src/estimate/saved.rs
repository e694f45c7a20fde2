//! Estimates in snapshots.

use serde::{Deserialize, Serialize};

use super::change::{Wealth, is_sound};
use super::ends::{Side, SignalRule, count};
use super::windows::Windows;
use super::{Estimates, bucket};
use crate::error::{Error, broken};
use crate::interval::{End, Interval, Mixture, Place};
use crate::problem::CheckedProblem;

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

    /// An end in force, and the tightest one of the newest bucket.
    #[inline]
    pub(super) fn both(&mut self, end: End) -> (&mut f64, &mut f64) {
        match end {
            End::Lower => (&mut self.lower, &mut self.newer.0),
            End::Upper => (&mut self.upper, &mut self.newer.1),
        }
    }

    /// Takes up an end that was found.
    #[inline]
    pub(super) fn tighten(&mut self, end: End, found: f64) {
        let (slot, newer) = self.both(end);
        *newer = end.tighter(*newer, found);
        *slot = end.tighter(*slot, *newer);
    }

    /// Begins another bucket.
    #[inline]
    pub(super) fn turn(&mut self) {
        (self.lower, self.upper) = self.newer;
        self.newer = (End::Lower.trivial(), End::Upper.trivial());
    }
}

/// All that outcomes have changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EstimatesState {
    arms: Vec<ArmState>,
    /// Last places in the budgets that were given: those of arms that were cleared are not given again.
    places: [Place; 2],
}

/// State of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArmState {
    /// Number n of outcomes.
    pulls: u64,
    /// Places in the budgets of safety and of optimism.
    places: [Place; 2],
    /// The reward, then one entry per guardrail.
    signals: Vec<SignalState>,
    /// Per signal, where intervals are `mixture` and the arm was pulled, else empty.
    mixture: Vec<Mixture>,
    /// Per signal: outcomes when it was last forgotten.
    since: Vec<u64>,
    /// Per signal, where changes are looked for, else empty.
    changes: Vec<Wealth>,
    /// Per signal, where some mean may move, else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    windows: Vec<Option<Windows>>,
}

impl ArmState {
    /// n of a signal.
    fn count(&self, signal: usize) -> u64 {
        self.pulls - self.since[signal]
    }
}

impl Estimates {
    /// State for a snapshot.
    pub fn state(&self) -> EstimatesState {
        EstimatesState {
            arms: (0..self.pulls.len())
                .map(|arm| self.arm_state(arm))
                .collect(),
            places: [self.safety.last(), self.optimism.last()],
        }
    }

    fn arm_state(&self, arm: usize) -> ArmState {
        let signals = self.rules.len();
        let own = arm * signals..(arm + 1) * signals;
        ArmState {
            pulls: self.pulls[arm],
            places: [self.arms[arm].safety, self.arms[arm].optimism],
            signals: self.state[own.clone()].to_vec(),
            mixture: if self.wants_mixture && self.pulls[arm] > 0 {
                self.mixture[own.clone()].to_vec()
            } else {
                Vec::new()
            },
            since: self.since[own.clone()].to_vec(),
            changes: (self.changes.get(own.clone()).unwrap_or_default().iter())
                .map(|change| change.wealth)
                .collect(),
            windows: self.windows.get(own).unwrap_or_default().to_vec(),
        }
    }

    /// Takes up a saved state of as many arms as there are; `outcomes`: the number that all of them must have had.
    pub fn restore(
        &mut self,
        problem: &CheckedProblem,
        state: &EstimatesState,
        outcomes: Option<u64>,
    ) -> Result<(), Error> {
        if state.arms.len() != self.pulls.len() {
            return Err(broken(format!("it holds {} arms", state.arms.len())));
        }
        for (arm, own) in state.arms.iter().enumerate() {
            if !(self.fits(problem, own) && self.restore_arm(arm, own)) {
                return Err(broken(format!(
                    "arm {arm} has impossible sums, an impossible share of δ or impossible wealth"
                )));
            }
        }
        let pulls: u128 = self.pulls.iter().map(|&n| u128::from(n)).sum();
        if let Some(outcomes) = outcomes
            && pulls != u128::from(outcomes)
        {
            return Err(broken(format!(
                "its arms have {pulls} outcomes, and it has learned from {outcomes}"
            )));
        }
        self.safety.restore(state.places[0]);
        self.optimism.restore(state.places[1]);
        Ok(())
    }

    /// True if outcomes can have led there.
    fn fits(&self, problem: &CheckedProblem, own: &ArmState) -> bool {
        if own.since.len() != self.rules.len() || own.since.iter().any(|&s| s > own.pulls) {
            return false;
        }
        let possible_sum = |(s, state): (usize, &SignalState)| {
            let n = own.count(s) as f64;
            let slack = 1e-6 * (1.0 + n);
            let is_bounded = problem.own_signal(usize::MAX, s).sub_gaussian.is_none();
            !is_bounded || (-slack..=n + slack).contains(&state.sum)
        };
        let wealths = if self.alarm_share.is_some() {
            self.rules.len()
        } else {
            0
        };
        // Counts beyond any life would make the next one overflow.
        own.pulls < u64::MAX / 2
            && own.signals.len() == self.rules.len()
            && own.signals.iter().enumerate().all(possible_sum)
            && [0, self.rules.len()].contains(&own.mixture.len())
            && own.mixture.iter().all(Mixture::is_sound)
            && own.changes.len() == wealths
            && own.changes.iter().all(is_sound)
    }

    /// Takes up an arm's state in place of its own. False if its places or its bets are not those of such an arm.
    #[must_use]
    fn restore_arm(&mut self, arm: usize, saved: &ArmState) -> bool {
        let signals = self.rules.len();
        let from = arm * signals;
        let [safety, optimism] = saved.places;
        let needs = count(&self.rules, self.arms[arm].is_safe, Side::Safety) > 0;
        if (saved.pulls > 0 && !optimism.is_given())
            || safety.is_given() != (needs && optimism.is_given())
            || !self.bets_fit(saved)
            || !self.windows_fit(from..from + signals, saved)
        {
            return false;
        }
        self.pulls[arm] = saved.pulls;
        self.state[from..from + signals].copy_from_slice(&saved.signals);
        if !saved.mixture.is_empty() {
            self.mixture[from..from + signals].copy_from_slice(&saved.mixture);
        }
        self.since[from..from + signals].copy_from_slice(&saved.since);
        for (own, &wealth) in self.changes.iter_mut().skip(from).zip(&saved.changes) {
            own.wealth = wealth;
        }
        let windows = self.windows.get_mut(from..from + signals);
        windows.unwrap_or_default().clone_from_slice(&saved.windows);
        let own = &mut self.arms[arm];
        (own.safety, own.optimism) = (safety, optimism);
        own.since = saved.since.iter().copied().max().unwrap_or(0);
        self.safety.restore(safety);
        self.optimism.restore(optimism);
        let since = self.arms[arm].since;
        let (last, due) = self.computed_around(saved.pulls - since);
        let windows = self
            .windows
            .iter()
            .zip(&self.since)
            .skip(from)
            .take(signals);
        let moving = windows.filter_map(|(own, since)| Some(since + own.as_ref()?.due()));
        let own = &mut self.arms[arm];
        (own.bucket, own.still_due) = (bucket(last), since + due);
        own.due = moving.fold(own.still_due, u64::min);
        if optimism.is_given() {
            self.set_levels(arm);
            self.follow_ends(arm);
        }
        true
    }

    /// True if there are windows for every signal that moves, and earlier than its outcomes.
    fn windows_fit(&self, places: std::ops::Range<usize>, saved: &ArmState) -> bool {
        let own = self.windows.get(places).unwrap_or_default();
        let mut both = own.iter().zip(&saved.windows).enumerate();
        let none = Mixture::default();
        own.len() == saved.windows.len()
            && both.all(|(s, pair)| match pair {
                (Some(own), Some(saved_windows)) => {
                    saved_windows.fit(own, saved.mixture.get(s).unwrap_or(&none))
                }
                (own, saved_windows) => own.is_none() && saved_windows.is_none(),
            })
    }

    /// True if there are bets for every signal that wants them, counting all outcomes.
    fn bets_fit(&self, saved: &ArmState) -> bool {
        if !self.wants_mixture || saved.pulls == 0 {
            return saved.mixture.is_empty();
        }
        let counted = |(s, (lane, own)): (usize, (&SignalRule, &Mixture))| {
            let wanted = if lane.rule.wants_mixture() {
                saved.count(s)
            } else {
                0
            };
            own.count() == wanted
        };
        let both = std::iter::zip(&self.rules, &saved.mixture).enumerate();
        saved.mixture.len() == self.rules.len() && both.into_iter().all(counted)
    }
}
