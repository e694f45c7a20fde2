//! Experiments.

use std::time::Instant;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use banister::ArmWeights;
use banister_engine::{
    Author, Change, CreateExperiment, Declaration, Edit, EditExperiment, ExperimentSummary,
    ExperimentView, ListExperiments, NamedArm, Page, ReadExperiment, ReadHistory, ReadSegments,
    ReadState, SummariseExperiments,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::changes::{Content, announce};
use crate::app::App;
use crate::body::{InPath, InQuery, Json, checked_limit, json, raw};
use crate::memory::Held;
use crate::middleware::auth::Principal;
use crate::problem::Problem;

/// Experiments or their summaries, oldest first.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum ExperimentList {
    Whole {
        /// Oldest first.
        experiments: Vec<ExperimentView>,
        /// Name of the last one, to ask for those after it; absent if there are no more.
        #[schemars(skip_serializing_if = "Option::is_none")]
        next: Option<String>,
    },
    Summaries {
        /// Oldest first.
        summaries: Vec<ExperimentSummary>,
        /// Name of the last one, to ask for those after it; absent if there are no more.
        #[schemars(skip_serializing_if = "Option::is_none")]
        next: Option<String>,
    },
}

/// The query of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    limit: Option<usize>,
    after: Option<String>,
    #[serde(default)]
    summary: bool,
}

/// The query of a creation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dry {
    #[serde(default)]
    dry_run: bool,
}

pub async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    InQuery(wanted): InQuery<Wanted>,
) -> Result<Response, Problem> {
    let limit = checked_limit(wanted.limit, 100)?;
    let after = wanted.after;
    if let Some(after) = &after {
        principal.check_sees(after)?;
    }
    let scope = principal.scope;
    // The semaphore is never closed.
    let permit = app.lists.clone().acquire_owned().await;
    let begun = Instant::now();
    let query = ListExperiments {
        after,
        limit,
        scope,
    };
    let answer = if wanted.summary {
        let page = app.query(SummariseExperiments(query)).await?;
        rendered(&app, "summaries", page).await
    } else {
        let page = app.query(query).await?;
        rendered(&app, "experiments", page).await
    };
    // It is sent meanwhile, and others have their turn: lists get a fifth of the time.
    tokio::spawn(async move {
        tokio::time::sleep(4 * begun.elapsed()).await;
        drop(permit);
    });
    answer
}

/// Renders a part of a list, on a thread that may take its time.
async fn rendered<T: Serialize + Send + Sync + 'static>(
    app: &App,
    name: &'static str,
    page: Page<T>,
) -> Result<Response, Problem> {
    let lengths = tokio::task::spawn_blocking(move || {
        // With room for what is around them: the answer keeps this share.
        let mut bytes = 1024;
        for entry in &page.entries {
            bytes += entry.json()?.len() + 1;
        }
        Ok::<_, Problem>((bytes, page))
    });
    let failed = |_| Problem::unavailable("rendering failed");
    let (bytes, page) = lengths.await.map_err(failed)??;
    Held::current().add(app.memory.reserve(bytes).await?);
    let joined = tokio::task::spawn_blocking(move || {
        let mut json = format!("{{\"{name}\":[");
        json.reserve(bytes);
        for (place, entry) in page.entries.iter().enumerate() {
            json.push_str(if place == 0 { "" } else { "," });
            json.push_str(entry.json()?);
        }
        let next = page
            .next
            .map(|name| format!(",\"next\":{}", Value::from(name)));
        json.push(']');
        json.push_str(&next.unwrap_or_default());
        json.push('}');
        Ok::<_, Problem>(json)
    });
    Ok(raw(joined.await.map_err(failed)??))
}

