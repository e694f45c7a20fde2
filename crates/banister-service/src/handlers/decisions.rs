//! Decisions and outcomes, one by one and in batches.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;
use banister_engine::{
    Author, Cancel, Decide, Decided, DecisionRequest, Exposed, Kind, OutcomeReport,
    ReadExperimentInfo, Refusal, Report, Reported, Span, Store,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::audit::{self, Audit, DecisionList, DecisionSummary};
use crate::app::App;
use crate::body::{InPath, InQuery, Json, checked_limit, json, raw, text};
use crate::memory::Held;
use crate::middleware::rate::Amounts;
use crate::problem::Problem;

/// Many requests for decisions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionBatch {
    /// The requests.
    #[serde(deserialize_with = "banister_engine::object::list")]
    pub decisions: Vec<DecisionRequest>,
}

/// Many outcomes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutcomeBatch {
    /// The reports.
    #[serde(deserialize_with = "banister_engine::object::list")]
    pub outcomes: Vec<OutcomeReport>,
}

/// Answers to the entries of a batch, in their order.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchResults {
    /// One result per entry.
    pub results: Vec<EntryResult>,
}

/// Answer to an entry of a batch, under the name of what was asked for, or a problem.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EntryResult {
    /// The status that the entry alone would have had.
    pub status: u16,
    /// The decision, in a batch of requests for decisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decided>,
    /// The outcome as far as known, in a batch of outcomes or events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Reported>,
    /// The exposure, in a batch of exposures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposure: Option<Exposed>,
    /// The error of an entry that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

impl Default for EntryResult {
    fn default() -> Self {
        Self {
            status: 200,
            decision: None,
            outcome: None,
            exposure: None,
            problem: None,
        }
    }
}

impl From<Problem> for EntryResult {
    fn from(problem: Problem) -> Self {
        Self {
            status: problem.status,
            problem: Some(problem),
            ..Self::default()
        }
    }
}

impl EntryResult {
    pub(super) fn of_outcome(reported: Reported) -> Self {
        Self {
            outcome: Some(reported),
            ..Self::default()
        }
    }
}

/// Bytes of an answer that are made at once.
const PART: usize = 64 << 10;
/// Bytes of memory of an arm in a policy, as computed and as written.
const ROW: usize = 64;
/// The largest number that every reader of JSON keeps exactly.
const LARGEST_NUMBER: u64 = (1 << 53) - 1;

/// The query of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    limit: Option<usize>,
    before: Option<u64>,
}

impl Page {
    /// Number before which to begin, and how many.
    pub fn check(&self) -> Result<(u64, usize), Problem> {
        let status = StatusCode::BAD_REQUEST;
        let limit = checked_limit(self.limit, 50)?;
        if let Some(before) = self.before.filter(|before| *before > LARGEST_NUMBER) {
            let allowed = format!("must be at most {LARGEST_NUMBER}");
            return Err(Problem::of_field(
                status,
                "before",
                before.to_string(),
                allowed,
            ));
        }
        Ok((self.before.unwrap_or(u64::MAX), limit))
    }
}

pub async fn decide(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath(name): InPath<String>,
    Json(request): Json<DecisionRequest>,
) -> Result<Response, Problem> {
    let command = Decide::new(name.into(), request);
    Ok(json(&app.execute(author, command).await?))
}

/// Charges a batch for its entries beyond the first, which the request itself was charged for.
pub(super) fn charge_entries(app: &App, count: usize) {
    let requests = count.saturating_sub(1) as f64;
    let entries = Amounts {
        requests,
        ..Amounts::default()
    };
    app.limits.spend(&Held::current().charged, entries);
}

pub async fn report(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath(name): InPath<String>,
    Json(report): Json<OutcomeReport>,
) -> Result<Response, Problem> {
    let experiment = name.into();
    let reported = app.execute(author, Report { experiment, report }).await?;
    Ok(json(&reported))
}

