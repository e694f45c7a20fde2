//! Connections of processes to the database: transactions, the row lock, and everything that goes wrong on the way.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rand::RngExt;

use super::super::clock::LONGEST_GAP;
use super::super::platform::Platform;
use super::database::{Bug, Server, Shared};
use super::ledger::MOST_SKEW;
use crate::events::{EventKind, Record};
use crate::state::Experiment;
use crate::store::{Begun, Found, Key, Snapshot, Span, Store, StoreError, StoredToken};
use crate::time::Timestamp;

/// A transaction that has begun.
struct Open {
    begun: Duration,
    records: Vec<Record>,
    snapshots: Vec<Snapshot>,
}

/// A process's connection to the server.
pub struct Connection {
    server: Shared,
    process: usize,
    transaction: Option<Open>,
    is_broken: bool,
    sets_known: SetsKnown,
}

/// Number of times that the log's clock was set when a process last believed its source without more.
pub type SetsKnown = Arc<Mutex<Option<usize>>>;

impl Connection {
    pub fn open(
        server: &Shared,
        process: usize,
        sets_known: SetsKnown,
    ) -> Result<Self, StoreError> {
        let mut connection = Self {
            server: server.clone(),
            process,
            transaction: None,
            is_broken: false,
            sets_known,
        };
        drop(connection.enter("open")?);
        Ok(connection)
    }

    /// Begins an operation, in which something may go wrong.
    fn enter(&mut self, operation: &'static str) -> Result<MutexGuard<'_, Server>, StoreError> {
        let mut server = self.server.lock();
        if server.dead[self.process] {
            return Err(StoreError::new("the process is dead"));
        }
        let latency = server.rng.random_range(0..2_000);
        server.pass(Duration::from_micros(latency));
        if server.cut_off[self.process] > server.time {
            self.is_broken = true;
        }
        if self.is_broken {
            return Err(StoreError::passing("the server cannot be reached"));
        }
        let rate = server.rate;
        if rate == 0.0 || !server.rng.random_bool(rate) {
            return Ok(server);
        }
        match server.rng.random_range(0..10) {
            0..3 => {
                server.fault("slow");
                let time = server.rng.random_range(0..5_000);
                server.pass(Duration::from_millis(time));
                Ok(server)
            }
            3..5 if server.may_kill => {
                server.kill(self.process);
                if self.transaction.is_some() && server.rng.random() {
                    // The server takes its time to notice.
                    server.locked = server.time + Duration::from_secs(3);
                }
                Err(StoreError::new("the process is dead"))
            }
            3..8 => {
                server.fault("connection lost");
                server.note(|| format!("in {operation}"));
                self.is_broken = true;
                if self.transaction.take().is_some() && server.rng.random() {
                    server.locked = server.time + Duration::from_secs(3);
                }
                Err(StoreError::passing("the connection was lost"))
            }
            _ => {
                server.fault("operation fails");
                server.note(|| format!("in {operation}"));
                Err(StoreError::new("something is wrong"))
            }
        }
    }

    /// Now, by the server's clock.
    fn clock(&self) -> Timestamp {
        let mut server = self.server.lock();
        let mut sets_known = self.sets_known.lock().unwrap_or_else(|e| e.into_inner());
        let sets = server.records.iter().filter(|r| r.experiment == 0).count();
        if server.records.is_empty() {
            server.believed = server.believed.max(server.clock_error.abs());
        } else if *sets_known != Some(sets)
            && let (Some(last), Some((_, written))) = (server.records.last(), server.written.last())
        {
            let (away, passed) = (
                server.clock().seconds_since(last.time),
                server.time - *written,
            );
            // A start knows no other time than this, unless it is refused.
            if (-MOST_SKEW..=LONGEST_GAP).contains(&away) {
                server.believed = (server.believed).max((away - passed.as_secs_f64()).abs());
                *sets_known = Some(sets);
            }
        }
        server.clock()
    }

    fn has_room(server: &Server) -> Result<(), StoreError> {
        if server.full > server.time {
            return Err(StoreError::passing("the disk is full"));
        }
        Ok(())
    }
}

impl Store for Connection {
    fn begin(&mut self) -> Result<Begun, StoreError> {
        let mut server = self.enter("begin")?;
        if server.locked > server.time {
            server.fault("lock timeout");
            server.pass(Duration::from_secs(1));
            return Err(StoreError::passing("the row is locked"));
        }
        let (last, begun) = (server.records.len() as u64, server.time);
        drop(server);
        self.transaction = Some(Open {
            begun,
            records: Vec::new(),
            snapshots: Vec::new(),
        });
        let now = self.clock();
        Ok(Begun { last, now })
    }

