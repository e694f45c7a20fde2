//! The agent of an experiment and its policies, in the log's own numbers of arms.

use std::ops::Range;
use std::sync::Arc;

use banister::{
    Agent, AlarmAnswer, ArmEstimate, ArmWeights, Choice, Error, Fallback, Floors, Origin, Pending,
    Round,
};

use super::policy_inputs::{ExperimentStatus, PolicyInputs};
use crate::events::{Candidate, Import, OutcomeEvent, PublishedPolicy};
use crate::refusal::Refusal;
use crate::state::declaration::{Kind, NamedArm};

/// Effect of an event on what is learned.
pub(crate) enum LearnerEvent {
    Observe {
        outcome: OutcomeEvent,
        origin: Origin,
    },
    Import(Import),
    /// A decision was drawn whose outcome comes later.
    Announce(PendingDecision),
    /// The outcome of a decision will never come.
    GiveUp(PendingDecision),
    AddArm(NamedArm),
    /// By its number.
    RetireArm(usize),
    /// By its number.
    ForgetArm(usize),
    /// Of an arm, by its number.
    SetWeights(usize, ArmWeights),
    /// Floors under the policy.
    SetFloors(Floors),
    /// The policy settles, or explores again.
    Settle(bool),
    Answer(AlarmAnswer),
    /// An event records an alarm of the agent.
    /// An alarm is an event now, by its number.
    AlarmRecorded(u64),
    /// The experiment was changed.
    PolicyInputs(Arc<PolicyInputs>),
}

/// A decision whose outcome comes later.
pub(crate) struct PendingDecision {
    pub number: u64,
    pub action: u32,
    pub segment: Option<Arc<str>>,
    /// Probability of its safe action, where outcomes come in any order.
    pub safe_probability: Option<f64>,
    /// Its segment's own excess.
    pub excess: Vec<f64>,
    /// Its time ([`crate::DecisionEvent::time`]).
    pub time: Option<f64>,
}

impl PendingDecision {
    fn view(&self) -> Pending<'_> {
        Pending {
            decision: self.number,
            action: self.action as usize,
            segment: self.segment.as_deref(),
            safe_probability: self.safe_probability,
            excess: &self.excess,
            time: self.time,
        }
    }
}

/// Offers an arm, a new one or one that was retired.
pub(crate) fn add_arm(agent: &mut dyn Agent, arm: &NamedArm) -> Result<(), Error> {
    let added = agent.add_arm(
        &arm.name,
        arm.features.as_deref(),
        &arm.ranges,
        &arm.weights,
    );
    added.map(|_| ())
}

/// An alarm with the names of its arm and of its segment, where it is about one.
#[derive(Clone)]
pub(crate) struct NamedAlarm {
    pub alarm: banister::monitor::Alarm,
    pub arm: Option<String>,
    pub segment: Option<String>,
}

/// Number of segments.
#[derive(Debug, Clone, Copy, Default)]
pub struct SegmentCount {
    /// Number of policies, the pool's included.
    pub told_apart: usize,
    /// Names with statistics of their own.
    pub names: usize,
    /// Names that there is room for.
    pub max_names: usize,
}

/// Segments, and the number of all.
pub(crate) type SegmentsView = (Vec<banister::toolkit::SegmentView>, usize);

/// An agent and what its policies depend on.
pub struct Core {
    /// To ask; what changes it goes through [`LearnerEvent`]s.
    pub(crate) agent: Box<dyn Agent>,
    /// Alarms of the agent that events record.
    pub recorded: u64,
    inputs: Arc<PolicyInputs>,
    /// Latest time that is known, as declared drift counts it.
    time: f64,
    /// Policy over the arms, as long as nothing changes it.
    current: Option<Arc<PublishedPolicy>>,
}

/// Learned part of an experiment, for people.
pub(crate) struct LearnedView {
    /// The policy over the arms, where there is one between decisions.
    pub policy: Option<Arc<PublishedPolicy>>,
    pub outcomes: u64,
    pub estimates: Vec<ArmEstimate>,
    pub monitor: Option<banister::monitor::Monitor>,
}

