//! GenOP: pessimistic about costs, with a bonus on the reward that makes up for it.
//!
//! **Problem.** Feature vectors beside x_0 = 0, played at any part of their length; one guardrail
//! ⟨x, μ⟩ ≤ b.
//! **Guarantee.** With probability 1 − δ, every action played keeps the guardrail, and the regret is of
//! order d√T·S/b.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation.
//! **Reference.** Hutchinson, Turan and Alizadeh, "Directional Optimism for Safe Linear Bandits" (2024), the
//! general optimistic-pessimistic algorithm that its experiments compare with.

use banister::toolkit::linear::{Confidence, LinearKeys, Radius};
use banister::{Agent, Error, Guarantee, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scaling::{Reach, part};
use super::{Evidence, Parameters, Plan, Play, Recipe, Rule, Scaling};
use crate::registry::{AgentConfig, Registered};
use crate::{DELTA, Saved};

/// GenOP: plays the part s of x with the largest s(⟨x, θ̂⟩ + (1 + 2S/b)β‖x‖), where s is the largest part
/// that keeps the guardrail whatever the cost's parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GenOpConfig {
    /// What results call it; by default `gen_op`.
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
    /// The largest part of an action that is played, above 0 and at most 1; by default 1.
    pub max_scale: f64,
    /// How a part of an action is played: `scaled`, the default, or `mixed` with the safe action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub play: Option<Play>,
}

impl Default for GenOpConfig {
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

impl Registered for GenOpConfig {
    fn kind(&self) -> &'static str {
        "gen_op"
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
            config: AgentConfig::GenOp(self.clone()),
            parameters,
            problem,
            saved,
            play: self.play,
        };
        recipe.make(|evidence| {
            let scaling = Scaling::new(self.kind(), evidence)?;
            let signals = evidence.signals.len();
            Ok(GenOp {
                confidence: parameters.confidence(problem, signals),
                bonus: 1.0 + 2.0 * parameters.parameter_norm(problem) / scaling.threshold,
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
