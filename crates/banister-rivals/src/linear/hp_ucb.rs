//! HP-UCB, high-probability constrained UCB: keeps the *realised* cost of a round under the threshold with high
//! probability, not only its mean.
//!
//! **Problem.** Feature vectors beside x_0 = 0, played at any part of their length; one guardrail ⟨x, μ⟩ ≤ τ. Noise
//! grows with the length of what is played: a signal is ⟨z, μ⟩ + ‖z‖ξ for z = s·x, ξ sub-Gaussian with the declared
//! constant. That is the paper's g(α)(⟨X, μ⟩ + ξ) for contexts of unit length, which its experiments have.
//! **Guarantee.** With probability 1 − δ for either confidence set, every action played keeps the guardrail in mean,
//! and its realised cost exceeds the threshold with probability `tail` at most.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation.
//! **Reference.** Dragazis and Pacchiano, "Safety by Design: Realized-Cost Constraints for Contextual Bandits with
//! Continuous Actions" (2026), Algorithm 1: outcomes divided by the part played are regressed on the whole context,
//! β = R√(d ln((1 + N/λ)/δ)) + √λS, and the largest part is played for which ⟨x, μ̂⟩ + β‖x‖ + R√(2 ln(1/`tail`))
//! times it is at most τ, if the reward's upper bound is positive. `tail` = 1 is its baseline "On-Expectation".
//! Several contexts in a round are several actions, and the largest promise is played.

use banister::toolkit::LinearKeys;
use banister::toolkit::{broken, positive};
use banister::{Error, Problem};
use serde_json::Value;

use super::scaling::length;
use super::{Evidence, LinearConfig, LinearRival, Plan, Rule, RuleOnFeatures, Scaling};
use crate::config::{Registered, config, play};
use crate::parameters::Parameters;
use crate::saved;

config! {
    /// HP-UCB: plays the part s of x with the largest s times its reward's upper bound, where s is the largest part
    /// whose realised cost keeps the guardrail with probability 1 − `tail`, whatever the cost's parameter.
    HpUcbConfig, "hp_ucb", RuleOnFeatures<Self>;
    delta,
    /// Probability with which the realised cost of a round may exceed the threshold, above 0 and at most 1; by
    /// default 0.01. With 1 only the mean cost is kept.
    tail: f64 = 0.01,
    /// λ, the ridge; by default 1.
    lambda: f64 = 1.0,
    /// S: every unknown parameter is at most this long, in units of its signal's range; to be declared.
    parameter_norm: Option<f64>,
    play,
    ;
    fn linear(&mut self) -> Option<LinearKeys<'_>> {
        Some(LinearKeys {
            lambda: None,
            parameter_norm: &mut self.parameter_norm,
            norm: None,
        })
    }
}

impl LinearConfig for HpUcbConfig {
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error> {
        let tail = positive("tail", self.tail)?;
        if tail > 1.0 {
            return Err(Error::invalid(
                "tail",
                tail,
                "must be above 0 and at most 1",
            ));
        }
        let parameters = Parameters {
            delta: Some(self.delta),
            radius: banister::oplb::Radius::Logdet,
            lambda: self.lambda,
            parameter_norm: self.parameter_norm,
            norm: None,
        };
        LinearRival::new(problem, self.kind(), parameters, self.play, |evidence| {
            Ok(HpUcb {
                scaling: Scaling::new(self.kind(), evidence)?,
                quantile: (-2.0 * libm::log(tail)).max(0.0).sqrt(),
                delta: self.delta,
                lambda: self.lambda,
                bias: parameters.bias(evidence),
                parameter_norm: parameters.parameter_norm(evidence),
                played: 0,
            })
        })
    }
}

struct HpUcb {
    scaling: Scaling,
    /// √(2 ln(1/tail)).
    quantile: f64,
    delta: f64,
    lambda: f64,
    /// √λ S.
    bias: f64,
    parameter_norm: f64,
    /// N: outcomes of anything but the safe action.
    played: u64,
}

impl Rule for HpUcb {
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64 {
        let d = evidence.dimension() as f64;
        let log = libm::log((1.0 + self.played as f64 / self.lambda) / self.delta);
        let beta = evidence.signals[signal].r * (d * log).sqrt() + self.bias;
        beta + evidence.regression.rounding_reach(signal, beta)
    }

    fn plan(&mut self, evidence: &Evidence) -> Plan {
        let columns = &evidence.actions.columns;
        let (reward, cost) = (self.radius(evidence, 0), self.radius(evidence, 1));
        let mut plan = Plan::whole(evidence.actions.safe, 0.0);
        for a in 0..evidence.actions.count {
            let width = columns.squares[1][a].sqrt();
            let mean = if self.played == 0 {
                self.cost_cap(evidence, a)
            } else {
                columns.means[1][a] + cost * width
            };
            let noise = length(evidence, a) * evidence.signals[1].r * self.quantile;
            let scale = self.scaling.largest(mean + noise);
            let promise = columns.means[0][a] + reward * width;
            plan.improve(a, scale, scale * promise);
        }
        plan
    }

    /// S‖x‖, all that is known before the first outcome.
    fn cost_cap(&self, evidence: &Evidence, action: usize) -> f64 {
        self.parameter_norm * length(evidence, action)
    }

    fn per_length(&self) -> bool {
        true
    }

    fn learn(&mut self, _: &Evidence, is_safe: bool) {
        self.played += u64::from(!is_safe);
    }

    fn save(&self) -> Result<Value, Error> {
        saved::to_part(self.played)
    }

    fn restore(&mut self, evidence: &Evidence, memory: &Value) -> Result<(), Error> {
        self.played = saved::part("count", memory)?;
        if self.played > evidence.outcomes {
            let reason = format!(
                "it counts {} of {} outcomes",
                self.played, evidence.outcomes
            );
            return Err(broken(reason));
        }
        Ok(())
    }
}
