//! Errors as RFC 9457 problem documents.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use banister_log::Refusal;
use schemars::JsonSchema;
use serde::Serialize;

/// What went wrong.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Problem {
    /// What kind of problem; `about:blank`, the status says it.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What went wrong, for people.
    pub detail: String,
    /// The field that is wrong, as the request spells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
    /// The request's id, to find it in the server's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Seconds after which another try makes sense.
    #[serde(skip)]
    pub retry_after: Option<u64>,
}

impl Problem {
    /// A problem with a status.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error").to_string(),
            status: status.as_u16(),
            detail: detail.into(),
            field: None,
            value: None,
            allowed: None,
            request_id: None,
            retry_after: None,
        }
    }

    /// About a field of the request.
    pub fn of_field(
        status: StatusCode,
        field: impl Into<String>,
        value: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        let (field, value, allowed) = (field.into(), value.into(), allowed.into());
        Self {
            field: Some(field.clone()),
            value: Some(value.clone()),
            allowed: Some(allowed.clone()),
            ..Self::new(status, format!("`{field}` is {value}: {allowed}"))
        }
    }

    /// 503.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        // Strings and a number: there is nothing to fail on.
        serde_json::to_string(self).unwrap_or_default()
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
            Refusal::Unknown { .. } => Self::new(StatusCode::NOT_FOUND, detail),
            Refusal::Conflict { .. } => Self::new(StatusCode::CONFLICT, detail),
            _ => Self::unavailable(detail),
        }
    }
}

impl From<banister_log::StoreError> for Problem {
    fn from(error: banister_log::StoreError) -> Self {
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
        // The gate writes the request's id into it.
        response.extensions_mut().insert(self);
        response
    }
}
