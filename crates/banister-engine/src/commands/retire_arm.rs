//! Retires an arm: it is offered no more, and keeps its number.

use std::sync::Arc;

use super::{Command, Reply, Transaction};
use crate::events::Event;
use crate::queries::ExperimentView;
use crate::refusal::Refusal;

#[derive(Debug)]
pub struct RetireArm {
    pub experiment: Arc<str>,
    pub arm: String,
}

impl Command for RetireArm {
    type Answer = ExperimentView;

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<ExperimentView>, Refusal> {
        let arm = self.arm;
        let experiment = transaction.active(&self.experiment)?;
        let place = (experiment.arms.iter().position(|own| own.name == arm))
            .ok_or_else(|| Refusal::unknown("arm", &arm))?;
        if place == experiment.checked.safe {
            return Err(Refusal::conflict("the safe arm cannot be retired"));
        }
        if !experiment.arms[place].offered {
            return Err(Refusal::conflict(format!(
                "the arm `{arm}` is retired already"
            )));
        }
        experiment.check_retired(place)?;
        let key = experiment.key;
        transaction.write(key, Event::ArmRetired { arm: place as u32 });
        Ok(Reply::experiment(key))
    }
}
