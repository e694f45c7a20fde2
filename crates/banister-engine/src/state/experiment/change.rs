//! Changes of a running experiment.

use std::collections::BTreeMap;

use banister::budget::Budget;
use banister::{AlarmAnswer, ArmWeights, Event, Fallback, OnBreach};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Experiment, ExperimentStatus, ForcedSafe, damage};
use crate::object::OneOrMany;
use crate::refusal::Refusal;
use crate::state::declaration::{DefaultOutcome, NamedArm, Rollout, StopWhen};
use crate::time::Timestamp;

/// A change of an experiment; what is absent stays.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Status: running, paused or archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ExperimentStatus>,
    /// True in shadow mode: the caller's own action is what happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool>,
    /// After this many seconds a decision without an outcome gets `default_outcome`; null: never.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given"
    )]
    #[schemars(with = "Option<f64>")]
    pub ttl_seconds: Option<Option<f64>>,
    /// Outcome of a decision that never got one; null: none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given_object"
    )]
    #[schemars(with = "Option<DefaultOutcome>")]
    pub default_outcome: Option<Option<DefaultOutcome>>,
    /// Budgets over time by guardrail, in place of all before; null: none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given_budgets"
    )]
    #[schemars(with = "Option<BTreeMap<String, OneOrMany<Budget>>>")]
    pub budgets: Option<BTreeMap<String, OneOrMany<Budget>>>,
    /// Condition under which the policy settles without a request; null: none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given_object"
    )]
    #[schemars(with = "Option<StopWhen>")]
    pub stop_when: Option<Option<StopWhen>>,
    /// True: the policy with the highest guaranteed reward is played from now on, and explores no more; false: it
    /// explores again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// When it runs, and how much of the traffic it may lead away from the safe action, in place of what was declared;
    /// null: always, all of it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given_object"
    )]
    #[schemars(with = "Option<Rollout>")]
    pub rollout: Option<Option<Rollout>>,
    /// Share of the traffic that the rollout has come to: only the service itself says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Reaction to alarms from now on; `relearn` only where it was declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_breach: Option<OnBreach>,
}

/// An edit of an experiment, as its event and lists of changes have it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", content = "change")]
pub enum Edit {
    /// Changes its description, status, shadow mode, time to live, budgets or reaction to alarms.
    #[serde(rename = "changed")]
    Change(Change),
    /// Adds an arm, or offers a retired one again.
    #[serde(rename = "arm_added")]
    AddArm(NamedArm),
    /// Retires an arm: it is offered no more, and keeps its number.
    #[serde(rename = "arm_retired")]
    RetireArm { name: String },
    /// Forgets what was learned of an arm: it has changed.
    #[serde(rename = "arm_forgotten")]
    ForgetArm { name: String },
    /// Sets other weights of an arm.
    #[serde(rename = "weights_told")]
    SetWeights { name: String, weights: ArmWeights },
    /// Acknowledges the alarms, with a note.
    #[serde(rename = "alarms_acknowledged")]
    AcknowledgeAlarms { note: String },
}

/// Tells null from absent.
fn given<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

fn given_object<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    crate::object::option(deserializer).map(Some)
}

fn given_budgets<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, OneOrMany<Budget>>>, D::Error> {
    crate::object::nullable_map(deserializer).map(Some)
}

impl Experiment {
    /// Folds an edit, given the number and the time of its event.
    pub(super) fn edited(&mut self, at: (u64, Timestamp), edit: Edit) -> Result<(), String> {
        let place = |own: &Self, name: &str| own.place(name).ok_or("there is no such arm");
        match edit {
            Edit::Change(change) => return self.change(change, at),
            Edit::AddArm(arm) => return self.add(arm),
            Edit::RetireArm { name } => {
                let arm = place(self, &name)?;
                self.arms[arm].offered = false;
                self.leased = None;
                self.learner.apply(&Event::ArmRetired(arm))
            }
            Edit::ForgetArm { name } => {
                let arm = place(self, &name)?;
                self.learner.apply(&Event::ArmChanged(arm))
            }
            Edit::SetWeights { name, weights } => {
                self.repriced = at.0;
                return self.set_weights(place(self, &name)?, &weights);
            }
            Edit::AcknowledgeAlarms { .. } => return self.acknowledge(at.1),
        }
        .map_err(damage)
    }

