//! LinUCB, the reference that ignores guardrails.
//!
//! **Problem.** Feature vectors, the same ones every round or others each time; guardrails are reported,
//! not kept.
//! **Guarantee.** None about costs; regret against the best *unconstrained* action is of order d√T.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation.
//! **Reference.** Abbasi-Yadkori, Pál and Szepesvári, "Improved Algorithms for Linear Stochastic Bandits"
//! (2011), the OFUL algorithm, on finitely many actions.

use banister::toolkit::linear::{Confidence, LinearKeys, Radius};
use banister::{Agent, Error, Guarantee, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Evidence, Parameters, Plan, Recipe, Rule};
use crate::registry::{AgentConfig, Registered};
use crate::{DELTA, Saved};

/// LinUCB: plays the action with the largest ⟨x, θ̂⟩ + β‖x‖ in Σ⁻¹, whatever it costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinUcbConfig {
    /// What results call it; by default `lin_ucb`.
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
}

impl Default for LinUcbConfig {
    fn default() -> Self {
        Self {
            label: None,
            delta: DELTA,
            radius: Radius::default(),
            lambda: 1.0,
            parameter_norm: None,
            norm: None,
        }
    }
}

impl Registered for LinUcbConfig {
    fn kind(&self) -> &'static str {
        "lin_ucb"
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
        let parameters = Parameters {
            delta: Some(self.delta),
            radius: self.radius,
            lambda: self.lambda,
            parameter_norm: self.parameter_norm,
            norm: self.norm,
        };
        let recipe = Recipe {
            config: AgentConfig::LinUcb(self.clone()),
            parameters,
            problem,
            saved,
            play: None,
        };
        recipe.make(|evidence| {
            let signals = evidence.signals.len();
            Ok(LinUcb {
                confidence: parameters.confidence(problem, signals),
            })
        })
    }
}

struct LinUcb {
    confidence: Confidence,
}

impl Rule for LinUcb {
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64 {
        self.confidence.of(evidence, signal)
    }

    fn plan(&mut self, evidence: &Evidence) -> Plan {
        optimistic(evidence, self.confidence.of(evidence, 0))
    }
}

/// The action with the largest ⟨x, θ̂⟩ + β‖x‖; among equals the safe one, or the first.
pub(super) fn optimistic(evidence: &Evidence, beta: f64) -> Plan {
    let (actions, columns) = (&evidence.actions, &evidence.actions.columns);
    let upper = |a: usize| columns.means[0][a] + beta * columns.squares[1][a].sqrt();
    let mut plan = Plan::whole(actions.safe, upper(actions.safe));
    for a in 0..actions.count {
        plan.improve(a, 1.0, upper(a));
    }
    plan
}
