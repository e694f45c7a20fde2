//! Flags for OpenFeature clients: the OpenFeature Remote Evaluation Protocol (OFREP), and tracking events.
//!
//! Evaluating a flag decides for the unit, as asking for a decision does: a unit keeps its arm for its period, so that a
//! flag that is evaluated again has the same value. Every unit that is evaluated counts, also one that never sees it.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use banister::toolkit::did_you_mean;
use banister_engine::{
    Author, Decide, DecisionRequest, Flag, FlagView, OutcomeReport, ReadFlags, Refusal, Report,
    RequestContext, Segments, Tracked,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::decisions::{EntryResult, charge_entries, check_size, entries};
use crate::app::App;
use crate::body::{self, InPath, Json};
use crate::memory::Held;
use crate::middleware::auth::Principal;
use crate::problem::Problem;

/// Most flags that are evaluated at once.
const MOST_FLAGS: usize = 1000;
/// Bytes of memory of a flag's evaluation, and of a report with its answer.
const EVALUATED: usize = 4096;
const REPORTED: usize = 1536;
/// Most rules that an unknown event is compared with.
const MOST_RULES: usize = 100;

const NO_KEY: &str = "`context.targetingKey` is absent: it names the unit to decide for";

/// A request for an evaluation.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct EvaluationRequest {
    /// `targetingKey`, the unit, and any other attributes of it.
    #[serde(default)]
    context: Option<Map<String, Value>>,
}

/// A flag's value for a unit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Evaluation {
    /// Name of the experiment.
    key: String,
    /// `SPLIT` if it was drawn, `DEFAULT` if the safe arm was forced.
    reason: String,
    /// Name of the arm.
    variant: String,
    /// The arm's value.
    value: Value,
    /// The decision and its certificate.
    metadata: Map<String, Value>,
}

/// Values of all flags for a unit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Evaluations {
    /// A value or an error per flag.
    flags: Vec<Value>,
}

/// An event that a client tracked.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackingEvent {
    /// Name of the event.
    pub event: String,
    /// The unit: `targetingKey` of its evaluations.
    #[serde(rename = "targetingKey")]
    #[schemars(length(min = 1, max = 128))]
    pub targeting_key: String,
    /// An id of its own among events of that name, so that it counts once if it is sent again.
    #[schemars(length(min = 1, max = 128))]
    pub id: String,
    /// Its value.
    #[serde(default)]
    pub value: Option<f64>,
}

/// Many tracking events.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackingBatch {
    /// The events.
    #[serde(deserialize_with = "banister_engine::object::list")]
    pub events: Vec<TrackingEvent>,
}

/// What became of tracking events.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrackingResults {
    /// One result per event, in their order.
    pub results: Vec<TrackingResult>,
}

/// What became of a tracking event.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrackingResult {
    /// The outcome, or a problem, of every flag with a rule for the event.
    pub flags: BTreeMap<String, EntryResult>,
    /// Set if no flag has a rule for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// An error in OFREP's words.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationError {
    /// Name of the experiment, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// `FLAG_NOT_FOUND`, `TARGETING_KEY_MISSING`, `INVALID_CONTEXT` or `GENERAL`.
    error_code: String,
    /// Explanation of the error, and what is allowed.
    error_details: String,
}

fn error(key: Option<&str>, code: &str, details: impl Into<String>) -> (StatusCode, Value) {
    let status = match code {
        "FLAG_NOT_FOUND" => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    };
    let body = EvaluationError {
        key: key.map(str::to_string),
        error_code: code.into(),
        error_details: details.into(),
    };
    (status, json!(body))
}

/// The unit of a context: clients send an empty key where they know none.
fn unit_of(context: &Map<String, Value>) -> Option<&str> {
    let key = context.get("targetingKey").and_then(Value::as_str);
    key.filter(|key| !key.is_empty())
}

/// The value of an arm. Typed clients read `1` as an integer: where one number is a fraction, all have a point.
fn value_of(flag: &Flag, arm: &str) -> Value {
    let value = flag.value(arm);
    match value.as_f64() {
        Some(number) if flag.values.values().any(Value::is_f64) => number.into(),
        _ => value,
    }
}

/// Returns true if a client has what it asks for, as `If-None-Match` says. A proxy that compresses makes tags weak.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).into_iter();
    let mut tags = known
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    tags.any(|own| own.trim().trim_start_matches("W/") == tag)
}

