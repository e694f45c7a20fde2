//! HPLC-LUCB: keeps the constraint with high probability in every round.
//!
//! **Problem.** Feature vectors beside x_0 = 0, played at any part of their length; one guardrail
//! ⟨x, μ⟩ ≤ τ.
//! **Guarantee.** As long as the confidence sets hold, every action played keeps the guardrail. With
//! `radius = "logdet"` that is with probability 1 − δ. The default radii are those of the authors' runs: with
//! `delta` they hold with probability 1 − δ each, without it their level falls as the outcomes grow.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation.
//! **Reference.** Pacchiano, Ghavamzadeh and Bartlett, "Contextual Bandits with Stage-wise Constraints"
//! (2024), the algorithm for constraints with high probability, with the constants of the authors' code.

use banister::toolkit::linear::Confidence;
use banister::toolkit::positive;
use banister::{Error, Problem};

use super::scaling::Reach;
use super::{Evidence, LinearConfig, LinearRival, Plan, Rule, RuleOnFeatures, Scaling};
use crate::config::{Registered, config, own_radii, play};
use crate::parameters::{Parameters, StageRadius};

config! {
    /// HPLC-LUCB: plays the part s of x with the largest s times its reward's upper bound, where s is the
    /// largest part that keeps the guardrail whatever the cost's parameter.
    HplcLucbConfig, "hplc_lucb", RuleOnFeatures<Self>;
    own_radii,
    play,
}

impl LinearConfig for HplcLucbConfig {
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error> {
        let formula = Formula::new(self.radius, self.noise_factor, self.log_every)?;
        let parameters = self.parameters();
        LinearRival::new(problem, self.kind(), parameters, self.play, |evidence| {
            let scaling = Scaling::new(self.kind(), evidence)?;
            Ok(HplcLucb(Width::new(formula, parameters, scaling, evidence)))
        })
    }
}

/// Formula of the radii, as declared.
#[derive(Debug, Clone, Copy)]
pub(super) enum Formula {
    Authors { noise_factor: f64, log_every: u64 },
    Logdet,
}

impl Formula {
    /// Refuses numbers that cannot be, or that the radii do not have.
    pub(super) fn new(
        radius: StageRadius,
        noise_factor: Option<f64>,
        log_every: Option<u64>,
    ) -> Result<Self, Error> {
        if radius == StageRadius::Authors {
            let noise_factor = positive("noise_factor", noise_factor.unwrap_or(2.0))?;
            let log_every = log_every.unwrap_or(1);
            if log_every == 0 {
                return Err(Error::invalid("log_every", 0, "must be at least 1"));
            }
            return Ok(Self::Authors {
                noise_factor,
                log_every,
            });
        }
        let given = [
            ("noise_factor", noise_factor.is_some()),
            ("log_every", log_every.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            None => Ok(Self::Logdet),
            Some((field, _)) => {
                let allowed = "`logdet` radii have no such number: leave it out";
                Err(Error::invalid(field, "given", allowed))
            }
        }
    }
}

/// The radii, and what makes the reward's wide enough to be optimistic among parts of actions.
///
/// `authors`: noise_factor·R√(ln det(Σ/λ) + 2 ln(1/δ_t)) + √λ S, the reward's first term divided by
/// min(1, τ/S); δ_t = 1/(1 + log entries) unless δ is given, an entry for the first of every `log_every`
/// outcomes. The authors have parameters and actions of length 1, where τ/S is τ. `logdet`: the other
/// agents' radii, the reward's divided by the same number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Width {
    pub formula: Formula,
    delta: Option<f64>,
    confidence: Confidence,
    /// min(1, τ/S).
    room: f64,
    pub scaling: Scaling,
}

impl Width {
    pub(super) fn new(
        formula: Formula,
        parameters: Parameters,
        scaling: Scaling,
        evidence: &Evidence,
    ) -> Self {
        let room = scaling.threshold / parameters.parameter_norm(evidence);
        Self {
            formula,
            delta: parameters.delta,
            confidence: parameters.confidence(evidence),
            room: room.min(1.0),
            scaling,
        }
    }

    #[inline]
    pub(super) fn of(&self, evidence: &Evidence, signal: usize) -> f64 {
        let room = if signal == 0 { self.room } else { 1.0 };
        let Formula::Authors {
            noise_factor,
            log_every,
        } = self.formula
        else {
            return self.confidence.of(evidence, signal) / room;
        };
        let log_level = match self.delta {
            Some(delta) => -libm::log(delta),
            None => libm::log(1.0 + evidence.outcomes.div_ceil(log_every) as f64),
        };
        let square = evidence.regression.log_dets()[1] + 2.0 * log_level;
        let noise = noise_factor * evidence.signals[signal].r * square.max(0.0).sqrt();
        let beta = noise / room + self.confidence.bias;
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
