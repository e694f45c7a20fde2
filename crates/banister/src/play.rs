//! Parts of actions, for agents whose safe action is x_0 = 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::guarantee::Guarantee;

/// Way of playing an action at a part s of its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Play {
    /// As s·x: the decision's `scale` is s, and the outcome is taken by its features s·x.
    #[default]
    Scaled,
    /// As a policy: x with probability s, the safe action otherwise. As x_0 = 0, it expects the same
    /// reward and costs; for callers that can only play whole actions.
    Mixed,
}

impl Play {
    /// Promise of an agent whose parts of actions are safe: mixed with the safe action, single actions played
    /// may cost more than the policy.
    pub fn guarantee(given: Option<Self>) -> Guarantee {
        match given.unwrap_or_default() {
            Self::Scaled => Guarantee::PerAction,
            Self::Mixed => Guarantee::EveryRound,
        }
    }
}