    fn append(&mut self, records: &[Record]) -> Result<(), StoreError> {
        let mut transaction = self.transaction.take();
        let server = self.enter("append")?;
        Self::has_room(&server)?;
        let open = transaction
            .as_mut()
            .ok_or(StoreError::new("nothing has begun"))?;
        for record in records {
            server.check_indexes(&open.records, record)?;
            open.records.push(record.clone());
        }
        drop(server);
        self.transaction = transaction;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let transaction = self.transaction.take();
        let process = self.process;
        let mut server = self.enter("commit")?;
        let Some(open) = transaction else {
            return Err(StoreError::new("nothing has begun"));
        };
        let room = Self::has_room(&server);
        let rate = server.rate;
        let is_faulty = rate > 0.0 && server.rng.random_bool((rate * 3.0).min(1.0));
        let fault = if is_faulty {
            server.rng.random_range(0..4)
        } else {
            4
        };
        if room.is_err() || fault == 0 {
            if server.bug == Some(Bug::SnapshotsOutliveRollback) {
                let kept = open.snapshots.into_iter().map(|s| (s.experiment, s));
                server.snapshots.extend(kept);
            }
            room?;
            server.fault("commit fails");
            if server.bug == Some(Bug::FailedCommitIsFine) {
                return Ok(());
            }
            return Err(StoreError::passing("the commit failed"));
        }
        if fault == 1 && server.may_kill {
            server.kill(process);
            return Err(StoreError::new("the process is dead"));
        }
        let before = server.records.len() as u64;
        let span = (open.begun, server.time);
        for record in open.records {
            server.records.push(record);
            server.written.push(span);
            server.before.push(before);
        }
        server.commits += 1;
        server.known[process] = server.records.len() as u64;
        server.last_committer = Some(process);
        for snapshot in open.snapshots {
            server.past_snapshots.push(snapshot.clone());
            let newer = (server.snapshots.get(&snapshot.experiment))
                .is_none_or(|kept| kept.number < snapshot.number);
            if newer {
                server.snapshots.insert(snapshot.experiment, snapshot);
            }
        }
        server.note(|| format!("process {process} commits events after {before}"));
        match fault {
            2 => {
                server.fault("commit's answer lost");
                drop(server);
                self.is_broken = true;
                Err(StoreError::passing("the connection was lost"))
            }
            3 if server.may_kill => {
                server.kill(process);
                Err(StoreError::new("the process is dead"))
            }
            _ => Ok(()),
        }
    }

    fn rollback(&mut self) {
        self.transaction = None;
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        let server = self.enter("probe")?;
        Self::has_room(&server)
    }

    fn poll(&mut self) -> Result<Begun, StoreError> {
        let process = self.process;
        let mut server = self.enter("poll")?;
        let (mut last, known) = (server.records.len() as u64, server.known[process]);
        // As if others committed right after this answer.
        let earlier = server.before.last().copied().unwrap_or(0);
        if server.rate > 0.0 && known <= earlier && server.rng.random_bool(0.2) {
            last = earlier;
        }
        server.known[process] = known.max(last);
        drop(server);
        let now = self.clock();
        Ok(Begun { last, now })
    }

    fn id(&mut self) -> Result<String, StoreError> {
        self.enter("id").map(|_| "the log".into())
    }

    fn check_count(&mut self) -> Result<(), StoreError> {
        self.enter("check_count").map(|_| ())
    }

