//! The proof that what is learned follows from the log alone.

use std::collections::BTreeMap;

use crate::state::{EngineState, Experiment, restore_all};
use crate::store::{Database, StoreError};

/// Result of a rebuild.
#[derive(Debug, Clone, PartialEq)]
pub struct Rebuilt {
    pub events: u64,
    /// One entry per experiment.
    pub experiments: Vec<RebuiltExperiment>,
}

/// An experiment, replayed from the start and from its snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct RebuiltExperiment {
    pub name: String,
    pub outcomes: u64,
    /// Number of the last event in its snapshot, if that can be used.
    pub snapshot: Option<u64>,
    /// Reason for which its snapshot cannot be used: it is replaced at the next start.
    pub unusable: Option<String>,
    /// Digest of the learned state, replayed from the start.
    pub digest: String,
    /// Digest of the learned state, replayed from the snapshot.
    pub from_snapshot: Option<String>,
}

impl Rebuilt {
    /// Returns true if every experiment came out the same both ways.
    pub fn is_equal(&self) -> bool {
        let same = |e: &RebuiltExperiment| e.from_snapshot.as_ref().is_none_or(|d| *d == e.digest);
        self.experiments.iter().all(same)
    }
}

/// Folds the whole log from its first event, and again from the snapshots; `progress` gets the number of
/// events folded and of all.
pub fn rebuild(
    database: &Database,
    mut progress: impl FnMut(u64, u64),
) -> Result<Rebuilt, StoreError> {
    let mut store = database.open_reader()?;
    // Whatever the database itself finds damaged is not worth folding.
    store.check()?;
    let last = store.last()?;
    let mut whole = EngineState::default();
    let mut short = EngineState::default();
    let restored = restore_all(&mut *store, last)?;
    let mut numbers = BTreeMap::new();
    for (number, experiment) in restored.experiments {
        numbers.insert(experiment.key, number);
        short.restore(experiment);
    }
    short.number = restored.number;
    whole.follow(&mut *store, last, |record| {
        if record.number > restored.number {
            short.apply(record)?;
        }
        if record.number % 10_000 == 0 || record.number == last {
            progress(record.number, last);
        }
        Ok(())
    })?;
    let mut unusable: BTreeMap<u64, String> = restored.unusable.into_iter().collect();
    let number = whole.number;
    let mut experiments = Vec::new();
    for experiment in whole.experiments_mut() {
        let snapshot = numbers.get(&experiment.key).copied();
        let other = (short.experiments_mut()).find(|e| e.key == experiment.key);
        let from_snapshot = snapshot.and(other).map(Experiment::digest).transpose()?;
        experiments.push(RebuiltExperiment {
            name: experiment.checked.declaration.name.clone(),
            outcomes: experiment.counts.outcomes + experiment.counts.imported,
            snapshot,
            unusable: unusable.remove(&experiment.key),
            digest: experiment.digest()?,
            from_snapshot,
        });
    }
    Ok(Rebuilt {
        events: number,
        experiments,
    })
}
