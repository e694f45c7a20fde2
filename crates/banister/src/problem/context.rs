//! Named arms that share a context.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Guardrail, Problem};

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

/// Arms whose means are linear in a context, each with a parameter of its own.
///
/// [`Model::Shared`]: the means of the safe arm do not depend on the context. One parameter has them all: the safe
/// arm's mean first, then a block for every other arm. [`Model::PerArm`]: an arm in a context is its number, then
/// the context.
///
/// ```
/// use banister::{ContextArms, Model};
///
/// let arms = ContextArms { arms: 3, safe: 1, numbers: 2, model: Model::Shared };
/// assert_eq!(arms.features(2, &[0.5, 1.0]), [0.0, 0.0, 0.0, 0.5, 1.0]);
/// assert_eq!(arms.features(1, &[0.5, 1.0]), arms.features(1, &[0.0, 0.0]));
///
/// let arms = ContextArms { model: Model::PerArm, ..arms };
/// assert_eq!(arms.features(2, &[0.5, 1.0]), [2.0, 0.5, 1.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextArms {
    /// Number of arms, the safe one included.
    pub arms: usize,
    /// Place of the safe arm.
    pub safe: usize,
    /// Length of the context.
    pub numbers: usize,
    /// Parameters of the arms.
    pub model: Model,
}

impl ContextArms {
    /// Length of the feature vectors: 1 + (arms − 1)·numbers, or 1 + numbers with a parameter per arm.
    pub fn dimension(&self) -> usize {
        let blocks = match self.model {
            Model::Shared => self.arms.saturating_sub(1),
            Model::PerArm => 1,
        };
        blocks.saturating_mul(self.numbers).saturating_add(1)
    }

    /// Features of an arm in a context: what its outcomes are taken by.
    pub fn features(&self, arm: usize, context: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.dimension()];
        match self.model {
            Model::PerArm => {
                x[0] = arm as f64;
                x[1..].copy_from_slice(context);
            }
            Model::Shared if arm == self.safe => x[0] = 1.0,
            Model::Shared => {
                let block = if arm < self.safe { arm } else { arm - 1 };
                x[1 + block * self.numbers..][..self.numbers].copy_from_slice(context);
            }
        }
        x
    }

    /// Numbers by which these arms are offered to an agent in a context. With a parameter per arm that is the
    /// context alone: the agent knows which arms there are.
    pub fn offer(&self, arms: impl Iterator<Item = usize>, context: &[f64]) -> Vec<f64> {
        match self.model {
            Model::Shared => arms.flat_map(|arm| self.features(arm, context)).collect(),
            Model::PerArm => context.to_vec(),
        }
    }

    /// The problem that an agent is made for: with one parameter the safe action alone, with a parameter per arm
    /// all arms by these names.
    pub fn problem(&self, names: Vec<String>, guardrails: Vec<Guardrail>) -> Problem {
        let zero = vec![0.0; self.numbers];
        match self.model {
            Model::Shared => Problem::contextual(self.features(self.safe, &zero), guardrails),
            Model::PerArm => Problem {
                features: (0..names.len())
                    .map(|arm| self.features(arm, &zero))
                    .collect(),
                arms: names,
                safe: self.safe,
                guardrails,
                ..Problem::default()
            },
        }
    }
}
