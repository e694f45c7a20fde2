//! Answers as JSON. What all decisions of a policy share is written once and kept with it.

use std::collections::BTreeMap;
use std::fmt::Write;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use banister::{ArmEstimate, Certificate, Scope, SegmentCertificate};
use banister_engine::{
    AlarmRaised, Decided, EvidenceView, Facts, ForcedSafe, LiveState, PolicyEstimates,
    PublishedPolicy, RecordedAlarm, Reported, SegmentPage, SegmentState, Timestamp, named_costs,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;

/// One entry of a policy.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Share {
    /// The action.
    pub action: String,
    /// Its number.
    pub index: u32,
    /// True for the safe one.
    pub safe: bool,
    /// Its probability.
    pub probability: f64,
}

/// A decision.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Decision {
    /// The caller's id, or `@` and the number.
    pub id: String,
    /// The experiment.
    pub experiment: String,
    /// The number of its event.
    pub number: u64,
    /// Time.
    pub time: Timestamp,
    /// The action drawn.
    pub action: String,
    /// Its number.
    pub index: u32,
    /// True for the safe one.
    pub safe: bool,
    /// Its probability.
    pub probability: f64,
    /// True in shadow mode: the caller's own action is what happens.
    pub shadow: bool,
    /// The policy it was drawn from.
    pub policy: Vec<Share>,
    /// Certificate of the policy.
    pub certificate: Certificate,
    /// The segment that it was made in, where decisions have one, and its own part of the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<SegmentCertificate>,
}

/// Outcome as far as known.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OutcomeAnswer {
    /// The decision.
    pub decision: String,
    /// `partial` until everything is known, then `complete`; with a time to live `pending` until it is over.
    pub status: OutcomeStatus,
    /// The reward, if known.
    pub reward: Option<f64>,
    /// The costs, as far as known.
    pub costs: BTreeMap<String, Option<f64>>,
    /// Alarms that this report raises: its numbers lie outside their declared ranges, and count as their ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<AlarmRaised>,
}

/// Status of an outcome.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeStatus {
    /// Something is missing.
    Partial,
    /// Everything is known, and is learned when the decision's time to live is over.
    Pending,
    /// Everything is known and learned.
    Complete,
}

/// Estimates of an action of a policy.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KnownAction {
    /// The action.
    pub action: String,
    /// Its number.
    pub index: u32,
    /// Its probability under the policy.
    pub probability: f64,
    /// Its estimates.
    #[serde(flatten)]
    pub estimate: ArmEstimate,
}

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
    /// Alarms that nobody has acknowledged yet, oldest first.
    pub alarms: Vec<RecordedAlarm>,
    /// Evidence of breaches, one entry per guardrail; none for agents that are not watched.
    pub evidence: Vec<EvidenceView>,
    /// One decision in this many is watched for breaches; more than 1 where outcomes come very late.
    pub watched_one_in: u64,
}

/// Segments of an experiment, those seen most often first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SegmentList {
    /// The experiment.
    pub experiment: String,
    /// Its last event.
    pub number: u64,
    /// Time of the list.
    pub time: Timestamp,
    /// Segments told apart, and the pool.
    pub total: usize,
    /// Segments told apart, and the pool of all others last.
    pub segments: Vec<SegmentRow>,
}

/// A segment, or the pool of those that are not told apart.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SegmentRow {
    /// Name of the segment; null for the pool.
    pub name: Option<String>,
    /// Names of segments that share the pool's policy, those seen most often first; not all where they are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<String>,
    /// Decisions seen in it.
    pub contexts: u64,
    /// Share of all decisions.
    pub frequency: f64,
    /// Pessimistic cost of its policy, threshold and price under each guardrail.
    pub guardrails: Vec<SegmentGuardrail>,
    /// Probability and estimates of every arm in it.
    pub arms: Vec<SegmentArm>,
    /// Reward and guardrails of its policy.
    pub estimates: PolicyEstimates,
}

/// A guardrail in a segment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SegmentGuardrail {
    /// Name.
    pub name: String,
    /// Decisions over which its mean is taken.
    pub scope: Scope,
    /// Pessimistic cost of the segment's own policy.
    pub pessimistic_cost: f64,
    /// Bound on that cost with scope `each`; with scope `overall` on the mean over all segments.
    pub threshold: f64,
    /// Reward per unit of threshold: what a little more of it would earn, spent here.
    pub price: f64,
}

/// An arm in a segment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SegmentArm {
    /// Name.
    pub name: String,
    /// Its probability.
    pub probability: f64,
    /// Its estimates.
    #[serde(flatten)]
    pub estimate: ArmEstimate,
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

/// Serialises an answer.
pub fn json(value: &impl Serialize) -> Response {
    match text(value) {
        Ok(json) => raw(json),
        Err(problem) => problem.into_response(),
    }
}

/// An answer, or a part of it, as JSON.
pub fn text(value: &impl Serialize) -> Result<String, Problem> {
    let failed = |e| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("no JSON: {e}"));
    serde_json::to_string(value).map_err(failed)
}

/// Wraps an answer that is JSON already.
pub fn raw(json: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}

