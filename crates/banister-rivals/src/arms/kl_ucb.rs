//! KL-UCB, a sharper reference that ignores guardrails.
//!
//! **Problem.** K arms; guardrails are reported, not kept.
//! **Guarantee.** None about costs; regret against the best *unconstrained* arm is of order ln T, with the
//! best constant there is for coins.
//! **Cost per round.** K bounds, O(K), no allocation.
//! **Reference.** Garivier and Cappé, "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond" (2011),
//! Algorithm 1: argmax of max { q : n·d(r̂, q) ≤ ln t + c·ln ln t }, with t the outcomes so far; d is the
//! binary divergence for bounded rewards and the Gaussian one for sub-Gaussian rewards.

use banister::toolkit::finite;
use banister::{Agent, Error, Guarantee, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::divergence::Divergence;
use super::{Evidence, Plan, Rule, make};
use crate::registry::{AgentConfig, Registered};
use crate::{DELTA, Saved};

/// KL-UCB: plays the arm with the largest KL upper bound on its reward, whatever it costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KlUcbConfig {
    /// What results call it; by default `kl_ucb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// c of the level ln t + c·ln ln t, 0 or more; by default 0, as its paper advises in practice (its theorem
    /// is for 3).
    pub c: f64,
}

impl Default for KlUcbConfig {
    fn default() -> Self {
        Self {
            label: None,
            c: 0.0,
        }
    }
}

impl Registered for KlUcbConfig {
    fn kind(&self) -> &'static str {
        "kl_ucb"
    }
    fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
    fn guarantee(&self) -> Guarantee {
        Guarantee::Unsafe
    }
    fn takes_features(&self) -> bool {
        false
    }
    fn make(&self, problem: &Problem, saved: Option<&Saved>) -> Result<Box<dyn Agent>, Error> {
        let c = finite("c", self.c)?;
        if c < 0.0 {
            return Err(Error::invalid("c", c, "must be 0 or more"));
        }
        let config = AgentConfig::KlUcb(self.clone());
        make(config, problem, saved, DELTA, |evidence| {
            Ok(KlUcb {
                c,
                divergence: Divergence::new(&evidence.problem.reward),
            })
        })
    }
}

struct KlUcb {
    c: f64,
    divergence: Divergence,
}

impl Rule for KlUcb {
    fn plan(&mut self, evidence: &Evidence, plan: &mut Plan) {
        let log = libm::log(evidence.outcomes.max(1) as f64);
        // ln ln t is taken as 0 before it is positive.
        let level = match self.c > 0.0 {
            true => log + self.c * libm::log(log.max(1.0)),
            false => log,
        };
        let (best, _) = evidence.best(|arm| match evidence.mean(arm, 0) {
            // An arm never pulled comes first.
            None => f64::INFINITY,
            Some(mean) => self.divergence.upper(mean, evidence.pulls(arm), level),
        });
        plan.play(best);
    }
}
