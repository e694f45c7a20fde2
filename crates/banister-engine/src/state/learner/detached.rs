//! All detached learners, by the names of their experiments.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::actor::Actor;
use super::core::Core;
use super::pool::LearnerPool;
use crate::store::{Snapshot, StoreError};

/// The learners beside the writer; cheap to clone.
#[derive(Clone)]
pub(crate) struct Detached(Arc<Shared>);

struct Shared {
    pool: LearnerPool,
    actors: RwLock<HashMap<String, Arc<Actor>>>,
    /// Snapshots that were made beside the writer, to be kept with its next commit.
    snapshots: Mutex<Vec<Result<Snapshot, StoreError>>>,
}

impl Detached {
    /// Starts the threads; `notify` tells the writer to look for news.
    pub(crate) fn start(notify: Box<dyn Fn() + Send + Sync>) -> std::io::Result<Self> {
        Ok(Self(Arc::new(Shared {
            pool: LearnerPool::start(notify)?,
            actors: RwLock::default(),
            snapshots: Mutex::default(),
        })))
    }

    /// Takes a learner over, under the name of its experiment.
    pub(crate) fn adopt(&self, name: &str, core: Core) -> Arc<Actor> {
        let actor = Actor::new(core, self.0.pool.clone());
        let mut actors = (self.0.actors.write()).unwrap_or_else(PoisonError::into_inner);
        actors.insert(name.to_string(), actor.clone());
        actor
    }

    /// The detached learner of an experiment.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Actor>> {
        let actors = (self.0.actors.read()).unwrap_or_else(PoisonError::into_inner);
        actors.get(name).cloned()
    }

    /// Reason for which one of them cannot go on.
    pub(crate) fn broken(&self) -> Option<String> {
        let actors = (self.0.actors.read()).unwrap_or_else(PoisonError::into_inner);
        actors.values().find_map(|actor| actor.broken())
    }

    /// Forgets all learners: the state that they belong to is gone.
    pub(crate) fn clear(&self) {
        let mut actors = (self.0.actors.write()).unwrap_or_else(PoisonError::into_inner);
        actors.clear();
        self.take_snapshots();
    }

    /// Hands a snapshot to the writer.
    pub(crate) fn hand_over(&self, snapshot: Result<Snapshot, StoreError>) {
        let mut snapshots = (self.0.snapshots.lock()).unwrap_or_else(PoisonError::into_inner);
        snapshots.push(snapshot);
    }

    /// Snapshots that were handed over.
    pub(crate) fn take_snapshots(&self) -> Vec<Result<Snapshot, StoreError>> {
        let mut snapshots = (self.0.snapshots.lock()).unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut snapshots)
    }

    /// Ends the threads.
    pub(crate) fn close(&self) {
        self.0.pool.close();
    }
}
