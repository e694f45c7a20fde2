//! Rivals on K arms.
//!
//! `rival` turns a rule into an agent; `evidence` and `plan` are what a rule reads and writes; `program`,
//! `budget`, `posterior`, `divergence`, `ops`, `descent`, `margin` and `perturbation` serve several rules. Every other
//! file is one paper.

mod always;
mod budget;
mod conservative_ucb;
mod descent;
mod divergence;
mod doslb;
mod evidence;
mod kl_ucb;
mod lagrange_bwk;
mod lin_con_kl_ucb;
mod lin_con_ts;
mod ma_ops;
mod margin;
mod ops;
mod perturbation;
mod pessimistic_optimistic;
mod plan;
mod posterior;
mod primal_dual_bwk;
mod program;
mod r_colts;
mod rival;
mod s_colts;
mod s_ops;
mod thompson;
mod ucb1;
mod ucb_bwk;

pub use always::AlwaysConfig;
pub use conservative_ucb::ConservativeUcbConfig;
pub use doslb::DoslbConfig;
pub use kl_ucb::KlUcbConfig;
pub use lagrange_bwk::LagrangeBwkConfig;
pub use lin_con_kl_ucb::LinConKlUcbConfig;
pub use lin_con_ts::LinConTsConfig;
pub use ma_ops::MaOpsConfig;
pub use ops::Update;
pub use pessimistic_optimistic::PessimisticOptimisticConfig;
pub use primal_dual_bwk::PrimalDualBwkConfig;
pub use r_colts::RColtsConfig;
pub use s_colts::SColtsConfig;
pub use s_ops::SOpsConfig;
pub use thompson::ThompsonConfig;
pub use ucb_bwk::UcbBwkConfig;
pub use ucb1::Ucb1Config;

use evidence::ArmEvidence;
use plan::Plan;
pub(crate) use rival::RuleOnArms;
use rival::{ArmConfig, ArmRival, Rule};
