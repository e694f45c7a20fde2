//! The router of all routes, each behind the pipeline: request id, authentication, rate limit, time limit,
//! metrics, logging.

use std::net::SocketAddr;
use std::time::Instant;

use axum::Router;
use axum::body::{HttpBody, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::handler::Handler;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::memory::Held;
use crate::middleware::auth::Principal;
use crate::middleware::request_id::{REQUEST_ID, request_id};
use crate::problem::Problem;
use crate::routes::{Access, NOWHERE, ROUTES, Route, Takes};

/// Time after which a request is worth a line in the log.
const SLOW_SECONDS: f64 = 1.0;

pub fn router(app: &App) -> Router {
    let layer = |route: &'static Route| from_fn_with_state((app.clone(), route), pipeline);
    let mut router = Router::new();
    for route in ROUTES {
        let methods = (route.handler)().route_layer(layer(route));
        router = router.route(route.path, methods);
    }
    let nothing = || async { Problem::new(StatusCode::NOT_FOUND, "there is nothing at this path") };
    let other = || async {
        Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this path knows other methods",
        )
    };
    router
        .method_not_allowed_fallback(other.layer(layer(&NOWHERE)))
        .fallback(nothing.layer(layer(&NOWHERE)))
        .with_state(app.clone())
}

/// Runs a request of a route through the pipeline.
async fn pipeline(
    State((app, route)): State<(App, &'static Route)>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let id = request_id(&request);
    let shown = id.clone();
    let shown = shown.to_str().unwrap_or("");
    let mut response = match admit(&app, route, &request, begun) {
        Err(problem) => problem.into_response(),
        Ok(principal) => {
            if let Some(principal) = principal {
                request.extensions_mut().insert(principal);
            }
            // Exports take as long as they take: they are streamed. Files to import are large.
            let limit = match route.takes {
                Takes::File => app.settings.timeout * 30,
                _ => app.settings.timeout,
            };
            match tokio::time::timeout(limit, Held::default().scope(next.run(request))).await {
                Ok(response) => shared(&app, response).await,
                Err(_) => Problem::unavailable(format!(
                    "no answer within {} seconds; with an id the request can safely be repeated",
                    limit.as_secs_f64()
                ))
                .into_response(),
            }
        }
    };
    if let Some(mut problem) = response.extensions_mut().remove::<Problem>() {
        problem.request_id = Some(shown.into());
        let (status, detail) = (problem.status, &*problem.detail);
        tracing::debug!(request = shown, status, detail, "refused");
        *response.body_mut() = problem.to_json().into();
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    let seconds = begun.elapsed().as_secs_f64();
    let status = response.status().as_u16();
    let (method, path) = (name_of(&route.method), route.path);
    app.metrics
        .answered(method, path, route.operation, status, seconds);
    macro_rules! say {
        ($level:ident, $what:literal) => {
            tracing::$level!(
                request = shown,
                method,
                route = path,
                status,
                seconds,
                $what
            )
        };
    }
    match route.access {
        _ if status >= 500 => say!(warn, "failed"),
        _ if seconds > SLOW_SECONDS => say!(warn, "slow"),
        // Changes are worth a line each, decisions would be too many.
        Access::Admin => say!(info, "answered"),
        _ => say!(debug, "answered"),
    }
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// Bytes of an answer that counts as memory until it is sent: callers may be slow to read it.
const LONG_ANSWER: u64 = 64 << 10;

/// A long answer with its share of the memory, which it keeps until it is sent.
async fn shared(app: &App, response: Response) -> Response {
    let length = response.body().size_hint().exact();
    let Some(length) = length.filter(|&length| length > LONG_ANSWER) else {
        return response;
    };
    let share = match app.budget.take(length as usize).await {
        Ok(share) => share,
        Err(problem) => return problem.into_response(),
    };
    let (parts, body) = response.into_parts();
    // Of a known length, so it is there as a whole.
    match to_bytes(body, length as usize).await {
        Ok(content) => Response::from_parts(parts, share.keep_with(content).into()),
        Err(_) => Problem::unavailable("the answer broke off").into_response(),
    }
}

/// Authenticates the caller, where the route needs a role, and counts the request against the rate.
fn admit(
    app: &App,
    route: &Route,
    request: &Request,
    now: Instant,
) -> Result<Option<Principal>, Problem> {
    let Some(role) = route.access.role() else {
        return Ok(None);
    };
    let principal = app.tokens.authenticate(request, role)?;
    if app.rates.is_limited() {
        let who = match &principal.name {
            Some(name) => format!("token {name}"),
            None => {
                let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
                peer.map_or_else(String::new, |peer| peer.0.ip().to_string())
            }
        };
        app.rates.take(&who, now)?;
    }
    Ok(Some(principal))
}

fn name_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "OTHER",
    }
}
