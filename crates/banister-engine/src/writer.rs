//! The one thread that owns the log: group commit, then fold, then answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;

use crate::desk::{Desk, Taken};
use crate::event::Event;
use crate::experiment::restore_all;
use crate::queue::{Asker, Intake, Job, queue};
use crate::refusal::Refusal;
use crate::request::{Answer, Request};
use crate::snapshots::{Round, keep_first};
use crate::state::State;
use crate::store::{Database, Store, StoreError};
use crate::time::Timestamp;
use crate::view::ExperimentView;

/// How the writer works.
#[derive(Debug, Clone)]
pub struct Options {
    /// Commands that wait at most; beyond that, callers are told to come again.
    pub queue: usize,
    /// Events after which experiments are snapshotted anew.
    pub snapshot_every: u64,
    /// How long a commit that failed for a passing reason is tried again before callers hear of it.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queue: 8192,
            snapshot_every: 20_000,
            patience: Duration::from_secs(2),
        }
    }
}

/// Somebody who wants to know what the writer does.
pub trait Monitor: Send {
    /// So many events were made durable in one commit, in so many seconds.
    fn committed(&self, events: usize, seconds: f64);
    /// The log has events up to `last`, and this process has folded those up to `folded`.
    fn follows(&self, folded: u64, last: u64);
    /// The log could not be written or read, for this reason; `None`: it can again.
    fn trouble(&self, reason: Option<&str>);
}

/// Answers of many jobs, each with its requests'.
type Answers = Vec<Vec<Result<Answer, Refusal>>>;

/// The writer's thread.
pub struct Writer {
    asker: Asker,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts it. The log is opened on its thread, and again whenever it was lost.
    pub fn start(
        database: Database,
        options: Options,
        monitor: Box<dyn Monitor>,
    ) -> std::io::Result<Self> {
        let (asker, intake) = queue(options.queue);
        let listener = asker.clone();
        database.listen(Box::new(move || listener.catch_up()));
        crate::expiry::start(database.clone(), asker.clone())?;
        let mut engine = Engine {
            database,
            options,
            monitor,
            store: None,
            state: None,
            rng: ChaCha12Rng::from_rng(&mut rand::rng()),
            round: Round::default(),
            trouble: Some("the log is being opened".into()),
            commit_time: Duration::ZERO,
        };
        let thread = std::thread::Builder::new()
            .name("banister-engine".into())
            .spawn(move || engine.run(intake))?;
        Ok(Self {
            asker,
            thread: Some(thread),
        })
    }

    /// Asks it.
    pub fn asker(&self) -> Asker {
        self.asker.clone()
    }

    /// Answers what is in the queue, snapshots everything and ends.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            // If it has ended already there is nothing to stop.
            self.asker.stop();
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

struct Engine {
    database: Database,
    options: Options,
    monitor: Box<dyn Monitor>,
    store: Option<Box<dyn Store>>,
    state: Option<State>,
    rng: ChaCha12Rng,
    round: Round,
    trouble: Option<String>,
    /// How long commits take lately.
    commit_time: Duration,
}

impl Engine {
    fn run(&mut self, mut intake: Intake) {
        // The log is opened at once: those who ask first should not wait for it.
        self.catch_up();
        while !intake.is_closed() {
            let jobs = intake.next(self.commit_time);
            match jobs.is_empty() {
                true => self.catch_up(),
                false => self.serve(jobs),
            }
        }
        self.snapshot_all();
    }

    /// Serves jobs in runs: one that changes what others see has a commit of its own.
    fn serve(&mut self, jobs: Vec<Job>) {
        let mut run = Vec::new();
        for job in jobs {
            // What is in memory can be read whatever becomes of the log.
            if let Some(state) = &mut self.state
                && job.requests.iter().all(Request::is_read)
            {
                let read = |request| crate::view::read(state, request);
                let read = || job.requests.into_iter().map(read).collect();
                match catch_unwind(AssertUnwindSafe(read)) {
                    Ok(answers) => (job.reply)(answers),
                    Err(_) => self.distrust(),
                }
                continue;
            }
            let alone = job.requests.iter().any(Request::is_alone);
            if alone && !run.is_empty() {
                self.serve_run(std::mem::take(&mut run));
            }
            run.push(job);
            if alone {
                self.serve_run(std::mem::take(&mut run));
            }
        }
        if !run.is_empty() {
            self.serve_run(run);
        }
    }

