//! Linear Thompson sampling, which ignores guardrails.
//!
//! **Problem.** Feature vectors, the same ones every round or others each time; guardrails are reported,
//! not kept.
//! **Guarantee.** None about costs; regret against the best *unconstrained* action is of order d^{3/2}√T.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation; d random numbers.
//! **Reference.** Agrawal and Goyal, "Thompson Sampling for Contextual Bandits with Linear Payoffs" (2013),
//! Algorithm 1; its v is a parameter here.

use banister::toolkit::linear::Confidence;
use banister::toolkit::positive;
use banister::{Error, Problem};

use super::{Evidence, LinearConfig, LinearRival, Plan, Rule, RuleOnFeatures, Sample};
use crate::config::{Registered, config, regression};
use crate::stream::Stream;

config! {
    /// Linear Thompson sampling: plays the best action for θ̃ ~ N(θ̂, v²Σ⁻¹), whatever it costs.
    LinTsConfig, "lin_ts", RuleOnFeatures<Self>;
    guarantee(Unsafe),
    regression,
    /// v: spread of the samples around the estimate, in units of the reward's range; by default the radius of
    /// the reward's confidence set.
    v: Option<f64>,
}

impl LinearConfig for LinTsConfig {
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error> {
        if let Some(v) = self.v {
            positive("v", v)?;
        }
        let parameters = self.parameters();
        LinearRival::new(problem, self.kind(), parameters, None, |evidence| {
            Ok(LinTs {
                confidence: parameters.confidence(evidence),
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

    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.sample.stream)
    }
}