impl Core {
    pub(crate) fn new(agent: Box<dyn Agent>, recorded: u64, inputs: Arc<PolicyInputs>) -> Self {
        Self {
            agent,
            recorded,
            inputs,
            time: 0.0,
            current: None,
        }
    }

    /// A copy of it, where the agent can be copied.
    pub(super) fn copy(&self) -> Option<Self> {
        Some(Self {
            agent: self.agent.copy()?,
            inputs: self.inputs.clone(),
            current: self.current.clone(),
            ..*self
        })
    }

    /// Segments by number.
    pub(crate) fn segment_count(&self) -> SegmentCount {
        let view = self.agent.view();
        SegmentCount {
            told_apart: view.segment_policies,
            names: view.segment_names.len(),
            max_names: view.max_segments,
        }
    }

    pub(crate) fn inputs(&self) -> &Arc<PolicyInputs> {
        &self.inputs
    }

    /// Moves the agent to a new core, and puts another in its place.
    pub(super) fn give_way(&mut self, twin: Box<dyn Agent>) -> Self {
        let agent = std::mem::replace(&mut self.agent, twin);
        Self::new(agent, self.recorded, self.inputs.clone())
    }

    /// Takes over what depends on the declaration alone.
    pub(super) fn shape(&mut self, event: &LearnerEvent) -> Result<(), String> {
        let agent = &mut *self.agent;
        let shaped = match event {
            LearnerEvent::AddArm(arm) => add_arm(agent, arm),
            LearnerEvent::RetireArm(arm) => agent.retire_arm(*arm),
            LearnerEvent::Answer(answer @ AlarmAnswer::OnBreach(_)) => agent.answer_alarms(*answer),
            _ => Ok(()),
        };
        shaped.map_err(|e| e.to_string())
    }

    /// Takes an event's effect. Events were checked before they were written, so the agent refuses none; if
    /// one cannot be taken, the log is damaged.
    pub(super) fn apply(&mut self, event: LearnerEvent) -> Result<(), String> {
        self.try_apply(event).map_err(|e| e.to_string())
    }

    fn try_apply(&mut self, event: LearnerEvent) -> Result<(), Error> {
        let (agent, info) = (&mut *self.agent, &self.inputs.info);
        match event {
            LearnerEvent::Observe { outcome, origin } => {
                agent.observe(&outcome.observed(|features| info.choice(features), origin))?;
                // A policy whose bounds have not changed stays published.
                if !agent.view().is_stale {
                    return Ok(());
                }
            }
            LearnerEvent::Import(import) => {
                for outcome in import.outcomes(|features| info.choice(features)) {
                    agent.observe(&outcome)?;
                }
            }
            LearnerEvent::Announce(pending) => {
                self.time = self.time.max(pending.time.unwrap_or(0.0));
                return agent.announce(&pending.view());
            }
            LearnerEvent::GiveUp(pending) => agent.give_up(&pending.view())?,
            LearnerEvent::AddArm(arm) => add_arm(agent, &arm)?,
            LearnerEvent::RetireArm(arm) => agent.retire_arm(arm)?,
            LearnerEvent::ForgetArm(arm) => agent.forget_arm(arm)?,
            LearnerEvent::SetWeights(arm, weights) => agent.set_weights(arm, &weights)?,
            LearnerEvent::SetFloors(floors) => agent.set_floors(&floors)?,
            LearnerEvent::Settle(settled) => agent.settle(settled)?,
            LearnerEvent::Answer(answer) => {
                agent.answer_alarms(answer)?;
                if answer == AlarmAnswer::Acknowledge {
                    // Whatever was raised and not recorded is acknowledged with the rest.
                    let monitor = agent.view().monitor;
                    self.recorded = monitor.map_or(0, |monitor| monitor.raised());
                }
            }
            LearnerEvent::AlarmRecorded(number) => self.recorded = self.recorded.max(number),
            LearnerEvent::PolicyInputs(inputs) => self.inputs = inputs,
        }
        self.current = None;
        Ok(())
    }

