//! The database server in memory: the log, its clock, true time, and the faults in force.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;

use crate::events::{EventKind, Record};
use crate::store::{Found, Key, Snapshot, StoreError};
use crate::time::Timestamp;

/// True time at the start of a world, in microseconds since 1970: five minutes before an hour ends, so that
/// most worlds see a budget's next period.
const START: i64 = 1_800_003_300_000_000;

/// Defect planted in the store or in budgets, which the simulation must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// The last commit is lost when the process dies that made it.
    Unsynced,
    /// A commit that failed is said to have succeeded.
    FailedCommitIsFine,
    /// Decisions are not found by their ids, and ids need not differ.
    NoIds,
    /// Parts of outcomes are not found.
    NoParts,
    /// Snapshots of a transaction are kept although it failed.
    SnapshotsOutliveRollback,
    /// Snapshots say that they have one event more than they have.
    SnapshotsTooNew,
    /// Whoever sets the clock also sets the one that nobody can set.
    NoUptime,
    /// A commit's decisions do not see each other's reservations.
    BatchForgetsReservations,
    /// An experiment that is restored from a snapshot has reserved nothing.
    SnapshotForgetsReservations,
}

/// The database server, true time, and the faults in force.
pub struct Server {
    pub records: Vec<Record>,
    /// True times between which each event's transaction ran.
    pub written: Vec<(Duration, Duration)>,
    /// Last event before each event's transaction.
    pub before: Vec<u64>,
    pub snapshots: BTreeMap<u64, Snapshot>,
    /// Every snapshot that ever was, to put back older ones.
    pub past_snapshots: Vec<Snapshot>,
    pub commits: u64,
    /// True time.
    pub time: Duration,
    /// Seconds by which the clock is wrong.
    pub clock_error: f64,
    /// Most seconds by which the log's time jumped because a process that started believed the clock.
    pub believed: f64,
    /// Probability that something goes wrong in one operation.
    pub rate: f64,
    pub may_kill: bool,
    pub faults: BTreeMap<&'static str, u64>,
    pub bug: Option<Bug>,
    /// Lines about what happened, if anybody wants them.
    pub trace: Option<Vec<String>>,
    /// Processes that were killed.
    pub dead: Vec<bool>,
    /// Last event that each process is known to have seen.
    pub known: Vec<u64>,
    /// Times until which processes cannot reach the server.
    pub cut_off: Vec<Duration>,
    pub full: Duration,
    /// Time until which a transaction that nobody ends holds the row.
    pub locked: Duration,
    pub last_committer: Option<usize>,
    pub rng: ChaCha12Rng,
}

/// The server as everybody holds it.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Server>>);

impl Shared {
    pub fn new(seed: u64, processes: usize, bug: Option<Bug>, traced: bool) -> Self {
        Self(Arc::new(Mutex::new(Server {
            records: Vec::new(),
            written: Vec::new(),
            before: Vec::new(),
            snapshots: BTreeMap::new(),
            past_snapshots: Vec::new(),
            commits: 0,
            time: Duration::ZERO,
            clock_error: 0.0,
            believed: 0.0,
            rate: 0.0,
            may_kill: false,
            faults: BTreeMap::new(),
            bug,
            trace: traced.then(Vec::new),
            dead: vec![false; processes],
            known: vec![0; processes],
            cut_off: vec![Duration::ZERO; processes],
            full: Duration::ZERO,
            locked: Duration::ZERO,
            last_committer: None,
            rng: ChaCha12Rng::seed_from_u64(seed),
        })))
    }

    pub fn lock(&self) -> MutexGuard<'_, Server> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn note(&self, line: impl FnOnce() -> String) {
        self.lock().note(line);
    }
}

impl Server {
    /// Time by the clock that the log follows.
    pub fn clock(&self) -> Timestamp {
        Timestamp(START + self.time.as_micros() as i64).plus_seconds(self.clock_error)
    }

    pub fn pass(&mut self, time: Duration) {
        self.time += time;
    }

    pub fn fill_disk(&mut self, time: Duration) {
        self.full = self.time + time;
        self.fault("disk full");
    }

    /// Ends everything that is wrong with it but the clock.
    pub fn mend(&mut self) {
        self.rate = 0.0;
        self.full = Duration::ZERO;
        self.locked = Duration::ZERO;
        self.cut_off.fill(Duration::ZERO);
    }

    pub fn fault(&mut self, kind: &'static str) {
        *self.faults.entry(kind).or_default() += 1;
        self.note(|| format!("fault: {kind}"));
    }

    pub fn note(&mut self, line: impl FnOnce() -> String) {
        let (time, last) = (self.time, self.records.len());
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:10.3} [{last:4}] {}", time.as_secs_f64(), line()));
        }
    }

    /// Ends a process, in the middle of whatever it does.
    pub fn kill(&mut self, process: usize) {
        self.fault("kill");
        self.note(|| format!("process {process} dies"));
        self.dead[process] = true;
        if self.bug == Some(Bug::Unsynced) && self.last_committer == Some(process) {
            let kept = self.before.last().map_or(0, |&before| before as usize);
            self.records.truncate(kept);
            self.written.truncate(kept);
            self.before.truncate(kept);
        }
    }

    pub fn reports(&self, decision: u64) -> Vec<Record> {
        let report = |record: &&Record| {
            record.decision == Some(decision) && record.kind != EventKind::Charge
        };
        let reports = self.records.iter().filter(report);
        match self.bug {
            Some(Bug::NoParts) => reports
                .filter(|r| r.kind != EventKind::Part)
                .cloned()
                .collect(),
            _ => reports.cloned().collect(),
        }
    }

    pub fn decisions(&self, experiment: u64) -> impl DoubleEndedIterator<Item = &Record> {
        (self.records.iter())
            .filter(move |r| r.experiment == experiment && r.kind == EventKind::Decision)
    }

    pub fn find(&self, experiment: u64, key: &Key) -> Option<Found> {
        let decision = match key {
            Key::Number(number) => self.decisions(experiment).find(|r| r.number == *number),
            Key::Id(_) if self.bug == Some(Bug::NoIds) => None,
            Key::Id(id) => self
                .decisions(experiment)
                .find(|r| r.id.as_ref() == Some(id)),
        };
        decision.map(|decision| Found {
            reports: self.reports(decision.number),
            decision: decision.clone(),
        })
    }

    /// Holds records against the indexes of the real stores.
    pub fn check_indexes(&self, earlier: &[Record], record: &Record) -> Result<(), StoreError> {
        let all = || self.records.iter().chain(earlier);
        if record.number != all().count() as u64 + 1 {
            return Err(StoreError::new("the number is taken"));
        }
        let same_id = |r: &Record| r.experiment == record.experiment && r.id == record.id;
        if self.bug != Some(Bug::NoIds) && record.id.is_some() && all().any(same_id) {
            return Err(StoreError::new("the id is taken"));
        }
        let outcome = EventKind::Outcome;
        let same_decision = |r: &Record| r.kind == outcome && r.decision == record.decision;
        if record.kind == outcome && all().any(same_decision) {
            return Err(StoreError::new("the decision has an outcome"));
        }
        Ok(())
    }
}
