//! Open decisions in memory: the latest without a complete outcome, as far as a report needs them.

use std::collections::{HashMap, VecDeque};
use std::mem::size_of;
use std::sync::Arc;

use crate::events::{Author, DecisionEvent, Event, OutcomeSoFar, Record};
use crate::time::Timestamp;

/// Most decisions kept. The log has all of them; this only saves looking there.
const MOST_OPEN: usize = 200_000;
/// Bytes of an entry beside its texts and numbers: the decision, and its places in two maps, which are
/// between half and fully used, and in the queue.
const ENTRY: usize = size_of::<DecisionEvent>()
    + 2 * size_of::<(u64, DecisionRecord)>()
    + 2 * size_of::<((u64, String), u64)>()
    + 32;

/// Decision with all that a report on it needs.
#[derive(Debug, Clone)]
pub(crate) struct DecisionRecord {
    pub number: u64,
    pub experiment: u64,
    pub id: Option<String>,
    pub time: Timestamp,
    pub author: Author,
    pub event: Arc<DecisionEvent>,
    /// What was reported on it.
    pub outcome: OutcomeSoFar,
}

impl DecisionRecord {
    /// Heap bytes, about.
    fn bytes(&self) -> usize {
        let id = self.id.as_ref().map_or(0, String::len);
        let numbers = self.event.features.len() + self.event.context.len();
        let own = &self.outcome;
        // Lists grow by doubling.
        let reported = 16 * (own.reports.len() + own.counts.len() + own.part.costs.len());
        let segment = self.event.segment.as_ref().map_or(0, |name| name.len());
        ENTRY + 2 * id + segment + numbers * size_of::<f64>() + reported
    }
}

/// The latest decisions without a complete outcome, by number and by id. Keeps none by default.
#[derive(Default)]
pub(crate) struct OpenDecisions {
    /// Most bytes of all together.
    most: usize,
    bytes: usize,
    decisions: HashMap<u64, DecisionRecord>,
    ids: HashMap<(u64, String), u64>,
    order: VecDeque<u64>,
}

impl OpenDecisions {
    pub(crate) fn keeping(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    pub(crate) fn get(&self, number: u64) -> Option<&DecisionRecord> {
        self.decisions.get(&number)
    }

    pub(crate) fn number(&self, experiment: u64, id: &str) -> Option<u64> {
        // The key would have to be copied to be looked up by parts; ids are short.
        self.ids.get(&(experiment, id.to_string())).copied()
    }

    pub(super) fn insert(&mut self, record: &Record, author: Author, event: Arc<DecisionEvent>) {
        self.keep(DecisionRecord {
            number: record.number,
            experiment: record.experiment,
            id: record.id.clone(),
            time: record.time,
            author,
            event: DecisionEvent::light(event),
            outcome: OutcomeSoFar::default(),
        });
    }

    /// Keeps a decision as it is in the log.
    pub(crate) fn keep(&mut self, open: DecisionRecord) {
        let (number, bytes) = (open.number, open.bytes());
        if bytes > self.most || self.decisions.contains_key(&number) {
            return;
        }
        self.bytes += bytes;
        if let Some(id) = &open.id {
            self.ids.insert((open.experiment, id.clone()), number);
        }
        self.order.push_back(number);
        self.decisions.insert(number, open);
        self.forget();
    }

    /// Takes up an event on a decision; one that closes its outcome removes it.
    pub(super) fn follow(&mut self, decision: u64, number: u64, author: &Author, event: &Event) {
        let Some(open) = self.decisions.get_mut(&decision) else {
            return;
        };
        let before = open.bytes();
        open.outcome.take(number, author, event);
        if open.outcome.complete.is_some() {
            // With the bytes that it was taken up with.
            self.bytes += open.bytes().saturating_sub(before);
            return self.remove(decision);
        }
        self.bytes += open.bytes().saturating_sub(before);
        self.forget();
    }

    /// Forgets the oldest beyond what may be kept.
    fn forget(&mut self) {
        while self.order.len() > MOST_OPEN || self.bytes > self.most {
            match self.order.pop_front() {
                Some(oldest) => self.remove(oldest),
                None => break,
            }
        }
    }

    fn remove(&mut self, number: u64) {
        if let Some(open) = self.decisions.remove(&number) {
            self.bytes -= open.bytes();
            if let Some(id) = open.id {
                self.ids.remove(&(open.experiment, id));
            }
        }
    }
}
