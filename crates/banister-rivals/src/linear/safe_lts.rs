//! Safe-LTS: Thompson sampling of the reward among the parts of actions that are safe.
//!
//! **Problem.** Feature vectors beside x_0 = 0, played at any part of their length; one guardrail
//! ⟨x, μ⟩ ≤ τ.
//! **Guarantee.** As long as the cost's confidence set holds, every action played keeps the guardrail. With
//! `delta` that is with probability 1 − δ; without it the set is that of the authors' runs, whose level
//! falls as the outcomes grow. The regret is of order d^{3/2}√T.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation; d random numbers.
//! **Reference.** Moradipari, Amani, Alizadeh and Thrampoulidis, "Safe Linear Thompson Sampling with Side
//! Information" (2019), with the radii of HPLC-LUCB, as in the runs that the two are compared in.

use banister::toolkit::linear::{LinearKeys, Radius};
use banister::toolkit::positive;
use banister::{Agent, Error, Guarantee, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hplc_lucb::Width;
use super::{Evidence, Parameters, Plan, Play, Recipe, Rule, Sample, Scaling};
use crate::Saved;
use crate::registry::{AgentConfig, Registered};

/// Safe-LTS: plays the part s of x with the largest s⟨x, θ̃⟩ for θ̃ ~ N(θ̂, d·radius²·Σ⁻¹), where s is the
/// largest part that keeps the guardrail whatever the cost's parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SafeLtsConfig {
    /// What results call it; by default `safe_lts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// δ of the confidence sets; by default it falls as 1/(1 + outcomes), as in the authors' runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// How many times the noise constant R the first term of the radii counts; by default 2, as in the
    /// authors' runs. Below 1 it voids the guarantee.
    pub noise_factor: f64,
    /// How many times ln(1/δ) counts under the root of the radii; by default 2. With 1, which `noise_factor`
    /// makes up for if it is 2, the regrets come closest to those that the authors stored.
    pub log_factor: f64,
    /// λ, the ridge; by default 0.1.
    pub lambda: f64,
    /// S: every unknown parameter is at most this long, in units of its signal's range; to be
    /// declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter_norm: Option<f64>,
    /// How a part of an action is played: `scaled`, the default, or `mixed` with the safe action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub play: Option<Play>,
}

impl Default for SafeLtsConfig {
    fn default() -> Self {
        Self {
            label: None,
            delta: None,
            noise_factor: 2.0,
            log_factor: 2.0,
            lambda: 0.1,
            parameter_norm: None,
            play: None,
        }
    }
}

impl Registered for SafeLtsConfig {
    fn kind(&self) -> &'static str {
        "safe_lts"
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
        self.delta.as_mut()
    }
    fn play(&mut self) -> Option<&mut Option<Play>> {
        Some(&mut self.play)
    }
    fn linear(&mut self) -> Option<LinearKeys<'_>> {
        Some(LinearKeys {
            lambda: None,
            parameter_norm: &mut self.parameter_norm,
            norm: None,
        })
    }
    fn make(&self, problem: &Problem, saved: Option<&Saved>) -> Result<Box<dyn Agent>, Error> {
        let noise_factor = positive("noise_factor", self.noise_factor)?;
        let log_factor = positive("log_factor", self.log_factor)?;
        let parameters = Parameters {
            delta: self.delta,
            radius: Radius::Logdet,
            lambda: self.lambda,
            parameter_norm: self.parameter_norm,
            norm: None,
        };
        let recipe = Recipe {
            config: AgentConfig::SafeLts(self.clone()),
            parameters,
            problem,
            saved,
            play: self.play,
        };
        recipe.make(|evidence| {
            let scaling = Scaling::new(self.kind(), evidence)?;
            Ok(SafeLts {
                width: Width {
                    noise_factor,
                    log_factor,
                    bias: parameters.bias(problem),
                    delta: self.delta,
                    scaling,
                },
                sample: Sample::default(),
            })
        })
    }
}

struct SafeLts {
    width: Width,
    sample: Sample,
}

impl Rule for SafeLts {
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64 {
        self.width.of(evidence, signal)
    }

    fn plan(&mut self, evidence: &Evidence) -> Plan {
        let columns = &evidence.actions.columns;
        let cost = self.width.of(evidence, 1);
        let spread = (evidence.dimension() as f64).sqrt() * self.width.of(evidence, 0);
        let mut plan = Plan::whole(evidence.actions.safe, 0.0);
        for (a, lean) in self.sample.draw(evidence).iter().enumerate() {
            let upper = columns.means[1][a] + cost * columns.squares[1][a].sqrt();
            let scale = self.width.scaling.largest(upper);
            plan.improve(a, scale, scale * (columns.means[0][a] + spread * lean));
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
