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
use banister::{Error, Problem};

use super::divergence::Divergence;
use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{DELTA, Registered, config};

config! {
    /// KL-UCB: plays the arm with the largest KL upper bound on its reward, whatever it costs.
    KlUcbConfig, "kl_ucb", RuleOnArms<Self>;
    guarantee(Unsafe),
    /// c of the level ln t + c·ln ln t, 0 or more; by default 0, as its paper advises in practice (its theorem
    /// is for 3).
    c: f64 = 0.0,
}

impl ArmConfig for KlUcbConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        let c = finite("c", self.c)?;
        if c < 0.0 {
            return Err(Error::invalid("c", c, "must be 0 or more"));
        }
        ArmRival::new(problem, self.kind(), DELTA, |evidence| {
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
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        let log = libm::log(evidence.outcomes.max(1) as f64);
        // ln ln t is taken as 0 before it is positive.
        let level = if self.c > 0.0 {
            log + self.c * libm::log(log.max(1.0))
        } else {
            log
        };
        let (best, _) = evidence.best(|arm| match evidence.mean(arm, 0) {
            // An arm never pulled comes first.
            None => f64::INFINITY,
            Some(mean) => self.divergence.upper(mean, evidence.pulls(arm), level),
        });
        plan.play(best);
    }
}
