//! Named arms that share a context.

/// Arms whose means are linear in a context, each with a parameter of its own; those of the safe arm do not
/// depend on it. One parameter has them all: the safe arm's mean first, then a block for every other arm.
///
/// ```
/// use banister::ContextArms;
///
/// let arms = ContextArms { arms: 3, safe: 1, numbers: 2 };
/// assert_eq!(arms.features(2, &[0.5, 1.0]), [0.0, 0.0, 0.0, 0.5, 1.0]);
/// assert_eq!(arms.features(1, &[0.5, 1.0]), arms.safe_action());
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
        let others = self.arms.saturating_sub(1);
        others.saturating_mul(self.numbers).saturating_add(1)
    }

    /// Features of the safe arm, in every context.
    pub fn safe_action(&self) -> Vec<f64> {
        let mut x = vec![0.0; self.dimension()];
        x[0] = 1.0;
        x
    }

    /// Features of an arm in a context.
    pub fn features(&self, arm: usize, context: &[f64]) -> Vec<f64> {
        if arm == self.safe {
            return self.safe_action();
        }
        let mut x = vec![0.0; self.dimension()];
        let block = if arm < self.safe { arm } else { arm - 1 };
        x[1 + block * self.numbers..][..self.numbers].copy_from_slice(context);
        x
    }
}
