//! Schedule of snapshots: one with each commit, until all are done, so that no request waits long.
//!
//! Only experiments with events since their last snapshot get another. Beside them the store keeps a mark: all events
//! up to it are in the snapshots, so that a start folds those after it, however old the snapshots of idle experiments
//! are.

use super::experiment::{InSnapshots, mark, read_mark};
use super::{EngineState, Experiment};
use crate::events::Record;
use crate::store::{Snapshot, Store, StoreError};

/// The experiments whose snapshots are due; one is taken with each commit, so that none waits long.
#[derive(Default)]
pub(crate) struct SnapshotRound {
    pub due: Vec<u64>,
    /// Event at which the last round began.
    pub began: u64,
    /// Last event in the stored snapshot of every experiment, as far as known.
    kept: InSnapshots,
    /// Experiment and last event of the snapshots in the open transaction.
    written: Vec<(u64, u64)>,
    /// True if snapshots were stored since the mark.
    mark_is_due: bool,
}

impl SnapshotRound {
    /// Goes on after a start. Those without a snapshot get one soon: a start that was slow once is not slow twice.
    pub(crate) fn after(restored: &Restored, began: u64) -> Self {
        let kept = restored.experiments.iter();
        Self {
            due: restored.unusable.iter().map(|(key, _)| *key).collect(),
            began,
            kept: kept.map(|(number, own)| (own.key, *number)).collect(),
            ..Self::default()
        }
    }

    /// Returns true if an experiment has events that are not in its snapshot.
    fn is_behind(&self, experiment: &Experiment) -> bool {
        (self.kept.get(&experiment.key)).is_none_or(|number| *number < experiment.number)
    }

    /// The last event up to which all are in the snapshots.
    fn mark(&self, state: &EngineState) -> u64 {
        let behind = state.experiments().filter(|own| self.is_behind(own));
        let upto = behind.map(|own| self.kept.get(&own.key).copied().unwrap_or(own.key - 1));
        upto.min().unwrap_or(state.number)
    }

    fn keep(&mut self, store: &mut dyn Store, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.written.push((snapshot.experiment, snapshot.number));
        store.keep_snapshot(snapshot)
    }

    /// The transaction is durable.
    pub(crate) fn committed(&mut self) {
        self.mark_is_due |= !self.written.is_empty();
        self.kept.extend(self.written.drain(..));
    }

    /// Every experiment has a snapshot from its first event on, so that a start folds little.
    pub(crate) fn keep_first(
        &mut self,
        store: &mut dyn Store,
        first: Option<(&Record, &String)>,
    ) -> Result<(), StoreError> {
        // Whatever was written in a transaction that failed is not there.
        self.written.clear();
        let Some((record, json)) = first else {
            return Ok(());
        };
        let mut experiment = Experiment::new(record, json).map_err(StoreError::new)?;
        self.keep(store, &experiment.snapshot(record.number)?)
    }

    /// Takes all that are due at once, at the end.
    pub(crate) fn finish(
        &mut self,
        store: &mut dyn Store,
        state: &mut EngineState,
    ) -> Result<(), StoreError> {
        let number = state.number;
        for experiment in state.experiments_mut() {
            if self.is_behind(experiment) {
                self.keep(store, &experiment.snapshot(number)?)?;
            }
        }
        self.committed();
        store.keep_snapshot(&mark(state.number, &self.kept)?)
    }

    /// Takes the next snapshot that is due, in the transaction that has begun.
    pub(crate) fn step(
        &mut self,
        store: &mut dyn Store,
        state: &mut EngineState,
        every: u64,
    ) -> Result<(), StoreError> {
        if self.due.is_empty() && state.number.saturating_sub(self.began) >= every {
            self.began = state.number;
            let behind = state.experiments().filter(|own| self.is_behind(own));
            self.due = behind.map(|experiment| experiment.key).collect();
        }
        let number = state.number;
        if let Some(experiment) = self.due.pop().and_then(|key| state.by_key(key)) {
            self.keep(store, &experiment.snapshot(number)?)?;
        }
        if self.due.is_empty() && std::mem::take(&mut self.mark_is_due) {
            store.keep_snapshot(&mark(self.mark(state), &self.kept)?)?;
        }
        Ok(())
    }
}

/// Experiments as their snapshots have them, and where folding goes on.
pub(crate) struct Restored {
    /// Each with the number of its snapshot.
    pub experiments: Vec<(u64, Experiment)>,
    /// The last event that is in all snapshots, and before the first of every experiment without one.
    pub number: u64,
    /// Experiments whose snapshot cannot be used, with the reason: they are folded from their first event.
    pub unusable: Vec<(u64, String)>,
}

/// Restores every experiment of the log, up to its `last` event, from its snapshot if it has one that can be
/// used. They are read one by one: a snapshot can be large.
pub(crate) fn restore_all(store: &mut dyn Store, last: u64) -> Result<Restored, StoreError> {
    let created = store.created()?;
    // A log that lacks the beginning of what was learned is not whole, whatever the snapshots hold.
    let orphan = |key: &u64| (1..=last).contains(key) && created.binary_search(key).is_err();
    if let Some(key) = store.snapshots()?.into_iter().find(orphan) {
        return Err(StoreError::new(format!(
            "event {key} is missing: an experiment began with it"
        )));
    }
    let marked = store.snapshot(0)?.and_then(|own| read_mark(&own));
    // Of a mark beyond the log's end nothing is known.
    let (marked, least) = marked.filter(|own| own.0 <= last).unwrap_or_default();
    let mut restored = Restored {
        experiments: Vec::new(),
        number: last,
        unusable: Vec::new(),
    };
    for key in created.into_iter().filter(|key| *key <= last) {
        match usable(store.snapshot(key)?, key, last) {
            Ok((number, experiment)) => {
                let is_marked = least.get(&key).is_some_and(|least| number >= *least);
                let upto = if is_marked {
                    number.max(marked)
                } else {
                    number
                };
                restored.number = restored.number.min(upto);
                restored.experiments.push((number, experiment));
            }
            Err(reason) => {
                restored.number = restored.number.min(key - 1);
                restored.unusable.push((key, reason));
            }
        }
    }
    Ok(restored)
}

fn usable(snapshot: Option<Snapshot>, key: u64, last: u64) -> Result<(u64, Experiment), String> {
    let snapshot = snapshot.ok_or("it is missing")?;
    if snapshot.number > last {
        return Err(format!(
            "it is of event {}, which is not in the log",
            snapshot.number
        ));
    }
    let experiment = Experiment::restore(&snapshot)?;
    if experiment.key != key {
        return Err("it is of another experiment".into());
    }
    Ok((snapshot.number, experiment))
}
