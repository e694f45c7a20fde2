//! Mean costs that are not linear in the features, for `misspecified`.

use std::f64::consts::FRAC_1_SQRT_2;

use serde::{Deserialize, Serialize};

/// Shape of mean costs, as parts of their range; a and b are two coordinates of v.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CostShape {
    /// 0.9 where one of a and b is positive, else 0.1.
    Xor,
    /// 0.1 + 0.8 a².
    Quadratic,
    /// 1/(1 + e^{−5a}).
    Logistic,
    /// 0.8 where a > 0.6 and b > 0.6, 0.4 where only a is, else 0.2.
    Tree,
}

impl CostShape {
    fn cost(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Xor if (a > 0.0) == (b > 0.0) => 0.1,
            Self::Xor => 0.9,
            Self::Quadratic => 0.1 + 0.8 * a * a,
            Self::Logistic => 1.0 / (1.0 + libm::exp(-5.0 * a)),
            Self::Tree if a > 0.6 && b > 0.6 => 0.8,
            Self::Tree if a > 0.6 => 0.4,
            Self::Tree => 0.2,
        }
    }

    /// Mean of a signal at an action, as a part of its range.
    pub(super) fn mean(self, signal: usize, x: &[f64]) -> f64 {
        let v = &x[2..];
        let scale = stretch(v.len());
        match signal.checked_sub(1) {
            None => 0.5 + 0.4 * scale * v[v.len() - 1],
            Some(i) => {
                let at = |j: usize| scale * v[j % v.len()];
                self.cost(at(2 * i), at(2 * i + 1))
            }
        }
    }
}

/// Length of a coordinate of v beside that of its feature.
fn stretch(p: usize) -> f64 {
    (2.0 * p as f64).sqrt()
}

/// Writes an action from a point of the cube that stands in its last coordinates.
pub(super) fn place(x: &mut [f64]) {
    let scale = 1.0 / stretch(x.len() - 2);
    x[0] = 0.0;
    x[1] = FRAC_1_SQRT_2;
    x[2..].iter_mut().for_each(|v| *v *= scale);
}
