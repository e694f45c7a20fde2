//! LinUCB, the reference that ignores guardrails.
//!
//! **Problem.** Feature vectors, the same ones every round or others each time; guardrails are reported,
//! not kept.
//! **Guarantee.** None about costs; regret against the best *unconstrained* action is of order d√T.
//! **Cost per round.** O(Kd + d²) on the same actions, O(Kd²) on new ones, no allocation.
//! **Reference.** Abbasi-Yadkori, Pál and Szepesvári, "Improved Algorithms for Linear Stochastic Bandits"
//! (2011), the OFUL algorithm, on finitely many actions.

use banister::toolkit::linear::Confidence;
use banister::{Error, Problem};

use super::{Evidence, LinearConfig, LinearRival, Plan, Rule, RuleOnFeatures};
use crate::config::{Registered, config, regression};

config! {
    /// LinUCB: plays the action with the largest ⟨x, θ̂⟩ + β‖x‖ in Σ⁻¹, whatever it costs.
    LinUcbConfig, "lin_ucb", RuleOnFeatures<Self>;
    guarantee(Unsafe),
    regression,
}

impl LinearConfig for LinUcbConfig {
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error> {
        let parameters = self.parameters();
        LinearRival::new(problem, self.kind(), parameters, None, |evidence| {
            Ok(LinUcb {
                confidence: parameters.confidence(evidence),
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
