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
use crate::problem::Claim;
use crate::waiting::Waiting;

/// Most decisions that wait for their outcomes.
const WIDEST: usize = 4096;
/// Largest share of decisions that do not wait, as a power of two.
const MOST_SKIPPED: u64 = 1 << 20;

/// A decision, and its outcome once that has come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    number: u64,
    drawn: Drawn,
    reward: Option<f64>,
}

/// Decisions that wait for their outcomes, by increasing number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    entries: VecDeque<Entry>,
    /// The costs of every entry, one per signal, and its claims, one per guardrail; zeros until they have come.
    costs: VecDeque<f64>,
    claims: VecDeque<Claim>,
    /// One decision in this many waits.
    stride: u64,
    last: u64,
    /// The last one when `stride` was chosen.
    chosen: u64,
}

/// An outcome whose turn it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn {
    pub drawn: Option<Drawn>,
    pub reward: f64,
    pub costs: Vec<f64>,
    pub claims: Vec<Claim>,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            costs: VecDeque::new(),
            claims: VecDeque::new(),
            stride: 1,
            last: 0,
            chosen: 0,
        }
    }
}

impl Order {
    /// Announces a decision of so many signals and guardrails. Numbers increase; one that does not is ignored. Returns
    /// the decision that is given up for it, if any is.
    pub(super) fn announce(
        &mut self,
        number: u64,
        drawn: Drawn,
        sizes: (usize, usize),
    ) -> Option<Drawn> {
        if number <= self.last {
            return None;
        }
        self.last = number;
        if !self.waits(number) {
            return None;
        }
        let mut given_up = None;
        if self.entries.len() >= WIDEST {
            // Those before it have come, and wait for the next outcome to have their turn.
            let place = self.entries.iter().position(|e| e.reward.is_none());
            given_up = self.remove(place.unwrap_or(0), sizes);
        }
        self.entries.push_back(Entry {
            number,
            drawn,
            reward: None,
        });
        let (signals, guardrails) = sizes;
        self.costs.extend(std::iter::repeat_n(0.0, signals));
        (self.claims).extend(std::iter::repeat_n(Claim::default(), guardrails));
        given_up
    }

    fn find(&self, number: u64) -> Option<usize> {
        let place = self.entries.binary_search_by_key(&number, |e| e.number);
        place.ok()
    }

    /// Gives up a decision whose outcome will never come.
    pub(super) fn give_up(&mut self, number: u64, sizes: (usize, usize)) -> Option<Drawn> {
        let place = self.find(number)?;
        let waits = self.entries[place].reward.is_none();
        waits.then(|| self.remove(place, sizes))?
    }

    fn remove(&mut self, place: usize, (signals, guardrails): (usize, usize)) -> Option<Drawn> {
        self.costs.drain(place * signals..(place + 1) * signals);
        (self.claims).drain(place * guardrails..(place + 1) * guardrails);
        self.entries.remove(place).map(|entry| entry.drawn)
    }

    /// Counts decisions of the pool by arm.
    pub(super) fn count_waiting(&self, in_pool: &mut Waiting) {
        in_pool.clear_all();
        let pooled = self.entries.iter().filter(|e| e.drawn.pooled);
        pooled.for_each(|e| in_pool.announce(e.drawn.arm));
    }

    /// Has pending decisions of which this is true teach the pool nothing.
    pub(super) fn leave_pool(&mut self, which: impl Fn(&Drawn) -> bool) {
        let drawn = self.entries.iter_mut().map(|e| &mut e.drawn);
        drawn
            .filter(|drawn| which(drawn))
            .for_each(|drawn| drawn.pooled = false);
    }

    /// A segment's number goes to another one: pending decisions are none of its own.
    pub(super) fn leave_segment(&mut self, segment: usize) {
        let drawn = self.entries.iter_mut().map(|e| &mut e.drawn);
        drawn
            .filter(|drawn| drawn.segment == Some(segment))
            .for_each(|drawn| drawn.segment = None);
    }

    /// Takes the outcome of a decision announced before. True if it was given up too early.
    pub(super) fn arrived(
        &mut self,
        number: u64,
        reward: f64,
        costs: &[f64],
        claims: Option<&[Claim]>,
        guardrails: usize,
    ) -> bool {
        if !self.waits(number) {
            return false;
        }
        if let Some(place) = self.find(number) {
            self.entries[place].reward = Some(reward);
            for (i, &cost) in costs.iter().enumerate() {
                self.costs[place * costs.len() + i] = cost;
            }
            for (i, &claim) in claims.into_iter().flatten().enumerate() {
                self.claims[place * guardrails + i] = claim;
            }
            return false;
        }
        // Outcomes come later than the window is long.
        let is_late = number > self.chosen && number <= self.last;
        if is_late {
            self.widen((costs.len(), guardrails));
        }
        is_late
    }

    /// Writes the next outcome in the order of decisions; false if it has not come.
    pub(super) fn next(&mut self, turn: &mut Turn, (signals, guardrails): (usize, usize)) -> bool {
        let Some(&front) = self.entries.front() else {
            return false;
        };
        let Some(reward) = front.reward else {
            return false;
        };
        (turn.drawn, turn.reward) = (Some(front.drawn), reward);
        turn.costs.clear();
        turn.costs.extend(self.costs.drain(..signals));
        turn.claims.clear();
        turn.claims.extend(self.claims.drain(..guardrails));
        self.entries.pop_front();
        true
    }

    /// Forgets what is pending; decisions up to the last one announced are not waited for any more.
    pub(super) fn restart(&mut self) {
        self.entries.clear();
        self.costs.clear();
        self.claims.clear();
        self.chosen = self.last;
    }

    fn widen(&mut self, sizes: (usize, usize)) {
        self.chosen = self.last;
        if self.stride >= MOST_SKIPPED {
            return;
        }
        self.stride *= 2;
        for place in (0..self.entries.len()).rev() {
            if !self.waits(self.entries[place].number) {
                self.remove(place, sizes);
            }
        }
    }

    /// A fixed rule of the number: decisions may be numbered with any gaps.
    fn waits(&self, number: u64) -> bool {
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        mixed & (self.stride - 1) == 0
    }

    /// Returns true if it can have been saved by an agent with so many signals and guardrails.
    pub(super) fn is_sound(&self, (signals, guardrails): (usize, usize)) -> bool {
        let rewards = self.entries.iter().filter_map(|e| e.reward);
        let claims = self.claims.iter().flat_map(|c| [c.slope, c.bound]);
        (self.entries.iter()).is_sorted_by(|a, b| a.number < b.number)
            && self.entries.len() <= WIDEST
            && self.costs.len() == self.entries.len() * signals
            && self.claims.len() == self.entries.len() * guardrails
            && (self.costs.iter().copied().chain(rewards).chain(claims)).all(f64::is_finite)
            && self.stride.is_power_of_two()
    }
}
