//! Creates an experiment, and edits a running one: its declaration, its arms, its alarms.

use std::sync::Arc;

use banister::toolkit::did_you_mean;
use banister::{AlarmAnswer, Event as AgentEvent};
use rand::RngExt;

use super::{Command, Reply, Transaction};
use crate::events::{Event, to_json};
use crate::queries::ExperimentView;
use crate::refusal::Refusal;
use crate::state::{
    Change, CheckedDeclaration, Declaration, Edit, Experiment, ExperimentStatus, Rollout,
    check_length,
};

#[derive(Debug)]
pub struct EditExperiment {
    pub experiment: Arc<str>,
    pub edit: Edit,
}

impl Command for EditExperiment {
    type Answer = ExperimentView;

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<ExperimentView>, Refusal> {
        let experiment = transaction.state.experiment(&self.experiment)?;
        let key = experiment.key;
        if let Edit::Change(change) = &self.edit
            && experiment.is_as(change)
        {
            // Sent twice, or again by a caller that did not get the answer: there is nothing to write.
            return Ok(Reply::experiment(key));
        }
        let experiment = transaction.active(&self.experiment)?;
        if let Some(edit) = self.edit.check(experiment)? {
            transaction.edit(key, &edit)?;
        }
        Ok(Reply::experiment(key))
    }
}

impl Edit {
    /// Checks the edit; returns it as it is written, unless it changes nothing.
    fn check(self, experiment: &Experiment) -> Result<Option<Self>, Refusal> {
        match &self {
            Self::Change(change) => check_change(experiment, change)?,
            Self::AddArm(arm) => {
                return Ok(Some(Self::AddArm(experiment.check_new_arm(arm.clone())?)));
            }
            Self::RetireArm { name } => {
                let place = place_of(experiment, name)?;
                if place == experiment.checked.safe {
                    return Err(Refusal::conflict("the safe arm cannot be retired"));
                }
                if !experiment.arms[place].offered {
                    let reason = format!("the arm `{name}` is retired already");
                    return Err(Refusal::conflict(reason));
                }
                experiment.check_event(&AgentEvent::ArmRetired(place))?;
            }
            Self::ForgetArm { name } => {
                let place = place_of(experiment, name)?;
                experiment.check_event(&AgentEvent::ArmChanged(place))?;
            }
            Self::SetWeights { name, weights } => {
                let place = place_of(experiment, name)?;
                experiment.check_event(&AgentEvent::Weights(place, weights))?;
                let known = experiment.checked.standard.arm_weights(place);
                let mut each = weights.0.iter();
                if each.all(|(name, own)| known.0.get(name) == Some(own)) {
                    return Ok(None);
                }
            }
            Self::AcknowledgeAlarms { note } => {
                check_length("note", note, 10_000)?;
                if experiment.open_alarms().next().is_none() && !experiment.has_unrecorded() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(self))
    }
}

fn place_of(experiment: &Experiment, arm: &str) -> Result<usize, Refusal> {
    experiment.place(arm).ok_or_else(|| Refusal::Unknown {
        what: "arm",
        name: arm.into(),
        hint: did_you_mean(arm, experiment.arms.iter().map(|own| own.name.as_str())),
    })
}

fn check_change(experiment: &Experiment, change: &Change) -> Result<(), Refusal> {
    if let Some(description) = &change.description {
        check_length("description", description, 10_000)?;
    }
    let declaration = &experiment.checked.declaration;
    let ttl = change.ttl_seconds.unwrap_or(declaration.ttl_seconds);
    let default = match &change.default_outcome {
        Some(changed) => changed.as_ref(),
        None => declaration.default_outcome.as_ref(),
    };
    let has_budgets = change.budgets.as_ref().is_some_and(|own| !own.is_empty());
    let shadow = change.shadow == Some(true);
    (experiment.checked).check_beside_unit(ttl, shadow, has_budgets)?;
    experiment.checked.check_ttl(ttl, default)?;
    if let Some(budgets) = &change.budgets {
        experiment.checked.check_budgets(budgets)?;
    }
    if let Some(Some(stop_when)) = change.stop_when {
        stop_when.check()?;
    }
    if change.settled == Some(true) || matches!(change.stop_when, Some(Some(_))) {
        experiment.check_event(&AgentEvent::Settled(true))?;
    }
    if let Some(share) = change.share {
        let allowed = "cannot be changed itself: change `rollout`";
        return Err(Refusal::invalid("share", share, allowed));
    }
    if let Some(rollout) = &change.rollout {
        check_rollout(experiment, rollout.as_ref())?;
    }
    if let Some(on_breach) = change.on_breach {
        let answer = AlarmAnswer::OnBreach(on_breach);
        experiment.check_event(&AgentEvent::Answered(answer))?;
    }
    Ok(())
}

/// Refuses another rollout that would give units to other arms or experiments.
fn check_rollout(experiment: &Experiment, rollout: Option<&Rollout>) -> Result<(), Refusal> {
    let known = experiment.checked.declaration.rollout.as_ref();
    let units = |own: Option<&Rollout>| own.map(|own| (own.holdout, own.namespace.clone()));
    if units(known).unwrap_or_default() != units(rollout).unwrap_or_default() {
        let allowed =
            "`holdout` and `namespace` cannot be changed: units are assigned by them already";
        return Err(Refusal::invalid("rollout", "given", allowed));
    }
    rollout.map_or(Ok(()), |own| experiment.checked.check_rollout(own))
}

#[derive(Debug)]
pub struct CreateExperiment(pub Declaration);

impl Command for CreateExperiment {
    type Answer = ExperimentView;

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<ExperimentView>, Refusal> {
        let mut checked = self.0.check()?;
        if let Some(unit) = &mut checked.declaration.unit {
            // Whole numbers that every reader of JSON has room for.
            unit.seed
                .get_or_insert(transaction.rng.random::<u64>() >> 11);
        }
        let name = &checked.declaration.name;
        if transaction.state.is_taken(name) {
            return Err(Refusal::conflict(format!(
                "there is an experiment called `{name}` already"
            )));
        }
        let namespace =
            |own: &CheckedDeclaration| own.declaration.rollout.as_ref()?.namespace.clone();
        if let Some(own) = namespace(&checked) {
            let others = transaction.state.experiments();
            let mut others = others.filter(|e| e.status != ExperimentStatus::Archived);
            if others.any(|e| namespace(&e.checked).is_some_and(|n| own.overlaps(&n))) {
                // The other one is not named: the caller's token may be for other experiments.
                return Err(Refusal::conflict(format!(
                    "`rollout.namespace`: units of [{}, {}) in `{}` are those of another experiment",
                    own.from, own.to, own.name
                )));
            }
        }
        let json = to_json(&checked.declaration)?;
        // The key of an experiment is the number of the event that creates it.
        let key = transaction.next_number();
        transaction.write(key, Event::Created(json));
        Ok(Reply::experiment(key))
    }
}
