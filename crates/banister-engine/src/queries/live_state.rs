//! Live state of an experiment: the policy now, estimates of every arm, alarms and evidence.

use std::sync::Arc;

use banister::{ArmEstimate, Monitor};
use schemars::JsonSchema;
use serde::Serialize;

use super::experiment::alarm;
use super::{Query, in_units_of_certificates};
use crate::events::PublishedPolicy;
use crate::refusal::Refusal;
use crate::state::{EngineState, Experiment, Facts, ForcedSafe, LearnedView, RecordedAlarm};
use crate::time::Timestamp;

/// Asks for the live state of an experiment.
pub struct ReadState {
    name: Arc<str>,
    /// The learned part, where the learner was asked beside the writer.
    learned: Option<Result<LearnedView, Refusal>>,
}

impl ReadState {
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            learned: None,
        }
    }

    pub(crate) fn learned(self, learned: Result<LearnedView, Refusal>) -> Self {
        Self {
            learned: Some(learned),
            ..self
        }
    }
}

/// Live state of an experiment.
#[derive(Debug)]
pub struct LiveState {
    /// The experiment's last event.
    pub number: u64,
    pub time: Timestamp,
    pub outcomes: u64,
    /// The policy now; for experiments whose decisions bring their actions, the last one.
    pub published: Option<Arc<PublishedPolicy>>,
    /// Names of the candidates it chooses among; empty for arms.
    pub candidates: Vec<Option<String>>,
    pub facts: Arc<Facts>,
    /// Number and estimate of every arm, in the units of certificates.
    pub arms: Vec<(usize, ArmEstimate)>,
    /// Set while the safe action is forced.
    pub alarm: Option<ForcedSafe>,
    /// Alarms that nobody has acknowledged yet, oldest first.
    pub alarms: Vec<RecordedAlarm>,
    /// Evidence of breaches, one entry per guardrail; none for agents that are not watched.
    pub evidence: Vec<EvidenceView>,
    /// Decisions whose time to live is over and whose outcome never came, by arm: of how many, how many.
    pub missing: Vec<(u64, u64)>,
    /// One decision in this many is watched for breaches; more than 1 where outcomes come very late.
    pub watched_one_in: u64,
}

/// Evidence that a guardrail is breached, over time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Evidence")]
pub struct EvidenceView {
    /// Name of the guardrail.
    pub guardrail: String,
    /// True if a detector watches it.
    pub watched: bool,
    /// (Outcomes watched, log10 of the largest evidence since the point before).
    pub points: Vec<(u64, f64)>,
    /// log10 of the evidence at which an alarm is raised.
    pub alarm_at: f64,
}

impl Query for ReadState {
    type Answer = LiveState;

    fn answer(self, state: &mut EngineState) -> Result<LiveState, Refusal> {
        let (sets, now) = (state.clock_sets().clone(), state.now);
        let experiment = state.experiment(&self.name)?;
        // Of one that samples the last policy that was drawn, not another.
        let with_policy = experiment.latest.is_none();
        let learned = match self.learned {
            Some(learned) => learned?,
            None => experiment.learner.with(|core| core.view(with_policy))?,
        };
        let policy = learned.policy.map(|policy| {
            let budgets = experiment.budgets.clone();
            if experiment.checked.declaration.shadow {
                return policy;
            }
            experiment.allowed(&budgets, &sets, now, policy)
        });
        let latest = experiment.latest.as_ref();
        let published = policy.or_else(|| latest.map(|latest| latest.published.clone()));
        let candidates = latest.map_or_else(Vec::new, |latest| latest.candidates.clone());
        let all = learned.estimates;
        let safe = experiment.checked.safe;
        let own_safe = all.get(safe);
        let problem = &experiment.checked.standard;
        let arms: Vec<(usize, ArmEstimate)> = (all.iter().enumerate())
            .map(|(number, own)| {
                let shown = in_units_of_certificates(problem, own, own_safe, number == safe);
                let offered = experiment.arms[number].offered;
                (number, ArmEstimate { offered, ..shown })
            })
            .collect();
        Ok(LiveState {
            number: experiment.number,
            time: now,
            outcomes: learned.outcomes,
            published,
            candidates,
            facts: experiment.facts.clone(),
            missing: (0..experiment.arms.len())
                .map(|arm| {
                    let counts = experiment.missing.of(arm).copied().unwrap_or_default();
                    (counts.matured, counts.missing)
                })
                .collect(),
            arms,
            alarm: alarm(experiment, &sets, now),
            alarms: experiment.open_alarms().cloned().collect(),
            evidence: evidence(experiment, learned.monitor.as_ref()),
            watched_one_in: learned.monitor.as_ref().map_or(1, Monitor::stride),
        })
    }
}

fn evidence(experiment: &Experiment, monitor: Option<&Monitor>) -> Vec<EvidenceView> {
    let Some(monitor) = monitor else {
        return Vec::new();
    };
    let guardrails = experiment.facts.guardrails.iter().enumerate();
    guardrails
        .map(|(i, name)| EvidenceView {
            guardrail: name.clone(),
            watched: monitor.watches(i),
            points: monitor.evidence(i).to_vec(),
            alarm_at: monitor.run_length().log10(),
        })
        .collect()
}
