//! The router of all routes, each behind the pipeline: request id, authentication, pages of other sites, limits,
//! time limit, metrics, logging.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{HttpBody, to_bytes};
use axum::extract::{ConnectInfo, FromRequestParts, RawPathParams, Request, State};
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Version, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};

use banister::toolkit::did_you_mean;
use banister_engine::Author;

use crate::app::App;
use crate::handlers::operations;
use crate::memory::{Fixed, Held};
use crate::middleware::auth::Principal;
use crate::middleware::browser;
use crate::middleware::rate::{Amounts, Charged};
use crate::middleware::unread_body::UnreadBody;
use crate::middleware::{REQUEST_ID, request_id};
use crate::problem::Problem;
use crate::routes::{Access, METRICS, NOWHERE, ROUTES, Route, Takes};

/// Header that keeps pages of other sites from embedding an answer.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
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
    let announced = request.body().size_hint().exact();
    let unread = UnreadBody::lend(&mut request);
    let mut charged = Charged::default();
    let mut scope = None;
    let mut reusable = true;
    let (mut parts, body) = request.into_parts();
    let mut response = match admit(&app, route, &mut parts, announced, begun).await {
        Err(problem) => {
            drop(body);
            if problem.had_token {
                tokio::time::sleep(WRONG_TOKEN).await;
            }
            problem.into_response()
        }
        Ok(admitted) => {
            if let Some((principal, accounts)) = admitted {
                charged = accounts;
                scope = principal.scope.clone();
                parts.extensions.insert(author(&app, &principal));
                parts.extensions.insert(principal);
            }
            let request = Request::from_parts(parts, body);
            // Exports take as long as they take: they are streamed. Files to import are large.
            let limit = match route.takes {
                Takes::File => app.settings.timeout * 30,
                _ => app.settings.timeout,
            };
            let mut held = Held::default();
            held.charged = charged.clone();
            let answer = held.clone().scope(next.run(request));
            match tokio::time::timeout(limit, answer).await {
                Ok(response) => shared(&app, &held, response).await,
                Err(_) => {
                    reusable = unread.is_none();
                    Problem::unavailable(format!(
                        "no answer within {} seconds; with an id the request can safely be repeated",
                        limit.as_secs_f64()
                    ))
                    .into_response()
                }
            }
        }
    };
    if let Some(unread) = unread {
        if announced.is_none() {
            let read = Amounts {
                bytes: unread.read() as f64,
                ..Amounts::default()
            };
            app.limits.spend(&charged, read);
        }
        reusable = reusable && unread.clear().await;
    }
    if let Some(mut problem) = response.extensions_mut().remove::<Problem>() {
        problem.request_id = Some(shown.into());
        if let Some(name) = problem.unknown_experiment() {
            let stats = operations::recent_stats(&app).await;
            // Of very many the oldest: to compare them takes its time.
            let names = (stats.experiments.iter().take(1000)).map(|own| own.name.as_str());
            let seen = names.filter(|own| scope.as_ref().is_none_or(|scope| scope.covers(own)));
            let hint = did_you_mean(name, seen);
            problem.detail = format!("{}{hint}", problem.detail).into();
        }
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
    let fixed = HeaderValue::from_static;
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    headers.insert(RESOURCE_POLICY, fixed("same-origin"));
    if !reusable {
        headers.insert(header::CONNECTION, fixed("close"));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, fixed("no-store"));
    }
    response
}

/// Time that a connection waits for the answer to a wrong token, so that guesses are few.
const WRONG_TOKEN: Duration = Duration::from_millis(200);
/// Bytes of an answer that counts as memory until it is sent: callers may be slow to read it.
const LONG_ANSWER: u64 = 64 << 10;

