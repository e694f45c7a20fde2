//! Parts of the pipeline that every request passes: `auth.rs` (tokens and principals), `browser.rs` (pages of
//! other sites), `rate.rs` (limits per caller and experiment), `unread_body.rs` (bodies that nobody read) and
//! `request_id.rs`. `router.rs` puts them together. They know neither handlers nor routes.

pub mod auth;
pub mod browser;
pub mod rate;
pub mod request_id;
pub mod unread_body;
