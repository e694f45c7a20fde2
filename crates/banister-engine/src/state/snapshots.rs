//! Schedule of snapshots: one with each commit, until all are done, so that no request waits long.

use super::learner::Detached;
use super::{Experiment, State};
use crate::events::Record;
use crate::store::{Snapshot, Store, StoreError};

/// The experiments whose snapshots are due; one is taken with each commit, so that none waits long.
#[derive(Default)]
pub(crate) struct SnapshotRound {
    pub due: Vec<u64>,
    /// Event at which the last round began.
    pub began: u64,
}

impl SnapshotRound {
    /// Takes the next snapshot that is due, in the transaction that has begun.
    pub(crate) fn step(
        &mut self,
        store: &mut dyn Store,
        state: &mut State,
        every: u64,
    ) -> Result<(), StoreError> {
        if self.due.is_empty() && state.number.saturating_sub(self.began) >= every {
            self.began = state.number;
            self.due = state
                .experiments()
                .map(|experiment| experiment.key)
                .collect();
        }
        let (number, detached) = (state.number, state.detached.clone());
        for snapshot in detached.iter().flat_map(Detached::take_snapshots) {
            store.keep_snapshot(&snapshot)?;
        }
        let Some(experiment) = self.due.pop().and_then(|key| state.by_key(key)) else {
            return Ok(());
        };
        if let Some(snapshot) = experiment.snapshot_soon(number, detached.as_ref()) {
            store.keep_snapshot(&snapshot)?;
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
    let orphan = |key: &u64| *key <= last && created.binary_search(key).is_err();
    if let Some(key) = store.snapshots()?.into_iter().find(orphan) {
        return Err(StoreError::new(format!(
            "event {key} is missing: an experiment began with it"
        )));
    }
    let mut restored = Restored {
        experiments: Vec::new(),
        number: last,
        unusable: Vec::new(),
    };
    for key in created.into_iter().filter(|key| *key <= last) {
        match usable(store.snapshot(key)?, key, last) {
            Ok((number, experiment)) => {
                restored.number = restored.number.min(number);
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
    let experiment = Experiment::restore(&snapshot)?.ok_or("it is of an earlier version")?;
    if experiment.key != key {
        return Err("it is of another experiment".into());
    }
    Ok((snapshot.number, experiment))
}

/// Every experiment has a snapshot from its first event on, so that a start folds little.
pub(crate) fn keep_first_snapshot(
    store: &mut dyn Store,
    first: Option<(&Record, &String)>,
) -> Result<(), StoreError> {
    let Some((record, json)) = first else {
        return Ok(());
    };
    let experiment = Experiment::new(record, json).map_err(StoreError::new)?;
    store.keep_snapshot(&experiment.snapshot(record.number))
}