    /// One commit. Callers whose requests cannot be served now hear why; nothing of them is written.
    fn serve_run(&mut self, jobs: Vec<Job>) {
        let (requests, replies): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .map(|job| (job.requests, job.reply))
            .unzip();
        let counts: Vec<usize> = requests.iter().map(Vec::len).collect();
        let attempt = catch_unwind(AssertUnwindSafe(|| self.commit(requests)));
        let answers = attempt.unwrap_or_else(|_| {
            self.distrust();
            None
        });
        let trouble = || {
            let reason = self.trouble.clone();
            Refusal::unavailable(reason.unwrap_or_else(|| "not opened yet".into()))
        };
        match answers {
            Some(answers) => {
                replies
                    .into_iter()
                    .zip(answers)
                    .for_each(|(reply, answers)| reply(answers));
                self.record_alarms();
            }
            None => replies
                .into_iter()
                .zip(counts)
                .for_each(|(reply, count)| reply((0..count).map(|_| Err(trouble())).collect())),
        }
    }

    /// Alarms are raised by folding, so that all replicas raise the same ones; the first to come records
    /// them.
    fn record_alarms(&mut self) {
        if !self.state.as_ref().is_some_and(|state| state.has_alarms) {
            return;
        }
        let attempt = || self.commit(vec![vec![Request::RecordAlarms]]);
        match catch_unwind(AssertUnwindSafe(attempt)) {
            Ok(Some(_)) => {
                if let Some(state) = &mut self.state {
                    state.has_alarms = false;
                }
            }
            // The next commit tries again.
            Ok(None) => {}
            Err(_) => self.distrust(),
        }
    }

