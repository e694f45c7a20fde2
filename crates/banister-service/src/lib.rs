//! banister over HTTP: decisions with guardrails for other programs, and a page for people.
//!
//! Everything that is learned lives in the log ([`banister_engine`]); this crate is the way in: routes,
//! tokens, limits, metrics, the OpenAPI document and the page. [`routes::ROUTES`] is the table that all
//! of these are made from.

pub mod answer;
pub mod app;
pub mod auth;
mod body;
mod columns;
mod gate;
pub mod handlers;
mod health;
mod metrics;
pub mod openapi;
mod page;
pub mod problem;
mod rate;
pub mod routes;
mod serve;
mod settings;

pub use serve::{ServeError, assemble, serve};
pub use settings::{Given, Settings};
