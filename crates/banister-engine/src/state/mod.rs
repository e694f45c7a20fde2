//! State of the engine: the fold over the whole log.
//!
//! Nothing here decides or writes; the same events give the same state in every process. May use
//! `events` and `store`; knows neither commands nor queries.
//!
//! Read this page's [`EngineState`], then `declaration/` (an experiment as declared, and its checks),
//! `experiment/` (an experiment as folded), `learner.rs` (its agent and policies), `budget.rs` with `period.rs` (money over
//! time), `open.rs` (open decisions in memory), `history.rs` (the trace
//! over time) and `snapshots.rs` (when snapshots are taken).

mod budget;
mod declaration;
mod experiment;
mod experiment_info;
mod history;
mod learner;
mod open;
mod period;
mod snapshots;

use std::collections::{BTreeMap, HashMap};

use crate::events::{Author, Event, Part, Record};
use crate::refusal::Refusal;
use crate::store::{Store, StoreError};
use crate::time::{ClockSets, Timestamp};

pub(crate) use budget::worst_case;
pub use budget::{Account, BudgetView, Budgets, PastPeriod};
#[cfg(test)]
pub(crate) use budget::{Forgets, PLANTED};
pub use declaration::{
    CheckedDeclaration, Combine, Declaration, DeclaredArm, DeclaredContext, DefaultOutcome, Flag,
    GivenSegment, Kind, LONGEST_FEATURES, MOST_ACTIONS, NamedArm, Namespace, Returns, Rollout,
    SegmentFields, Segments, Step, StopWhen, Tracked, Unit,
};
pub(crate) use declaration::{
    LARGEST_FEATURE, MEASURED, check_label, check_length, check_names, check_products, round,
};
pub(crate) use experiment::reserve;
pub use experiment::{
    AlarmRaised, Arm, ArmMissing, Assigned, Change, Counts, Delay, Edit, Experiment,
    ExperimentStatus, ForcedSafe, Imported, Latest, Missing, Notice, NoticeKind, RecordedAlarm,
};
pub use experiment_info::{CertifiedPolicy, ExperimentInfo, NamedPolicy, Share};
pub use history::{GuardrailPoint, History, Minute, Point};
pub use learner::SegmentCount;
pub(crate) use open::{DecisionRecord, OpenDecisions};
pub use period::bounds as period_bounds;
pub(crate) use snapshots::{SnapshotRound, restore_all};

/// Arms from which on what is read of an experiment takes longer than others should wait.
const MANY_ARMS: usize = 50;
/// Most events read at once.
const PAGE: usize = 10_000;

/// The fold over the log. By default it keeps no open decisions.
#[derive(Default)]
pub struct EngineState {
    /// Number of the last event folded.
    pub number: u64,
    /// Time of the last event.
    pub time: Timestamp,
    /// The log's time, as last read.
    pub now: Timestamp,
    clock_sets: ClockSets,
    experiments: BTreeMap<u64, Experiment>,
    by_name: HashMap<String, u64>,
    pub(crate) open: OpenDecisions,
    /// Set when folding has raised an alarm that no event records yet.
    pub(crate) has_alarms: bool,
}

impl EngineState {
    /// The experiments, oldest first.
    pub fn experiments(&self) -> impl Iterator<Item = &Experiment> {
        self.experiments.values()
    }

    /// All experiments, to look into what they have learned.
    pub(crate) fn experiments_mut(&mut self) -> impl Iterator<Item = &mut Experiment> {
        self.experiments.values_mut()
    }

    /// The experiments after one, or from the first on, oldest first.
    pub(crate) fn experiments_after(
        &mut self,
        name: Option<&str>,
    ) -> Result<impl Iterator<Item = &mut Experiment>, Refusal> {
        let first = match name {
            None => 0,
            Some(name) => self.experiment(name)?.key + 1,
        };
        Ok(self.experiments.range_mut(first..).map(|(_, e)| e))
    }

    pub fn experiment(&mut self, name: &str) -> Result<&mut Experiment, Refusal> {
        let key = self.by_name.get(name);
        let found = key.and_then(|key| self.experiments.get_mut(key));
        found.ok_or_else(|| Refusal::unknown("experiment", name))
    }

    pub(crate) fn by_key(&mut self, key: u64) -> Option<&mut Experiment> {
        self.experiments.get_mut(&key)
    }