/// A long answer with its share of the memory, which it keeps until it is sent: a part of what its request has, or
/// one of its own.
async fn shared(app: &App, held: &Held, response: Response) -> Response {
    let length = response.body().size_hint().exact();
    let is_fixed = response.extensions().get::<Fixed>().is_some();
    let Some(length) = length.filter(|&length| length > LONG_ANSWER && !is_fixed) else {
        return response;
    };
    let share = match held.part(length as usize) {
        Some(share) => share,
        None => match app.memory.reserve(length as usize).await {
            Ok(share) => share,
            Err(problem) => return problem.into_response(),
        },
    };
    let (parts, body) = response.into_parts();
    // Of a known length, so it is there as a whole.
    match to_bytes(body, length as usize).await {
        Ok(content) => Response::from_parts(parts, share.keep_with(content).into()),
        Err(_) => Problem::unavailable("the answer broke off").into_response(),
    }
}

/// Refuses a request without its one host (RFC 9112, 3.2), and a body that is encoded in a way we do not know.
fn check_head(route: &Route, parts: &Parts) -> Result<(), Problem> {
    let hosts = parts.headers.get_all(header::HOST).iter().count();
    if hosts > 1 || (hosts == 0 && parts.version == Version::HTTP_11) {
        let (status, value) = (StatusCode::BAD_REQUEST, format!("there {hosts} times"));
        return Err(Problem::of_field(
            status,
            "host",
            value,
            "must be there once",
        ));
    }
    let encodings = parts.headers.get_all(header::CONTENT_ENCODING).iter();
    let mut encodings = encodings.map(|value| value.to_str().unwrap_or("?"));
    let unknown = encodings.find(|value| !value.eq_ignore_ascii_case("identity"));
    match unknown.filter(|_| !matches!(route.takes, Takes::Nothing)) {
        None => Ok(()),
        Some(value) => Err(Problem::of_field(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "content-encoding",
            value,
            "must be absent or identity: send bodies as they are",
        )),
    }
}

/// Authenticates the caller, where the route needs a role, refuses pages of other sites, and counts the
/// request against the limits.
async fn admit(
    app: &App,
    route: &Route,
    parts: &mut Parts,
    bytes: Option<u64>,
    now: Instant,
) -> Result<Option<(Principal, Charged)>, Problem> {
    check_head(route, parts)?;
    if route.access == Access::Open {
        return Ok(None);
    }
    // In an outage somebody must be able to see what is wrong.
    let principal = (app.tokens).authenticate(parts, route.path == METRICS)?;
    if !route.access.is_of(principal.role) {
        let (role, right) = (principal.role, route.access.name());
        let token = principal.name.as_deref().unwrap_or(Author::ANONYMOUS);
        tracing::info!(
            token,
            right,
            path = parts.uri.path(),
            "a token without the right"
        );
        let detail = format!("the token has the role {role}, this needs the right to {right}");
        return Err(Problem::new(StatusCode::FORBIDDEN, detail));
    }
    let takes_file = matches!(route.takes, Takes::File);
    browser::check(parts, takes_file, principal.name.is_none())?;
    let counts = matches!(route.access, Access::Decide | Access::Report);
    let is_limited = counts && app.limits.are_per_experiment();
    let needs_name = principal.scope.is_some() || is_limited;
    let params = if needs_name {
        RawPathParams::from_request_parts(parts, &()).await.ok()
    } else {
        None
    };
    let mut params = params.iter().flatten();
    let experiment = params.find_map(|(key, value)| (key == "name").then_some(value));
    if let Some(experiment) = experiment {
        principal.check_sees(experiment)?;
    }
    let who = || match &principal.name {
        Some(name) => format!("the token `{name}`"),
        None => {
            let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
            peer.map_or_else(String::new, |peer| peer.0.ip().to_string())
        }
    };
    let experiment = experiment.filter(|_| is_limited);
    let charged = app.limits.charged(who, principal.rate, experiment);
    app.limits.admit(&charged, bytes.unwrap_or(0), now)?;
    Ok(Some((principal, charged)))
}

/// Author of what a request writes. Where the operator asks for it, tokens that decide come back to their own
/// decisions only.
fn author(app: &App, principal: &Principal) -> Author {
    let author = Author::new(principal.name.clone());
    if app.settings.own_ids && principal.role.may_decide() && !principal.role.may_admin() {
        author.of_its_own()
    } else {
        author
    }
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
