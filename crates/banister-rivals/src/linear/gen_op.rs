//! GenOP: pessimistic about costs, with a bonus on the reward that makes up for it.
//!
//! **Problem.** Feature vectors beside x_0 = 0, played at any part of their length; one guardrail
//! ⟨x, μ⟩ ≤ b.
//! **Guarantee.** With probability 1 − δ, every action played keeps the guardrail, and the regret is of
//! order d√T·S/b.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation.
//! **Reference.** Hutchinson, Turan and Alizadeh, "Directional Optimism for Safe Linear Bandits" (2024), the
//! general optimistic-pessimistic algorithm that its experiments compare with.

use banister::toolkit::linear::Confidence;
use banister::{Error, Problem};

use super::scaling::{Reach, part};
use super::{Evidence, LinearConfig, LinearRival, Plan, Rule, RuleOnFeatures, Scaling};
use crate::config::{Registered, config, play, regression};

config! {
    /// GenOP: plays the part s of x with the largest s(⟨x, θ̂⟩ + (1 + 2S/b)β‖x‖), where s is the largest part
    /// that keeps the guardrail whatever the cost's parameter.
    GenOpConfig, "gen_op", RuleOnFeatures<Self>;
    regression,
    /// The largest part of an action that is played, above 0 and at most 1; by default 1.
    max_scale: f64 = 1.0,
    play,
}

impl LinearConfig for GenOpConfig {
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error> {
        let max_scale = part("max_scale", self.max_scale)?;
        let parameters = self.parameters();
        LinearRival::new(problem, self.kind(), parameters, self.play, |evidence| {
            let scaling = Scaling::new(self.kind(), evidence)?;
            Ok(GenOp {
                confidence: parameters.confidence(evidence),
                bonus: 1.0 + 2.0 * parameters.parameter_norm(evidence) / scaling.threshold,
                scaling,
                max_scale,
            })
        })
    }
}

struct GenOp {
    confidence: Confidence,
    scaling: Scaling,
    /// 1 + 2S/b.
    bonus: f64,
    max_scale: f64,
}

impl Rule for GenOp {
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64 {
        self.confidence.of(evidence, signal)
    }

    fn plan(&mut self, evidence: &Evidence) -> Plan {
        let reach = Reach {
            reward: self.bonus * self.confidence.of(evidence, 0),
            cost: self.confidence.of(evidence, 1),
        };
        self.scaling.best(evidence, reach, self.max_scale)
    }
}