/// Request for an experiment's decision from a context; attributes that it does not declare are ignored.
fn request_of(flag: &FlagView, context: &Map<String, Value>) -> Result<DecisionRequest, String> {
    let pick = |names: &mut dyn Iterator<Item = &String>| -> Map<String, Value> {
        let found = names.filter_map(|name| Some((name.clone(), context.get(name)?.clone())));
        found.collect()
    };
    let read = |e: serde_json::Error| e.to_string();
    let info = &flag.info;
    let segment = match &info.segments {
        None => None,
        Some(Segments::Names(_)) => context.get("segment").cloned(),
        Some(Segments::Fields(own)) => Some(Value::Object(pick(&mut own.fields.iter()))),
    };
    let row = (info.fields.as_ref()).map(|fields| Value::Object(pick(&mut fields.0.keys())));
    let numbers = || context.get("context").cloned();
    let given = row.or_else(numbers).filter(|_| info.takes_context());
    let given: Option<RequestContext> = given
        .map(serde_json::from_value)
        .transpose()
        .map_err(read)?;
    Ok(DecisionRequest {
        unit: unit_of(context).map(str::to_string),
        segment: segment
            .map(serde_json::from_value)
            .transpose()
            .map_err(read)?,
        context: given,
        ..DecisionRequest::default()
    })
}

/// Evaluates a flag: its value, or an error, both in OFREP's words.
async fn evaluated(
    app: &App,
    author: Author,
    flag: &FlagView,
    context: &Map<String, Value>,
) -> Result<(StatusCode, Value), Problem> {
    let key = flag.info.experiment.as_str();
    let bad = |code: &str, details: &str| error(Some(key), code, details);
    let request = match request_of(flag, context) {
        Ok(request) if request.unit.is_none() => {
            return Ok(bad("TARGETING_KEY_MISSING", NO_KEY));
        }
        Ok(request) => request,
        Err(details) => return Ok(bad("INVALID_CONTEXT", &details)),
    };
    let command = Decide::new(key.into(), request);
    let decided = app.execute_all(author, vec![command]).await?.pop();
    let decided = match decided.unwrap_or_else(|| Err(Refusal::unavailable("no answer"))) {
        Ok(decided) => decided,
        Err(refusal @ Refusal::Invalid { .. }) => {
            return Ok(bad("INVALID_CONTEXT", &refusal.to_string()));
        }
        // Archived a moment ago: no reason to refuse other flags.
        Err(refusal @ Refusal::Conflict { .. }) => return Ok(bad("GENERAL", &refusal.to_string())),
        Err(refusal) => return Err(refusal.into()),
    };
    let published = &decided.published;
    let (info, arm) = (&published.info, decided.action.clone());
    let mut metadata = Map::new();
    metadata.insert("decision".into(), decided.id.as_str().into());
    metadata.insert("probability".into(), decided.probability.into());
    metadata.insert("confidence".into(), info.confidence.into());
    if let Some(reason) = published.fallback {
        metadata.insert("fallback".into(), json!(reason));
    }
    for (name, own) in info.guardrails.iter().zip(&published.guardrails) {
        metadata.insert(
            format!("{name}.pessimistic_cost"),
            own.pessimistic_cost.into(),
        );
        metadata.insert(format!("{name}.threshold"), own.threshold.into());
    }
    let is_forced = published.fallback.is_some();
    let evaluation = Evaluation {
        key: key.to_string(),
        reason: if is_forced { "DEFAULT" } else { "SPLIT" }.into(),
        value: value_of(&flag.flag, &arm),
        variant: arm,
        metadata,
    };
    Ok((StatusCode::OK, json!(evaluation)))
}

pub async fn evaluate(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    Extension(principal): Extension<Principal>,
    InPath(key): InPath<String>,
    Json(request): Json<EvaluationRequest>,
) -> Result<Response, Problem> {
    let mut flags = app.query(ReadFlags(Some(key.clone()))).await?;
    let (status, body) = match flags.pop() {
        Some(flag) => evaluated(&app, author, &flag, &request.context.unwrap_or_default()).await?,
        None => {
            let flags = seen_flags(&app, &principal).await?;
            let names = flags.iter().map(|flag| flag.info.experiment.as_str());
            let hint = did_you_mean(&key, names);
            let details = format!("there is no experiment `{key}` that is marked as a flag{hint}");
            error(Some(&key), "FLAG_NOT_FOUND", details)
        }
    };
    Ok((status, axum::Json(body)).into_response())
}

