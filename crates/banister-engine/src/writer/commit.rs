//! The writer's loop and the group commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::Engine;
use super::clock::read_clock;
use super::job::{CommandJob, Commands, Job, Question, Work};
use super::queue::{IDLE, WriterQueue};
use crate::commands::{RecordAlarms, Transaction};
use crate::events::{Author, Event};
use crate::refusal::Refusal;
use crate::store::StoreError;
use crate::time::Timestamp;

/// Error of a commit of which nothing was written; callers get the reason of the outage.
pub(super) struct NotCommitted;

/// Charges each job for its own work, and for a part of the rest of the time by the events of each.
fn charge(jobs: &mut [Box<dyn Commands>], work: &[Work], spent: Duration) {
    let own: Duration = work.iter().map(|own| own.time).sum();
    let events: usize = work.iter().map(|own| 1 + own.events).sum();
    let each = spent.saturating_sub(own).div_f64(events.max(1) as f64);
    for (job, &Work { time, events }) in jobs.iter_mut().zip(work) {
        let time = time + each.mul_f64(1.0 + events as f64);
        (job.meter().iter()).for_each(|meter| meter(Work { time, events }));
    }
}

impl Engine {
    pub(super) fn run(&mut self, mut queue: WriterQueue) -> Result<(), StoreError> {
        // The log is opened at once: those who ask first should not wait for it.
        self.catch_up();
        while !queue.is_closed() {
            let (jobs, large) = (queue.next(self.commit_time), queue.next_large());
            self.damage = self.damage.take().or_else(|| queue.take_damage());
            if jobs.is_empty() && large.is_none() {
                self.catch_up();
                self.record_alarms();
            } else {
                self.serve(jobs);
                self.serve(large.into_iter().map(Job::Commands).collect());
                // Queries alone prove nothing about the log.
                if self.platform.uptime().saturating_sub(self.seen) > IDLE {
                    self.catch_up();
                }
            }
        }
        self.snapshot_all();
        // Callers stop waiting for answers that will not come.
        drop(queue);
        self.platform.close();
        self.store.take().map_or(Ok(()), |store| store.close())
    }

