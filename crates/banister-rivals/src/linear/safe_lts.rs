//! Safe-LTS: Thompson sampling of the reward among the parts of actions that are safe.
//!
//! **Problem.** Feature vectors beside x_0 = 0, played at any part of their length; one guardrail
//! ⟨x, μ⟩ ≤ τ.
//! **Guarantee.** As long as the cost's confidence set holds, every action played keeps the guardrail. With
//! `radius = "logdet"`, or `delta`, that is with probability 1 − δ; else the set is that of the authors' runs,
//! whose level falls as the outcomes grow. The regret is of order d^{3/2}√T.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation; d random numbers.
//! **Reference.** Moradipari, Amani, Alizadeh and Thrampoulidis, "Safe Linear Thompson Sampling with Side
//! Information" (2019), with the radii of HPLC-LUCB, as in the runs that the two are compared in.

use banister::{Error, Problem};

use super::hplc_lucb::{Formula, Width};
use super::{Evidence, LinearConfig, LinearRival, Plan, Rule, RuleOnFeatures, Sample, Scaling};
use crate::config::{Registered, config, own_radii, play};
use crate::stream::Stream;

config! {
    /// Safe-LTS: plays the part s of x with the largest s⟨x, θ̃⟩ for θ̃ ~ N(θ̂, d·radius²·Σ⁻¹), where s is the
    /// largest part that keeps the guardrail whatever the cost's parameter.
    SafeLtsConfig, "safe_lts", RuleOnFeatures<Self>;
    own_radii,
    play,
}

impl LinearConfig for SafeLtsConfig {
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error> {
        let formula = Formula::new(self.radius, self.noise_factor, self.log_every)?;
        let parameters = self.parameters();
        LinearRival::new(problem, self.kind(), parameters, self.play, |evidence| {
            let scaling = Scaling::new(self.kind(), evidence)?;
            Ok(SafeLts {
                width: Width::new(formula, parameters, scaling, evidence),
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
        let safe = evidence.actions.safe;
        // x_0 is not among the authors' actions: they play the one with the least loss where all promise one.
        let (start, skipped) = match self.width.formula {
            Formula::Authors { .. } => (f64::NEG_INFINITY, Some(safe)),
            Formula::Logdet => (0.0, None),
        };
        let mut plan = Plan::whole(safe, start);
        for (a, lean) in self.sample.draw(evidence).iter().enumerate() {
            if Some(a) == skipped {
                continue;
            }
            let upper = columns.means[1][a] + cost * columns.squares[1][a].sqrt();
            let scale = self.width.scaling.largest(upper);
            plan.improve(a, scale, scale * (columns.means[0][a] + spread * lean));
        }
        plan
    }

    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.sample.stream)
    }
}
