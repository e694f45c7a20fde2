//! Adds an arm to an experiment, or offers a retired one again.

use std::sync::Arc;

use super::{Command, Reply, Transaction};
use crate::events::{Event, to_json};
use crate::queries::ExperimentView;
use crate::refusal::Refusal;
use crate::state::NamedArm;

#[derive(Debug)]
pub struct AddArm {
    pub experiment: Arc<str>,
    pub arm: NamedArm,
}

impl Command for AddArm {
    type Answer = ExperimentView;

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<ExperimentView>, Refusal> {
        let experiment = transaction.active(&self.experiment)?;
        let arm = experiment.check_new_arm(self.arm)?;
        let key = experiment.key;
        let json = to_json(&arm)?;
        transaction.write(key, Event::NewArm(json));
        Ok(Reply::experiment(key))
    }
}
