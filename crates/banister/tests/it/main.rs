//! The integration tests of `banister`, one binary.

mod agent;
mod common;
mod coverage;
mod exact_arithmetic;
mod guardrails;
mod intervals;
mod kl;
mod lean;
mod limit;
mod logistic;
mod mixture;
mod monitor;
mod multiscale;
mod oplb;
mod oplb_hostile;
mod oplb_input;
mod oplb_life;
mod oplb_snapshots;
mod optimism;
mod paper_mode;
mod per_arm;
mod ranges;
mod ridge;
mod snapshots;
mod theory;
mod validation;
