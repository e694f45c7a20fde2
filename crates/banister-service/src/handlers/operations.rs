//! Health, metrics, the documents and the page.

use banister::Registry as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Extension, Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use banister_engine::{ReadStats, Stats, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::body::{json, raw};
use crate::memory::Fixed;
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
    /// `read`, `report`, `decide-only`, `decide` or `admin`.
    pub role: &'static str,
    /// The token's name; null where none is needed.
    pub token: Option<String>,
    /// Patterns of the experiments that it may see; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiments: Option<String>,
    /// End of its life; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

/// The process is alive.
pub async fn health() -> Response {
    json(&Status { status: "ok" })
}

/// The log can be written. Only those who may read get the reason if it cannot.
pub async fn ready(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    if app.is_ready() {
        return Ok(json(&Status { status: "ready" }));
    }
    let (parts, _) = request.into_parts();
    let reason = app.health.outage();
    let reason = reason.filter(|_| app.tokens.authenticate(&parts, false).is_ok());
    Err(Problem::unavailable(match reason {
        Some(reason) => format!("the log is not available: {reason}"),
        None => "the service is not ready".to_string(),
    }))
}

/// Numbers of all experiments, at most a second old: frequent reads must not hold up decisions.
pub async fn recent_stats(app: &App) -> Arc<Stats> {
    const FRESH: Duration = Duration::from_secs(1);
    /// Longest wait for a writer that is waiting for the database itself.
    const PATIENCE: Duration = Duration::from_millis(500);
    let mut known = app.stats.lock().await;
    match &*known {
        Some((at, stats)) if at.elapsed() < FRESH => stats.clone(),
        before => {
            // Without the writer's numbers those from before, and the rest, are still worth reading.
            let stats = match tokio::time::timeout(PATIENCE, app.query(ReadStats)).await {
                Ok(Ok(stats)) => Arc::new(stats),
                _ => before
                    .as_ref()
                    .map_or_else(Arc::default, |(_, stats)| stats.clone()),
            };
            *known = Some((Instant::now(), stats.clone()));
            stats
        }
    }
}

pub async fn metrics(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
) -> Result<Response, Problem> {
    let mut stats = recent_stats(&app).await;
    if principal.scope.is_some() {
        let stats = Arc::make_mut(&mut stats);
        (stats.experiments).retain(|experiment| principal.may_see(&experiment.name));
    }
    let metrics = app.metrics.clone();
    // With many experiments it is a long text, and one reader waits for the other.
    let text = tokio::task::spawn_blocking(move || metrics.render(&stats)).await;
    let text = text.map_err(|_| Problem::unavailable("rendering failed"))?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

pub async fn openapi(State(app): State<App>) -> Response {
    let mut response = raw(app.openapi.clone());
    response.extensions_mut().insert(Fixed);
    response
}

pub async fn whoami(Extension(principal): Extension<Principal>) -> Response {
    json(&WhoAmI {
        role: principal.role.name(),
        token: principal.name.map(|name| name.to_string()),
        experiments: principal.scope.map(|scope| scope.to_string()),
        expires: principal.expires,
    })
}

/// The registry of agents.
pub async fn agents() -> Response {
    json(&banister::AgentConfig::schema())
}

pub async fn page() -> Response {
    let mut response = (
        [(header::CONTENT_TYPE, "text/html; charset=utf-8")],
        page::HTML,
    )
        .into_response();
    response.extensions_mut().insert(Fixed);
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::try_from(page::security_policy()) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    let fixed = HeaderValue::from_static;
    // For browsers that do not know the policy's `frame-ancestors`.
    headers.insert(header::X_FRAME_OPTIONS, fixed("DENY"));
    // The address may name an experiment.
    headers.insert(header::REFERRER_POLICY, fixed("no-referrer"));
    response
}
