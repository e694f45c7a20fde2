//! Changes an experiment: its description, status, shadow mode, time to live, budgets and reaction to alarms.

use std::sync::Arc;

use super::{Command, Reply, Transaction};
use crate::events::{Event, to_json};
use crate::queries::ExperimentView;
use crate::refusal::Refusal;
use crate::state::{Change, check_length};

#[derive(Debug)]
pub struct ChangeExperiment {
    pub experiment: Arc<str>,
    pub change: Change,
}

impl Command for ChangeExperiment {
    type Answer = ExperimentView;

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<ExperimentView>, Refusal> {
        let (name, change) = (self.experiment, self.change);
        let experiment = transaction.state.experiment(&name)?;
        if experiment.is_as(&change) {
            // Sent twice, or again by somebody who did not get the answer: there is nothing to write.
            return Ok(Reply::experiment(experiment.key));
        }
        let experiment = transaction.active(&name)?;
        if let Some(description) = &change.description {
            check_length("description", description, 10_000)?;
        }
        let declaration = &experiment.checked.declaration;
        let ttl = change.ttl_seconds.unwrap_or(declaration.ttl_seconds);
        let default = match &change.default_outcome {
            Some(changed) => changed.as_ref(),
            None => declaration.default_outcome.as_ref(),
        };
        experiment.checked.check_ttl(ttl, default)?;
        if let Some(budgets) = &change.budgets {
            experiment.checked.check_budgets(budgets)?;
        }
        if let Some(on_breach) = change.on_breach {
            experiment.check_on_breach(on_breach)?;
        }
        let key = experiment.key;
        let json = to_json(&change)?;
        transaction.write(key, Event::Changed(json));
        Ok(Reply::experiment(key))
    }
}
