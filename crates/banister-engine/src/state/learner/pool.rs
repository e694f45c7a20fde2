//! Threads that compute beside the writer.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Has other threads go before this one. A lower niceness would not do: whoever wakes up would still wait for the end
/// of a time slice, which is far longer than most decisions take. Only Linux has priorities of single threads.
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
    /// Tells the writer that there are news.
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