pub async fn cancel(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath((name, decision)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    let experiment = name.into();
    let command = Cancel {
        experiment,
        decision,
    };
    Ok(json(&app.execute(author, command).await?))
}

pub async fn decide_batch(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath(name): InPath<String>,
    Json(batch): Json<DecisionBatch>,
) -> Result<Response, Problem> {
    check_size(&app, "decisions", batch.decisions.len())?;
    let info = app.query(ReadExperimentInfo(name.as_str().into())).await;
    // Elsewhere every decision has a policy of its own. Where there is no experiment, every entry says so.
    if let Ok(info) = info
        && (info.kind != Kind::Arms || info.segments.is_some())
    {
        let rows = batch.decisions.len() * info.arms.len();
        Held::current().add(app.memory.reserve(rows * ROW).await?);
    }
    let name: Arc<str> = name.into();
    let requests = batch.decisions.into_iter();
    let commands = requests.map(|request| Decide::new(name.clone(), request));
    let answers = app.execute_all(author, commands.collect()).await?;
    results(answers, |decided| EntryResult {
        decision: Some(decided),
        ..EntryResult::default()
    })
}

pub async fn report_batch(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath(name): InPath<String>,
    Json(batch): Json<OutcomeBatch>,
) -> Result<Response, Problem> {
    check_size(&app, "outcomes", batch.outcomes.len())?;
    let name: Arc<str> = name.into();
    let reports = batch.outcomes.into_iter();
    let commands = reports.map(|report| Report {
        experiment: name.clone(),
        report,
    });
    let answers = app.execute_all(author, commands.collect()).await?;
    results(answers, EntryResult::of_outcome)
}

pub async fn list(
    State(app): State<App>,
    InPath(name): InPath<String>,
    InQuery(page): InQuery<Page>,
) -> Result<Response, Problem> {
    let (mut before, limit) = page.check()?;
    let info = app.query(ReadExperimentInfo(name.into())).await?;
    let key = info.key;
    let read = move |store: &mut dyn Store| {
        let mut list: Vec<Result<DecisionSummary, Problem>> = Vec::new();
        // The store gives fewer at once where decisions are large.
        while list.len() < limit {
            let found = store.decisions(&Span::before(key, before, limit - list.len()))?;
            let Some(last) = found.last() else {
                break;
            };
            before = last.decision.number;
            list.extend(found.iter().map(|found| audit::summary(found, &info)));
        }
        Ok(list)
    };
    let decisions: Result<_, Problem> = app.read(read).await?.into_iter().collect();
    Ok(json(&DecisionList {
        decisions: decisions?,
    }))
}

pub async fn audit(
    State(app): State<App>,
    InPath((name, id)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    let audit: Audit = audit::audit(&app, name, id).await?;
    Ok(json(&audit))
}

/// Checks how many entries a batch has, and charges for them.
pub(super) fn check_size(app: &App, field: &str, count: usize) -> Result<(), Problem> {
    let most = app.settings.max_batch;
    if (1..=most).contains(&count) {
        charge_entries(app, count);
        return Ok(());
    }
    let allowed = format!("must have 1 to {most} entries");
    Err(Refusal::invalid(field, format!("a list of {count}"), allowed).into())
}

/// Sends the answers of a batch ([`entries`]), each rendered when it is due: together they may be long.
pub(super) fn results<A: Send + 'static>(
    answers: Vec<Result<A, Refusal>>,
    entry: impl Fn(A) -> EntryResult + Send + 'static,
) -> Result<Response, Problem> {
    let (mut entries, held) = (entries(answers, entry)?, Held::current());
    let mut before = Some("{\"results\":[");
    let parts = std::iter::from_fn(move || {
        let (_until_sent, mut part) = (&held, String::new());
        while let Some(own) = before.filter(|_| part.len() < PART) {
            let entry = entries.next();
            before = entry.is_some().then_some(",");
            part += &entry.map_or_else(|| "]}".into(), |entry| own.to_string() + &rendered(&entry));
        }
        (!part.is_empty()).then_some(part)
    });
    let parts = parts.map(Ok::<_, Infallible>);
    Ok(raw(Body::from_stream(futures_util::stream::iter(parts))))
}

/// An entry as JSON.
fn rendered(entry: &EntryResult) -> String {
    text(entry)
        .or_else(|problem| text(&EntryResult::from(problem)))
        .unwrap_or_else(|problem| problem.to_json())
}

/// Answers, each as the result of an entry. A batch that could not be written at all is a 503 as a whole.
pub(super) fn entries<A>(
    answers: Vec<Result<A, Refusal>>,
    entry: impl Fn(A) -> EntryResult,
) -> Result<impl Iterator<Item = EntryResult>, Problem> {
    let down = |answer: &Result<A, Refusal>| match answer {
        Err(refusal @ Refusal::Unavailable { .. }) => Some(Problem::from(refusal.clone())),
        _ => None,
    };
    if let Some(problem) = answers.iter().find_map(down) {
        return Err(problem);
    }
    let refused = |refusal| EntryResult::from(Problem::from(refusal));
    let each = answers.into_iter();
    Ok(each.map(move |answer| answer.map_or_else(refused, &entry)))
}
