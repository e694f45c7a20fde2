//! Outcomes in the order of their decisions.
//!
//! The breach detector needs that order: where delays differ by arm, outcomes in the order of their
//! arrival are not those of the policies, and safe runs raise alarms. Decisions are announced when
//! they are made; an outcome waits until those of the decisions before it have come. Memory is bounded
//! both ways: a decision whose outcome does not come within a window of watched decisions is given up,
//! and where such an outcome comes after all, only every second, fourth, … decision is watched from
//! then on. Which ones follows from their numbers, so nothing is chosen by its outcome.
//!
//! Pools of segments learn in the same order: an average over the segments whose outcomes come early is
//! another one.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::waiting::Waiting;

/// Watched decisions that may wait for their outcomes: by default, and at most.
pub(super) const WINDOW: usize = 1024;
pub(super) const WIDEST: usize = 4096;
/// Largest share of decisions that are not watched, as a power of two.
const MOST_SKIPPED: u64 = 1 << 20;

/// Arm and segment of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drawn {
    pub arm: usize,
    /// Segment; `None` for those beyond the largest number.
    pub segment: Option<usize>,
    /// True if the pool that there is now made it.
    pub pooled: bool,
    /// Probability that its policy gave the safe action, where it is known.
    pub safe_probability: Option<f64>,
    /// Time of it, as learners count it.
    pub time: f64,
}

/// A decision, and its outcome once that has come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    number: u64,
    safe_probability: f64,
    /// True if the action was the safe one; `None` until the outcome has come.
    is_safe: Option<bool>,
    /// Segment whose own guardrails it is watched under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    segment: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drawn: Option<Drawn>,
    #[serde(default)]
    reward: f64,
}

/// Decisions that wait for their outcomes, by increasing number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    entries: VecDeque<Entry>,
    /// The costs of every entry, one per guardrail; zeros until they have come.
    costs: VecDeque<f64>,
    /// One decision in this many is watched.
    pub stride: u64,
    /// The last decision announced.
    pub last: u64,
    /// The last one when `stride` was chosen.
    chosen: u64,
}

/// An outcome whose turn it is.
pub(crate) struct Turn {
    pub is_safe: bool,
    pub safe_probability: f64,
    pub segment: Option<usize>,
    pub drawn: Option<Drawn>,
    pub reward: f64,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            costs: VecDeque::new(),
            stride: 1,
            last: 0,
            chosen: 0,
        }
    }
}

impl Order {
    /// Announces a decision. Numbers increase; one that does not is ignored. Without a probability its
    /// outcome comes in order, and nothing waits for it. Returns the decision that is given up for it, if any is.
    pub(super) fn announce(
        &mut self,
        number: u64,
        safe_probability: Option<f64>,
        drawn: Option<Drawn>,
        (window, guardrails): (usize, usize),
    ) -> Option<Drawn> {
        if number <= self.last {
            return None;
        }
        self.last = number;
        let safe_probability = safe_probability.filter(|_| self.is_watched(number))?;
        let mut given_up = None;
        if self.entries.len() >= window {
            // Those before it have come, and wait for the next outcome to have their turn.
            let place = self.entries.iter().position(|e| e.is_safe.is_none());
            given_up = self.remove(place.unwrap_or(0), guardrails);
        }
        self.entries.push_back(Entry {
            number,
            safe_probability,
            is_safe: None,
            segment: None,
            drawn,
            reward: 0.0,
        });
        self.costs.extend(std::iter::repeat_n(0.0, guardrails));
        given_up
    }

    /// Gives up a decision whose outcome will never come.
    pub(super) fn give_up(&mut self, number: u64, guardrails: usize) -> Option<Drawn> {
        let place = self.entries.binary_search_by_key(&number, |e| e.number);
        let place = place
            .ok()
            .filter(|&place| self.entries[place].is_safe.is_none())?;
        self.remove(place, guardrails)
    }

    fn remove(&mut self, place: usize, guardrails: usize) -> Option<Drawn> {
        let from = place * guardrails;
        self.costs.drain(from..from + guardrails);
        self.entries.remove(place)?.drawn
    }

