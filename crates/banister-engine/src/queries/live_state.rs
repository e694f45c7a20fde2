//! Live state of an experiment: the policy now, estimates of every arm, alarms and evidence.

use banister::ArmEstimate;
use banister::decision::{Certificate, SegmentCertificate};
use banister::toolkit::CheckedProblem;
use schemars::JsonSchema;
use serde::Serialize;

use super::Query;
use super::experiment::alarm;
use crate::events::{PolicyEstimates, relative_to_safe};
use crate::refusal::Refusal;
use crate::state::{EngineState, Experiment, ForcedSafe, Kind, RecordedAlarm, Share};
use crate::time::Timestamp;

/// Asks for the live state of an experiment.
pub struct ReadState(pub String);

/// Live state of an experiment: its policy now, estimates of every arm, alarms and evidence.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExperimentState {
    /// The experiment.
    pub experiment: String,
    /// Its last event.
    pub number: u64,
    /// Time of the state.
    pub time: Timestamp,
    /// Outcomes known.
    pub outcomes: u64,
    /// The policy now; where decisions bring their actions, the last one.
    pub policy: Option<Vec<Share>>,
    /// Certificate of the policy.
    pub certificate: Option<Certificate>,
    /// The policy's own reward and guardrails.
    pub estimates: Option<PolicyEstimates>,
    /// The segment that policy and estimates are of, where decisions have one, and its own part of the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<SegmentCertificate>,
    /// Every arm.
    pub arms: Vec<ArmState>,
    /// Set while the safe action is forced.
    pub alarm: Option<ForcedSafe>,
    /// Unacknowledged alarms, oldest first.
    pub alarms: Vec<RecordedAlarm>,
    /// Evidence of breaches, one entry per guardrail; none for agents that are not watched.
    pub evidence: Vec<EvidenceView>,
}

/// An arm now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArmState {
    /// Name.
    pub name: String,
    /// True for the safe one.
    pub safe: bool,
    /// Its probability under the policy now.
    pub probability: Option<f64>,
    /// Its estimates.
    #[serde(flatten)]
    pub estimate: ArmEstimate,
    /// Decisions for it whose time to live is over.
    pub matured: u64,
    /// Those of them whose outcome never came.
    pub missing: u64,
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
    type Answer = ExperimentState;

    fn reads(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn answer(self, state: &mut EngineState) -> Result<ExperimentState, Refusal> {
        let (sets, now) = (state.clock_sets().clone(), state.now);
        let experiment = state.experiment(&self.0)?;
        let time = experiment.drift_time(&sets, now, 0);
        let has_arms = experiment.info.kind == Kind::Arms && experiment.info.segments.is_none();
        let (mut policy, mut estimates) = (None, Vec::new());
        if has_arms {
            let mut own = experiment.policy(time, None, &[], &[])?;
            if !experiment.checked.declaration.shadow {
                let budgets = experiment.budgets.clone();
                own = experiment.allowed(&budgets, &sets, now, own);
            }
            (policy, estimates) = (Some(own), experiment.learner.estimates(time));
        }
        let latest = experiment.trace.latest.as_ref();
        let published = policy.or_else(|| latest.map(|latest| latest.published.clone()));
        let published = published.as_deref();
        let candidates = latest.map_or(&[][..], |latest| &latest.candidates);
        let info = &experiment.info;
        let safe = experiment.checked.safe;
        let own_safe = estimates.get(safe);
        let problem = &experiment.checked.standard;
        let arms = estimates.iter().zip(&experiment.arms).enumerate();
        let arms = arms.map(|(number, (own, arm))| {
            let shown = in_units_of_certificates(problem, own, own_safe, number == safe);
            let counts = experiment.missing.of(number).copied().unwrap_or_default();
            ArmState {
                name: arm.name.clone(),
                safe: number == safe,
                probability: published.map(|p| p.probability(number as u32)),
                estimate: ArmEstimate {
                    offered: arm.offered,
                    ..shown
                },
                matured: counts.matured,
                missing: counts.missing,
            }
        });
        Ok(ExperimentState {
            experiment: info.experiment.clone(),
            number: experiment.number,
            time: now,
            outcomes: experiment.learner.view().outcomes,
            policy: published.map(|p| info.policy(p, candidates)),
            certificate: published.map(|p| info.certificate(p)),
            estimates: published.map(|p| p.estimates.clone()),
            segment: published.and_then(|p| p.segment.clone()),
            arms: arms.collect(),
            alarm: alarm(experiment, &sets, now),
            alarms: experiment.open_alarms().cloned().collect(),
            evidence: evidence(experiment),
        })
    }
}

fn evidence(experiment: &Experiment) -> Vec<EvidenceView> {
    let Some(monitor) = experiment.learner.view().monitor else {
        return Vec::new();
    };
    let guardrails = experiment.info.guardrails.iter().enumerate();
    guardrails
        .map(|(i, name)| EvidenceView {
            guardrail: name.clone(),
            watched: monitor.watches(i),
            points: monitor.evidence(i).to_vec(),
            alarm_at: monitor.alarm_level().log10(),
        })
        .collect()
}

/// An action's estimate in the units of certificates: its signal under a relative guardrail is the excess over the
/// factor times the safe mean.
pub fn in_units_of_certificates(
    problem: &CheckedProblem,
    own: &ArmEstimate,
    safe: Option<&ArmEstimate>,
    is_safe: bool,
) -> ArmEstimate {
    let costs = problem.guardrails.iter().zip(&own.costs).enumerate();
    ArmEstimate {
        costs: costs
            .map(|(i, (guardrail, &own))| {
                let safe = safe.and_then(|s| s.costs.get(i));
                relative_to_safe(guardrail, own, safe, is_safe)
            })
            .collect(),
        ..own.clone()
    }
}
