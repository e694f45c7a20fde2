//! What every agent on feature vectors shares: the actions on offer, and the regression of all signals on
//! what was observed of them.
//!
//! [`crate::Oplb`] and the linear rivals differ in what they do with it, not in how it is kept.

mod actions;
mod confidence;
mod evidence;
mod named;
mod parameter_norm;
mod regression;
mod rounding;
mod saved;
mod space;

pub(crate) use actions::{Actions, Columns, Terms};
pub use confidence::Radius;
pub(crate) use confidence::{Confidence, check_lambda, upper_end};
pub(crate) use evidence::{Evidence, Limit, Setup, with_zero_costs};
pub(crate) use parameter_norm::{LinearKeys, check_parameter_norm, default_lambda, parameter_norm};
pub(crate) use regression::{Regression, State};
pub(crate) use saved::SavedEvidence;
pub(crate) use space::Space;
