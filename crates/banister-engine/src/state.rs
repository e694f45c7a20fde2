//! All experiments: the fold over the whole log.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::event::{DecisionEvent, Event, Record};
use crate::experiment::Experiment;
use crate::refusal::Refusal;
use crate::store::{Store, StoreError};
use crate::time::Timestamp;

/// Most open decisions kept at hand. The log has all of them; this only saves looking there.
const MOST_OPEN: usize = 200_000;
/// Events read at once.
const PAGE: usize = 10_000;

/// The fold over the log.
#[derive(Default)]
pub struct State {
    /// Number of the last event folded.
    pub number: u64,
    /// Its time.
    pub time: Timestamp,
    experiments: BTreeMap<u64, Experiment>,
    by_name: HashMap<String, u64>,
    open: Open,
    /// Set when folding has raised an alarm that no event records yet.
    pub(crate) has_alarms: bool,
}

/// A decision without a complete outcome, at hand.
#[derive(Debug, Clone)]
pub(crate) struct OpenDecision {
    pub experiment: u64,
    pub id: Option<String>,
    pub time: Timestamp,
    pub event: Arc<DecisionEvent>,
}

impl State {
    /// The experiments, oldest first.
    pub fn experiments(&self) -> impl Iterator<Item = &Experiment> {
        self.experiments.values()
    }

    /// An experiment by its name.
    pub fn experiment(&mut self, name: &str) -> Result<&mut Experiment, Refusal> {
        let key = self.by_name.get(name);
        let found = key.and_then(|key| self.experiments.get_mut(key));
        found.ok_or_else(|| Refusal::unknown("experiment", name))
    }

    pub(crate) fn by_key(&mut self, key: u64) -> Option<&mut Experiment> {
        self.experiments.get_mut(&key)
    }

    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub(crate) fn open(&self) -> &Open {
        &self.open
    }

    /// Puts an experiment from a snapshot in place.
    pub(crate) fn restore(&mut self, experiment: Experiment) {
        let name = experiment.checked.declaration.name.clone();
        self.by_name.insert(name, experiment.key);
        self.has_alarms |= experiment.has_news();
        self.experiments.insert(experiment.key, experiment);
    }

    /// Takes a record as it stands in the log. Experiments that a snapshot brought further already
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
        let event = Event::decode(&record.body).map_err(damaged)?;
        self.fold(record, event).map_err(damaged)
    }

    /// Takes an event.
    pub(crate) fn fold(&mut self, record: &Record, event: Event) -> Result<(), String> {
        self.passed(record);
        if let Event::Created(json) = &event {
            let experiment = Experiment::new(record, json)?;
            self.restore(experiment);
            return Ok(());
        }
        let experiment = (self.experiments.get_mut(&record.experiment))
            .ok_or("its experiment was never created")?;
        match event {
            Event::Policy(published) => {
                experiment.number = record.number;
                experiment.applied_policy(record.time, record.number, published);
            }
            Event::Decision(decision) => {
                experiment.number = record.number;
                experiment.applied_decision(record.time, record.number, &decision);
                self.open.insert(record, decision);
            }
            event => {
                experiment.apply(record, &event)?;
                self.has_alarms |= experiment.has_news();
                // A part makes the record in memory incomplete, an outcome makes it obsolete.
                if let Some(decision) = record.decision {
                    self.open.remove(decision);
                }
            }
        }
        Ok(())
    }

    /// Takes everything that a store has up to an event; `seen` hears of every record, after it was taken.
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
    }
}

/// Decisions that nothing was reported on yet, the latest of them.
#[derive(Default)]
pub(crate) struct Open {
    decisions: HashMap<u64, OpenDecision>,
    ids: HashMap<(u64, String), u64>,
    order: VecDeque<u64>,
}

impl Open {
    pub(crate) fn get(&self, number: u64) -> Option<&OpenDecision> {
        self.decisions.get(&number)
    }

    pub(crate) fn number(&self, experiment: u64, id: &str) -> Option<u64> {
        // The key would have to be copied to be looked up by parts; ids are short.
        self.ids.get(&(experiment, id.to_string())).copied()
    }

    fn insert(&mut self, record: &Record, event: Arc<DecisionEvent>) {
        while self.order.len() >= MOST_OPEN {
            if let Some(oldest) = self.order.pop_front() {
                self.remove(oldest);
            }
        }
        if let Some(id) = &record.id {
            self.ids
                .insert((record.experiment, id.clone()), record.number);
        }
        self.order.push_back(record.number);
        self.decisions.insert(
            record.number,
            OpenDecision {
                experiment: record.experiment,
                id: record.id.clone(),
                time: record.time,
                event,
            },
        );
    }

    fn remove(&mut self, number: u64) {
        if let Some(open) = self.decisions.remove(&number)
            && let Some(id) = open.id
        {
            self.ids.remove(&(open.experiment, id));
        }
    }
}
