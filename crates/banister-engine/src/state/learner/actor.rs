//! A detached learner: an actor that the pool's threads serve, one at a time.
//!
//! Two locks: a thread that computes holds `core` and takes the next task out of `inbox` only then, so that effects of
//! events are applied in the log's order by any thread. `inbox` is held for moments, so that the writer never waits for
//! a computation.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::core::{Core, LearnerEvent, NamedAlarm, SegmentCount};
use super::pool::{LearnerPool, Work};

/// Effects of events that wait at most; the writer takes its time for more of them.
const MOST_EVENTS: usize = 8192;
/// Effects that wait before outcomes are refused.
const BEHIND: usize = 1024;
/// Questions that wait at most.
const MOST_QUESTIONS: usize = 256;

/// A question that is answered beside the writer, one step at a time; true once it is done.
pub(crate) type Question = Box<dyn FnMut(&mut Core) -> bool + Send>;

/// Work at a place between two events.
pub(crate) type Saving = Box<dyn FnOnce(&mut Core) + Send>;

enum Task {
    Event(LearnerEvent),
    Save(Saving),
    Ask(Question),
}

pub(crate) struct Actor {
    core: Mutex<Core>,
    inbox: Mutex<Inbox>,
    news: Mutex<News>,
    pool: LearnerPool,
}

#[derive(Default)]
struct Inbox {
    tasks: VecDeque<Task>,
    events: usize,
    questions: usize,
    /// Number of alarms that events record and that the core does not know of yet.
    recorded: usize,
    /// True while it waits for a thread or has one.
    is_scheduled: bool,
}

/// Results for the writer.
#[derive(Default)]
struct News {
    unrecorded: Vec<NamedAlarm>,
    /// Event that could not be taken: the log is damaged.
    broken: Option<String>,
    segments: SegmentCount,
}

/// A panic leaves nothing half-changed that is used afterwards: a learner that panicked is broken.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Actor {
    pub(super) fn new(core: Core, pool: LearnerPool) -> Arc<Self> {
        let news = News {
            unrecorded: core.unrecorded(),
            broken: None,
            segments: core.segment_count(),
        };
        Arc::new(Self {
            core: Mutex::new(core),
            inbox: Mutex::default(),
            news: Mutex::new(news),
            pool,
        })
    }

    /// Takes an event's effect, some time.
    pub(super) fn push(self: &Arc<Self>, event: LearnerEvent) {
        let mut inbox = lock(&self.inbox);
        inbox.recorded += usize::from(matches!(event, LearnerEvent::AlarmRecorded(_)));
        inbox.tasks.push_back(Task::Event(event));
        inbox.events += 1;
        let is_full = inbox.events >= MOST_EVENTS;
        self.schedule(inbox);
        if is_full {
            // Only where a long log is folded: memory is bounded whatever it holds.
            self.up_to_date(|_| ());
        }
    }

    /// Lets somebody read what is learned from the events so far, some time.
    pub(crate) fn save(self: &Arc<Self>, saving: Saving) {
        let mut inbox = lock(&self.inbox);
        inbox.tasks.push_back(Task::Save(saving));
        self.schedule(inbox);
    }

    /// Asks a question; `false` if too many wait.
    pub(crate) fn ask(self: &Arc<Self>, question: Question) -> bool {
        let mut inbox = lock(&self.inbox);
        if inbox.questions >= MOST_QUESTIONS {
            return false;
        }
        inbox.tasks.push_back(Task::Ask(question));
        inbox.questions += 1;
        self.schedule(inbox);
        true
    }

    fn schedule(self: &Arc<Self>, mut inbox: MutexGuard<Inbox>) {
        if !inbox.is_scheduled {
            inbox.is_scheduled = true;
            drop(inbox);
            self.pool.enqueue(self.clone());
        }
    }

    /// Computes with all effects applied that came before; questions wait.
    pub(super) fn up_to_date<T>(&self, compute: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = lock(&self.core);
        loop {
            let mut inbox = lock(&self.inbox);
            // Questions may wait, and are answered the better for it.
            let place = (inbox.tasks.iter()).position(|task| !matches!(task, Task::Ask(_)));
            let Some(task) = place.and_then(|place| inbox.remove(place)) else {
                break;
            };
            drop(inbox);
            self.run(&mut core, task);
        }
        compute(&mut core)
    }

    fn run(&self, core: &mut Core, task: Task) {
        let records = matches!(task, Task::Event(LearnerEvent::AlarmRecorded(_)));
        let done = catch_unwind(AssertUnwindSafe(|| match task {
            Task::Event(event) => core.apply(event),
            Task::Save(saving) => {
                saving(core);
                Ok(())
            }
            Task::Ask(mut question) => {
                if !question(core) {
                    // The next step has its turn after the others'.
                    let mut inbox = lock(&self.inbox);
                    inbox.tasks.push_back(Task::Ask(question));
                    inbox.questions += 1;
                }
                Ok(())
            }
        }));
        let broken = done
            .unwrap_or_else(|_| Err("a defect in banister".into()))
            .err();
        let unrecorded = core.unrecorded();
        let mut news = lock(&self.news);
        news.segments = core.segment_count();
        let numbers = |all: &[NamedAlarm]| all.iter().map(|own| own.alarm.number).sum::<u64>();
        let is_news = broken.is_some() || numbers(&news.unrecorded) != numbers(&unrecorded);
        if is_news {
            news.unrecorded = unrecorded;
            news.broken = news.broken.take().or(broken);
        }
        drop(news);
        lock(&self.inbox).recorded -= usize::from(records);
        if is_news {
            self.pool.notify();
        }
    }

    /// Alarms that no event records yet, as far as it has learned.
    pub(super) fn unrecorded(&self) -> Vec<NamedAlarm> {
        // Those that are recorded already must not be recorded again.
        if lock(&self.inbox).recorded > 0 {
            return Vec::new();
        }
        lock(&self.news).unrecorded.clone()
    }

    /// Segments by number, as far as it has learned.
    pub(super) fn segment_count(&self) -> SegmentCount {
        lock(&self.news).segments
    }

    /// Reason for which it cannot go on.
    pub(crate) fn broken(&self) -> Option<String> {
        lock(&self.news).broken.clone()
    }

    /// Returns true if too many effects wait to take more.
    pub(super) fn is_behind(&self) -> bool {
        lock(&self.inbox).events >= BEHIND
    }
}

impl Work for Actor {
    fn run_one(self: Arc<Self>) -> bool {
        let mut core = lock(&self.core);
        let task = lock(&self.inbox).remove(0);
        if let Some(task) = task {
            self.run(&mut core, task);
        }
        drop(core);
        let mut inbox = lock(&self.inbox);
        inbox.is_scheduled = !inbox.tasks.is_empty();
        inbox.is_scheduled
    }
}

impl Inbox {
    fn remove(&mut self, place: usize) -> Option<Task> {
        let task = self.tasks.remove(place)?;
        match &task {
            Task::Event(_) => self.events -= 1,
            Task::Save(_) => {}
            Task::Ask(_) => self.questions -= 1,
        }
        Some(task)
    }
}
