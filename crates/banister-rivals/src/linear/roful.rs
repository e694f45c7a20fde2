//! ROFUL, directional optimism: optimistic about cost and reward in choosing, pessimistic in scaling.
//!
//! **Problem.** Feature vectors beside x_0 = 0, played at any part of their length; one guardrail
//! ⟨x, μ⟩ ≤ b.
//! **Guarantee.** With probability 1 − δ, every action played keeps the guardrail, and the regret is of
//! order d√T.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation.
//! **Reference.** Hutchinson, Turan and Alizadeh, "Directional Optimism for Safe Linear Bandits" (2024),
//! ROFUL.

use banister::toolkit::linear::Confidence;
use banister::{Error, Problem};

use super::scaling::{length, part};
use super::{Evidence, LinearConfig, LinearRival, Plan, Rule, RuleOnFeatures, Scaling};
use crate::config::{Registered, config, play, regression};

config! {
    /// ROFUL: takes the part of x with the largest optimistic reward among those that may keep the guardrail,
    /// then scales it down until it keeps the guardrail whatever the cost's parameter.
    RofulConfig, "roful", RuleOnFeatures<Self>;
    regression,
    /// x_max: the largest part of an action that is played, above 0 and at most 1; by default 1.
    max_scale: f64 = 1.0,
    play,
}

impl LinearConfig for RofulConfig {
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error> {
        let max_scale = part("max_scale", self.max_scale)?;
        let parameters = self.parameters();
        LinearRival::new(problem, self.kind(), parameters, self.play, |evidence| {
            Ok(Roful {
                scaling: Scaling::new(self.kind(), evidence)?,
                confidence: parameters.confidence(evidence),
                parameter_norm: parameters.parameter_norm(evidence),
                max_scale,
            })
        })
    }
}

struct Roful {
    confidence: Confidence,
    scaling: Scaling,
    parameter_norm: f64,
    max_scale: f64,
}

impl Rule for Roful {
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64 {
        self.confidence.of(evidence, signal)
    }

    fn plan(&mut self, evidence: &Evidence) -> Plan {
        let columns = &evidence.actions.columns;
        let reward = self.confidence.of(evidence, 0);
        let cost = self.confidence.of(evidence, 1);
        let mut plan = Plan::whole(evidence.actions.safe, 0.0);
        for a in 0..evidence.actions.count {
            let length = columns.squares[1][a].sqrt();
            let lower = columns.means[1][a] - cost * length;
            let scale = self.scaling.largest_within(lower, self.max_scale);
            plan.improve(a, scale, scale * (columns.means[0][a] + reward * length));
        }
        // γ: the larger of what the ellipsoid and what S vouch for.
        let a = plan.action;
        let upper = columns.means[1][a] + cost * columns.squares[1][a].sqrt();
        let upper = upper.min(self.cost_cap(evidence, a));
        let scale = self.scaling.largest_within(upper, plan.scale);
        plan.value *= scale / plan.scale;
        plan.scale = scale;
        plan
    }

    /// S‖x‖.
    fn cost_cap(&self, evidence: &Evidence, action: usize) -> f64 {
        self.parameter_norm * length(evidence, action)
    }
}
