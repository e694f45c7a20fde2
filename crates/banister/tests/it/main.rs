//! The integration tests of `banister`, one binary.

mod agent;
mod claims;
mod common;
mod coverage;
mod drift;
mod exact_arithmetic;
mod fields;
mod fit;
mod floors;
mod guardrails;
mod intervals;
#[cfg(feature = "lease")]
mod leases;
mod lift;
mod limit;
mod logistic;
mod logs;
mod made;
mod mixture;
mod monitor;
mod multiscale;
mod oplb;
mod oplb_input;
mod optimism;
mod paper_mode;
mod per_arm;
mod ranges;
mod refusals;
mod ridge;
mod segmented;
mod segments_late;
mod session;
mod sums;
mod theory;
mod waiting;
mod weights;
