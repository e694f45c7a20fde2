//! Extractors: JSON of a bounded size, paths and queries, with errors that name the field. Answers as JSON.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use banister::toolkit::{FieldError, FieldPath};
use banister_engine::object::Object;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::memory::{Held, Share, parsed_bytes};
use crate::problem::Problem;

/// A body as JSON.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let (bytes, share) = read(app, body, app.settings.max_body).await?;
        // An empty body stands for `{}`.
        if bytes.is_empty() {
            return parse(b"{}").map(Self);
        }
        check_type(&parts.headers)?;
        let held = Held::current();
        share.into_iter().for_each(|share| held.add(share));
        if bytes.len() > SHORT {
            held.add(app.memory.reserve(parsed_bytes(&bytes)).await?);
        }
        let begun = Instant::now();
        let parsed = parse(&bytes).map(Self);
        app.limits
            .worked(&held.charged, begun.elapsed().as_secs_f64());
        parsed
    }
}

/// Bytes of a body that counts for nothing: as many as can wait are a small part of any memory.
const SHORT: usize = 512;
/// Least bytes of memory taken for a body that comes in pieces.
const LEAST: usize = 64 << 10;
/// Reads a body up to a limit, with its share of the memory: none for one that came in one piece, which
/// the connection's buffer holds.
pub async fn read(app: &App, body: Body, limit: usize) -> Result<(Bytes, Vec<Share>), Problem> {
    let mut body = pin!(body);
    let mut all = Vec::new();
    // Reserved as the body arrives: announcing a long one reserves nothing.
    let (mut shares, mut shared) = (Vec::new(), 0);
    let announced = body.size_hint().exact().map_or(limit, |n| n as usize);
    // Refused at once where it is announced; the pipeline drops what is sent nevertheless.
    if body.size_hint().lower() > limit as u64 {
        return Err(too_long(limit));
    }
    let mut length = 0_usize;
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let early = |_| Problem::new(StatusCode::BAD_REQUEST, "the body ended early");
        let Ok(data) = frame.map_err(early)?.into_data() else {
            continue;
        };
        length = length.saturating_add(data.len());
        if length > limit {
            return Err(too_long(limit));
        }
        if all.is_empty() && body.is_end_stream() {
            // Most bodies come in one piece, which need not be copied.
            return Ok((data, shares));
        }
        if length > shared {
            let room = (2 * length).max(LEAST).min(announced.max(length));
            shares.push(app.memory.reserve(room - shared).await?);
            shared = room;
            all.reserve_exact(room - all.len());
        }
        all.extend_from_slice(&data);
    }
    Ok((all.into(), shares))
}

fn too_long(limit: usize) -> Problem {
    let detail = format!("the body is longer than the {limit} bytes allowed");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(header::CONTENT_TYPE);
    let given = given.map_or("", |value| value.to_str().unwrap_or(""));
    let kind = given.split(';').next().unwrap_or("").trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::of_field(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "content-type",
        if given.is_empty() { "absent" } else { given },
        "must be application/json",
    ))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let Object(value) = banister::toolkit::deserialize(&mut json).map_err(refuse)?;
    json.end().map_err(|error| {
        let field = FieldPath::default();
        refuse(FieldError { field, error })
    })?;
    Ok(value)
}

/// Renders an error in a body.
fn refuse(FieldError { field, error }: FieldError<serde_json::Error>) -> Problem {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    if !error.is_data() {
        let detail = format!("the body is not JSON: {text}{place}");
        return Problem::new(StatusCode::BAD_REQUEST, detail);
    }
    let field = if field.steps().is_empty() {
        "body".into()
    } else {
        field
    };
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    match banister::toolkit::explain(field.clone(), text) {
        Some(banister::Error::Invalid {
            field,
            value,
            allowed,
        }) => Problem::of_field(status, field, value, allowed),
        _ => {
            let hint = banister::toolkit::hint(text);
            let mut problem = Problem::new(status, format!("`{field}`: {text}{hint}"));
            problem.field = Some(field.to_string().into());
            problem
        }
    }
}

/// Parts of the path.
pub struct InPath<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for InPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        match Path::<T>::from_request_parts(parts, app).await {
            Ok(Path(path)) => Ok(Self(path)),
            Err(rejection) => {
                let mut problem = Problem::new(StatusCode::BAD_REQUEST, rejection.body_text());
                problem.field = Some("path".into());
                Err(problem)
            }
        }
    }
}

pub struct InQuery<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for InQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, app).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => {
                // axum writes "…: field: what is wrong with it" or "…: unknown field `x`, …".
                let text = rejection.body_text();
                let reason = text
                    .split_once(": ")
                    .map_or(text.as_str(), |(_, reason)| reason);
                let named = reason.split_once(": ").map(|(field, _)| field);
                let quoted = reason.split('`').nth(1);
                let fault = reason.rsplit(": ").next().unwrap_or(reason);
                let detail = format!("the query: {reason}{}", banister::toolkit::hint(fault));
                let mut problem = Problem::new(StatusCode::BAD_REQUEST, detail);
                problem.field = named.or(quoted).map(Into::into);
                Err(problem)
            }
        }
    }
}

/// Checks how many entries of a list a query asks for.
pub fn checked_limit(limit: Option<usize>, default: usize) -> Result<usize, Problem> {
    let limit = limit.unwrap_or(default);
    if (1..=1000).contains(&limit) {
        return Ok(limit);
    }
    let (status, allowed) = (StatusCode::BAD_REQUEST, "must be 1 to 1000");
    Err(Problem::of_field(
        status,
        "limit",
        limit.to_string(),
        allowed,
    ))
}

/// Serialises an answer.
pub fn json(value: &impl Serialize) -> Response {
    match text(value) {
        Ok(json) => raw(json),
        Err(problem) => problem.into_response(),
    }
}

/// An answer, or a part of it, as JSON.
pub fn text(value: &impl Serialize) -> Result<String, Problem> {
    let failed = |e| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("no JSON: {e}"));
    serde_json::to_string(value).map_err(failed)
}

/// Wraps an answer that is JSON already.
pub fn raw(json: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}
