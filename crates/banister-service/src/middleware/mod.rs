//! Parts of the pipeline that every request passes: `auth.rs` (tokens and principals), `browser.rs` (pages of other sites),
//! `rate.rs` (limits per caller and experiment), `unread_body.rs` (unread bodies); and here request ids: in every answer, in
//! every problem document, and in the server's log. `router.rs` puts them together. They know neither handlers nor routes.

pub mod auth;
pub mod browser;
pub mod rate;
pub mod unread_body;

use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Takes the caller's own id if it is a sane one, else a new one.
pub fn request_id(request: &Request) -> HeaderValue {
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
