//! Answers as JSON. What all decisions of a policy share is written once and kept with it.

use std::collections::BTreeMap;
use std::fmt::Write;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use banister::ArmEstimate;
use banister::decision::{Certificate, SegmentCertificate};
use banister_engine::{
    AlarmRaised, Decided, ExperimentInfo, PublishedPolicy, Reported, Share, Timestamp, named_costs,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;

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
    // One policy object never serves two sets of candidates, but names are this request's.
    let kept = published
        .rendered
        .get()
        .filter(|_| decided.candidates.is_empty());
    let made;
    let shared = match kept {
        Some(kept) => kept,
        None => {
            made = shared(published, &decided.info, &decided.candidates)?;
            if decided.candidates.is_empty() {
                published.rendered.get_or_init(|| made)
            } else {
                &made
            }
        }
    };
    let mut out = String::with_capacity(shared.len() + 256);
    let name = decided
        .info
        .action_name(&decided.candidates, decided.action);
    // Writing into a string does not fail.
    let _ = write!(
        out,
        "{{\"id\":{},\"experiment\":{},\"number\":{},\"time\":\"{}\",\"action\":{},\"index\":{},\
         \"safe\":{},\"probability\":{},\"shadow\":{},{shared}}}",
        text(&decided.shown_id())?,
        text(&decided.info.experiment)?,
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
    info: &ExperimentInfo,
    candidates: &[Option<String>],
) -> Result<String, Problem> {
    let policy = text(&info.policy(published, candidates))?;
    let certificate = text(&info.certificate(published))?;
    let segment = match &published.segment {
        Some(own) => format!(",\"segment\":{}", text(own)?),
        None => String::new(),
    };
    Ok(format!(
        "\"policy\":{policy},\"certificate\":{certificate}{segment}"
    ))
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
        costs: named_costs(&reported.info.costs, &reported.costs),
        alarms: reported.alarms.clone(),
    }
}
