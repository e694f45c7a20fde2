//! Rivals: the agents of other papers, each with its own setting and its own promise.
//!
//! They stand beside [`banister::Opb`] and [`banister::Oplb`] to be compared with them, on the same problems and
//! through the same interface. Each module says at its top what problem it is for, what it guarantees
//! ([`banister::Guarantee`]), what a round costs and which paper it is from; a problem outside an agent's
//! setting is refused with the reason.

use banister::solve::Status;

pub mod arms;
mod config;
pub mod linear;
mod registry;
mod saved;
mod setting;
mod stream;

/// How a rival's decision ended, given how far its policy may be from the best: none of them proves more than
/// its intervals say.
fn status(infeasible: bool, gap: f64) -> Status {
    match infeasible {
        true => Status::Infeasible,
        false if gap <= 1e-12 => Status::Optimal,
        false => Status::Budget,
    }
}

pub use registry::{AgentConfig, Restored};
