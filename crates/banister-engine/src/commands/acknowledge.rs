//! Acknowledges the alarms of an experiment, with a note.

use std::sync::Arc;

use super::{Command, Reply, Transaction};
use crate::events::Event;
use crate::queries::ExperimentView;
use crate::refusal::Refusal;
use crate::state::check_length;

#[derive(Debug)]
pub struct AcknowledgeAlarms {
    pub experiment: Arc<str>,
    pub note: String,
}

impl Command for AcknowledgeAlarms {
    type Answer = ExperimentView;

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<ExperimentView>, Refusal> {
        check_length("note", &self.note, 10_000)?;
        let experiment = transaction.active(&self.experiment)?;
        let key = experiment.key;
        if experiment.open_alarms().next().is_some() || experiment.has_unrecorded() {
            transaction.write(key, Event::AlarmsAcknowledged(self.note));
        }
        Ok(Reply::experiment(key))
    }
}
