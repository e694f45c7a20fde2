//! Schedule of snapshots: one with each commit, until all are done, so that no request waits long.

use super::learner::Detached;
use super::{Experiment, State};
use crate::events::Record;
use crate::store::{Store, StoreError};

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

/// Every experiment has a snapshot from its first event on, so that the oldest snapshot says where
/// folding has to begin.
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
