//! Opening the log, following the events of others, and outages.

use super::Engine;
use super::clock::read_clock;
use crate::state::{SnapshotRound, State, restore_all};
use crate::store::StoreError;

/// Most times that a clock is set: more than any operator can.
const MOST_CLOCK_SETS: usize = u32::MAX as usize;

impl Engine {
    /// Opens the log if need be, begins a transaction and folds the events of others.
    pub(super) fn begin(&mut self) -> Result<(), StoreError> {
        self.open()?;
        let (Some(store), Some(state)) = (&mut self.store, &mut self.state) else {
            return Err(StoreError::new("not open"));
        };
        let last = store.begin()?;
        if last < state.number {
            // Somebody put an older log in place: start again from it.
            self.state = None;
            return Err(StoreError::passing("the log was replaced"));
        }
        state.follow(&mut **store, last, |_| Ok(()))?;
        self.monitor.follows(state.number, last);
        Ok(())
    }

    /// Opens the log and folds it, where that is not done.
    fn open(&mut self) -> Result<(), StoreError> {
        if self.store.is_none() {
            // A log that was there and is gone is not begun anew.
            let mut store = match self.state {
                None => self.outside.open()?,
                Some(_) => self.outside.open_again()?,
            };
            // Another log may have come in its place: a backup, a standby that was behind. It may be the
            // longer one by now, but it has not the same event where ours ended.
            if let Some(state) = &self.state
                && state.number > 0
                && store.get(state.number)?.map(|record| record.time) != Some(state.time)
            {
                self.state = None;
            }
            self.store = Some(store);
        }
        match self.state {
            Some(_) => Ok(()),
            None => self.load(),
        }
    }

    /// Folds the events of others, without writing.
    pub(super) fn catch_up(&mut self) {
        let caught = (|| {
            self.open()?;
            let (Some(store), Some(state)) = (&mut self.store, &mut self.state) else {
                return Err(StoreError::new("not open"));
            };
            let last = store.last()?;
            state.follow(&mut **store, last, |_| Ok(()))?;
            self.monitor.follows(state.number, last);
            read_clock(&mut self.clock, state, &*self.outside, false)?;
            self.monitor.clock(self.clock.skew());
            // Reading proves nothing about writing.
            match self.outage {
                None => Ok(()),
                Some(_) => store.probe(),
            }
        })();
        match caught {
            Ok(()) => self.mark_available(),
            Err(error) => self.mark_unavailable(error),
        }
    }

    /// Folds the log from its snapshots on, or from its first event if they cannot be read.
    fn load(&mut self) -> Result<(), StoreError> {
        let Some(store) = &mut self.store else {
            return Err(StoreError::new("not open"));
        };
        let last = store.last()?;
        let mut state = State::default();
        let snapshots = store.snapshots()?;
        match restore_all(&snapshots) {
            // Of an earlier version: the log is replayed from the start, once.
            Ok(None) => {}
            Ok(Some(experiments)) => {
                let first = snapshots.iter().map(|s| s.number).min().unwrap_or(0);
                let first = first.min(last);
                let created = store.created()?;
                let mut before = created.iter().filter(|key| **key <= first);
                // Where one lost its snapshot, the others are no use.
                if before.all(|key| experiments.iter().any(|e| e.key == *key)) {
                    state.number = first;
                    if let Some(record) = store.get(first)? {
                        state.time = record.time;
                    }
                    let mut sets = store.changes(0, first + 1, MOST_CLOCK_SETS)?;
                    sets.reverse();
                    state.restore_clock(&sets).map_err(StoreError::new)?;
                    experiments.into_iter().for_each(|e| state.restore(e));
                }
            }
            Err(reason) => self.monitor.outage(Some(&format!(
                "a snapshot cannot be read ({reason}): the log is replayed from the start"
            ))),
        }
        state.follow(&mut **store, last, |_| Ok(()))?;
        self.round = SnapshotRound {
            due: Vec::new(),
            began: state.number,
        };
        self.state = Some(state);
        Ok(())
    }

    /// Drops the state after a panic: what is in memory may be half-changed, the log is not.
    pub(super) fn reset_state(&mut self) {
        self.state = None;
        self.mark_unavailable(StoreError::new(
            "a defect in banister: the log is read again",
        ));
    }

    pub(super) fn mark_unavailable(&mut self, error: StoreError) {
        self.store = None;
        let reason = self.outside.explain(error).reason;
        if self.outage.as_ref() != Some(&reason) {
            self.monitor.outage(Some(&reason));
            self.outage = Some(reason);
        }
    }

    pub(super) fn mark_available(&mut self) {
        if self.outage.take().is_some() {
            self.monitor.outage(None);
        }
    }

    /// Snapshots every experiment at the end: the next start should have nothing to fold.
    pub(super) fn snapshot_all(&mut self) {
        let (Some(store), Some(state)) = (&mut self.store, &mut self.state) else {
            return;
        };
        let began = self.round.began;
        let due = state
            .experiments()
            .map(|experiment| experiment.key)
            .collect();
        let mut round = SnapshotRound { due, began };
        // Without the transaction every snapshot would be synced by itself. They are short cuts: if this
        // fails, the next start takes longer.
        let done = store.begin().and_then(|_| {
            while !round.due.is_empty() {
                round.step(&mut **store, state, u64::MAX)?;
            }
            store.commit()
        });
        if done.is_err() {
            store.rollback();
        }
    }
}