    /// Serves jobs in runs: one that changes what others see has a commit of its own.
    pub(super) fn serve(&mut self, jobs: Vec<Job>) {
        let mut run = Vec::new();
        for job in jobs {
            let job = match job {
                Job::Commands(job) => job,
                Job::Query(question) => {
                    self.answer(question);
                    continue;
                }
            };
            let alone = job.is_alone();
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

    /// Answers a query: memory can be read whatever becomes of the log.
    fn answer(&mut self, question: Question) {
        if self.state.is_none() {
            self.catch_up();
        }
        let Some(state) = &mut self.state else {
            let reason = self.outage.as_deref().unwrap_or("not opened yet");
            return question(Err(Refusal::unavailable(reason)));
        };
        if catch_unwind(AssertUnwindSafe(|| question(Ok(state)))).is_err() {
            self.reset_state();
        }
    }

    /// Serves jobs in one commit. Where it fails, nothing of them is written and all are refused.
    fn serve_run(&mut self, mut jobs: Vec<Box<dyn Commands>>) {
        match self.try_commit(&mut jobs) {
            Ok(()) => {
                jobs.into_iter().for_each(Commands::reply);
                self.record_alarms();
            }
            Err(NotCommitted) => {
                let reason = self.outage.as_deref().unwrap_or("not opened yet");
                let reason = Refusal::unavailable(reason);
                jobs.into_iter().for_each(|job| job.refuse(&reason));
            }
        }
    }

    /// Alarms are raised by folding, so that all replicas raise the same ones; the first to come records
    /// them.
    fn record_alarms(&mut self) {
        if !self.state.as_ref().is_some_and(|state| state.has_alarms) {
            return;
        }
        let record = CommandJob::new(Author::engine(), vec![RecordAlarms], Box::new(|_| {}));
        // If it fails, the next commit tries again.
        if self.try_commit(&mut [Box::new(record)]).is_ok()
            && let Some(state) = &mut self.state
        {
            state.has_alarms = false;
        }
    }

    /// Commits, and starts from the log again after a panic.
    pub(super) fn try_commit(
        &mut self,
        jobs: &mut [Box<dyn Commands>],
    ) -> Result<(), NotCommitted> {
        catch_unwind(AssertUnwindSafe(|| self.commit(jobs))).unwrap_or_else(|_| {
            self.reset_state();
            Err(NotCommitted)
        })
    }

    /// Executes jobs, makes what they write durable, and folds it.
    fn commit(&mut self, jobs: &mut [Box<dyn Commands>]) -> Result<(), NotCommitted> {
        let came = self.platform.uptime();
        let begun = loop {
            match self.begin() {
                Ok(begun) => break begun,
                Err(error) => {
                    let passing = error.passing;
                    self.mark_unavailable(error);
                    if !passing
                        || self.platform.uptime().saturating_sub(came) > self.options.patience
                    {
                        return Err(NotCommitted);
                    }
                    self.platform.sleep(Duration::from_millis(100));
                }
            }
        };
        self.write(jobs, begun.now).map_err(|error| {
            // Reading on from the last event folded shows whether a commit that failed took place.
            if let Some(store) = &mut self.store {
                store.rollback();
            }
            self.mark_unavailable(error);
            NotCommitted
        })
    }

    /// Executes jobs in a transaction that has begun.
    fn write(&mut self, jobs: &mut [Box<dyn Commands>], now: Timestamp) -> Result<(), StoreError> {
        let (Some(store), Some(state)) = (&mut self.store, &mut self.state) else {
            return Err(StoreError::new("not open"));
        };
        let store = &mut **store;
        let platform = &*self.platform;
        let begun = platform.uptime();
        let reading = read_clock(&mut self.clock, state, (now, platform.uptime()), true);
        self.monitor.clock(self.clock.skew());
        let reading = reading?;
        let mut transaction = Transaction::new(state, store, &mut self.rng, reading.time);
        if reading.set {
            transaction.set_clock();
        }
        let mut work = vec![Work::default(); jobs.len()];
        for (place, job) in jobs.iter().enumerate() {
            transaction.job = place;
            job.prepare(&mut transaction);
        }
        let found = transaction.look_up(|job, events| work[job].events += events);
        found.map_err(|refusal| StoreError::passing(refusal.to_string()))?;
        for (job, own) in jobs.iter_mut().zip(&mut work) {
            let (first, begun) = (transaction.next_number(), platform.uptime());
            job.execute(&mut transaction);
            own.time = platform.uptime().saturating_sub(begun);
            own.events += (transaction.next_number() - first) as usize;
        }
        let (records, events) = transaction.into_events()?;
        // Nobody's work: the disk's.
        let mut synced = Duration::ZERO;
        if records.is_empty() {
            store.rollback();
        } else {
            let mut written = records.iter().zip(&events);
            let first = written.find_map(|(record, (_, event))| match event {
                Event::Created(json) => Some((record, json)),
                _ => None,
            });
            self.round.keep_first(store, first)?;
            self.round.step(store, state, self.options.snapshot_every)?;
            store.append(&records)?;
            let appended = platform.uptime();
            store.commit()?;
            synced = platform.uptime().saturating_sub(appended);
            self.round.committed();
            let took = platform.uptime().saturating_sub(begun);
            self.commit_time = (self.commit_time * 7 + took) / 8;
            self.monitor.committed(records.len(), took.as_secs_f64());
        }
        for (record, (author, event)) in records.iter().zip(events) {
            let is_alarm = matches!(event, Event::AlarmRaised(_));
            if let Err(reason) = state.fold(record, author, event) {
                // Checked events fold; if one does not, memory is not to be trusted any more.
                self.state = None;
                return Err(StoreError::new(reason));
            }
            if is_alarm
                && let Some(own) = state.by_key(record.experiment)
                && let Some(recorded) = own.open_alarms().last()
            {
                let name = &own.checked.declaration.name;
                self.monitor.alarm(name, &recorded.alarm);
            }
        }
        self.monitor.follows(state.number, state.number);
        jobs.iter_mut().for_each(|job| job.resolve(state));
        let spent = platform.uptime().saturating_sub(begun + synced);
        charge(jobs, &work, spent);
        if !records.is_empty() {
            // Proved by writing; what only looked something up proves nothing.
            self.mark_available();
        }
        Ok(())
    }
}
