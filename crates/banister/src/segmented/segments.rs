//! Segments: names, counts of contexts, and who has a policy of its own.
//!
//! A segment that was declared has a policy of its own from the start. Others share one, the pool's, until they
//! were seen often enough: at 64, 128, 256, … contexts in all, every segment seen `pool_until` times leaves the pool,
//! and a new pool begins for the rest. Between two such moments the pool is a fixed set of segments, so that
//! the mean of each arm in it is a fixed number too (an arm is drawn the same way in all of its segments); when
//! it changes, its statistics start anew. Segments keep statistics of their own from their first outcome on.

use std::collections::HashMap;

/// Contexts at which the pool changes for the first time.
const FIRST: u64 = 64;
/// Block of the pool.
pub(super) const POOL: usize = 0;

/// A segment.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub name: String,
    /// n_s: contexts seen.
    pub contexts: u64,
    /// Place of its estimates, by arm.
    pub pairs: Vec<usize>,
    /// Block of its policy: its own, or the pool's.
    pub block: usize,
}

/// All segments that were declared or seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Segments {
    pub list: Vec<Segment>,
    by_name: HashMap<String, usize>,
    /// Segment of every block; the first one is the pool's and has none.
    pub owners: Vec<Option<usize>>,
    /// n: contexts in all.
    pub total: u64,
    /// Contexts of segments beyond the largest number.
    pub others: u64,
    /// Pools so far.
    pub pools: u32,
    most: usize,
    until: u64,
}

impl Segments {
    pub fn new(most: usize, until: u64) -> Self {
        Self {
            owners: vec![None],
            most,
            until,
            ..Self::default()
        }
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Adds a segment to the pool, unless there are too many.
    pub fn add(&mut self, name: &str) -> Option<usize> {
        if self.list.len() >= self.most {
            return None;
        }
        let number = self.list.len();
        self.by_name.insert(name.to_string(), number);
        self.list.push(Segment {
            name: name.to_string(),
            contexts: 0,
            pairs: Vec::new(),
            block: POOL,
        });
        Some(number)
    }

    /// Gives a segment a policy of its own.
    pub fn tell_apart(&mut self, segment: usize) {
        self.list[segment].block = self.owners.len();
        self.owners.push(Some(segment));
    }

    /// Counts a context. True if it is time for the pool to change.
    pub fn count(&mut self, segment: Option<usize>) -> bool {
        self.total += 1;
        match segment {
            Some(s) => self.list[s].contexts += 1,
            None => self.others += 1,
        }
        self.total >= FIRST && self.total.is_power_of_two()
    }

    /// Lets segments leave the pool that were seen often enough. True if any did.
    pub fn leave_pool(&mut self) -> bool {
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
