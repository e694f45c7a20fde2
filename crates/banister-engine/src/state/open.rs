//! Open decisions in memory: the latest without a report.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::events::{Author, DecisionEvent, Record};
use crate::time::Timestamp;

/// Most decisions kept. The log has all of them; this only saves looking there.
const MOST_OPEN: usize = 200_000;

/// Decision without a report.
#[derive(Debug, Clone)]
pub(crate) struct OpenDecision {
    pub experiment: u64,
    pub id: Option<String>,
    pub time: Timestamp,
    /// Those of early versions have none.
    pub author: Option<Author>,
    pub event: Arc<DecisionEvent>,
}

/// The latest decisions without a report, by number and by id.
#[derive(Default)]
pub(crate) struct OpenDecisions {
    decisions: HashMap<u64, OpenDecision>,
    ids: HashMap<(u64, String), u64>,
    order: VecDeque<u64>,
}

impl OpenDecisions {
    pub(crate) fn get(&self, number: u64) -> Option<&OpenDecision> {
        self.decisions.get(&number)
    }

    pub(crate) fn number(&self, experiment: u64, id: &str) -> Option<u64> {
        // The key would have to be copied to be looked up by parts; ids are short.
        self.ids.get(&(experiment, id.to_string())).copied()
    }

    pub(super) fn insert(
        &mut self,
        record: &Record,
        author: Option<Author>,
        event: Arc<DecisionEvent>,
    ) {
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
                author,
                event,
            },
        );
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(open) = self.decisions.remove(&number)
            && let Some(id) = open.id
        {
            self.ids.remove(&(open.experiment, id));
        }
    }
}
