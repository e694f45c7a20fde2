//! `misspecified`: actions have features, and mean costs are not linear in them.
//!
//! Actions are x = (0, 1, v/√p)/√2 with v uniform on the cube [−1, 1]^p, p = d − 2, drawn anew in every round; the safe
//! action is (1, 0, …, 0) and costs what is declared. The mean reward is linear, 0.5 + 0.4 v_p. A guardrail's mean cost
//! follows from two coordinates of v: the first two for the first guardrail, the next two for the second, and round.

use std::f64::consts::FRAC_1_SQRT_2;

use banister::Error;
use serde::{Deserialize, Serialize};

use super::changing::{Changing, Source};
use super::keys::keys;
use super::linear::{changing_environment, sizes};
use super::model::{Environment, Setting};
use super::parameters::{check_noise, default_safe_cost, signals};

/// Shape of mean costs, as parts of their range; a and b are two coordinates of v.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// 0.9 where one of a and b is positive, else 0.1.
    Xor,
    /// 0.1 + 0.8 a².
    Quadratic,
    /// 1/(1 + e^{−5a}).
    Logistic,
    /// 0.8 where a > 0.6 and b > 0.6, 0.4 where only a is, else 0.2.
    Tree,
}

impl World {
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
pub(super) fn stretch(p: usize) -> f64 {
    (2.0 * p as f64).sqrt()
}

keys! {
    /// Keys of `misspecified`.
    MisspecifiedConfig {
        /// Shape of mean costs.
        world: World,
        /// Actions per round beside the safe one.
        k: usize,
        /// Length of the feature vectors.
        d: usize,
        /// Standard deviation of Gaussian noise as a fraction of the signal's range; absent: signals
        /// take the two ends of their range.
        noise: f64,
    }
}

impl MisspecifiedConfig {
    pub(super) fn build(&mut self, setting: &Setting<'_>) -> Result<Environment, Error> {
        let Some(world) = self.world else {
            let allowed = "must be `xor`, `quadratic`, `logistic` or `tree`";
            return Err(Error::invalid("environment.world", "absent", allowed));
        };
        let signals = signals(setting)?;
        check_noise(self.noise, &signals)?;
        let why = ": the safe action's, a constant, and two that costs depend on";
        let (k, d) = sizes((self.k, self.d), 4, why)?;
        let mut safe = vec![0.0; d];
        safe[0] = 1.0;
        let costs = setting.guardrails.iter().zip(&signals[1..]);
        let reward = signals[0].lo + 0.5 * signals[0].unit();
        let safe_means = std::iter::once(reward).chain(costs.map(default_safe_cost));
        let safe_means = safe_means.collect();
        let source = Source::Cube { k };
        let changing = Changing::of_world(source, safe, safe_means, world, signals, self.noise);
        Ok(changing_environment(setting, changing))
    }
}

/// Writes an action from a point of the cube that stands in its last coordinates.
pub(super) fn place(x: &mut [f64]) {
    let scale = 1.0 / stretch(x.len() - 2);
    x[0] = 0.0;
    x[1] = FRAC_1_SQRT_2;
    x[2..].iter_mut().for_each(|v| *v *= scale);
}
