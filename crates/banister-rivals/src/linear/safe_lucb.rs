//! Safe-LUCB: explores where nothing can go wrong, then is optimistic among what is certified safe.
//!
//! **Problem.** Feature vectors beside x_0 = 0, played at any part of their length; one guardrail
//! ⟨x, μ⟩ ≤ b.
//! **Guarantee.** With probability 1 − δ, every action played keeps the guardrail; with T' of order T^{2/3}
//! the regret is of that order.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation; one random number
//! a decision until T' outcomes have arrived.
//! **Reference.** Amani, Alizadeh and Thrampoulidis, "Linear Stochastic Bandits under Safety Constraints"
//! (2019), Safe-LUCB. There the cost is μᵀBx with B known and μ the reward's own parameter, and actions fill
//! a convex set around 0. Here, as for all agents, the cost has a parameter of its own that is estimated from
//! its observations, and the set is that of all parts of the actions on offer.

use crate::stream::Stream;
use banister::toolkit::linear::Confidence;
use banister::{Error, Problem};
use rand::Rng as _;

use super::scaling::{Reach, length};
use super::{Evidence, LinearConfig, LinearRival, Plan, Rule, RuleOnFeatures, Scaling};
use crate::config::{Registered, config, play, regression};

config! {
    /// Safe-LUCB: at first random actions, so short that no parameter makes them unsafe; then the part s of x
    /// with the largest s(⟨x, θ̂⟩ + β‖x‖), where s is the largest part that is certified safe.
    SafeLucbConfig, "safe_lucb", RuleOnFeatures<Self>;
    regression,
    /// T': outcomes of random short actions before it chooses; by default ⌈T^{2/3}⌉, which needs `horizon`.
    exploration: Option<u64>,
    /// T, needed where `exploration` is not given.
    horizon: Option<u64>,
    play,
    ;
    fn horizon(&mut self, _: bool) -> Option<&mut Option<u64>> {
        match self.exploration {
            None => Some(&mut self.horizon),
            Some(_) => None,
        }
    }
}

impl LinearConfig for SafeLucbConfig {
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error> {
        let exploration = self.outcomes_to_explore()?;
        let parameters = self.parameters();
        LinearRival::new(problem, self.kind(), parameters, self.play, |evidence| {
            Ok(SafeLucb {
                scaling: Scaling::new(self.kind(), evidence)?,
                confidence: parameters.confidence(evidence),
                parameter_norm: parameters.parameter_norm(evidence),
                exploration,
                stream: Stream::new(0, 0),
            })
        })
    }
}

impl SafeLucbConfig {
    /// T'.
    fn outcomes_to_explore(&self) -> Result<u64, Error> {
        match (self.exploration, self.horizon) {
            (_, Some(0)) => Err(Error::invalid("horizon", 0, "must be at least 1")),
            (Some(given), _) => Ok(given),
            (None, Some(horizon)) => {
                let root = libm::cbrt(horizon as f64);
                // A cube root that rounding left a hair above a whole number is that number.
                Ok((root * root * (1.0 - 1e-12)).ceil() as u64)
            }
            (None, None) => Err(Error::invalid(
                "horizon",
                "absent",
                "how long it explores follows from the horizon: declare it, or `exploration`",
            )),
        }
    }
}

struct SafeLucb {
    confidence: Confidence,
    scaling: Scaling,
    parameter_norm: f64,
    /// T'.
    exploration: u64,
    stream: Stream,
}

impl SafeLucb {
    /// A random action on offer, so short that it is safe for every parameter of length S. One number is
    /// drawn, if there is a choice.
    fn explore(&mut self, evidence: &Evidence) -> Plan {
        let safe = evidence.actions.safe;
        let others = evidence.actions.count - 1;
        if others == 0 {
            return Plan::whole(safe, 0.0);
        }
        let drawn = u128::from(self.stream.rng.next_u64()) * others as u128;
        let drawn = (drawn >> 64) as usize;
        let action = drawn + usize::from(drawn >= safe);
        let scale = self.scaling.largest(self.cost_cap(evidence, action));
        let value = scale * self.upper_reward(evidence, action);
        Plan::part(action, scale, value)
    }

    fn upper_reward(&self, evidence: &Evidence, action: usize) -> f64 {
        let columns = &evidence.actions.columns;
        let reach = self.confidence.of(evidence, 0) * columns.squares[1][action].sqrt();
        columns.means[0][action] + reach
    }
}

impl Rule for SafeLucb {
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64 {
        self.confidence.of(evidence, signal)
    }

    fn plan(&mut self, evidence: &Evidence) -> Plan {
        if evidence.outcomes < self.exploration {
            return self.explore(evidence);
        }
        let reach = Reach {
            reward: self.confidence.of(evidence, 0),
            cost: self.confidence.of(evidence, 1),
        };
        self.scaling.best(evidence, reach, 1.0)
    }

    /// S‖x‖.
    fn cost_cap(&self, evidence: &Evidence, action: usize) -> f64 {
        self.parameter_norm * length(evidence, action)
    }

    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.stream)
    }
}
