//! Identity of an agent: its id and the numbers of its decisions, by which it recognises its own and counts each
//! outcome once.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::decision::Decision;

/// This process among those forked from one another: 0 for the first of them.
static PROCESS: AtomicU64 = AtomicU64::new(0);
/// Processes that this one forked.
static CHILDREN: AtomicU64 = AtomicU64::new(0);

/// Follows a fork: called before it, and once more in the child. The n-th child has the same number in every
/// run of a program, and another one than its parent and siblings.
#[pyfunction]
pub(crate) fn _forked(in_child: bool) {
    if in_child {
        let child = CHILDREN.swap(0, Ordering::Relaxed);
        PROCESS.store(mixed(process(), child), Ordering::Relaxed);
    } else {
        CHILDREN.fetch_add(1, Ordering::Relaxed);
    }
}

fn process() -> u64 {
    PROCESS.load(Ordering::Relaxed)
}

/// A number that depends on both in every bit (SplitMix64).
pub(crate) fn mixed(one: u64, other: u64) -> u64 {
    let mut z = one ^ other.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Most ranges of decisions whose outcome has come: beyond, everything up to the second counts as come.
const MOST: usize = 1 << 18;

/// Identity of an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    pub id: u64,
    /// Agents that this one was forked from, each with the last decision that they have in common.
    ancestors: Vec<(u64, u64)>,
    /// Number of the last decision.
    pub last: u64,
    /// Decisions whose outcome has come, as ranges of their numbers: a loop of decide and observe has one.
    observed: BTreeMap<u64, u64>,
    #[serde(skip, default = "process")]
    process: u64,
}

impl Identity {
    /// Returns the identity of an agent whose decisions go on after `last`.
    pub(crate) fn new(id: u64, last: u64) -> Self {
        Self {
            id,
            ancestors: Vec::new(),
            last,
            observed: BTreeMap::new(),
            process: process(),
        }
    }

    /// Becomes an agent of its own in a process that was forked, whose number it returns.
    #[inline]
    pub(crate) fn follow_fork(&mut self) -> Option<u64> {
        let process = process();
        if self.process == process {
            return None;
        }
        self.process = process;
        self.ancestors.push((self.id, self.last));
        self.id = mixed(self.id, process);
        Some(process)
    }

    /// Returns the number of a new decision.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.last = self.last.saturating_add(1);
        self.last
    }

    /// Refuses decisions that neither this agent nor one that it was forked from made, and those whose outcome has
    /// come. `argument` is the one that they were given by.
    pub(crate) fn check(&self, decisions: &[Decision], argument: &str) -> PyResult<()> {
        let is_own = |one: &Decision| {
            let is_older = |&(id, last): &(u64, u64)| id == one.set.agent && one.serial <= last;
            one.set.agent == self.id || self.ancestors.iter().any(is_older)
        };
        if let Some(Decision { serial, .. }) = decisions.iter().find(|one| !is_own(one)) {
            return Err(PyValueError::new_err(format!(
                "`{argument}` has decision {serial} of another agent: give it to the agent that made it \
                 (in the process that made it), or give its arm by name or number"
            )));
        }
        // In the order of decisions, as most come, none is there twice.
        let is_ordered = decisions.is_sorted_by(|one, next| one.serial < next.serial);
        let mut seen = HashSet::new();
        let mut is_second = |one: &&Decision| {
            self.has_outcome(one.serial) || (!is_ordered && !seen.insert(one.serial))
        };
        match decisions.iter().find(&mut is_second) {
            None => Ok(()),
            Some(Decision { serial, .. }) => Err(PyValueError::new_err(format!(
                "`{argument}` has decision {serial}, whose outcome was taken before (or which is older than \
                 {MOST} others without one): an outcome counts once; if it is another one, give the arm by name or \
                 number"
            ))),
        }
    }

    fn has_outcome(&self, number: u64) -> bool {
        let before = self.observed.range(..=number).next_back();
        before.is_some_and(|(_, &to)| number <= to)
    }

    /// Takes note of an outcome. A number beyond the last is that of a copy of the agent that went on.
    pub(crate) fn note_outcome(&mut self, number: u64) {
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
    pub(crate) fn forget_outcomes(&mut self) {
        self.observed.clear();
    }

    /// Returns true if it can have been saved.
    pub(crate) fn is_sound(&self) -> bool {
        let ranges = || self.observed.iter();
        ranges().all(|(from, to)| from <= to && *to <= self.last)
            && std::iter::zip(ranges(), ranges().skip(1)).all(|(one, next)| one.1 < next.0)
    }
}