    /// The policy for a request: over the arms as known now, for a context or for candidates. Its time, where drift is
    /// declared, is the latest one known if absent: the caller checks that the policy has not expired.
    pub(crate) fn policy(
        &mut self,
        time: Option<f64>,
        segment: Option<&str>,
        context: &[f64],
        candidates: &[Candidate],
    ) -> Result<Arc<PublishedPolicy>, Refusal> {
        self.time = self.time.max(time.unwrap_or(0.0));
        let inputs = self.inputs.clone();
        let features: Vec<f64>;
        let (choice, field) = match inputs.info.kind {
            Kind::Arms if segment.is_none() => return self.policy_of_arms(),
            Kind::Arms => (Choice::Arms, "segment"),
            Kind::Context(_) => {
                features = inputs.info.vector(context).into_owned();
                (Choice::Context(&features), "context")
            }
            Kind::Candidates(_) => {
                let each = candidates.iter().flat_map(|c| c.features.iter().copied());
                features = each.collect();
                (Choice::Offered(&features), "actions")
            }
        };
        let round = Round {
            choice,
            segment,
            ..Round::default()
        };
        let published = self.publish(round).map_err(|error| match error {
            Error::Invalid { .. } => error.into(),
            other => Refusal::invalid(field, "given", other.to_string()),
        });
        published.map(Arc::new)
    }

    fn policy_of_arms(&mut self) -> Result<Arc<PublishedPolicy>, Refusal> {
        if let Some(published) = &self.current
            && !self.agent.view().is_stale
            && published.holds_at(Some(self.time))
        {
            return Ok(published.clone());
        }
        let published = self.publish(Round::default());
        let published = published.map_err(|error| Refusal::unavailable(error.to_string()))?;
        // Saving drops warm starts, and the same policy comes of it again.
        let current = (self.current.take()).filter(|own| own.decision == published.decision);
        let published = current.unwrap_or_else(|| Arc::new(published));
        self.current = Some(published.clone());
        Ok(published)
    }

    fn publish(&mut self, round: Round) -> Result<PublishedPolicy, Error> {
        let only_safe = match self.inputs.status {
            ExperimentStatus::Paused => Some(Fallback::Paused),
            _ => self.inputs.is_forced.then_some(Fallback::Alarm),
        };
        let round = Round {
            only_safe,
            time: Some(self.time),
            ..round
        };
        PublishedPolicy::new(&mut *self.agent, &round, &self.inputs.info.problem)
    }

    /// The learned part, at a time ([`Self::policy`]).
    pub(crate) fn view(&mut self, time: Option<f64>) -> Result<LearnedView, Refusal> {
        self.time = self.time.max(time.unwrap_or(0.0));
        let info = &self.inputs.info;
        let has_arms = info.kind == Kind::Arms && info.segments.is_none();
        let policy = has_arms.then(|| self.policy_of_arms()).transpose()?;
        let estimates = if has_arms {
            let round = Round {
                time: Some(self.time),
                ..Round::default()
            };
            banister::estimates(&mut *self.agent, &round)
        } else {
            Vec::new()
        };
        let view = self.agent.view();
        Ok(LearnedView {
            policy,
            outcomes: view.outcomes,
            monitor: view.monitor.cloned(),
            estimates,
        })
    }

    /// Segments at some places, those seen most often first, and the number of all; at a time ([`Self::policy`]).
    pub(crate) fn segments(&mut self, time: Option<f64>, places: Range<usize>) -> SegmentsView {
        if let Some(time) = time {
            // Every question passes the time to the agent.
            let round = Round {
                time: Some(time),
                ..Round::default()
            };
            let _ = self.agent.estimate(&round, 0);
        }
        let segments = self.agent.segments(places);
        (segments, self.agent.view().segment_policies)
    }

    /// Alarms that no event records yet, each with the names of its arm and of its segment.
    pub(crate) fn unrecorded(&self) -> Vec<NamedAlarm> {
        let view = self.agent.view();
        let alarms = view.monitor.map_or(&[][..], |own| own.alarms()).iter();
        let named = alarms
            .filter(|own| own.number > self.recorded)
            .map(|alarm| {
                let arm = alarm.arm.and_then(|arm| view.arms.get(arm));
                let segment = alarm.segment.and_then(|s| view.segment_names.get(s));
                NamedAlarm {
                    alarm: *alarm,
                    arm: arm.map(|arm| arm.name.clone()),
                    segment: segment.cloned(),
                }
            });
        named.collect()
    }
}
