//! Named arms that share a context.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of named arms that share a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// One parameter for all features: the safe action's are fixed, so that its means are the same in every
    /// context.
    #[default]
    Shared,
    /// A parameter per arm, the safe one included: its means depend on the context too, and guardrails are
    /// certified in each.
    PerArm,
}

impl Model {
    /// True for the default.
    pub fn is_shared(&self) -> bool {
        *self == Self::Shared
    }
}

/// Features of arms that share a context ([`Model::Shared`]): the means of the safe arm do not depend on the context. One
/// parameter has them all: the safe arm's mean first, then a block for every other arm.
///
/// ```
/// use banister::ContextArms;
///
/// let arms = ContextArms { arms: 3, safe: 1, numbers: 2 };
/// assert_eq!(arms.features(2, &[0.5, 1.0]), [0.0, 0.0, 0.0, 0.5, 1.0]);
/// assert_eq!(arms.features(1, &[0.5, 1.0]), arms.features(1, &[0.0, 0.0]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextArms {
    /// Number of arms, the safe one included.
    pub arms: usize,
    /// Place of the safe arm.
    pub safe: usize,
    /// Length of the context.
    pub numbers: usize,
}

impl ContextArms {
    /// Length of the feature vectors: 1 + (arms − 1)·numbers.
    pub fn dimension(&self) -> usize {
        let blocks = self.arms.saturating_sub(1);
        blocks.saturating_mul(self.numbers).saturating_add(1)
    }

    /// Features of an arm in a context.
    pub fn features(&self, arm: usize, context: &[f64]) -> Vec<f64> {
        let mut x = Vec::new();
        self.extend_features(arm, context, &mut x);
        x
    }

    /// Appends the features of an arm in a context.
    pub(crate) fn extend_features(&self, arm: usize, context: &[f64], rows: &mut Vec<f64>) {
        let start = rows.len();
        rows.resize(start + self.dimension(), 0.0);
        let x = &mut rows[start..];
        if arm == self.safe {
            x[0] = 1.0;
        } else {
            let block = if arm < self.safe { arm } else { arm - 1 };
            x[1 + block * self.numbers..][..self.numbers].copy_from_slice(context);
        }
    }
}
