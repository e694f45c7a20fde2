//! Parts of the pipeline that every request passes: `auth.rs` (tokens and principals), `rate.rs` (token
//! buckets) and `request_id.rs`. `router.rs` puts them together. They know neither handlers nor routes.

pub mod auth;
pub mod rate;
pub mod request_id;