pub async fn create(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    Extension(principal): Extension<Principal>,
    InQuery(dry): InQuery<Dry>,
    Json(declaration): Json<Declaration>,
) -> Result<Response, Problem> {
    principal.check_sees(&declaration.name)?;
    if dry.dry_run {
        let name = declaration.name.clone();
        let view = check(declaration).await?;
        let known = app.query(ReadExperiment(name.as_str().into())).await;
        if known.is_ok() {
            let detail = format!("there is an experiment called `{name}` already");
            return Err(Problem::new(StatusCode::CONFLICT, detail));
        }
        return Ok(json(&view));
    }
    let view = (app.execute(author.clone(), CreateExperiment(declaration))).await?;
    let content = Content::new("created", serde_json::json!(&view.agent));
    announce(&author, &view.name, view.number, content);
    Ok((StatusCode::CREATED, json(&view)).into_response())
}

/// The experiment as it would be.
async fn check(declaration: Declaration) -> Result<ExperimentView, Problem> {
    let checked = tokio::task::spawn_blocking(move || ExperimentView::preview(&declaration));
    match checked.await {
        Ok(view) => view.map_err(Problem::from),
        Err(_) => Err(Problem::unavailable("checking failed")),
    }
}

pub async fn show(
    State(app): State<App>,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    let view = app.query(ReadExperiment(name.into())).await?;
    Ok(raw(view.json()?.to_string()))
}

/// Edits an experiment, and says so in the service's own log.
async fn edit(app: &App, author: Author, name: &str, edit: Edit) -> Result<Response, Problem> {
    // As its event has it.
    let content = serde_json::to_value(&edit).and_then(serde_json::from_value);
    let experiment = name.into();
    let command = EditExperiment { experiment, edit };
    let view = app.execute(author.clone(), command).await?;
    let unreadable = |e: serde_json::Error| Content::new("changed", e.to_string().into());
    announce(
        &author,
        name,
        view.number,
        content.unwrap_or_else(unreadable),
    );
    Ok(json(&view))
}

pub async fn change(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath(name): InPath<String>,
    Json(change): Json<Change>,
) -> Result<Response, Problem> {
    edit(&app, author, &name, Edit::Change(change)).await
}

pub async fn add_arm(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath(name): InPath<String>,
    Json(arm): Json<NamedArm>,
) -> Result<Response, Problem> {
    let answer = edit(&app, author, &name, Edit::AddArm(arm)).await?;
    Ok((StatusCode::CREATED, answer).into_response())
}

pub async fn retire_arm(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath((name, arm)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    edit(&app, author, &name, Edit::RetireArm { name: arm }).await
}

pub async fn forget_arm(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath((name, arm)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    edit(&app, author, &name, Edit::ForgetArm { name: arm }).await
}

pub async fn set_weights(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath((name, arm)): InPath<(String, String)>,
    Json(weights): Json<ArmWeights>,
) -> Result<Response, Problem> {
    edit(&app, author, &name, Edit::SetWeights { name: arm, weights }).await
}

/// An acknowledgement of alarms.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Acknowledgement {
    /// A note for the log: the cause, and what was done about it.
    #[serde(default)]
    pub note: String,
}

pub async fn acknowledge(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath(name): InPath<String>,
    Json(acknowledgement): Json<Acknowledgement>,
) -> Result<Response, Problem> {
    let note = acknowledgement.note;
    edit(&app, author, &name, Edit::AcknowledgeAlarms { note }).await
}

pub async fn state(
    State(app): State<App>,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    Ok(json(&app.query(ReadState(name)).await?))
}

/// The query of a list of segments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Places {
    limit: Option<usize>,
    offset: Option<usize>,
}

pub async fn segments(
    State(app): State<App>,
    InPath(name): InPath<String>,
    InQuery(places): InQuery<Places>,
) -> Result<Response, Problem> {
    let limit = checked_limit(places.limit, 50)?;
    let offset = places.offset.unwrap_or(0);
    let places = offset..offset.saturating_add(limit);
    let query = ReadSegments { name, places };
    Ok(json(&app.query(query).await?))
}

/// The query of a history.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    segment: Option<String>,
}

pub async fn history(
    State(app): State<App>,
    InPath(name): InPath<String>,
    InQuery(Trace { segment }): InQuery<Trace>,
) -> Result<Response, Problem> {
    let name = name.into();
    Ok(json(&app.query(ReadHistory { name, segment }).await?))
}
