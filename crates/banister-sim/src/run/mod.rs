//! Runs: `Experiment → Run → Results`, on all cores, the same bytes on any number of threads.
//!
//! Uses experiments and environments; knows nothing of comparisons. In reading order:
//!
//! - `runner.rs`: tasks on threads, and one run from its first round to its trace; `progress.rs`.
//! - `episode.rs`: the hot loop; `environment.rs` with `fixed.rs` (the fast path) and `general.rs` (worlds): the actions
//!   and outcomes it plays with; `best.rs`, `policy_table.rs`: the best policy of a round, policies by segment;
//!   `delay.rs`: late outcomes; `metrics.rs`, `drawn.rs`: regret and violations, sums of what was drawn.
//! - `trace.rs`, `shard.rs`, `curves.rs`: a run's numbers, parts of an experiment as bytes, and statistics
//!   over runs.
//! - `coverage.rs`: how often confidence sets hold.

mod best;
mod coverage;
mod curves;
mod delay;
mod drawn;
mod environment;
mod episode;
mod fixed;
mod general;
mod metrics;
mod policy_table;
mod progress;
mod runner;
mod shard;
mod trace;

pub use coverage::{Coverage, coverage};
pub use progress::Progress;
pub(crate) use runner::run_tasks;
pub use runner::{Options, run, run_shard};
pub(crate) use shard::fnv;
pub use shard::{Gathered, Shard, gather, gather_traces, plan};
pub use trace::{TOLERANCE, Trace};