    pub(crate) fn clock_sets(&self) -> &ClockSets {
        &self.clock_sets
    }

    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// A state that keeps open decisions up to a size.
    pub(crate) fn new(open_bytes: usize) -> Self {
        Self {
            open: OpenDecisions::keeping(open_bytes),
            ..Self::default()
        }
    }

    /// A state of its own with an experiment of many arms, to read it beside the writer.
    pub(crate) fn copy_of(&mut self, name: &str) -> Option<Self> {
        let experiment = self.experiment(name).ok()?;
        let experiment = (experiment.arms.len() >= MANY_ARMS).then(|| experiment.copy())??;
        let mut copy = Self {
            number: self.number,
            time: self.time,
            now: self.now,
            clock_sets: self.clock_sets.clone(),
            ..Self::default()
        };
        copy.restore(experiment);
        Some(copy)
    }

    /// Adds an experiment.
    pub(crate) fn restore(&mut self, experiment: Experiment) {
        let name = experiment.checked.declaration.name.clone();
        self.by_name.insert(name, experiment.key);
        self.has_alarms |= experiment.has_unrecorded();
        self.experiments.insert(experiment.key, experiment);
    }

    /// Takes up the times that the clock was set, newest first, from before the first event to be folded.
    pub(crate) fn restore_clock(&mut self, sets: &[Record]) -> Result<(), String> {
        for record in sets.iter().rev() {
            if let (_, Event::ClockSet { from, to }) = record.decode()? {
                self.clock_sets.push(record.number, from, to);
            }
        }
        Ok(())
    }

    /// Folds a record of the log. Experiments that a snapshot brought further already
    /// leave it alone.
    pub(crate) fn apply(&mut self, record: &Record) -> Result<(), String> {
        let damaged = |reason: String| format!("event {} cannot be read: {reason}", record.number);
        if record.number != self.number + 1 {
            return Err(format!(
                "the log goes from event {} to event {}",
                self.number, record.number
            ));
        }
        let done = (self.experiments.get(&record.experiment))
            .is_some_and(|experiment| experiment.number >= record.number);
        if done {
            self.passed(record);
            return Ok(());
        }
        let (author, event) = record.decode().map_err(damaged)?;
        self.fold(record, author, event).map_err(damaged)
    }

    pub(crate) fn fold(
        &mut self,
        record: &Record,
        author: Author,
        event: Event,
    ) -> Result<(), String> {
        self.passed(record);
        match event {
            Event::ClockSet { from, to } => {
                self.clock_sets.push(record.number, from, to);
                self.time = Timestamp(to);
                self.now = self.time;
                return Ok(());
            }
            Event::Created(json) => {
                self.restore(Experiment::new(record, &json)?);
                return Ok(());
            }
            _ => {}
        }
        let experiment = (self.experiments.get_mut(&record.experiment))
            .ok_or("its experiment was never created")?;
        let is_report = matches!(
            event,
            Event::Part(_) | Event::Added { .. } | Event::Outcome(_)
        );
        let reported = record.decision.filter(|_| is_report);
        let open = reported.and_then(|number| self.open.get(number));
        if let Some(open) = open.filter(|open| open.outcome.part == Part::default()) {
            experiment.count_delay(open.time, open.event.action, record.time);
        }
        if let Some(decision) = record.decision {
            self.open.follow(decision, record.number, &author, &event);
        }
        if let Event::Decision(decision) = &event {
            self.open.insert(record, author.clone(), decision.clone());
        }
        experiment.apply(record, &author, event, &self.clock_sets)?;
        self.has_alarms |= experiment.has_unrecorded() || experiment.should_look();
        Ok(())
    }

    /// Folds the store's events up to `last`; `seen` is called with every record after it is folded.
    pub(crate) fn follow(
        &mut self,
        store: &mut dyn Store,
        last: u64,
        mut seen: impl FnMut(&Record) -> Result<(), String>,
    ) -> Result<(), StoreError> {
        while self.number < last {
            let records = store.read(self.number, PAGE)?;
            if records.is_empty() {
                return Err(StoreError::new(format!(
                    "the log ends at event {}, its counter says {last}",
                    self.number
                )));
            }
            for record in records.iter().filter(|record| record.number <= last) {
                self.apply(record).map_err(StoreError::new)?;
                seen(record).map_err(StoreError::new)?;
            }
        }
        Ok(())
    }

    fn passed(&mut self, record: &Record) {
        self.number = record.number;
        self.time = self.time.max(record.time);
        self.now = self.now.max(self.time);
    }
}
