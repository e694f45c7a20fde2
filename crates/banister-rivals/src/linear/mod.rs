//! Rivals on feature vectors: `rival` and `agent` turn a rule into an agent, `scaling` and `sampled` serve
//! several rules, every other file is one paper.
//!
//! Reward and costs are regressed on all d coordinates of the features, nothing projected: signal i has
//! the mean ⟨x, μ_i⟩ in units of its range, and the threshold counts in the same units (*prediction
//! units*; `at_least` mirrors both).
//!
//! Agents that are safe per action have x_0 = 0 and play an action at a part of its length,
//! [`banister::Decision::scale`]; see [`Play`] for callers that can only play whole actions.

mod colts;
mod conservative_lin_ucb;
mod gen_op;
mod hp_ucb;
mod hplc_lucb;
mod lin_ts;
mod lin_ucb;
mod rival;
mod roful;
mod safe_lts;
mod safe_lucb;
mod sampled;
mod scaling;

pub use crate::parameters::StageRadius;
pub use banister::toolkit::Play;
use banister::toolkit::linear::Evidence;
pub use colts::{LinRColtsConfig, LinSColtsConfig};
pub use conservative_lin_ucb::ConservativeLinUcbConfig;
pub use gen_op::GenOpConfig;
pub use hp_ucb::HpUcbConfig;
pub use hplc_lucb::HplcLucbConfig;
pub use lin_ts::LinTsConfig;
pub use lin_ucb::LinUcbConfig;
pub use roful::RofulConfig;
pub use safe_lts::SafeLtsConfig;
pub use safe_lucb::SafeLucbConfig;

pub(crate) use rival::RuleOnFeatures;
use rival::{LinearConfig, LinearRival, Rule};
use sampled::Sample;
use scaling::{Plan, Scaling};
