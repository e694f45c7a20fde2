//! Rivals on K arms: what they all keep, and one module for the rule of each.

mod doslb;
mod evidence;
mod plan;
mod rival;
mod ucb1;

pub use doslb::DoslbConfig;
pub use ucb1::Ucb1Config;

use evidence::Evidence;
use plan::Plan;
use rival::{Rule, make};
