//! What every agent on feature vectors shares: the actions on offer, and the regression of all signals on
//! what was observed of them.
//!
//! [`crate::Oplb`] and the linear rivals differ in what they do with it, not in how it is kept.

mod actions;
mod confidence;
mod evidence;
mod named;
mod regression;
mod saved;
mod space;

pub(crate) use actions::{Actions, Columns, Terms};
pub use confidence::Radius;
pub(crate) use confidence::{Confidence, check_lambda, norm_or_default};
pub(crate) use evidence::{Evidence, Limit, Setup, with_zero_costs};
pub(crate) use regression::{Regression, State};
pub(crate) use saved::SavedEvidence;
pub(crate) use space::Space;
