//! Experiments.

use std::time::Instant;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use banister_engine::{
    AcknowledgeAlarms, AddArm, Author, Change, ChangeExperiment, CreateExperiment, Declaration,
    ExperimentSummary, ExperimentView, ListExperiments, NamedArm, Page, ReadExperiment,
    ReadHistory, RetireArm, SummariseExperiments,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::changes::announce;
use crate::answer::{self, json, raw};
use crate::app::App;
use crate::body::{InPath, InQuery, Json};
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
    let limit = wanted.limit.unwrap_or(100);
    if !(1..=1000).contains(&limit) {
        let (status, allowed) = (StatusCode::BAD_REQUEST, "must be 1 to 1000");
        return Err(Problem::of_field(
            status,
            "limit",
            limit.to_string(),
            allowed,
        ));
    }
    let after = wanted.after;
    if let Some(after) = &after {
        principal.check_sees(after)?;
    }
    let scope = principal.scope;
    // It is never closed.
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
    announce(&author, &view.name, "created", view.number, &view.agent);
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

pub async fn change(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath(name): InPath<String>,
    Json(change): Json<Change>,
) -> Result<Response, Problem> {
    let command = ChangeExperiment {
        experiment: name.as_str().into(),
        change: change.clone(),
    };
    let view = app.execute(author.clone(), command).await?;
    announce(&author, &name, "changed", view.number, change);
    Ok(json(&view))
}

pub async fn add_arm(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath(name): InPath<String>,
    Json(arm): Json<NamedArm>,
) -> Result<Response, Problem> {
    let command = AddArm {
        experiment: name.as_str().into(),
        arm: arm.clone(),
    };
    let view = app.execute(author.clone(), command).await?;
    announce(&author, &name, "arm_added", view.number, arm);
    Ok((StatusCode::CREATED, json(&view)).into_response())
}

pub async fn retire_arm(
    State(app): State<App>,
    Extension(author): Extension<Author>,
    InPath((name, arm)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    let command = RetireArm {
        experiment: name.as_str().into(),
        arm: arm.clone(),
    };
    let view = app.execute(author.clone(), command).await?;
    announce(&author, &name, "arm_retired", view.number, arm);
    Ok(json(&view))
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
    let command = AcknowledgeAlarms {
        experiment: name.as_str().into(),
        note: acknowledgement.note.clone(),
    };
    let view = app.execute(author.clone(), command).await?;
    announce(
        &author,
        &name,
        "alarms_acknowledged",
        view.number,
        acknowledgement.note,
    );
    Ok(json(&view))
}

pub async fn state(
    State(app): State<App>,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    let state = app.read_state(name.into()).await?;
    Ok(json(&answer::state(&state)))
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
    let limit = places.limit.unwrap_or(50);
    if !(1..=1000).contains(&limit) {
        let (status, allowed) = (StatusCode::BAD_REQUEST, "must be 1 to 1000");
        return Err(Problem::of_field(
            status,
            "limit",
            limit.to_string(),
            allowed,
        ));
    }
    let offset = places.offset.unwrap_or(0);
    let page = app
        .read_segments(name.into(), offset..offset.saturating_add(limit))
        .await?;
    Ok(json(&answer::segments(&page)))
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
