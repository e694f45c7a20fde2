//! Health, metrics, the documents and the page.

use axum::extract::{Extension, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use banister_engine::ReadStats;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{json, raw};
use crate::app::App;
use crate::middleware::auth::Principal;
use crate::page;
use crate::problem::Problem;

/// Health of the service.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Status {
    /// `ok` or `ready`.
    pub status: &'static str,
}

/// Rights of a token.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WhoAmI {
    /// `read`, `decide` or `admin`.
    pub role: &'static str,
    /// The token's name; null where none is needed.
    pub token: Option<String>,
}

/// The process is alive.
pub async fn health() -> Response {
    json(&Status { status: "ok" })
}

/// The log can be written.
pub async fn ready(State(app): State<App>) -> Result<Response, Problem> {
    match app.health.outage() {
        None if !app.tokens.is_read() => Err(Problem::unavailable("the tokens are being read")),
        None => Ok(json(&Status { status: "ready" })),
        Some(reason) => Err(Problem::unavailable(format!(
            "the log is not available: {reason}"
        ))),
    }
}

pub async fn metrics(State(app): State<App>) -> Response {
    // Without the writer's numbers, the rest is still worth reading.
    let stats = app.query(ReadStats).await.unwrap_or_default();
    let text = app.metrics.render(&stats);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

pub async fn openapi(State(app): State<App>) -> Response {
    raw(app.openapi.clone())
}

pub async fn whoami(Extension(principal): Extension<Principal>) -> Response {
    json(&WhoAmI {
        role: principal.role.name(),
        token: principal.name.map(|name| name.to_string()),
    })
}

/// The registry of agents.
pub async fn agents() -> Response {
    json(&banister_rivals::AgentConfig::schema())
}

pub async fn page() -> Response {
    let mut response = (
        [(header::CONTENT_TYPE, "text/html; charset=utf-8")],
        page::HTML,
    )
        .into_response();
    if let Ok(policy) = HeaderValue::try_from(page::security_policy()) {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}