    /// Number of an arm.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.arms.iter().position(|own| own.name == name)
    }

    fn change(&mut self, change: Change, at: (u64, Timestamp)) -> Result<(), String> {
        let time = at.1;
        if (change.shadow).is_some_and(|shadow| shadow != self.checked.declaration.shadow) {
            self.shadow_switches.push(at.0);
        }
        if let Some(on_breach) = change.on_breach {
            let answer = Event::Answered(AlarmAnswer::OnBreach(on_breach));
            self.learner.apply(&answer).map_err(damage)?;
        }
        if let Some(settled) = change.settled {
            (self.learner.apply(&Event::Settled(settled))).map_err(damage)?;
            let was_settled = self.settled.is_some();
            self.settled = settled.then_some(time);
            if settled && !was_settled {
                self.notice_settled(at);
            }
        }
        if let Some(rollout) = change.rollout {
            self.checked.declaration.rollout = rollout;
            self.begin_rollout(time)?;
        }
        if let Some(share) = change.share {
            self.share = Some(share);
            self.tell_floors()?;
            self.notice_rollout(at);
        }
        let declaration = &mut self.checked.declaration;
        if let Some(stop_when) = change.stop_when {
            declaration.stop_when = stop_when;
        }
        if let Some(description) = change.description {
            declaration.description = description;
        }
        if let Some(shadow) = change.shadow {
            declaration.shadow = shadow;
        }
        if let Some(ttl) = change.ttl_seconds {
            declaration.ttl_seconds = ttl;
        }
        if let Some(outcome) = change.default_outcome {
            declaration.default_outcome = outcome;
        }
        if let Some(budgets) = change.budgets {
            self.folded.budgets.declare(&budgets, &self.info.guardrails);
            declaration.budgets = budgets;
        }
        if let Some(status) = change.status {
            self.status = status;
            let was_paused =
                (self.trace.alarm.as_ref()).is_some_and(|own| own.reason == Fallback::Paused);
            match status {
                ExperimentStatus::Paused if !was_paused => {
                    self.trace.alarm = Some(ForcedSafe {
                        reason: Fallback::Paused,
                        since: time,
                        decision: None,
                    });
                }
                ExperimentStatus::Running if was_paused => self.trace.alarm = None,
                _ => {}
            }
        }
        self.leased = None;
        Ok(())
    }

    /// Refuses what an archived experiment does no more.
    pub(crate) fn check_active(&self, what: &str) -> Result<(), Refusal> {
        if self.status != ExperimentStatus::Archived {
            return Ok(());
        }
        let name = &self.info.experiment;
        let reason = format!("the experiment `{name}` is archived and {what}");
        Err(Refusal::conflict(reason))
    }

    /// Most of the traffic that may be led away from the safe action at a time.
    pub(crate) fn share_at(&self, now: Timestamp) -> f64 {
        let rollout = self.checked.declaration.rollout.as_ref();
        rollout.map_or(1.0, |own| own.share(self.created, now))
    }

    /// True if an event has to say that the share is another one by now.
    pub(crate) fn is_rollout_due(&self, now: Timestamp) -> bool {
        self.share.is_some_and(|share| share != self.share_at(now))
    }

    /// Takes up the rollout as declared, at a time.
    pub(super) fn begin_rollout(&mut self, now: Timestamp) -> Result<(), String> {
        let has_rollout = self.checked.declaration.rollout.is_some();
        self.share = has_rollout.then(|| self.share_at(now));
        self.tell_floors()
    }

    fn tell_floors(&mut self) -> Result<(), String> {
        let share = self.share.unwrap_or(1.0);
        let rollout = self.checked.declaration.rollout.as_ref();
        let floors = rollout.map(|own| own.floors(share, |arm| self.checked.place(arm)));
        (self
            .learner
            .apply(&Event::Floors(&floors.unwrap_or_default())))
        .map_err(damage)
    }

    /// Returns true if a change would change nothing.
    pub(crate) fn is_as(&self, change: &Change) -> bool {
        let declaration = &self.checked.declaration;
        fn same<T: PartialEq>(known: &Option<T>, wanted: &Option<Option<T>>) -> bool {
            wanted.as_ref().is_none_or(|wanted| wanted == known)
        }
        (change.description.as_ref()).is_none_or(|text| *text == declaration.description)
            && change.status.is_none_or(|status| status == self.status)
            && change
                .shadow
                .is_none_or(|shadow| shadow == declaration.shadow)
            && change
                .ttl_seconds
                .is_none_or(|ttl| ttl == declaration.ttl_seconds)
            && same(&declaration.default_outcome, &change.default_outcome)
            && (change.budgets.as_ref()).is_none_or(|budgets| *budgets == declaration.budgets)
            && (change.stop_when).is_none_or(|own| own == declaration.stop_when)
            && same(&declaration.rollout, &change.rollout)
            && change.share.is_none()
            && (change.settled).is_none_or(|own| own == self.settled.is_some())
            && (change.on_breach).is_none_or(|own| self.on_breach() == Some(own))
    }
}
