//! Creates an experiment.

use super::{Command, Reply, Transaction};
use crate::events::{Event, to_json};
use crate::queries::ExperimentView;
use crate::refusal::Refusal;
use crate::state::Declaration;

#[derive(Debug)]
pub struct CreateExperiment(pub Declaration);

impl Command for CreateExperiment {
    type Answer = ExperimentView;

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<ExperimentView>, Refusal> {
        let checked = self.0.check()?;
        let name = &checked.declaration.name;
        if transaction.state.is_taken(name) {
            return Err(Refusal::conflict(format!(
                "there is an experiment called `{name}` already"
            )));
        }
        let json = to_json(&checked.declaration)?;
        // The key of an experiment is the number of the event that creates it.
        let key = transaction.next_number();
        transaction.write(key, Event::Created(json));
        Ok(Reply::experiment(key))
    }
}