    fn check(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn created(&mut self) -> Result<Vec<u64>, StoreError> {
        let server = self.enter("created")?;
        let is_first = |r: &&Record| r.kind == EventKind::Experiment && r.experiment == r.number;
        Ok((server.records.iter().filter(is_first))
            .map(|r| r.number)
            .collect())
    }

    fn changes(&mut self, span: &Span) -> Result<Vec<Record>, StoreError> {
        let server = self.enter("changes")?;
        let is_change = |r: &&Record| {
            r.kind == EventKind::Experiment
                && r.experiment == span.experiment
                && within(span, r.number)
        };
        let changes = server.records.iter().rev().filter(is_change);
        Ok(changes.take(span.limit).cloned().collect())
    }

    fn read(&mut self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let server = self.enter("read")?;
        let rest = server.records.iter().skip(after as usize).take(limit);
        let records: Vec<Record> = rest.cloned().collect();
        drop(server);
        let last = records.last().map_or(0, |record| record.number);
        let known = &mut self.server.lock().known[self.process];
        *known = (*known).max(last);
        Ok(records)
    }

    fn get(&mut self, number: u64) -> Result<Option<Record>, StoreError> {
        let server = self.enter("get")?;
        let place = (number as usize).checked_sub(1);
        Ok(place.and_then(|place| server.records.get(place).cloned()))
    }

    fn find(&mut self, keys: &[(u64, Key)]) -> Result<Vec<Option<Found>>, StoreError> {
        let server = self.enter("find")?;
        let found = keys
            .iter()
            .map(|(experiment, key)| server.find(*experiment, key));
        Ok(found.collect())
    }

    fn decisions(&mut self, span: &Span) -> Result<Vec<Found>, StoreError> {
        let server = self.enter("decisions")?;
        let numbers = server.decisions(span.experiment).map(|r| r.number);
        let mut chosen: Vec<u64> = numbers.filter(|n| within(span, *n)).collect();
        if span.newest_first {
            chosen.reverse();
        }
        let chosen = chosen.into_iter().take(span.limit);
        Ok(chosen
            .filter_map(|n| server.find(span.experiment, &Key::Number(n)))
            .collect())
    }

    fn overdue(&mut self, span: &Span) -> Result<Vec<u64>, StoreError> {
        let server = self.enter("overdue")?;
        let numbers = server.decisions(span.experiment).map(|r| r.number);
        let is_open = |number: &u64| {
            let reports = server.reports(*number);
            !reports.iter().any(|r| r.kind == EventKind::Outcome)
        };
        let due = numbers.filter(|n| within(span, *n)).filter(is_open);
        Ok(due.take(span.limit).collect())
    }

    fn snapshots(&mut self) -> Result<Vec<u64>, StoreError> {
        let server = self.enter("snapshots")?;
        Ok(server.snapshots.keys().copied().collect())
    }

    fn snapshot(&mut self, experiment: u64) -> Result<Option<Snapshot>, StoreError> {
        let server = self.enter("snapshot")?;
        Ok(server.snapshots.get(&experiment).cloned())
    }

    fn keep_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let mut transaction = self.transaction.take();
        let server = self.enter("keep_snapshot")?;
        Self::has_room(&server)?;
        let is_too_new = server.bug == Some(Bug::SnapshotsTooNew);
        drop(server);
        let open = transaction
            .as_mut()
            .ok_or(StoreError::new("nothing has begun"))?;
        let mut snapshot = snapshot.clone();
        if is_too_new && let Ok(mut experiment) = Experiment::restore(&snapshot) {
            let newer = experiment.snapshot(snapshot.number + 1);
            snapshot = newer?;
        }
        open.snapshots.push(snapshot);
        self.transaction = transaction;
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }

    // The writer knows nothing of tokens.

    fn tokens(&mut self) -> Result<Vec<StoredToken>, StoreError> {
        Ok(Vec::new())
    }

    fn add_token(&mut self, _: &StoredToken) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn revoke_token(&mut self, _: &str) -> Result<bool, StoreError> {
        Ok(false)
    }
}

/// Platform of a simulated process, a connection away from the server.
pub struct Process {
    pub server: Shared,
    pub number: usize,
    /// Time that its machine was up when the world began.
    pub up: Duration,
    pub sets_known: SetsKnown,
}

impl Platform for Process {
    fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        let sets_known = self.sets_known.clone();
        let connection = Connection::open(&self.server, self.number, sets_known)?;
        Ok(Box::new(connection))
    }

    fn open_again(&self) -> Result<Box<dyn Store>, StoreError> {
        self.open()
    }

    fn explain(&self, error: StoreError) -> StoreError {
        error
    }

    fn set_available(&self, _: bool) {}

    fn close(&self) {}

    fn uptime(&self) -> Duration {
        let server = self.server.lock();
        let uptime = self.up + server.time;
        if server.bug == Some(Bug::NoUptime) {
            let set = uptime.as_secs_f64() + server.clock_error;
            return Duration::from_secs_f64(set.max(0.0));
        }
        uptime
    }

    fn sleep(&self, time: Duration) {
        self.server.lock().pass(time);
    }
}

fn within(span: &Span, number: u64) -> bool {
    number > span.after && number < span.before
}
