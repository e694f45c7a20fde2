//! Audit trail of a decision: the estimates, the policy and its certificate, the outcome.

use std::collections::BTreeMap;
use std::sync::Arc;

use banister::{ArmEstimate, Fallback};
use banister_engine::{
    Author, Decided, DecisionEvent, Event, ExperimentInfo, Found, Key, Part, PublishedPolicy,
    ReadExperimentInfo, Record, RequestContext, Timestamp, candidate_names,
    in_units_of_certificates, named_costs, replay_reports,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::problem::Problem;

/// Status of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecisionStatus {
    /// Nothing was reported yet.
    Open,
    /// A part of the outcome was reported.
    Partial,
    /// All of the outcome was reported; it is learned when the time to live is over.
    Pending,
    /// The outcome is complete.
    Complete,
    /// The time to live was over first.
    Expired,
    /// It was never carried out.
    Cancelled,
    /// Its unit was given another arm before its period was over: it is not learned.
    Moved,
    /// The outcome of a unit that was learned in an earlier period: it is not learned.
    Returned,
}

/// Decisions, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecisionList {
    /// The decisions.
    pub decisions: Vec<DecisionSummary>,
}

/// A decision in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecisionSummary {
    /// The caller's id, or `@` and the number.
    pub id: String,
    /// The number of its event.
    pub number: u64,
    /// Time.
    pub time: Timestamp,
    /// The action drawn.
    pub action: String,
    /// Its probability.
    pub probability: f64,
    /// Segment that it was made in, where decisions have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
    /// Reason for which the safe action was forced, if it was.
    pub fallback: Option<Fallback>,
    /// Status.
    pub status: DecisionStatus,
    /// The reward, if known.
    pub reward: Option<f64>,
    /// The costs, as far as known.
    pub costs: BTreeMap<String, Option<f64>>,
}

/// The audit trail of a decision.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Audit {
    /// The decision.
    #[serde(flatten)]
    pub decision: Decided,
    /// The uniform number that drew the action.
    pub draw: f64,
    /// The context, if the request brought one: its numbers, or its values by field.
    pub context: Option<RequestContext>,
    /// The candidates, if the request brought any.
    pub candidates: Option<Vec<AuditCandidate>>,
    /// Action that the caller took, in shadow mode.
    pub taken: Option<String>,
    /// In shadow mode: the caller's own probability of it.
    pub propensity: Option<f64>,
    /// Estimates of the policy's actions and the safe one, when it was decided.
    pub known: Vec<KnownAction>,
    /// Status.
    pub status: DecisionStatus,
    /// Outcome as far as known.
    pub outcome: Option<AuditOutcome>,
    /// The events about it.
    pub events: Vec<AuditEvent>,
}

/// A candidate action.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditCandidate {
    /// Name.
    pub name: String,
    /// Its features.
    pub features: Vec<f64>,
}

/// Outcome as far as known.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditOutcome {
    /// The reward, if known.
    pub reward: Option<f64>,
    /// The costs, as far as known.
    pub costs: BTreeMap<String, Option<f64>>,
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

/// An event about a decision.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditEvent {
    /// Its number in the log.
    pub number: u64,
    /// Time.
    pub time: Timestamp,
    /// `decision`, `part`, `outcome`, `default`, `missing` or `cancelled`.
    pub kind: &'static str,
    /// Name of the token, `anonymous` where none was needed, `banister` for the service itself.
    pub author: String,
}

/// A decision in a list.
pub fn summary(found: &Found, info: &ExperimentInfo) -> Result<DecisionSummary, Problem> {
    let event = decision_of(&found.decision)?;
    let (status, part) = status_of(&found.reports)?;
    let candidates = candidate_names(&event.candidates);
    Ok(DecisionSummary {
        id: found.decision.shown_id(),
        number: found.decision.number,
        time: found.decision.time,
        action: info.action_name(&candidates, event.action),
        probability: event.probability,
        segment: event.segment.as_ref().map(|name| name.to_string()),
        fallback: event.fallback,
        status,
        reward: part.reward,
        costs: named_costs(&info.costs, &part.costs),
    })
}

