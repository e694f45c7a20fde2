//! All detached learners, by the names of their experiments, and the threads that compute beside the writer.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use super::actor::Actor;
use super::core::Core;
use crate::store::{Snapshot, StoreError};

/// Gives other threads priority over this one. A lower niceness would not do: a woken thread would still wait for the
/// end of a time slice, which is far longer than most decisions take. Only Linux has priorities of single threads.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        use thread_priority::{
            NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
            set_thread_priority_and_policy, thread_native_id,
        };
        let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        // Where it is forbidden, all wait for each other as before.
        let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
    }
}

/// Something with work to do, a piece at a time.
pub(super) trait Work: Send + Sync {
    /// Does a piece of it; returns true if there is more.
    fn run_one(self: Arc<Self>) -> bool;
}

/// The threads and their queue; cheap to clone.
#[derive(Clone)]
pub(super) struct LearnerPool(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Wakes the writer.
    notify: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Arc<dyn Work>>,
    is_closed: bool,
}

impl LearnerPool {
    /// Starts the threads: all cores but one, which is the writer's.
    pub(super) fn start(notify: Box<dyn Fn() + Send + Sync>) -> std::io::Result<Self> {
        let pool = Self(Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            notify,
        }));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores.saturating_sub(1).max(1) {
            let own = pool.clone();
            std::thread::Builder::new()
                .name("banister-learner".into())
                .spawn(move || own.work())?;
        }
        Ok(pool)
    }

    fn work(&self) {
        lower_priority();
        while let Some(worker) = self.next() {
            // One piece each, in turn: an experiment with many does not keep another waiting.
            if worker.clone().run_one() {
                self.enqueue(worker);
            }
        }
    }

    fn next(&self) -> Option<Arc<dyn Work>> {
        let mut queue = self.queue();
        loop {
            if queue.is_closed {
                return None;
            }
            if let Some(worker) = queue.waiting.pop_front() {
                return Some(worker);
            }
            queue = (self.0.wake.wait(queue)).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enqueue(&self, worker: Arc<dyn Work>) {
        self.queue().waiting.push_back(worker);
        self.0.wake.notify_one();
    }

    pub(super) fn notify(&self) {
        (self.0.notify)();
    }

    /// Ends the threads; what waits is dropped.
    pub(super) fn close(&self) {
        let mut queue = self.queue();
        queue.is_closed = true;
        queue.waiting.clear();
        self.0.wake.notify_all();
    }
}

/// The learners beside the writer; cheap to clone.
#[derive(Clone)]
pub(crate) struct Detached(Arc<DetachedLearners>);

struct DetachedLearners {
    pool: LearnerPool,
    actors: RwLock<HashMap<String, Arc<Actor>>>,
    /// Snapshots that were made beside the writer, to be kept with its next commit.
    snapshots: Mutex<Vec<Result<Snapshot, StoreError>>>,
}

impl Detached {
    /// Starts the threads; `notify` wakes the writer.
    pub(crate) fn start(notify: Box<dyn Fn() + Send + Sync>) -> std::io::Result<Self> {
        Ok(Self(Arc::new(DetachedLearners {
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
