//! ROFUL, directional optimism: optimistic about cost and reward in choosing, pessimistic in scaling.
//!
//! **Problem.** Feature vectors beside x_0 = 0, played at any part of their length; one guardrail
//! ⟨x, μ⟩ ≤ b.
//! **Guarantee.** With probability 1 − δ, every action played keeps the guardrail, and the regret is of
//! order d√T.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation.
//! **Reference.** Hutchinson, Turan and Alizadeh, "Directional Optimism for Safe Linear Bandits" (2024),
//! ROFUL.

use banister::toolkit::linear::{Confidence, LinearKeys, Radius};
use banister::{Agent, Error, Guarantee, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scaling::{length, part};
use super::{Evidence, Parameters, Plan, Play, Recipe, Rule, Scaling};
use crate::registry::{AgentConfig, Registered};
use crate::{DELTA, Saved};

/// ROFUL: takes the part of x with the largest optimistic reward among those that may keep the guardrail,
/// then scales it down until it keeps the guardrail whatever the cost's parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RofulConfig {
    /// What results call it; by default `roful`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// δ: probability with which some confidence set may fail; by default 0.01.
    pub delta: f64,
    /// How wide the confidence sets are; by default `logdet`.
    pub radius: Radius,
    /// λ, the ridge; by default 1.
    pub lambda: f64,
    /// S: every unknown parameter is at most this long, in units of its signal's range; to be
    /// declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter_norm: Option<f64>,
    /// L: every feature vector is at most this long; unchecked by default (`paper` radii need it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub norm: Option<f64>,
    /// x_max: the largest part of an action that is played, above 0 and at most 1; by default 1.
    pub max_scale: f64,
    /// How a part of an action is played: `scaled`, the default, or `mixed` with the safe action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub play: Option<Play>,
}

impl Default for RofulConfig {
    fn default() -> Self {
        Self {
            label: None,
            delta: DELTA,
            radius: Radius::default(),
            lambda: 1.0,
            parameter_norm: None,
            norm: None,
            max_scale: 1.0,
            play: None,
        }
    }
}

impl Registered for RofulConfig {
    fn kind(&self) -> &'static str {
        "roful"
    }
    fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
    fn guarantee(&self) -> Guarantee {
        Play::guarantee(self.play)
    }
    fn takes_features(&self) -> bool {
        true
    }
    fn delta(&mut self) -> Option<&mut f64> {
        Some(&mut self.delta)
    }
    fn play(&mut self) -> Option<&mut Option<Play>> {
        Some(&mut self.play)
    }
    fn linear(&mut self) -> Option<LinearKeys<'_>> {
        Some(LinearKeys {
            lambda: None,
            parameter_norm: &mut self.parameter_norm,
            norm: self.norm,
        })
    }
    fn make(&self, problem: &Problem, saved: Option<&Saved>) -> Result<Box<dyn Agent>, Error> {
        let max_scale = part("max_scale", self.max_scale)?;
        let parameters = Parameters {
            delta: Some(self.delta),
            radius: self.radius,
            lambda: self.lambda,
            parameter_norm: self.parameter_norm,
            norm: self.norm,
        };
        let recipe = Recipe {
            config: AgentConfig::Roful(self.clone()),
            parameters,
            problem,
            saved,
            play: self.play,
        };
        recipe.make(|evidence| {
            let signals = evidence.signals.len();
            Ok(Roful {
                scaling: Scaling::new(self.kind(), evidence)?,
                confidence: parameters.confidence(problem, signals),
                parameter_norm: parameters.parameter_norm(problem),
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