    /// Counts decisions of the pool by arm.
    pub(super) fn count_waiting(&self, in_pool: &mut Waiting) {
        in_pool.clear_all();
        let drawn = self.entries.iter().filter_map(|e| e.drawn);
        let pooled = drawn.filter(|drawn| drawn.pooled);
        pooled.for_each(|drawn| in_pool.announce(drawn.arm));
    }

    /// Another pool begins: pending decisions are not its own.
    pub(super) fn leave_pool(&mut self) {
        let drawn = self.entries.iter_mut().filter_map(|e| e.drawn.as_mut());
        drawn.for_each(|drawn| drawn.pooled = false);
    }

    /// An arm is learned anew: its pending decisions teach nothing.
    pub(super) fn leave_arm(&mut self, arm: usize) {
        let drawn = self.entries.iter_mut().filter_map(|e| e.drawn.as_mut());
        drawn
            .filter(|drawn| drawn.arm == arm)
            .for_each(|drawn| drawn.pooled = false);
    }

    /// A segment's number goes to another one: pending decisions are none of its own.
    pub(super) fn leave_segment(&mut self, segment: usize) {
        let drawn = self.entries.iter_mut().filter_map(|e| e.drawn.as_mut());
        drawn
            .filter(|drawn| drawn.segment == Some(segment))
            .for_each(|drawn| drawn.segment = None);
    }

    /// Takes the outcome of a decision announced before. True if it was given up too early.
    pub(super) fn arrived(
        &mut self,
        number: u64,
        (is_safe, segment): (bool, Option<usize>),
        reward: f64,
        costs: &[f64],
    ) -> bool {
        if !self.is_watched(number) {
            return false;
        }
        match self.entries.binary_search_by_key(&number, |e| e.number) {
            Ok(place) => {
                let entry = &mut self.entries[place];
                (entry.is_safe, entry.segment) = (Some(is_safe), segment);
                entry.reward = reward;
                for (i, &cost) in costs.iter().enumerate() {
                    self.costs[place * costs.len() + i] = cost;
                }
            }
            // Outcomes come later than the window is long.
            Err(_) if number > self.chosen && number <= self.last => {
                self.widen(costs.len());
                return true;
            }
            Err(_) => {}
        }
        false
    }

    /// The next outcome in the order of decisions, if it has come; its costs are written to `costs`.
    pub(super) fn next(&mut self, costs: &mut [f64]) -> Option<Turn> {
        let front = *self.entries.front()?;
        let is_safe = front.is_safe?;
        for (out, &cost) in costs.iter_mut().zip(&self.costs) {
            *out = cost;
        }
        self.remove(0, costs.len());
        Some(Turn {
            is_safe,
            safe_probability: front.safe_probability,
            segment: front.segment,
            drawn: front.drawn,
            reward: front.reward,
        })
    }

    /// Forgets what is pending; decisions up to the last one announced are not waited for any more.
    pub(super) fn restart(&mut self) {
        self.entries.clear();
        self.costs.clear();
        self.chosen = self.last;
    }

    fn widen(&mut self, guardrails: usize) {
        self.chosen = self.last;
        if self.stride >= MOST_SKIPPED {
            return;
        }
        self.stride *= 2;
        let watched: Vec<bool> = (self.entries.iter())
            .map(|entry| self.is_watched(entry.number))
            .collect();
        let mut kept = watched.iter();
        self.entries.retain(|_| *kept.next().unwrap_or(&false));
        let mut place = 0;
        self.costs.retain(|_| {
            place += 1;
            watched[(place - 1) / guardrails]
        });
    }

    /// A fixed rule of the number: decisions may be numbered with any gaps.
    fn is_watched(&self, number: u64) -> bool {
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        mixed & (self.stride - 1) == 0
    }

    /// Returns true if it can have been saved by an agent with this many guardrails.
    pub(super) fn is_sound(&self, guardrails: usize) -> bool {
        let mut numbers = self.entries.iter().map(|e| e.number);
        let first = numbers.next();
        let ordered = first.is_none_or(|first| {
            let mut last = first;
            numbers.all(|n| std::mem::replace(&mut last, n) < n)
        });
        ordered
            && self.entries.len() <= WIDEST
            && self.costs.len() == self.entries.len() * guardrails
            && self.costs.iter().all(|c| c.is_finite())
            && self.entries.iter().all(|e| e.reward.is_finite())
            && self.stride.is_power_of_two()
    }
}
