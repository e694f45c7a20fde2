//! Handlers of the routes, one subject per file.
//!
//! Read `experiments.rs` with `changes.rs` (who changed what), `decisions.rs` with `audit.rs` (the audit trail), `exchange.rs` with `columns.rs`
//! (export and import), `worth.rs` (lifts, health, reports), `flags.rs` (OpenFeature), `leases.rs` (decisions elsewhere), then `operations.rs` (health, metrics, documents, the page). They use the shared
//! [`App`](crate::app::App) and the answers' types; nothing but the routes uses them.

pub mod audit;
pub mod changes;
mod columns;
pub mod decisions;
pub mod exchange;
pub mod experiments;
pub mod flags;
pub mod leases;
pub mod operations;
pub mod worth;