    /// Takes requests, makes what they write durable, folds it. `None`: nothing was written.
    fn commit(&mut self, jobs: Vec<Vec<Request>>) -> Option<Answers> {
        let begun = Instant::now();
        loop {
            match self.ready() {
                Ok(()) => return self.write(jobs),
                Err(error) => {
                    let passing = error.passing;
                    self.lose(error);
                    if !passing || begun.elapsed() > self.options.patience {
                        return None;
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
    }

    /// Opens what is not open, begins a transaction and folds what others wrote.
    fn ready(&mut self) -> Result<(), StoreError> {
        self.open()?;
        let (Some(store), Some(state)) = (&mut self.store, &mut self.state) else {
            return Err(StoreError::new("not open"));
        };
        let last = store.begin()?;
        if last < state.number {
            // Somebody put an older log in place: start again from it.
            self.state = None;
            return Err(StoreError::passing("the log was replaced"));
        }
        state.follow(&mut **store, last, |_| Ok(()))?;
        self.monitor.follows(state.number, last);
        Ok(())
    }

    /// Opens the log and folds it, where that is not done.
    fn open(&mut self) -> Result<(), StoreError> {
        if self.store.is_none() {
            // A log that was there and is gone is not begun anew.
            let mut store = match self.state {
                None => self.database.open()?,
                Some(_) => self.database.open_again()?,
            };
            // Another log may have come in its place: a backup, a standby that was behind. It may be the
            // longer one by now, but it has not the same event where ours ended.
            if let Some(state) = &self.state
                && state.number > 0
                && store.get(state.number)?.map(|record| record.time) != Some(state.time)
            {
                self.state = None;
            }
            self.store = Some(store);
        }
        match self.state {
            Some(_) => Ok(()),
            None => self.load(),
        }
    }

    /// Takes the requests in a transaction that has begun.
    fn write(&mut self, jobs: Vec<Vec<Request>>) -> Option<Answers> {
        let (store, state) = (self.store.as_mut()?, self.state.as_mut()?);
        let begun = Instant::now();
        let mut desk = Desk::new(state, &mut **store, &mut self.rng, Timestamp::now());
        if let Err(refusal) = desk.look_up(jobs.iter().flatten()) {
            store.rollback();
            self.lose(StoreError::passing(refusal.to_string()));
            return None;
        }
        let taken: Vec<Vec<Result<Taken, Refusal>>> = (jobs.into_iter())
            .map(|requests| requests.into_iter().map(|r| desk.take(r)).collect())
            .collect();
        let (records, events) = (desk.records, desk.events);
        let written = if records.is_empty() {
            store.rollback();
            Ok(())
        } else {
            let first = records
                .iter()
                .zip(&events)
                .find_map(|(record, event)| match event {
                    Event::Created(json) => Some((record, json)),
                    _ => None,
                });
            keep_first(&mut **store, first)
                .and_then(|()| {
                    self.round
                        .step(&mut **store, state, self.options.snapshot_every)
                })
                .and_then(|()| store.append(&records))
                .and_then(|()| store.commit())
        };
        if let Err(error) = written {
            // Whether the commit took place is found out by reading on from the last event folded.
            store.rollback();
            self.lose(error);
            return None;
        }
        if !records.is_empty() {
            let took = begun.elapsed();
            self.commit_time = (self.commit_time * 7 + took) / 8;
            self.monitor.committed(records.len(), took.as_secs_f64());
        }
        for (record, event) in records.iter().zip(events) {
            if let Err(reason) = state.fold(record, event) {
                // Checked events fold; if one does not, memory is not to be trusted any more.
                self.state = None;
                self.lose(StoreError::new(reason));
                return None;
            }
        }
        if !records.is_empty() {
            // Proved by writing; what only looked something up proves nothing.
            self.found();
        }
        let state = self.state.as_mut()?;
        self.monitor.follows(state.number, state.number);
        let view = |state: &mut State, key: u64| match state.by_key(key) {
            Some(experiment) => Ok(Answer::Experiment(Box::new(ExperimentView::new(
                experiment,
            )))),
            None => Err(Refusal::unavailable("the experiment was not folded")),
        };
        let each = taken.into_iter().map(|answers| {
            let answers = answers.into_iter().map(|taken| match taken {
                Ok(Taken::Answer(answer)) => Ok(answer),
                Ok(Taken::View(key)) => view(state, key),
                Err(refusal) => Err(refusal),
            });
            answers.collect()
        });
        Some(each.collect())
    }

    /// Folds what others wrote, without writing.
    fn catch_up(&mut self) {
        let caught = (|| {
            self.open()?;
            let (Some(store), Some(state)) = (&mut self.store, &mut self.state) else {
                return Err(StoreError::new("not open"));
            };
            let last = store.last()?;
            state.follow(&mut **store, last, |_| Ok(()))?;
            self.monitor.follows(state.number, last);
            // Reading proves nothing about writing.
            match self.trouble {
                None => Ok(()),
                Some(_) => store.probe(),
            }
        })();
        match caught {
            Ok(()) => self.found(),
            Err(error) => self.lose(error),
        }
    }

    /// Folds the log from its snapshots on, or from nothing if they cannot be read.
    fn load(&mut self) -> Result<(), StoreError> {
        let Some(store) = &mut self.store else {
            return Err(StoreError::new("not open"));
        };
        let last = store.last()?;
        let mut state = State::default();
        let snapshots = store.snapshots()?;
        match restore_all(&snapshots) {
            // Of an earlier version: the log is folded from nothing, once.
            Ok(None) => {}
            Ok(Some(experiments)) => {
                let first = snapshots.iter().map(|s| s.number).min().unwrap_or(0);
                state.number = first.min(last);
                if let Some(record) = store.get(state.number)? {
                    state.time = record.time;
                }
                experiments.into_iter().for_each(|e| state.restore(e));
            }
            Err(reason) => self.monitor.trouble(Some(&format!(
                "a snapshot cannot be read ({reason}): the log is folded from nothing"
            ))),
        }
        state.follow(&mut **store, last, |_| Ok(()))?;
        self.round = Round {
            due: Vec::new(),
            began: state.number,
        };
        self.state = Some(state);
        Ok(())
    }

    /// After a defect of ours: what is in memory may be half-changed, the log is not.
    fn distrust(&mut self) {
        self.state = None;
        self.lose(StoreError::new(
            "a defect in banister: the log is read anew",
        ));
    }

    fn lose(&mut self, error: StoreError) {
        self.store = None;
        let reason = self.database.explain(error).reason;
        if self.trouble.as_ref() != Some(&reason) {
            self.monitor.trouble(Some(&reason));
            self.trouble = Some(reason);
        }
    }

    fn found(&mut self) {
        if self.trouble.take().is_some() {
            self.monitor.trouble(None);
        }
    }

    /// At the end: the next start should have nothing to fold.
    fn snapshot_all(&mut self) {
        let (Some(store), Some(state)) = (&mut self.store, &mut self.state) else {
            return;
        };
        let began = self.round.began;
        let due = state
            .experiments()
            .map(|experiment| experiment.key)
            .collect();
        let mut round = Round { due, began };
        // Without the transaction every snapshot would be synced by itself. They are short cuts: if this
        // fails, the next start takes longer.
        let done = store.begin().and_then(|_| {
            while !round.due.is_empty() {
                round.step(&mut **store, state, u64::MAX)?;
            }
            store.commit()
        });
        if done.is_err() {
            store.rollback();
        }
    }
}
