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

use banister::toolkit::positive;
use banister::{Agent, Error};

use super::scaling::Reach;
use super::{Evidence, Plan, Rule, Scaling, make};
use crate::config::{Recipe, Registered, config};

config! {
    /// HPLC-LUCB: plays the part s of x with the largest s times its reward's upper bound, where s is the
    /// largest part that keeps the guardrail whatever the cost's parameter.
    HplcLucbConfig, "hplc_lucb", true;
    own_radii,
    play,
}

impl HplcLucbConfig {
    fn agent(&self, recipe: Recipe<Self>) -> Result<Box<dyn Agent>, Error> {
        let noise_factor = positive("noise_factor", self.noise_factor)?;
        let log_factor = positive("log_factor", self.log_factor)?;
        let parameters = self.parameters();
        make(recipe, parameters, self.play, |evidence| {
            let scaling = Scaling::new(self.kind(), evidence)?;
            Ok(HplcLucb(Width {
                noise_factor,
                log_factor,
                bias: parameters.bias(evidence),
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
