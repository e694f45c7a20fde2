//! What every request passes: an id, a token, a rate, a time limit, a count.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::auth::Guest;
use crate::problem::Problem;
use crate::routes::{Access, Route, Takes};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Slower than this is worth a line in the log.
const SLOW_SECONDS: f64 = 1.0;

/// Lets a request of a route through.
pub async fn pass(
    State((app, route)): State<(App, &'static Route)>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let id = request_id(&request);
    let shown = id.clone();
    let shown = shown.to_str().unwrap_or("");
    let admitted = admit(&app, route, &request, begun);
    let mut response = match admitted {
        Err(problem) => problem.into_response(),
        Ok(guest) => {
            if let Some(guest) = guest {
                request.extensions_mut().insert(guest);
            }
            // Exports take as long as they take: they are streamed. Files to import are large.
            let limit = match route.takes {
                Takes::File => app.settings.timeout * 30,
                _ => app.settings.timeout,
            };
            match tokio::time::timeout(limit, next.run(request)).await {
                Ok(response) => response,
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

/// Who it is, if the route wants to know.
fn admit(
    app: &App,
    route: &Route,
    request: &Request,
    now: Instant,
) -> Result<Option<Guest>, Problem> {
    let guest = match route.access.role() {
        None => None,
        Some(role) => Some(app.guests.admit(request, role)?),
    };
    if app.rates.is_limited() && guest.is_some() {
        let name = guest.as_ref().and_then(|guest| guest.name.clone());
        let who = match name {
            Some(name) => format!("token {name}"),
            None => {
                let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
                peer.map_or_else(String::new, |peer| peer.0.ip().to_string())
            }
        };
        app.rates.take(&who, now)?;
    }
    Ok(guest)
}

/// The caller's own id if it is a sane one, else a new one.
fn request_id(request: &Request) -> HeaderValue {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let given = request.headers().get(REQUEST_ID);
    let sane = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        (1..=128).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
    };
    if let Some(given) = given.filter(sane) {
        return given.clone();
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let id = format!("{:08x}-{number:x}", std::process::id());
    HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("unknown"))
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
