//! What a round plays, as a rule makes it.

use banister::Guarantee;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an action is played at a part s of its length.
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
    /// What an agent promises whose parts of actions are safe: mixed with the safe action, single actions
    /// played may cost more than the policy.
    pub(crate) fn guarantee(given: Option<Self>) -> Guarantee {
        match given.unwrap_or_default() {
            Self::Scaled => Guarantee::PerAction,
            Self::Mixed => Guarantee::EveryRound,
        }
    }
}

/// An action, how much of it, and what the rule maximised, in prediction units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub action: usize,
    /// At most 1.
    pub scale: f64,
    /// What the rule maximised, at what is played.
    pub value: f64,
}

impl Plan {
    /// A whole action, whose index is `value`.
    pub(super) fn whole(action: usize, value: f64) -> Self {
        Self::part(action, 1.0, value)
    }

    /// A part of an action, `value` being the index of that part.
    pub(super) fn part(action: usize, scale: f64, value: f64) -> Self {
        Self {
            action,
            scale,
            value,
        }
    }

    /// Takes another one if it is better. NaN never is.
    #[inline]
    pub(super) fn improve(&mut self, action: usize, scale: f64, value: f64) {
        if value > self.value {
            *self = Self::part(action, scale, value);
        }
    }
}
