//! Outcomes in the order of their decisions, for what segments share.
//!
//! A pool learns the average over its segments: an average over those whose outcomes come early is another one. So is the
//! claim about it, and so are the counts of outcomes that are missing. Decisions are announced when they are made; an
//! outcome waits until those of the decisions before it have come. Memory is bounded both ways: a decision whose outcome
//! does not come within a window of decisions is given up, and where such an outcome comes after all, only every second,
//! fourth, … decision waits from then on. Which ones follows from their numbers, so nothing is chosen by its outcome.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::monitor::Drawn;
use crate::problem::{CheckedProblem, Claim};
use crate::round::Outcome;
use crate::waiting::Waiting;

/// Most decisions that wait for their outcomes.
const WIDEST: usize = 4096;
/// Largest share of decisions that do not wait, as a power of two.
const MOST_SKIPPED: u64 = 1 << 20;

/// A decision, and its outcome once that has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    number: u64,
    drawn: Drawn,
    outcome: Option<Arrived>,
}

/// An outcome that has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arrived {
    pub reward: f64,
    pub costs: Box<[f64]>,
    /// One per guardrail, or none.
    pub claims: Box<[Claim]>,
}

/// Decisions that wait for their outcomes, by increasing number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    entries: VecDeque<Entry>,
    /// One decision in this many waits.
    stride: u64,
    last: u64,
    /// The last one when `stride` was chosen.
    chosen: u64,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            stride: 1,
            last: 0,
            chosen: 0,
        }
    }
}

impl Order {
    /// Announces a decision. Numbers increase; one that does not is ignored. Returns the decision that is given up for it,
    /// if any is.
    pub(super) fn announce(&mut self, number: u64, drawn: Drawn) -> Option<Drawn> {
        if number <= self.last {
            return None;
        }
        self.last = number;
        if !waits(number, self.stride) {
            return None;
        }
        let mut given_up = None;
        if self.entries.len() >= WIDEST {
            // Those before it have come, and wait for the next outcome to have their turn.
            let place = self.entries.iter().position(|e| e.outcome.is_none());
            given_up = self.entries.remove(place.unwrap_or(0));
        }
        self.entries.push_back(Entry {
            number,
            drawn,
            outcome: None,
        });
        given_up.map(|entry| entry.drawn)
    }

    fn find(&self, number: u64) -> Option<usize> {
        let place = self.entries.binary_search_by_key(&number, |e| e.number);
        place.ok()
    }

    /// Gives up a decision whose outcome will never come.
    pub(super) fn give_up(&mut self, number: u64) -> Option<Drawn> {
        let place = self.find(number)?;
        let waits = self.entries[place].outcome.is_none();
        let given_up = waits.then(|| self.entries.remove(place))??;
        Some(given_up.drawn)
    }

    /// Counts decisions of the pool by arm.
    pub(super) fn count_waiting(&self, in_pool: &mut Waiting) {
        in_pool.clear_all();
        let pooled = self.entries.iter().filter(|e| e.drawn.pooled);
        pooled.for_each(|e| in_pool.announce(e.drawn.arm));
    }

    /// Has pending decisions of which this is true teach the pool nothing.
    pub(super) fn leave_pool(&mut self, which: impl Fn(&Drawn) -> bool) {
        for entry in &mut self.entries {
            entry.drawn.pooled &= !which(&entry.drawn);
        }
    }

    /// A segment's number goes to another one: pending decisions are none of its own.
    pub(super) fn leave_segment(&mut self, segment: usize) {
        for entry in &mut self.entries {
            entry.drawn.segment = entry.drawn.segment.filter(|&own| own != segment);
        }
    }

    /// Takes the outcome of a decision announced before. True if it was given up too early.
    pub(super) fn arrived(&mut self, number: u64, outcome: &Outcome) -> bool {
        if !waits(number, self.stride) {
            return false;
        }
        if let Some(place) = self.find(number) {
            self.entries[place].outcome = Some(Arrived {
                reward: outcome.reward,
                costs: outcome.costs.into(),
                claims: outcome.claims.unwrap_or_default().into(),
            });
            return false;
        }
        // Outcomes come later than the window is long.
        let is_late = number > self.chosen && number <= self.last;
        if is_late {
            self.widen();
        }
        is_late
    }

    /// The next outcome in the order of decisions, if it has come.
    pub(super) fn next(&mut self) -> Option<(Drawn, Arrived)> {
        self.entries.front()?.outcome.as_ref()?;
        let Entry { drawn, outcome, .. } = self.entries.pop_front()?;
        Some((drawn, outcome?))
    }

    /// Forgets what is pending; decisions up to the last one announced are not waited for any more.
    pub(super) fn restart(&mut self) {
        self.entries.clear();
        self.chosen = self.last;
    }

    fn widen(&mut self) {
        self.chosen = self.last;
        if self.stride < MOST_SKIPPED {
            self.stride *= 2;
            let stride = self.stride;
            self.entries.retain(|entry| waits(entry.number, stride));
        }
    }

    /// Returns true if it can have been saved by an agent for this problem.
    pub(super) fn is_sound(&self, problem: &CheckedProblem) -> bool {
        let (signals, guardrails) = (problem.width() - 1, problem.guardrails.len());
        (self.entries.iter()).is_sorted_by(|a, b| a.number < b.number)
            && self.entries.len() <= WIDEST
            && self.stride.is_power_of_two()
            && (self.entries.iter().filter_map(|e| e.outcome.as_ref())).all(|own| {
                let claims = own.claims.iter().flat_map(|c| [c.slope, c.bound]);
                let mut numbers = own.costs.iter().copied().chain(claims).chain([own.reward]);
                own.costs.len() == signals
                    && (own.claims.is_empty() || own.claims.len() == guardrails)
                    && numbers.all(f64::is_finite)
            })
    }
}

/// A fixed rule of the number: decisions may be numbered with any gaps.
fn waits(number: u64, stride: u64) -> bool {
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    mixed & (stride - 1) == 0
}
