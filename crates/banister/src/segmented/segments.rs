//! Segments: names, counts of contexts, and which have a policy of their own.
//!
//! Segments share one policy, the pool's, until they are told apart. Between two changes the pool is a fixed set of
//! segments, and an arm is drawn the same way in all of them, so the mean of each arm in it is a fixed number over
//! its decisions, whichever outcomes come first; when the pool changes, its statistics start anew with a share of δ of
//! their own. Segments keep statistics of their own
//! from their first outcome on. They leave the pool once they were seen `pool_until` times:
//!
//! - where some guardrail holds in each segment, at 64, 128, 256, … contexts in all; those declared were never in it;
//! - otherwise when the table that tells them apart is estimated to earn more than the one that does not. That may
//!   depend on outcomes: bounds hold at all times, whenever a pool ends.
//!
//! Names are slots: there are `max_segments` at most. Where all are taken, a hand moves on by one slot for every name
//! without one, and takes a credit of the two that a segment has for each time it is seen: a segment without credit
//! that is in the pool and was not declared gives way. So one stays if it comes more often than half the share of the
//! names without a slot, by slot (frequent items after Misra and Gries, with a clock's hand). One that gives way stays
//! in the pool, among those that are not counted one by one, so neither the pool nor the frequencies notice: f_s ≥ n_s
//! ln κ of any part of its contexts.

use std::collections::HashMap;

/// Credit for being seen once.
const CREDIT: u64 = 2;
/// Contexts at which the pool changes for the first time.
const FIRST: u64 = 64;
/// Block of the pool.
pub(super) const POOL: usize = 0;

/// A segment.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// n_s: contexts seen in the epoch.
    pub contexts: u64,
    /// Decisions among those whose outcomes have not come.
    pub waiting: u64,
    /// Place of its estimates, by arm.
    pub pairs: Vec<usize>,
    /// Block of its policy: its own, or the pool's.
    pub block: usize,
    /// Remaining credit for being seen.
    pub credit: u64,
}

/// All segments that were declared or seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Segments {
    pub list: Vec<Segment>,
    /// Their names.
    pub names: Vec<String>,
    by_name: HashMap<String, usize>,
    /// Segment of every block; the first one is the pool's and has none.
    pub owners: Vec<Option<usize>>,
    /// n: contexts in all in the epoch.
    pub total: u64,
    /// Contexts of segments beyond the largest number.
    pub others: u64,
    /// Decisions among those whose outcomes have not come.
    pub others_waiting: u64,
    /// Pools so far.
    pub pools: u32,
    /// Slot that the hand looks at next.
    pub hand: usize,
    /// Those declared come first, and keep their places.
    declared: usize,
    most: usize,
    until: u64,
}

impl Segments {
    pub(super) fn new(declared: usize, most: usize, until: u64) -> Self {
        Self {
            owners: vec![None],
            hand: declared,
            declared,
            most,
            until,
            ..Self::default()
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Adds a segment to the pool, unless there are too many.
    pub(super) fn add(&mut self, name: &str) -> Option<usize> {
        if self.list.len() >= self.most {
            return None;
        }
        let number = self.list.len();
        self.by_name.insert(name.to_string(), number);
        self.names.push(name.to_string());
        self.list.push(Segment {
            contexts: 0,
            waiting: 0,
            pairs: Vec::new(),
            block: POOL,
            credit: CREDIT,
        });
        Some(number)
    }

    /// Names that there is room for.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// True if a new name leaves little room for others, or finds none.
    pub(super) fn are_many(&self) -> bool {
        self.most > self.declared && 10 * self.list.len() >= 9 * self.most
    }

    /// Notes that a segment was seen.
    pub(super) fn meet(&mut self, segment: usize) {
        let most = CREDIT.saturating_mul(self.until);
        let own = &mut self.list[segment].credit;
        *own = own.saturating_add(CREDIT).min(most);
    }

    /// Lets a rare segment give way to a new name, if the hand finds one; `is_kept` are not to go.
    pub(super) fn replace_rare(
        &mut self,
        name: &str,
        is_kept: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let (s, last) = (self.hand, self.list.len());
        if s >= last {
            return None;
        }
        self.hand = if s + 1 < last { s + 1 } else { self.declared };
        let own = &mut self.list[s];
        own.credit = own.credit.saturating_sub(1);
        if own.credit > 0 || own.block != POOL || is_kept(s) {
            return None;
        }
        self.others += std::mem::take(&mut own.contexts);
        self.others_waiting += std::mem::take(&mut own.waiting);
        let old = std::mem::replace(&mut self.names[s], name.to_string());
        self.by_name.remove(&old);
        self.by_name.insert(name.to_string(), s);
        Some(s)
    }

    /// Gives a segment a policy of its own.
    pub(super) fn tell_apart(&mut self, segment: usize) {
        self.list[segment].block = self.owners.len();
        self.owners.push(Some(segment));
    }

    /// Counts a context.
    pub(super) fn count(&mut self, segment: Option<usize>) {
        self.total += 1;
        match segment {
            Some(s) => self.list[s].contexts += 1,
            None => self.others += 1,
        }
    }

    /// Forgets the contexts; segments keep policies of their own.
    pub(super) fn forget(&mut self) {
        (self.total, self.others) = (0, 0);
        self.list
            .iter_mut()
            .for_each(|segment| segment.contexts = 0);
    }

    /// Decisions of a segment, or of those beyond the largest number, whose outcomes have not come.
    pub(super) fn waiting(&mut self, segment: Option<usize>) -> &mut u64 {
        match segment {
            Some(s) => &mut self.list[s].waiting,
            None => &mut self.others_waiting,
        }
    }

    /// Ends the wait for an outcome. False if none was expected.
    pub(super) fn has_come(&mut self, segment: Option<usize>) -> bool {
        let waiting = self.waiting(segment);
        let expected = *waiting > 0;
        *waiting -= u64::from(expected);
        expected
    }

    /// True at 64, 128, 256, … contexts.
    pub(super) fn has_doubled(&self) -> bool {
        self.total >= FIRST && self.total.is_power_of_two()
    }

    /// True sixteen times between 64 and 128 contexts, between 128 and 256, ….
    pub(super) fn is_time_to_look(&self) -> bool {
        self.total >= FIRST && self.total.is_multiple_of((1 << self.total.ilog2()) / 16)
    }

    /// True if some segment of the pool was seen often enough to leave it.
    pub(super) fn may_leave_pool(&self) -> bool {
        let may = |s: &Segment| s.block == POOL && s.contexts >= self.until;
        self.list.iter().any(may)
    }

    /// Lets segments leave the pool that were seen often enough. True if any did.
    pub(super) fn leave_pool(&mut self) -> bool {
        let before = self.owners.len();
        for segment in 0..self.list.len() {
            let Segment {
                block, contexts, ..
            } = self.list[segment];
            if block == POOL && contexts >= self.until {
                self.tell_apart(segment);
            }
        }
        let changed = self.owners.len() > before;
        self.pools += u32::from(changed);
        changed
    }
}
