//! Numbers of a session's decisions, by which it knows its own and counts each outcome once.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::Draw;
use crate::error::{Error, broken};

/// Most ranges of decisions whose outcome has come: beyond, everything up to the second counts as come.
const MOST: usize = 1 << 18;

/// Identity of a session, and the numbers of its decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// Identity, which copies and snapshots keep.
    pub id: u64,
    /// Sessions that this one was split from, each with the last decision that they have in common.
    ancestors: Vec<(u64, u64)>,
    /// Number of the last decision.
    pub last: u64,
    /// Decisions whose outcome has come, as ranges of their numbers: a loop of decide and observe has one.
    observed: BTreeMap<u64, u64>,
    /// The last decision before the latest restart: outcomes up to it teach, and nothing waits for them.
    pub(super) restarted_after: u64,
}

impl Numbers {
    /// Numbers of a session whose decisions go on after `last`.
    pub fn new(id: u64, last: u64) -> Self {
        Self {
            id,
            ancestors: Vec::new(),
            last,
            observed: BTreeMap::new(),
            restarted_after: 0,
        }
    }

    /// Goes on under another identity, in a copy whose siblings number their decisions alike.
    pub(super) fn split(&mut self, id: u64) {
        self.ancestors.push((self.id, self.last));
        self.id = id;
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        self.last = self.last.saturating_add(1);
        self.last
    }

    /// Refuses draws that neither this session nor one that it was split from made, and those whose outcome has come.
    pub(super) fn check<T>(&self, draws: &[&Draw<T>]) -> Result<(), Error> {
        // In the order of decisions, as most come, none is there twice.
        let is_ordered = draws.is_sorted_by(|one, next| one.number < next.number);
        let mut seen = HashSet::new();
        for draw in draws {
            let (number, session) = (draw.number, draw.published.session);
            let is_older = |&(id, last): &(u64, u64)| id == session && number <= last;
            if session != self.id && !self.ancestors.iter().any(is_older) {
                return Err(Error::ForeignDecision { number });
            }
            if self.has_outcome(number) || !is_ordered && !seen.insert(number) {
                return Err(Error::SecondOutcome { number, most: MOST });
            }
        }
        Ok(())
    }

    fn has_outcome(&self, number: u64) -> bool {
        let before = self.observed.range(..=number).next_back();
        before.is_some_and(|(_, &to)| number <= to)
    }

    /// Takes note of an outcome. A number beyond the last is that of a copy of the session that went on.
    pub(super) fn note_outcome(&mut self, number: u64) {
        self.last = self.last.max(number);
        let from = match self.observed.range(..number).next_back() {
            Some((&from, &to)) if to + 1 == number => from,
            _ => number,
        };
        let next = number.checked_add(1);
        let to = next.and_then(|next| self.observed.remove(&next));
        self.observed.insert(from, to.unwrap_or(number));
        if self.observed.len() > MOST {
            self.observed.pop_first();
            if let Some((_, to)) = self.observed.pop_first() {
                self.observed.insert(0, to);
            }
        }
    }

    /// Forgets which outcomes have come: each may come once more.
    pub(super) fn restart(&mut self) {
        self.observed.clear();
        self.restarted_after = self.last;
    }

    /// Refuses numbers that cannot have been saved.
    pub fn check_saved(self) -> Result<Self, Error> {
        let ranges = || self.observed.iter();
        let is_sound = ranges().all(|(from, to)| from <= to && *to <= self.last)
            && std::iter::zip(ranges(), ranges().skip(1)).all(|(one, next)| one.1 < next.0)
            && self.restarted_after <= self.last;
        if is_sound {
            Ok(self)
        } else {
            Err(broken("`numbers` of decisions are damaged"))
        }
    }
}