pub async fn evaluate_all(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    Json(request): Json<EvaluationRequest>,
) -> Result<Response, Problem> {
    let mut flags = seen_flags(&app, &principal).await?;
    flags.truncate(MOST_FLAGS);
    charge_entries(&app, flags.len());
    Held::current().add(app.memory.reserve(flags.len() * EVALUATED).await?);
    let context = request.context.unwrap_or_default();
    if unit_of(&context).is_none() {
        let (status, body) = error(None, "TARGETING_KEY_MISSING", NO_KEY);
        return Ok((status, axum::Json(body)).into_response());
    }
    let each = flags
        .iter()
        .map(|flag| evaluated(&app, author.clone(), flag, &context));
    // Asked for together, they share a commit.
    let found = futures_util::future::try_join_all(each).await?;
    let body = json!(Evaluations {
        flags: found.into_iter().map(|(_, own)| own).collect(),
    });
    let body = body.to_string();
    let tag = format!("\"{}\"", blake3::hash(body.as_bytes()).to_hex());
    let mut response = if is_known(&headers, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        body::raw(body)
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

pub async fn track(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    Extension(principal): Extension<Principal>,
    Json(batch): Json<TrackingBatch>,
) -> Result<Response, Problem> {
    check_size(&app, "events", batch.events.len())?;
    let flags = seen_flags(&app, &principal).await?;
    let rules = flags.iter().map(|flag| &flag.flag.events);
    let counted = rules.map(|own| {
        batch
            .events
            .iter()
            .filter(|event| own.contains_key(&event.event))
            .count()
    });
    let count: usize = counted.sum();
    charge_entries(&app, count.saturating_sub(batch.events.len()));
    Held::current().add(app.memory.reserve(count * REPORTED).await?);
    let mut reports = Vec::with_capacity(count);
    for event in &batch.events {
        for flag in &flags {
            if let Some(rule) = flag.flag.events.get(&event.event) {
                reports.push(report_of(flag, rule, event));
            }
        }
    }
    let mut answers = Vec::with_capacity(reports.len());
    // An event may be an outcome of several flags: another flag must not make a batch too large.
    while !reports.is_empty() {
        let rest = reports.split_off(reports.len().min(app.settings.max_batch));
        let part = std::mem::replace(&mut reports, rest);
        answers.extend(app.execute_all(author.clone(), part).await?);
    }
    let mut entries = entries(answers, EntryResult::of_outcome)?;
    let rules = flags.iter().flat_map(|flag| flag.flag.events.keys());
    // A few, since a batch may ask for many.
    let rules: BTreeSet<&str> = rules.map(String::as_str).take(MOST_RULES).collect();
    let each = batch.events.iter().map(|TrackingEvent { event, .. }| {
        let ruled = (flags.iter()).filter(|flag| flag.flag.events.contains_key(event));
        let name = |flag: &FlagView| flag.info.experiment.clone();
        let own = (ruled.zip(&mut entries)).map(|(flag, entry)| (name(flag), entry));
        let flags: BTreeMap<String, EntryResult> = own.collect();
        let problem = flags.is_empty().then(|| {
            let hint = did_you_mean(event, rules.iter().copied());
            let detail = format!("no flag has a rule for the event `{event}`{hint}");
            Problem::new(StatusCode::NOT_FOUND, detail)
        });
        TrackingResult { flags, problem }
    });
    let results = each.collect();
    Ok(body::json(&TrackingResults { results }))
}

/// The flags that a caller may know of.
async fn seen_flags(app: &App, principal: &Principal) -> Result<Vec<FlagView>, Problem> {
    let mut flags = app.query(ReadFlags(None)).await?;
    flags.retain(|flag| principal.may_see(&flag.info.experiment));
    Ok(flags)
}

fn report_of(flag: &FlagView, rule: &Tracked, event: &TrackingEvent) -> Report {
    let mut report = OutcomeReport {
        unit: Some(event.targeting_key.clone()),
        // One id may come with several events, such as an order's.
        report: Some(event.id.clone()),
        event: Some(event.event.clone()),
        ..OutcomeReport::default()
    };
    let value = rule.value.or(event.value).or(Some(1.0));
    if rule.signal == "reward" {
        report.reward = value;
    } else {
        report.signals.insert(rule.signal.clone(), value);
    }
    Report {
        experiment: flag.info.experiment.as_str().into(),
        report,
    }
}
