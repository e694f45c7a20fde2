//! Linear Thompson sampling, which ignores guardrails.
//!
//! **Problem.** Feature vectors, the same ones every round or others each time; guardrails are reported,
//! not kept.
//! **Guarantee.** None about costs; regret against the best *unconstrained* action is of order d^{3/2}√T.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation; d random numbers.
//! **Reference.** Agrawal and Goyal, "Thompson Sampling for Contextual Bandits with Linear Payoffs" (2013),
//! Algorithm 1; its v is a parameter here.

use banister::toolkit::linear::{Confidence, LinearKeys, Radius};
use banister::toolkit::positive;
use banister::{Agent, Error, Guarantee, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Evidence, Parameters, Plan, Recipe, Rule, Sample};
use crate::registry::{AgentConfig, Registered};
use crate::{DELTA, Saved};

/// Linear Thompson sampling: plays the best action for θ̃ ~ N(θ̂, v²Σ⁻¹), whatever it costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinTsConfig {
    /// What results call it; by default `lin_ts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// δ: probability with which some confidence set may fail; by default 0.01.
    pub delta: f64,
    /// How wide the confidence sets are; by default `logdet`.
    pub radius: Radius,
    /// λ, the ridge; by default 1.
    pub lambda: f64,
    /// S: every unknown parameter is at most this long, in units of its signal's range; to be
    /// declared, or √K where arms are their own features and means at most one range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter_norm: Option<f64>,
    /// L: every feature vector is at most this long; unchecked by default (`paper` radii need it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub norm: Option<f64>,
    /// v, how far samples lie from the estimate, in units of the reward's range; by default the radius of
    /// the reward's confidence set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v: Option<f64>,
}

impl Default for LinTsConfig {
    fn default() -> Self {
        Self {
            label: None,
            delta: DELTA,
            radius: Radius::default(),
            lambda: 1.0,
            parameter_norm: None,
            norm: None,
            v: None,
        }
    }
}

impl Registered for LinTsConfig {
    fn kind(&self) -> &'static str {
        "lin_ts"
    }
    fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
    fn guarantee(&self) -> Guarantee {
        Guarantee::Unsafe
    }
    fn takes_features(&self) -> bool {
        true
    }
    fn delta(&mut self) -> Option<&mut f64> {
        Some(&mut self.delta)
    }
    fn linear(&mut self) -> Option<LinearKeys<'_>> {
        Some(LinearKeys {
            lambda: None,
            parameter_norm: &mut self.parameter_norm,
            norm: self.norm,
        })
    }
    fn make(&self, problem: &Problem, saved: Option<&Saved>) -> Result<Box<dyn Agent>, Error> {
        if let Some(v) = self.v {
            positive("v", v)?;
        }
        let parameters = Parameters {
            delta: Some(self.delta),
            radius: self.radius,
            lambda: self.lambda,
            parameter_norm: self.parameter_norm,
            norm: self.norm,
        };
        let recipe = Recipe {
            config: AgentConfig::LinTs(self.clone()),
            parameters,
            problem,
            saved,
            play: None,
        };
        recipe.make(|evidence| {
            let signals = evidence.signals.len();
            Ok(LinTs {
                confidence: parameters.confidence(problem, signals),
                v: self.v,
                sample: Sample::default(),
            })
        })
    }
}

struct LinTs {
    confidence: Confidence,
    v: Option<f64>,
    sample: Sample,
}

impl Rule for LinTs {
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64 {
        self.confidence.of(evidence, signal)
    }

    fn plan(&mut self, evidence: &Evidence) -> Plan {
        let v = self.v.unwrap_or_else(|| self.confidence.of(evidence, 0));
        let safe = evidence.actions.safe;
        let means = &evidence.actions.columns.means[0];
        let lean = self.sample.draw(evidence);
        let mut plan = Plan::whole(safe, means[safe] + v * lean[safe]);
        for (a, (mean, lean)) in std::iter::zip(means, lean).enumerate() {
            plan.improve(a, 1.0, mean + v * lean);
        }
        plan
    }

    fn samples(&self) -> bool {
        true
    }

    fn reseed(&mut self, seed: u64, stream: u64) {
        self.sample.reseed(seed, stream);
    }

    fn save(&self, evidence: &Evidence, learned: bool) -> Value {
        self.sample.save(evidence, learned)
    }

    fn restore(&mut self, _: &Evidence, memory: &Value) -> Result<(), Error> {
        self.sample.restore(memory)
    }
}
