//! Foundation of all agents on feature vectors: the actions on offer, and the regression of all signals on
//! their features.
//!
//! [`crate::Oplb`] and the linear rivals differ in what they do with it, not in how it is kept.
//!
//! Files, in reading order: `space`, `actions`, `regression`, `rounding`, `scales`, `confidence`, `link`, `logit`,
//! `parameter_norm`, `evidence`.

mod actions;
mod confidence;
mod evidence;
mod link;
mod logit;
mod parameter_norm;
mod regression;
mod rounding;
mod scales;
mod space;

pub(crate) use actions::Terms;
pub use actions::{Actions, Columns};
pub(crate) use confidence::index_width;
pub use confidence::{Confidence, Radius, check_lambda, upper_end};
pub use evidence::{
    Evidence, EvidenceState, Limit, LinearSignal, Ridge, Setup, Tables, with_zero_costs,
};
pub use link::Link;
pub(crate) use link::{log_odds, sigmoid};
pub(crate) use logit::{Ends, Logit, LogitState, Reach, restore_logits};
pub use parameter_norm::{check_parameter_norm, parameter_norm};
pub(crate) use parameter_norm::{check_safe_costs, declared_norm};
pub use regression::Regression;
pub(crate) use regression::{RegressionState, Update};
pub(crate) use scales::{MultiScale, default_ridge, ridge as level_ridge};
pub(crate) use space::Space;
