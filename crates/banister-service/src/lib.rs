//! banister over HTTP: decisions with guardrails for other programs, and a page for people.
//!
//! Everything that is learned lives in the engine ([`banister_engine`]); this crate is the way in. Read
//! [`routes::ROUTES`] first, the table that the router, the OpenAPI document and the tests of access are
//! made from; then `router.rs` with `middleware/` (what every request passes), `handlers/` (one subject per file),
//! `body.rs` (JSON in and out) with `problem.rs`, `app.rs` (what handlers
//! share), `memory.rs` (the budget of requests), `connections.rs` (how many there may be), `health.rs` and `metrics.rs` (watching the log),
//! `openapi.rs`, `page.rs`, `report.rs` (a report to print), `webhooks.rs` with `client.rs` (notices to others), and `settings.rs`, `serve.rs` with `tls.rs` (from settings to a running service).

#![allow(missing_docs)]

pub mod app;
mod body;
mod client;
mod connections;
pub mod handlers;
mod health;
pub mod memory;
mod metrics;
mod middleware;
pub mod openapi;
mod page;
pub mod problem;
mod report;
mod router;
pub mod routes;
mod serve;
mod settings;
mod tls;
mod webhooks;

pub use axum_server::accept::DefaultAcceptor;
pub use client::http_client;
pub use serve::{ServeError, assemble, http, serve};
pub use settings::{Given, Settings, checked_rate};
