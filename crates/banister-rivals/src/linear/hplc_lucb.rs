//! HPLC-LUCB: keeps the constraint with high probability in every round.
//!
//! **Problem.** Feature vectors beside x_0 = 0, played at any part of their length; one guardrail
//! ⟨x, μ⟩ ≤ τ.
//! **Guarantee.** As long as the confidence sets hold, every action played keeps the guardrail. With `delta`
//! that is with probability 1 − δ for either set; without it the sets are those of the authors' runs, whose
//! level falls as the outcomes grow.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation.
//! **Reference.** Pacchiano, Ghavamzadeh and Bartlett, "Contextual Bandits with Stage-wise Constraints"
//! (2024), the algorithm for constraints with high probability, with the constants of the authors' code.

use banister::toolkit::linear::{LinearKeys, Radius};
use banister::toolkit::positive;
use banister::{Agent, Error, Guarantee, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scaling::Reach;
use super::{Evidence, Parameters, Plan, Play, Recipe, Rule, Scaling};
use crate::Saved;
use crate::registry::{AgentConfig, Registered};

/// HPLC-LUCB: plays the part s of x with the largest s times its reward's upper bound, where s is the
/// largest part that keeps the guardrail whatever the cost's parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HplcLucbConfig {
    /// What results call it; by default `hplc_lucb`.
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

impl Default for HplcLucbConfig {
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

impl Registered for HplcLucbConfig {
    fn kind(&self) -> &'static str {
        "hplc_lucb"
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
            config: AgentConfig::HplcLucb(self.clone()),
            parameters,
            problem,
            saved,
            play: self.play,
        };
        recipe.make(|evidence| {
            let scaling = Scaling::new(self.kind(), evidence)?;
            Ok(HplcLucb(Width {
                noise_factor,
                log_factor,
                bias: parameters.bias(problem),
                delta: self.delta,
                scaling,
            }))
        })
    }
}

/// The radii noise_factor·R√(ln det(Σ/λ) + log_factor·ln(1/δ_t)) + √λ S, the reward's first term divided by
/// min(1, τ); δ_t = 1/(1 + outcomes) unless δ is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Width {
    pub noise_factor: f64,
    pub log_factor: f64,
    pub bias: f64,
    pub delta: Option<f64>,
    pub scaling: Scaling,
}

impl Width {
    #[inline]
    pub(super) fn of(&self, evidence: &Evidence, signal: usize) -> f64 {
        let log_level = match self.delta {
            Some(delta) => -libm::log(delta),
            None => libm::log(1.0 + evidence.outcomes as f64),
        };
        let square = evidence.regression.log_dets()[1] + self.log_factor * log_level;
        let noise = self.noise_factor * evidence.signals[signal].r * square.max(0.0).sqrt();
        let beta = match signal {
            0 => noise / self.scaling.threshold.min(1.0) + self.bias,
            _ => noise + self.bias,
        };
        beta + evidence.regression.rounding_reach(signal, beta)
    }
}

struct HplcLucb(Width);

impl Rule for HplcLucb {
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64 {
        self.0.of(evidence, signal)
    }

    fn plan(&mut self, evidence: &Evidence) -> Plan {
        let reach = Reach {
            reward: self.0.of(evidence, 0),
            cost: self.0.of(evidence, 1),
        };
        self.0.scaling.best(evidence, reach, 1.0)
    }
}
