//! Open decisions in memory: the latest without a report, as far as a report needs them.

use std::collections::{HashMap, VecDeque};
use std::mem::size_of;
use std::sync::Arc;

use crate::events::{Author, DecisionEvent, Record};
use crate::time::Timestamp;

/// Most decisions kept. The log has all of them; this only saves looking there.
const MOST_OPEN: usize = 200_000;
/// Bytes of an entry beside its texts and numbers: the decision, and its places in two maps, which are
/// between half and fully used, and in the queue.
const ENTRY: usize = size_of::<DecisionEvent>()
    + 2 * size_of::<(u64, OpenDecision)>()
    + 2 * size_of::<((u64, String), u64)>()
    + 32;

/// Decision without a report.
#[derive(Debug, Clone)]
pub(crate) struct OpenDecision {
    pub experiment: u64,
    pub id: Option<String>,
    pub time: Timestamp,
    pub author: Author,
    pub event: Arc<DecisionEvent>,
}

impl OpenDecision {
    /// Heap bytes, about.
    fn bytes(&self) -> usize {
        let id = self.id.as_ref().map_or(0, String::len);
        let numbers = self.event.features.len() + self.event.context.len();
        let segment = self.event.segment.as_ref().map_or(0, |name| name.len());
        ENTRY + 2 * id + segment + numbers * size_of::<f64>()
    }
}

/// The latest decisions without a report, by number and by id. Keeps none by default.
#[derive(Default)]
pub(crate) struct OpenDecisions {
    /// Most bytes of all together.
    most: usize,
    bytes: usize,
    decisions: HashMap<u64, OpenDecision>,
    ids: HashMap<(u64, String), u64>,
    order: VecDeque<u64>,
}

impl OpenDecisions {
    pub(super) fn keeping(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    pub(crate) fn get(&self, number: u64) -> Option<&OpenDecision> {
        self.decisions.get(&number)
    }

    pub(crate) fn number(&self, experiment: u64, id: &str) -> Option<u64> {
        // The key would have to be copied to be looked up by parts; ids are short.
        self.ids.get(&(experiment, id.to_string())).copied()
    }

    pub(super) fn insert(&mut self, record: &Record, author: Author, event: Arc<DecisionEvent>) {
        let open = OpenDecision {
            experiment: record.experiment,
            id: record.id.clone(),
            time: record.time,
            author,
            event: DecisionEvent::light(event),
        };
        let bytes = open.bytes();
        if bytes > self.most {
            return;
        }
        while self.order.len() >= MOST_OPEN || self.bytes + bytes > self.most {
            match self.order.pop_front() {
                Some(oldest) => self.remove(oldest),
                None => break,
            }
        }
        if let Some(id) = &record.id {
            self.ids
                .insert((record.experiment, id.clone()), record.number);
        }
        self.bytes += bytes;
        self.order.push_back(record.number);
        self.decisions.insert(record.number, open);
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(open) = self.decisions.remove(&number) {
            self.bytes -= open.bytes();
            if let Some(id) = open.id {
                self.ids.remove(&(open.experiment, id));
            }
        }
    }
}
