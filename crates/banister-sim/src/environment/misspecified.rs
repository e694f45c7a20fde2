//! `misspecified`: actions have features, and mean costs are not linear in them.
//!
//! Actions are x = (0, 1, v/√p)/√2 with v uniform on the cube [−1, 1]^p, p = d − 2, drawn anew in every round; the safe
//! action is (1, 0, …, 0) and costs what is declared. The mean reward is linear, 0.5 + 0.4 v_p. A guardrail's mean cost
//! follows from two coordinates of v: the first two for the first guardrail, the next two for the second, and round.

use banister::Error;

use super::changing::{ActionSets, Changing};
use super::cost_shape::CostShape;
use super::keys::keys;
use super::linear::{changing_environment, sizes};
use super::model::{Environment, Setting};
use super::parameters::{check_noise, default_safe_cost, signals};

keys! {
    /// Keys of `misspecified`.
    MisspecifiedConfig {
        /// Shape of mean costs.
        world: CostShape,
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
        let Some(shape) = self.world else {
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
        let source = ActionSets::Cube { k };
        let changing = Changing::shaped(source, safe, safe_means, shape, signals, self.noise);
        Ok(changing_environment(setting, changing))
    }
}
