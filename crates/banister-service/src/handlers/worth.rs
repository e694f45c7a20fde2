//! Lifts, health and reports.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use banister::lift::{ArmLift, LiftForm};
use banister_engine::{
    ExperimentInfo, Kind, ReadExperimentInfo, ReadHealth, ReadLifts, ReadReport, Readers, Span,
};
use banister_offline::{Log, Options};
use serde::Deserialize;

use super::audit::{DecisionStatus, decision_of, status_of};
use crate::app::App;
use crate::body::{InPath, InQuery, json};
use crate::problem::Problem;
use crate::report;

/// Most outcomes of a concurrent lift: a minute of work, and some tens of megabytes.
const MOST_ROWS: usize = 1_000_000;
/// Decisions read at once.
const PAGE: usize = 2000;
/// Bytes of a row, per signal.
const NUMBER: usize = 8;

/// The query of a lift.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    #[serde(default)]
    form: Form,
}

/// Form of a lift.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    #[default]
    Constant,
    Concurrent,
    /// The whole experiment against the units held out, whatever means do.
    Holdout,
}

pub async fn lift(
    State(app): State<App>,
    InPath(name): InPath<String>,
    InQuery(Wanted { form }): InQuery<Wanted>,
) -> Result<Response, Problem> {
    let mut view = app.query(ReadLifts(name.clone())).await?;
    if form != Form::Constant {
        let info = app.query(ReadExperimentInfo(name.into())).await?;
        let turn = app.exports.clone().try_acquire_owned().map_err(|_| {
            Problem::unavailable("too many logs are read at once: come again in a moment")
        })?;
        let row = NUMBER * (3 + info.costs.len());
        let rows = MOST_ROWS.min(view.number as usize);
        let share = app.memory.reserve(rows * row).await?;
        let readers = app.readers.clone();
        let found = tokio::task::spawn_blocking(move || {
            let _held = (turn, share);
            concurrent(&readers, &info, form)
        });
        let failed = |_| Problem::unavailable("reading the log failed");
        view.lifts = found.await.map_err(failed)??;
    }
    Ok(json(&view))
}

/// Lifts over rounds as they were decided, whatever means do: of decisions with an outcome, in their order.
fn concurrent(
    readers: &Readers,
    info: &ExperimentInfo,
    form: Form,
) -> Result<Vec<ArmLift>, Problem> {
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    let name = format!("{form:?}").to_lowercase();
    let refuse = |allowed: &str| Err(Problem::of_field(status, "form", name.as_str(), allowed));
    let holdout = info.holdout.filter(|_| form == Form::Holdout);
    let Some(safe) = info.safe.filter(|_| info.kind == Kind::Arms) else {
        return refuse("decisions of this experiment are not among arms alone");
    };
    if form == Form::Holdout && holdout.is_none() {
        return refuse("this experiment holds no units out: declare `rollout.holdout`");
    }
    // Held out or not is drawn, too: 0 and 1.
    let (safe, arms) = match holdout {
        Some(_) => (0, vec!["held out".into(), "experiment".into()]),
        None => (safe as usize, info.arms.clone()),
    };
    let (mut actions, mut pscores) = (Vec::new(), Vec::new());
    let (mut rewards, mut costs) = (Vec::new(), Vec::new());
    let mut after = 0;
    loop {
        let page = readers.with(|store| store.decisions(&Span::after(info.key, after, PAGE)))?;
        let Some(last) = page.last() else { break };
        after = last.decision.number;
        for found in &page {
            let (status, part) = status_of(&found.reports)?;
            let event = decision_of(&found.decision)?;
            let learned = matches!(status, DecisionStatus::Complete | DecisionStatus::Expired);
            let whole: Option<Vec<f64>> = part.costs.into_iter().collect();
            let outcome = part.reward.zip(whole);
            let Some((reward, own)) = outcome.filter(|_| learned && !event.shadow) else {
                continue;
            };
            if actions.len() == MOST_ROWS {
                return refuse("too many outcomes: export the log, and use `banister evaluate`");
            }
            let unit = info.unit_of(found.decision.id.as_deref().unwrap_or_default());
            let (action, pscore) = match holdout {
                Some(own) if own.holds(unit) => (0, own.share),
                Some(own) => (1, 1.0 - own.share),
                None => (event.action as usize, event.probability),
            };
            actions.push(action);
            pscores.push(pscore);
            rewards.push(reward);
            costs.extend(own);
        }
    }
    if actions.is_empty() {
        return Ok(Vec::new());
    }
    let log = Log {
        arms: arms.len(),
        actions: &actions,
        rewards: &rewards,
        costs: &costs,
        pscores: Some(&pscores),
        arm_names: arms,
        adaptive: true,
        ..Log::default()
    };
    let options = Options {
        confidence: info.confidence,
        ..Options::default()
    };
    let problem = &info.problem.declared;
    let log = log.declare(&problem.reward, &problem.measured()).check();
    let form = LiftForm::Concurrent;
    let found = log.and_then(|log| banister_offline::lift(&log, safe, form, &options));
    found.map_err(|error| Problem::new(status, error.to_string()))
}

pub async fn health(
    State(app): State<App>,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    Ok(json(&app.query(ReadHealth(name)).await?))
}

/// The query of a report.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    #[serde(default)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Json,
    Html,
}

pub async fn report(
    State(app): State<App>,
    InPath(name): InPath<String>,
    InQuery(Shape { format }): InQuery<Shape>,
) -> Result<Response, Problem> {
    let found = app.query(ReadReport(name)).await?;
    Ok(match format {
        Format::Json => json(&found),
        Format::Html => {
            let headers = [
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                (
                    header::CONTENT_SECURITY_POLICY,
                    "default-src 'none'; style-src 'unsafe-inline'",
                ),
            ];
            (headers, report::html(&found)).into_response()
        }
    })
}
