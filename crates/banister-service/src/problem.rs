//! Errors as RFC 9457 problem documents.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use banister_engine::Refusal;
use schemars::JsonSchema;
use serde::Serialize;

/// Problem document (RFC 9457). Small, since almost everything here may return one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Problem {
    /// Kind of problem, where the status does not say it all.
    #[serde(rename = "type")]
    kind: ProblemType,
    /// The status in words.
    title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// Explanation for people.
    pub detail: Box<str>,
    /// The field that is wrong, as the request spells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Box<str>>,
    /// Its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Box<str>>,
    /// Values that are allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<Box<str>>,
    /// The request's id, to find it in the server's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Box<str>>,
    /// Seconds after which another try makes sense.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// True if a token was sent, and is not known.
    #[serde(skip)]
    pub had_token: bool,
}

/// Type of a problem: a small one, see [`Problem`].
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
enum ProblemType {
    /// The status says what kind of problem it is.
    #[serde(rename = "about:blank")]
    Blank,
    /// A budget refuses decisions.
    #[serde(rename = "urn:banister:budget-exhausted")]
    BudgetExhausted,
}

impl Problem {
    /// A problem with a status.
    pub fn new(status: StatusCode, detail: impl Into<Box<str>>) -> Self {
        Self {
            kind: ProblemType::Blank,
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: detail.into(),
            field: None,
            value: None,
            allowed: None,
            request_id: None,
            retry_after: None,
            had_token: false,
        }
    }

    /// About a field of the request.
    pub fn of_field(
        status: StatusCode,
        field: impl Into<Box<str>>,
        value: impl Into<Box<str>>,
        allowed: impl Into<Box<str>>,
    ) -> Self {
        let (field, value, allowed) = (field.into(), value.into(), allowed.into());
        let problem = Self::new(status, format!("`{field}` is {value}: {allowed}"));
        Self {
            field: Some(field),
            value: Some(value),
            allowed: Some(allowed),
            ..problem
        }
    }

    pub fn unavailable(detail: impl Into<Box<str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    /// The name of an experiment that there is not, if it is about one.
    pub fn unknown_experiment(&self) -> Option<&str> {
        let is_unknown = self.status == 404 && self.field.as_deref() == Some("experiment");
        self.value.as_deref().filter(|_| is_unknown)
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| {
            let status = self.status;
            format!("{{\"type\":\"about:blank\",\"status\":{status}}}")
        })
    }
}

impl From<banister::Error> for Problem {
    fn from(error: banister::Error) -> Self {
        Refusal::from(error).into()
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            Refusal::Invalid {
                field,
                value,
                allowed,
            } => Self::of_field(StatusCode::UNPROCESSABLE_ENTITY, field, value, allowed),
            Refusal::Unknown { what, name, .. } => Self {
                // Of a `decision for the unit` the unit.
                field: what.rsplit(' ').next().map(Into::into),
                value: Some(name.into()),
                ..Self::new(StatusCode::NOT_FOUND, detail)
            },
            Refusal::Conflict { .. } => Self::new(StatusCode::CONFLICT, detail),
            Refusal::Forbidden { .. } => Self::new(StatusCode::FORBIDDEN, detail),
            Refusal::Exhausted { retry_after, .. } => Self {
                kind: ProblemType::BudgetExhausted,
                retry_after: Some(retry_after),
                ..Self::new(StatusCode::TOO_MANY_REQUESTS, detail)
            },
            _ => Self::unavailable(detail),
        }
    }
}

impl From<banister_engine::StoreError> for Problem {
    fn from(error: banister_engine::StoreError) -> Self {
        Self::unavailable(format!("the log is not available: {error}"))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let json = "application/problem+json";
        let mut response = (status, [(header::CONTENT_TYPE, json)], self.to_json()).into_response();
        let again =
            status == StatusCode::SERVICE_UNAVAILABLE || status == StatusCode::TOO_MANY_REQUESTS;
        if again {
            let seconds = self.retry_after.unwrap_or(1);
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            let challenge = if self.had_token {
                "Bearer realm=\"banister\", error=\"invalid_token\""
            } else {
                "Bearer realm=\"banister\""
            };
            let challenge = HeaderValue::from_static(challenge);
            (response.headers_mut()).insert(header::WWW_AUTHENTICATE, challenge);
        }
        // The middleware writes the request's id into it.
        response.extensions_mut().insert(self);
        response
    }
}
