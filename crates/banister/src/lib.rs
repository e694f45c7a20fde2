//! The core of banister: bandits with guardrails.
//!
//! Each round an agent publishes a policy, a distribution over arms, that maximises an optimistic
//! reward among the policies whose **pessimistic** costs keep every guardrail:
//!
//! ```text
//! observe → estimate → bounds → optimism → solve → policy (+ certificate) → sample → outcome ─┐
//!     ↑_______________________________________________________________________________________│
//! ```
//!
//! Estimators give intervals, one lemma (see [`Optimism`]) turns intervals into a safe and
//! optimistic linear program, one small solver solves it.
//!
//! - declare a [`Problem`] with [`Guardrail`]s; [`Problem::check`] brings it to standard form
//! - run [`Opb`] with an [`OpbConfig`], or with features [`Oplb`] with an [`OplbConfig`]; every
//!   [`Decision`] carries its certificate
//! - compare with [`theory`]
//!
//! This crate does no I/O, starts no threads and reads no clock. Randomness comes from outside:
//! [`Decision::draw`] takes a uniform number, and agents that sample to decide do so from a seed
//! ([`Agent::reseed`]).
//!
//! Agents of your own are built from [`toolkit`]; those of other papers, and the registry of all agents, are in the
//! crate `banister-rivals`.

mod agent;
mod arm_estimate;
mod certificate;
mod decision;
mod error;
mod estimate;
mod guarantee;
pub mod interval;
mod linear;
mod monitor;
mod opb;
pub mod oplb;
mod optimism;
mod problem;
mod safe_cost;
mod snapshot;
pub mod theory;
pub mod toolkit;

pub use agent::{ActionSet, Agent, Origin, Outcomes, Played};
pub use arm_estimate::{ArmEstimate, Estimate};
pub use banister_solve as solve;
pub use decision::{Decision, Fallback, GuardrailCertificate, SolverReport};
pub use error::Error;
pub use guarantee::Guarantee;
pub use interval::Intervals;
pub use monitor::{Alarm, AlarmKind, Assumption, Monitor, OnBreach};
pub use opb::{Opb, OpbConfig};
pub use oplb::{Oplb, OplbConfig};
pub use optimism::Optimism;
pub use problem::{
    CheckedProblem, Direction, Guardrail, Problem, Signal, SignalConfig, Standard, two_numbers,
};
pub use safe_cost::UnknownSafeCost;

/// The example of the chapter on linear actions compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/linear.md")]
struct LinearActions;

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
