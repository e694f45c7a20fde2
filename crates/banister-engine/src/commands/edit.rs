//! Creates an experiment, and edits a running one: its declaration, its arms, its alarms.

use std::sync::Arc;

use banister::toolkit::did_you_mean;
use banister::{AlarmAnswer, ArmWeights};
use rand::RngExt;
use serde::Serialize;

use super::{Command, Reply, Transaction};
use crate::events::{Event, to_json};
use crate::queries::ExperimentView;
use crate::refusal::Refusal;
use crate::state::{
    Change, CheckedDeclaration, Declaration, Experiment, ExperimentStatus, NamedArm, Rollout,
    check_length,
};

#[derive(Debug)]
pub struct EditExperiment {
    pub experiment: Arc<str>,
    pub edit: Edit,
}

/// An edit of an experiment.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Edit {
    /// Changes its description, status, shadow mode, time to live, budgets or reaction to alarms.
    Change(Change),
    /// Adds an arm, or offers a retired one again.
    AddArm(NamedArm),
    /// Retires an arm by name: it is offered no more, and keeps its number.
    RetireArm(String),
    /// Forgets what was learned of an arm, by name: it has changed.
    ForgetArm(String),
    /// Sets other weights of an arm, by name.
    SetWeights { arm: String, weights: ArmWeights },
    /// Acknowledges the alarms, with a note.
    AcknowledgeAlarms(String),
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
        if let Some(event) = self.edit.event(experiment)? {
            transaction.write(key, event);
        }
        Ok(Reply::experiment(key))
    }
}

impl Edit {
    /// Kind of the change that it makes, as lists of changes show it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Change(_) => "changed",
            Self::AddArm(_) => "arm_added",
            Self::RetireArm(_) => "arm_retired",
            Self::ForgetArm(_) => "arm_forgotten",
            Self::SetWeights { .. } => "weights_told",
            Self::AcknowledgeAlarms(_) => "alarms_acknowledged",
        }
    }

    /// Checks the edit; returns its event, unless there is nothing to write.
    fn event(self, experiment: &Experiment) -> Result<Option<Event>, Refusal> {
        Ok(Some(match self {
            Self::Change(change) => {
                check_change(experiment, &change)?;
                Event::Changed(to_json(&change)?)
            }
            Self::AddArm(arm) => Event::NewArm(to_json(&experiment.check_new_arm(arm)?)?),
            Self::RetireArm(arm) => {
                let place = place_of(experiment, &arm)?;
                if place == experiment.checked.safe {
                    return Err(Refusal::conflict("the safe arm cannot be retired"));
                }
                if !experiment.arms[place].offered {
                    let reason = format!("the arm `{arm}` is retired already");
                    return Err(Refusal::conflict(reason));
                }
                experiment.try_on_a_twin(|twin| twin.retire_arm(place))?;
                Event::ArmRetired { arm: place as u32 }
            }
            Self::ForgetArm(arm) => {
                let place = place_of(experiment, &arm)?;
                experiment.try_on_a_twin(|twin| twin.forget_arm(place))?;
                Event::ArmForgotten { arm: place as u32 }
            }
            Self::SetWeights { arm, weights } => {
                let place = place_of(experiment, &arm)?;
                experiment.try_on_a_twin(|twin| twin.set_weights(place, &weights))?;
                let known = experiment.checked.standard.arm_weights(place);
                if weights
                    .0
                    .iter()
                    .all(|(name, own)| known.0.get(name) == Some(own))
                {
                    return Ok(None);
                }
                Event::WeightsTold {
                    arm: place as u32,
                    weights: to_json(&weights)?,
                }
            }
            Self::AcknowledgeAlarms(note) => {
                check_length("note", &note, 10_000)?;
                if experiment.open_alarms().next().is_none() && !experiment.has_unrecorded() {
                    return Ok(None);
                }
                Event::AlarmsAcknowledged(note)
            }
        }))
    }
}

fn place_of(experiment: &Experiment, arm: &str) -> Result<usize, Refusal> {
    let names = experiment.arms.iter().map(|own| own.name.as_str());
    let place = names.clone().position(|own| own == arm);
    place.ok_or_else(|| Refusal::Unknown {
        what: "arm",
        name: arm.into(),
        hint: did_you_mean(arm, names),
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
        experiment.try_on_a_twin(|twin| twin.settle(true))?;
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
        experiment.try_on_a_twin(|twin| twin.answer(answer))?;
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
