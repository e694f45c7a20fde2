//! Rivals: the agents of other papers, each with its own setting and its own promise.
//!
//! They stand beside [`crate::Opb`] and [`crate::Oplb`] to be compared with them, on the same problems and
//! through the same interface. Each module says at its top what problem it is for, what it guarantees
//! ([`crate::Guarantee`]), what a round costs and which paper it is from; a problem outside an agent's
//! setting is refused with the reason.

use banister_solve::Status;

pub mod arms;
pub mod linear;
mod saved;
mod setting;

/// δ of the intervals, unless an agent is given its own.
pub(crate) const DELTA: f64 = 0.01;

/// How a rival's decision ended, given how far its policy may be from the best: none of them proves more than
/// its intervals say.
fn status(infeasible: bool, gap: f64) -> Status {
    match infeasible {
        true => Status::Infeasible,
        false if gap <= 1e-12 => Status::Optimal,
        false => Status::Budget,
    }
}

pub(crate) use saved::{Saved, SavedRival};
