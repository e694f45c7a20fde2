//! COLTS: Thompson sampling of reward and cost together, by one random vector.
//!
//! **Problem.** Feature vectors beside x_0 = 0, played at any part of their length; one guardrail
//! ⟨x, μ⟩ ≤ b. The paper's actions fill a convex set, and its programs are linear; here they are all parts of the
//! actions on offer, where the best one for given parameters has a closed form.
//! **Guarantee.** S-COLTS: as long as the cost's confidence set holds, that is with probability 1 − δ, every action
//! played keeps the guardrail; the regret is of order d^{3/2}√T. R-COLTS: regret and summed excess over the
//! guardrail, Σ_t (⟨x_t, μ⟩ − b)₊, are both of order d^{3/2}√T, and single actions may break it; it needs no safe
//! action.
//! **Cost per round.** S-COLTS: O(Kd + d²) on the same actions, O(Kd²) on new ones; d random numbers. R-COLTS: O(Kd)
//! and d random numbers for each of ⌈r ln(1/δ_t)⌉ draws. No allocation.
//! **Reference.** Gangrade and Saligrama, "Constrained Linear Thompson Sampling" (2025), S-COLTS and R-COLTS. From its
//! description: the coupled noise θ̃ = θ̂ + ωβ·Σ^{−1/2}η, μ̃ = μ̂ − ωβ·Σ^{−1/2}η with η standard normal, which makes
//! the best action look better and cheaper at the same time with constant probability; its scaling towards the safe
//! action; the best of several draws. ω and r are parameters, and r is our derivation: see [`LinRColtsConfig`].

use banister::toolkit::linear::Confidence;
use banister::toolkit::positive;
use banister::{Error, Problem};

use super::{
    Evidence, LinearConfig, LinearRival, Plan, Play, Rule, RuleOnFeatures, Sample, Scaling,
};
use crate::config::{Registered, config, play, regression};
use crate::stream::Stream;

/// Most draws per unit of ln(1/δ_t), so that a typing error does not keep a round busy for ever.
const MOST_DRAWS: f64 = 1e4;

config! {
    /// S-COLTS: takes the part of x with the largest sampled reward among those whose sampled cost keeps the
    /// guardrail, then scales it down until it keeps the guardrail whatever the cost's parameter.
    LinSColtsConfig, "lin_s_colts", RuleOnFeatures<Self>;
    regression,
    /// ω: scale of the random moves of the estimates, in radii of their confidence sets; by default 1.
    omega: f64 = 1.0,
    play,
}

config! {
    /// R-COLTS: takes the part of x with the largest sampled reward among those whose sampled cost keeps the
    /// guardrail, the best of several draws.
    LinRColtsConfig, "lin_r_colts", RuleOnFeatures<Self>;
    guarantee(Cumulative),
    regression,
    /// ω: scale of the random moves of the estimates, in radii of their confidence sets; by default 1.
    omega: f64 = 1.0,
    /// r: a round has ⌈r ln(1/δ_t)⌉ draws, δ_t = δ/(t(t + 1)). By default 5.79: with ω = 1 a draw is optimistic about
    /// the best action with probability P(η ≥ 1) = 0.159, and so one of them is with probability 1 − δ_t.
    draws: f64 = 5.79,
    /// Way of playing a part of an action: `scaled`, the default, or `mixed` with the safe action.
    play: Option<Play>,
    ;
    fn play(&mut self) -> Option<&mut Option<Play>> {
        Some(&mut self.play)
    }
}

impl LinearConfig for LinSColtsConfig {
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error> {
        let omega = positive("omega", self.omega)?;
        let parameters = self.parameters();
        LinearRival::new(problem, self.kind(), parameters, self.play, |evidence| {
            Ok(LinSColts(Coupled {
                scaling: Scaling::new(self.kind(), evidence)?,
                confidence: parameters.confidence(evidence),
                omega,
                sample: Sample::default(),
            }))
        })
    }
}

impl LinearConfig for LinRColtsConfig {
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error> {
        let omega = positive("omega", self.omega)?;
        let draws = positive("draws", self.draws)?;
        if draws > MOST_DRAWS {
            let allowed = format!("must be at most {MOST_DRAWS}");
            return Err(Error::invalid("draws", draws, allowed));
        }
        let parameters = self.parameters();
        LinearRival::new(problem, self.kind(), parameters, self.play, |evidence| {
            Ok(LinRColts {
                coupled: Coupled {
                    scaling: Scaling::new(self.kind(), evidence)?,
                    confidence: parameters.confidence(evidence),
                    omega,
                    sample: Sample::default(),
                },
                draws,
                log_level: -libm::log(self.delta),
            })
        })
    }
}

/// Reward and cost moved by the same noise in opposite directions.
struct Coupled {
    confidence: Confidence,
    scaling: Scaling,
    omega: f64,
    sample: Sample,
}

impl Coupled {
    /// Draws once: the part of an action with the largest sampled reward, each action at the largest part that its
    /// sampled cost allows; the safe action if none promises more than its 0.
    fn draw(&mut self, evidence: &Evidence) -> Plan {
        let columns = &evidence.actions.columns;
        let [reward, cost] = [0, 1].map(|s| self.omega * self.confidence.of(evidence, s));
        let mut plan = Plan::whole(evidence.actions.safe, 0.0);
        for (a, lean) in self.sample.draw(evidence).iter().enumerate() {
            let scale = self.scaling.largest(columns.means[1][a] - cost * lean);
            plan.improve(a, scale, scale * (columns.means[0][a] + reward * lean));
        }
        plan
    }
}

struct LinSColts(Coupled);

impl Rule for LinSColts {
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64 {
        self.0.confidence.of(evidence, signal)
    }

    fn plan(&mut self, evidence: &Evidence) -> Plan {
        let mut plan = self.0.draw(evidence);
        let columns = &evidence.actions.columns;
        let a = plan.action;
        let reach = self.0.confidence.of(evidence, 1) * columns.squares[1][a].sqrt();
        let scale = (self.0.scaling).largest_within(columns.means[1][a] + reach, plan.scale);
        plan.value *= scale / plan.scale;
        plan.scale = scale;
        plan
    }

    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.0.sample.stream)
    }
}

struct LinRColts {
    coupled: Coupled,
    /// r.
    draws: f64,
    /// ln(1/δ).
    log_level: f64,
}

impl Rule for LinRColts {
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64 {
        self.coupled.confidence.of(evidence, signal)
    }

    fn plan(&mut self, evidence: &Evidence) -> Plan {
        let t = evidence.outcomes as f64 + 1.0;
        let log_level = self.log_level + libm::log(t) + libm::log(t + 1.0);
        let draws = (self.draws * log_level).ceil().max(1.0) as u64;
        let mut best = self.coupled.draw(evidence);
        for _ in 1..draws {
            let other = self.coupled.draw(evidence);
            best.improve(other.action, other.scale, other.value);
        }
        best
    }

    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.coupled.sample.stream)
    }
}
