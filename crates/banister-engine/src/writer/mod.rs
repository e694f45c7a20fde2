//! The writer: the one thread that owns the log. It commits in groups, folds what it wrote, then answers.
//!
//! May use everything else in the crate; nothing else in the crate uses it. Read `queue.rs` (the way in)
//! and `job.rs` (a command or query with its reply channel), then `commit.rs` (the loop and the group
//! commit), `clock.rs` (the log's time), `recovery.rs` (opening the log, outages), `background.rs` (the threads that
//! find decisions whose time to live is over and verify the log) and `platform.rs` (what all of it needs of the machine). `tests/simulation/` runs it on another platform, under faults.

mod background;
mod clock;
mod commit;
mod job;
mod platform;
mod queue;
mod recovery;
// A test of what is private here, so it is compiled with the crate.
#[cfg(test)]
#[path = "../../tests/simulation/mod.rs"]
mod simulation;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;

use crate::events::Author;
use crate::state::{AlarmRaised, EngineState, SnapshotRound};
use crate::store::{Database, Readers, Store, StoreError};
use clock::Clock;
pub use job::{Meter, Work};
use platform::{Machine, Platform};
use queue::queue;
pub use queue::{Busy, WriterHandle};

/// Parameters of the writer.
#[derive(Debug, Clone)]
pub struct Options {
    /// Jobs that wait at most; beyond that, callers get [`Busy`].
    pub queue: usize,
    /// Events after which experiments are snapshotted anew.
    pub snapshot_every: u64,
    /// Bytes of open decisions kept in memory; others are looked up in the log.
    pub open_bytes: usize,
    /// Time for which a commit that failed for a passing reason is tried again before callers get an error.
    pub patience: Duration,
    /// Longest time between the log's clock and its source (the database's or the machine's) with which
    /// anything is written.
    pub most_skew: Duration,
    /// True if the clock is right at the start, whatever the log's last event says.
    pub accept_clock: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queue: 8192,
            snapshot_every: 20_000,
            open_bytes: 128 << 20,
            patience: Duration::from_secs(2),
            most_skew: Duration::from_secs(60),
            accept_clock: false,
        }
    }
}

/// Observer of the writer, called on its thread.
pub trait Monitor: Send {
    /// Events were made durable in one commit.
    fn committed(&self, events: usize, seconds: f64);
    /// The log has events up to `last`, and this process has folded those up to `folded`.
    fn follows(&self, folded: u64, last: u64);
    /// The log's time is this many seconds behind its source.
    fn clock(&self, skew: f64);
    /// The log could not be written or read, for this reason; `None`: it can again.
    fn outage(&self, reason: Option<&str>);
    /// An alarm of an experiment was recorded.
    fn alarm(&self, _experiment: &str, _alarm: &AlarmRaised) {}
    /// Something that an operator should know of, and need not mend.
    fn notice(&self, _text: &str) {}
}

/// Owner of the writer's thread; dropping it stops the thread.
pub struct Writer {
    handle: WriterHandle,
    readers: Arc<Readers>,
    thread: Option<JoinHandle<Result<(), StoreError>>>,
}

impl Writer {
    /// Starts the thread. The log is opened on it, and again after every outage.
    pub fn start(
        database: Database,
        options: Options,
        monitor: Box<dyn Monitor>,
    ) -> std::io::Result<Self> {
        let (handle, queue) = queue(options.queue);
        let listener = handle.clone();
        database.listen(Box::new(move || listener.catch_up()));
        let readers = Arc::new(Readers::new(database.clone()));
        background::start_expiry(readers.clone(), handle.by(Author::engine()))?;
        background::start_verification(readers.clone(), handle.clone())?;
        let machine = Machine {
            database,
            readers: readers.clone(),
        };
        let rng = ChaCha12Rng::from_rng(&mut rand::rng());
        let mut engine = Engine::new(Box::new(machine), options, monitor, rng);
        let thread = std::thread::Builder::new()
            .name("banister-engine".into())
            .spawn(move || engine.run(queue))?;
        Ok(Self {
            handle,
            readers,
            thread: Some(thread),
        })
    }

    pub fn handle(&self) -> WriterHandle {
        self.handle.clone()
    }

    /// Connections that read beside it.
    pub fn readers(&self) -> Arc<Readers> {
        self.readers.clone()
    }

    /// Answers the jobs in the queue, snapshots everything, closes all connections and ends. An error means
    /// that a file is not complete without the one beside it.
    pub fn stop(mut self) -> Result<(), StoreError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), StoreError> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        // If it has ended already there is nothing to stop.
        self.handle.stop();
        let broke = |_| Err(StoreError::new("the writer's thread broke off"));
        thread.join().unwrap_or_else(broke)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // No caller is left to get an error.
        let _ = self.end();
    }
}

/// State of the writer's thread.
struct Engine {
    platform: Box<dyn Platform>,
    options: Options,
    monitor: Box<dyn Monitor>,
    /// Name of the log, once it was open: another one is not taken for it.
    id: Option<String>,
    /// `None` during an outage.
    store: Option<Box<dyn Store>>,
    /// `None` before the log is folded for the first time, and after a defect.
    state: Option<EngineState>,
    clock: Clock,
    rng: ChaCha12Rng,
    round: SnapshotRound,
    /// Damage that was found in the log: nothing more is written.
    damage: Option<String>,
    /// Reason for which the log cannot be used now.
    outage: Option<String>,
    /// Moving average of the time of commits.
    commit_time: Duration,
    /// Moment at which the log was last looked at.
    seen: Duration,
}

impl Engine {
    fn new(
        platform: Box<dyn Platform>,
        options: Options,
        monitor: Box<dyn Monitor>,
        rng: ChaCha12Rng,
    ) -> Self {
        Self {
            clock: Clock::new(options.most_skew, options.accept_clock),
            seen: platform.uptime(),
            platform,
            options,
            monitor,
            id: None,
            store: None,
            state: None,
            rng,
            round: SnapshotRound::default(),
            damage: None,
            outage: Some("the log is being opened".into()),
            commit_time: Duration::ZERO,
        }
    }
}
