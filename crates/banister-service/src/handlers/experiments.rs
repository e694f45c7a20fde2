//! Experiments.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use banister_engine::{
    AcknowledgeAlarms, AddArm, Change, ChangeExperiment, CreateExperiment, Declaration,
    ExperimentView, ListExperiments, NamedArm, ReadExperiment, ReadHistory, RetireArm,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{self, json};
use crate::app::App;
use crate::body::{InPath, InQuery, Json};
use crate::problem::Problem;

/// All experiments.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExperimentList {
    /// Oldest first.
    pub experiments: Vec<ExperimentView>,
}

/// The query of a creation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dry {
    #[serde(default)]
    dry_run: bool,
}

pub async fn list(State(app): State<App>) -> Result<Response, Problem> {
    let experiments = app.query(ListExperiments).await?;
    Ok(json(&ExperimentList { experiments }))
}

pub async fn create(
    State(app): State<App>,
    InQuery(dry): InQuery<Dry>,
    Json(declaration): Json<Declaration>,
) -> Result<Response, Problem> {
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
    let view = app.execute(CreateExperiment(declaration)).await?;
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
    Ok(json(&app.query(ReadExperiment(name.into())).await?))
}

pub async fn change(
    State(app): State<App>,
    InPath(name): InPath<String>,
    Json(change): Json<Change>,
) -> Result<Response, Problem> {
    let experiment = name.into();
    let command = ChangeExperiment { experiment, change };
    Ok(json(&app.execute(command).await?))
}

pub async fn add_arm(
    State(app): State<App>,
    InPath(name): InPath<String>,
    Json(arm): Json<NamedArm>,
) -> Result<Response, Problem> {
    let experiment = name.into();
    let view = app.execute(AddArm { experiment, arm }).await?;
    Ok((StatusCode::CREATED, json(&view)).into_response())
}

pub async fn retire_arm(
    State(app): State<App>,
    InPath((name, arm)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    let experiment = name.into();
    Ok(json(&app.execute(RetireArm { experiment, arm }).await?))
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
    InPath(name): InPath<String>,
    Json(acknowledgement): Json<Acknowledgement>,
) -> Result<Response, Problem> {
    let command = AcknowledgeAlarms {
        experiment: name.into(),
        note: acknowledgement.note,
    };
    Ok(json(&app.execute(command).await?))
}

pub async fn state(
    State(app): State<App>,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    let state = app.read_state(name.into()).await?;
    Ok(json(&answer::state(&state)))
}

pub async fn history(
    State(app): State<App>,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    Ok(json(&app.query(ReadHistory(name.into())).await?))
}
