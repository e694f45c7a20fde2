//! The integration tests of `banister`, one binary.

mod agent;
mod common;
#[allow(unsafe_code)]
#[path = "../../../banister-solve/tests/it/common/counting.rs"]
mod counting;
mod coverage;
mod exact_arithmetic;
mod guardrails;
mod intervals;
mod kl;
mod learned;
mod linear_rivals_allocation;
mod linear_rivals_life;
mod linear_rivals_reference;
mod linear_rivals_safety;
mod mixture;
mod monitor;
mod oplb;
mod oplb_hostile;
mod oplb_input;
mod oplb_life;
mod oplb_snapshots;
mod optimism;
mod paper_mode;
mod registry;
mod ridge;
mod rivals_allocation;
mod rivals_cumulative;
mod rivals_life;
mod rivals_reference;
mod rivals_safe;
mod rivals_unsafe;
mod snapshots;
mod theory;
mod validation;