/// The audit trail of a decision.
pub async fn audit(app: &App, name: String, id: String) -> Result<Audit, Problem> {
    let info = app.query(ReadExperimentInfo(name.into())).await?;
    let key = info.key;
    let wanted = Key::parse(&id);
    let read = move |store: &mut dyn banister_engine::Store| {
        let found = store.find(&[(key, wanted)])?.pop().flatten();
        let policy = match found.as_ref().map(|found| found.decision.event()) {
            Some(Ok(Event::Decision(event))) => match event.policy {
                Some(number) => store.get(number)?,
                None => None,
            },
            _ => None,
        };
        Ok((found, policy))
    };
    let (found, policy) = app.read(read).await?;
    let found =
        found.ok_or_else(|| Problem::from(banister_engine::Refusal::unknown("decision", id)))?;
    let event = decision_of(&found.decision)?;
    let cited = policy.as_ref().map(Record::event).transpose()?;
    let cited = cited
        .as_ref()
        .and_then(|own| own.policy(event.segment.as_deref()));
    let published =
        (event.own.as_ref().or(cited)).ok_or_else(|| damaged("its policy is missing".into()))?;
    let candidates = candidate_names(&event.candidates);
    let (status, part) = status_of(&found.reports)?;
    let taken = part.taken.filter(|_| event.shadow).or(event.taken);
    let call = |action: u32| info.action_name(&candidates, action);
    let decision = &found.decision;
    let made = (decision.number, decision.id.as_deref(), decision.time);
    Ok(Audit {
        known: known(published, &info.problem, &call),
        decision: Decided::new(made, &event, published.clone(), info.clone()),
        draw: event.draw,
        context: (!event.context.is_empty()).then(|| match &info.fields {
            Some(fields) => RequestContext::Row(fields.values(&event.context)),
            None => RequestContext::Numbers(event.context.clone()),
        }),
        candidates: (!event.candidates.is_empty()).then(|| {
            let named = event.candidates.iter().enumerate();
            let named = named.map(|(i, candidate)| AuditCandidate {
                name: call(i as u32),
                features: candidate.features.clone(),
            });
            named.collect()
        }),
        taken: taken.map(call),
        propensity: event.propensity,
        status,
        outcome: (status != DecisionStatus::Open).then(|| AuditOutcome {
            reward: part.reward,
            costs: named_costs(&info.costs, &part.costs),
        }),
        events: std::iter::once(decision)
            .chain(&found.reports)
            .map(audit_event)
            .collect::<Result<_, _>>()?,
    })
}

fn known(
    published: &PublishedPolicy,
    problem: &banister::toolkit::CheckedProblem,
    call: &impl Fn(u32) -> String,
) -> Vec<KnownAction> {
    let safe = published.estimate(published.safe);
    let each = published.known.iter().map(|(index, own)| KnownAction {
        action: call(*index),
        index: *index,
        probability: published.probability(*index),
        estimate: in_units_of_certificates(problem, own, safe, *index == published.safe),
    });
    each.collect()
}

/// Status of a decision and its outcome as far as reports go.
pub fn status_of(reports: &[Record]) -> Result<(DecisionStatus, Part), Problem> {
    let outcome = replay_reports(reports)?;
    let part = outcome.part;
    if outcome.returns {
        return Ok((DecisionStatus::Returned, part));
    }
    let is_whole = part.reward.is_some() && part.costs.iter().all(Option::is_some);
    let status = match outcome.complete {
        Some(true) if outcome.is_cancelled => DecisionStatus::Cancelled,
        Some(true) if outcome.moved.is_some() => DecisionStatus::Moved,
        Some(true) => DecisionStatus::Expired,
        Some(false) => DecisionStatus::Complete,
        None if reports.is_empty() => DecisionStatus::Open,
        None if is_whole => DecisionStatus::Pending,
        None => DecisionStatus::Partial,
    };
    Ok((status, part))
}

fn audit_event(record: &Record) -> Result<AuditEvent, Problem> {
    let (author, event) = record.read()?;
    let kind = match event {
        Event::Missing { .. } | Event::Lapsed if author.name() != Author::ENGINE => "cancelled",
        Event::Part(_) | Event::Added { .. } => "part",
        Event::Moved { .. } => "moved",
        Event::Outcome(outcome) | Event::Matured(outcome) if !outcome.by_default => "outcome",
        Event::Outcome(_) | Event::Matured(_) | Event::Lapsed => "default",
        Event::Missing { .. } => "missing",
        _ => "decision",
    };
    Ok(AuditEvent {
        number: record.number,
        time: record.time,
        kind,
        author: author.name().to_string(),
    })
}

pub fn decision_of(record: &Record) -> Result<Arc<DecisionEvent>, Problem> {
    match record.event()? {
        Event::Decision(event) => Ok(event),
        _ => Err(damaged(format!("event {} is no decision", record.number))),
    }
}

fn damaged(reason: String) -> Problem {
    Problem::unavailable(format!("the log is damaged: {reason}"))
}