/// A decision as JSON: the same as serialising [`Decision`], and a test says so, but most of it is
/// written only once per policy.
pub fn decision(decided: &Decided) -> Result<String, Problem> {
    let published = &decided.published;
    // The same policy object never serves two sets of candidates, but names are this request's.
    let kept = published
        .rendered
        .get()
        .filter(|_| decided.candidates.is_empty());
    let made;
    let shared = match kept {
        Some(kept) => kept,
        None => {
            made = shared(published, &decided.facts, &decided.candidates)?;
            if decided.candidates.is_empty() {
                published.rendered.get_or_init(|| made)
            } else {
                &made
            }
        }
    };
    let mut out = String::with_capacity(shared.len() + 256);
    let name = decided
        .facts
        .action_name(&decided.candidates, decided.action);
    // Writing into a string does not fail.
    let _ = write!(
        out,
        "{{\"id\":{},\"experiment\":{},\"number\":{},\"time\":\"{}\",\"action\":{},\"index\":{},\
         \"safe\":{},\"probability\":{},\"shadow\":{},{shared}}}",
        text(&decided.shown_id())?,
        text(&decided.facts.experiment)?,
        decided.number,
        decided.time,
        text(&name)?,
        decided.action,
        decided.action == decided.published.safe,
        text(&decided.probability)?,
        decided.shadow,
    );
    Ok(out)
}

/// The part of a decision that its policy determines.
fn shared(
    published: &PublishedPolicy,
    facts: &Facts,
    candidates: &[Option<String>],
) -> Result<String, Problem> {
    let policy = text(&policy(published, facts, candidates))?;
    let certificate = text(&certificate(published, facts))?;
    let segment = match &published.segment {
        Some(own) => format!(",\"segment\":{}", text(own)?),
        None => String::new(),
    };
    Ok(format!(
        "\"policy\":{policy},\"certificate\":{certificate}{segment}"
    ))
}

/// Renders a policy with names.
pub fn policy(
    published: &PublishedPolicy,
    facts: &Facts,
    candidates: &[Option<String>],
) -> Vec<Share> {
    let entries = published.policy.iter();
    entries
        .map(|&(index, probability)| Share {
            action: facts.action_name(candidates, index as u32),
            index: index as u32,
            safe: index == published.safe as usize,
            probability,
        })
        .collect()
}

/// Renders a certificate with names.
pub fn certificate(published: &PublishedPolicy, facts: &Facts) -> Certificate {
    let guardrails = facts.problem.guardrails.iter();
    let names = guardrails.map(|g| (g.name.as_str(), g.signal.capped));
    published.certificate(names, facts.assumptions.clone())
}

/// Renders an outcome with names.
pub fn outcome(reported: &Reported) -> OutcomeAnswer {
    OutcomeAnswer {
        decision: reported.decision.clone(),
        status: match (reported.complete, reported.pending) {
            (true, _) => OutcomeStatus::Complete,
            (false, true) => OutcomeStatus::Pending,
            (false, false) => OutcomeStatus::Partial,
        },
        reward: reported.reward,
        costs: named_costs(&reported.facts.guardrails, &reported.costs),
        alarms: reported.alarms.clone(),
    }
}

/// Renders segments with names.
pub fn segments(page: &SegmentPage) -> SegmentList {
    let facts = &page.facts;
    let row = |own: &SegmentState| {
        let view = &own.view;
        let probability = |arm: usize| {
            let entry = view.policy.iter().find(|entry| entry.0 == arm);
            entry.map_or(0.0, |entry| entry.1)
        };
        let guardrails = facts.problem.guardrails.iter().enumerate();
        let arms = view.arms.iter().enumerate();
        SegmentRow {
            name: view.name.clone(),
            pooled: view.pooled.clone(),
            contexts: view.contexts,
            frequency: view.frequency,
            guardrails: guardrails
                .map(|(i, guardrail)| SegmentGuardrail {
                    name: guardrail.name.clone(),
                    scope: guardrail.scope,
                    pessimistic_cost: view.costs[i],
                    threshold: guardrail.shown_threshold,
                    price: view.prices[i],
                })
                .collect(),
            arms: arms
                .map(|(arm, estimate)| SegmentArm {
                    name: facts.arms.get(arm).cloned().unwrap_or_default(),
                    probability: probability(arm),
                    estimate: estimate.clone(),
                })
                .collect(),
            estimates: own.estimates.clone(),
        }
    };
    SegmentList {
        experiment: facts.experiment.clone(),
        number: page.number,
        time: page.time,
        total: page.total,
        segments: page.segments.iter().map(row).collect(),
    }
}

/// Renders the live state with names.
pub fn state(view: &LiveState) -> ExperimentState {
    let facts = &view.facts;
    let published = view.published.as_deref();
    let arm = |(number, estimate): &(usize, ArmEstimate)| ArmState {
        name: facts.arms.get(*number).cloned().unwrap_or_default(),
        safe: facts.safe == Some(*number as u32),
        probability: published.map(|p| p.probability(*number as u32)),
        estimate: estimate.clone(),
        matured: view.missing.get(*number).map_or(0, |counts| counts.0),
        missing: view.missing.get(*number).map_or(0, |counts| counts.1),
    };
    ExperimentState {
        experiment: facts.experiment.clone(),
        number: view.number,
        time: view.time,
        outcomes: view.outcomes,
        policy: published.map(|p| policy(p, facts, &view.candidates)),
        certificate: published.map(|p| certificate(p, facts)),
        estimates: published.map(|p| p.estimates.clone()),
        segment: published.and_then(|p| p.segment.clone()),
        arms: view.arms.iter().map(arm).collect(),
        alarm: view.alarm.clone(),
        alarms: view.alarms.clone(),
        evidence: view.evidence.clone(),
        watched_one_in: view.watched_one_in,
    }
}
