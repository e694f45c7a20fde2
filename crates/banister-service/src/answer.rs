//! Answers as JSON.

use std::collections::BTreeMap;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use banister::ArmEstimate;
use banister_engine::{AlarmRaised, Reported, named_costs};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;

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
