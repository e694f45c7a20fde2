//! Rivals: the agents of other papers, each with its own setting and its own promise.
//!
//! They stand beside [`crate::Opb`] and [`crate::Oplb`] to be compared with them, on the same problems and
//! through the same interface. Each module says at its top what problem it is for, what it guarantees
//! ([`crate::Guarantee`]), what a round costs and which paper it is from; a problem outside an agent's
//! setting is refused with the reason.

pub mod arms;
pub mod linear;
mod saved;
mod setting;

/// δ of the intervals, unless an agent is given its own.
pub(crate) const DELTA: f64 = 0.01;

pub(crate) use saved::{Saved, SavedRival};
