//! Experiments.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use banister_engine::{Answer, Change, Declaration, ExperimentView, NamedArm, Request};
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

/// GET.
pub async fn list(State(app): State<App>) -> Result<Response, Problem> {
    match app.ask(Request::List).await? {
        Answer::List(experiments) => Ok(json(&ExperimentList { experiments })),
        _ => Err(unexpected()),
    }
}

/// POST.
pub async fn create(
    State(app): State<App>,
    InQuery(dry): InQuery<Dry>,
    Json(declaration): Json<Declaration>,
) -> Result<Response, Problem> {
    if dry.dry_run {
        let name = declaration.name.clone();
        let view = check(declaration).await?;
        if app.ask(Request::Show(name.as_str().into())).await.is_ok() {
            let detail = format!("there is an experiment called `{name}` already");
            return Err(Problem::new(StatusCode::CONFLICT, detail));
        }
        return Ok(json(&view));
    }
    experiment(
        &app,
        Request::Create(Box::new(declaration)),
        StatusCode::CREATED,
    )
    .await
}

/// The experiment as it would be.
async fn check(declaration: Declaration) -> Result<ExperimentView, Problem> {
    let checked = tokio::task::spawn_blocking(move || ExperimentView::preview(&declaration));
    match checked.await {
        Ok(view) => view.map_err(Problem::from),
        Err(_) => Err(Problem::unavailable("checking failed")),
    }
}

/// GET.
pub async fn show(
    State(app): State<App>,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    experiment(&app, Request::Show(name.into()), StatusCode::OK).await
}

/// PATCH.
pub async fn change(
    State(app): State<App>,
    InPath(name): InPath<String>,
    Json(change): Json<Change>,
) -> Result<Response, Problem> {
    let request = Request::Change(name.into(), Box::new(change));
    experiment(&app, request, StatusCode::OK).await
}

/// POST.
pub async fn add_arm(
    State(app): State<App>,
    InPath(name): InPath<String>,
    Json(arm): Json<NamedArm>,
) -> Result<Response, Problem> {
    experiment(&app, Request::AddArm(name.into(), arm), StatusCode::CREATED).await
}

/// DELETE.
pub async fn retire_arm(
    State(app): State<App>,
    InPath((name, arm)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    experiment(&app, Request::RetireArm(name.into(), arm), StatusCode::OK).await
}

/// An acknowledgement of alarms.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Acknowledgement {
    /// A note for the log: the cause, and what was done about it.
    #[serde(default)]
    pub note: String,
}

/// POST.
pub async fn acknowledge(
    State(app): State<App>,
    InPath(name): InPath<String>,
    Json(acknowledgement): Json<Acknowledgement>,
) -> Result<Response, Problem> {
    let request = Request::Acknowledge(name.into(), acknowledgement.note);
    experiment(&app, request, StatusCode::OK).await
}

/// GET.
pub async fn state(
    State(app): State<App>,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    match app.ask(Request::Look(name.into())).await? {
        Answer::State(view) => Ok(json(&answer::state(&view))),
        _ => Err(unexpected()),
    }
}

/// GET.
pub async fn history(
    State(app): State<App>,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    match app.ask(Request::Trace(name.into())).await? {
        Answer::History(history) => Ok(json(&history)),
        _ => Err(unexpected()),
    }
}

async fn experiment(app: &App, request: Request, status: StatusCode) -> Result<Response, Problem> {
    match app.ask(request).await? {
        Answer::Experiment(view) => Ok((status, json(&view)).into_response()),
        _ => Err(unexpected()),
    }
}

/// The writer answers what it was asked; this is for the compiler.
pub fn unexpected() -> Problem {
    Problem::unavailable("the log gave an answer to another question")
}
