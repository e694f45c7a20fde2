//! Opening the log, following the events of others, and outages.

use super::Engine;
use super::clock::read_clock;
use crate::state::{EngineState, SnapshotRound, restore_all};
use crate::store::{Begun, Span, StoreError, verify_page};

/// Events that a start verifies before the first decision, at least: a tenth of a second.
const VERIFIED_FIRST: u64 = 100_000;

impl Engine {
    /// Opens the log if need be, begins a transaction and folds the events of others.
    pub(super) fn begin(&mut self) -> Result<Begun, StoreError> {
        self.seen = self.platform.uptime();
        self.open()?;
        let (Some(store), Some(state)) = (&mut self.store, &mut self.state) else {
            return Err(StoreError::new("not open"));
        };
        let begun = store.begin()?;
        if begun.last < state.number {
            // An older log was put in place: start again from it.
            self.state = None;
            return Err(StoreError::passing("the log was replaced"));
        }
        state.follow(&mut **store, begun.last, |_| Ok(()))?;
        self.monitor.follows(state.number, begun.last);
        Ok(begun)
    }

    /// Opens the log and folds it, where that is not done.
    fn open(&mut self) -> Result<(), StoreError> {
        if let Some(reason) = &self.damage {
            return Err(StoreError::new(reason.clone()));
        }
        if self.store.is_none() {
            // A log that was there and is gone is not begun anew.
            let mut store = match self.state {
                None => self.platform.open()?,
                Some(_) => self.platform.open_again()?,
            };
            let id = store.id()?;
            if self.id.as_ref().is_some_and(|own| *own != id) {
                return Err(StoreError::new(format!(
                    "another log ({id}) is in the place of this one: put the right one back, or restart \
                     the service to use the other"
                )));
            }
            self.id = Some(id);
            // An older state of the log may have come in its place: a backup, a standby that was behind. It
            // may be the longer one by now, but it has not the same event where ours ended.
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
        self.seen = self.platform.uptime();
        let caught = (|| {
            self.open()?;
            let (Some(store), Some(state)) = (&mut self.store, &mut self.state) else {
                return Err(StoreError::new("not open"));
            };
            let Begun { last, now } = store.poll()?;
            state.follow(&mut **store, last, |_| Ok(()))?;
            self.monitor.follows(state.number, last);
            let reading = read_clock(&mut self.clock, state, (now, self.platform.uptime()), false);
            self.monitor.clock(self.clock.skew());
            reading?;
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
        // No other commit may come to set the clock, and times to live wait for it.
        if self.outage.is_none() && self.clock.waits() {
            // If it fails, the next look tries again.
            let _ = self.try_commit(&mut []);
        }
    }

    /// Folds the log from its snapshots on; an experiment without one that can be used, from its first event.
    fn load(&mut self) -> Result<(), StoreError> {
        let Some(store) = &mut self.store else {
            return Err(StoreError::new("not open"));
        };
        store.check_count()?;
        let last = store.last()?;
        let mut state = EngineState::new(self.options.open_bytes);
        let restored = restore_all(&mut **store, last)?;
        for (key, reason) in &restored.unusable {
            self.monitor.notice(&format!(
                "the snapshot of the experiment of event {key} cannot be used ({reason}): it is folded anew"
            ));
        }
        state.number = restored.number;
        if let Some(record) = store.get(state.number)? {
            state.time = record.time;
        }
        // Set by hand, so they are few.
        let sets = store.changes(&Span::before(0, state.number + 1, usize::MAX))?;
        state.restore_clock(&sets).map_err(StoreError::new)?;
        self.round = SnapshotRound::after(&restored, last);
        for (_, experiment) in restored.experiments {
            state.restore(experiment);
        }
        state.follow(&mut **store, last, |_| Ok(()))?;
        // Nothing is decided on a log that may be damaged; what is older than that is verified beside the writer.
        let mut number = last.saturating_sub(VERIFIED_FIRST);
        while !verify_page(&mut **store, &mut number)? {}
        if last <= VERIFIED_FIRST {
            store.check()?;
        }
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
        self.platform.set_available(false);
        let reason = self.platform.explain(error).reason;
        if self.outage.as_ref() != Some(&reason) {
            self.monitor.outage(Some(&reason));
            self.outage = Some(reason);
        }
    }

    pub(super) fn mark_available(&mut self) {
        if self.outage.take().is_some() {
            self.platform.set_available(true);
            self.monitor.outage(None);
        }
    }

    /// Snapshots every experiment at the end: the next start should have nothing to fold.
    pub(super) fn snapshot_all(&mut self) {
        let (Some(store), Some(state)) = (&mut self.store, &mut self.state) else {
            return;
        };
        // Without the transaction every snapshot would be synced by itself. They are short cuts: if this
        // fails, the next start takes longer.
        let done = store.begin().and_then(|_| {
            self.round.finish(&mut **store, state)?;
            store.commit()
        });
        if done.is_err() {
            store.rollback();
        }
    }
}
