//! UCB1, the reference that ignores guardrails.
//!
//! **Problem.** K arms; guardrails are reported, not kept.
//! **Guarantee.** None about costs; regret against the best *unconstrained* arm is of order √(KT ln T).
//! **Cost per round.** O(K), no allocation.
//! **Reference.** Auer, Cesa-Bianchi and Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem"
//! (2002), UCB1.

use banister::toolkit::positive;
use banister::{Error, Problem};

use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{DELTA, Registered, config};

config! {
    /// UCB1: plays the arm with the largest r̂ + R√(2·`exploration`·ln t / n), whatever it costs.
    Ucb1Config, "ucb1", RuleOnArms<Self>;
    guarantee(Unsafe),
    /// Width of the bonus: 4 is UCB1's √(2 ln t / n) for rewards in [0, 1].
    exploration: f64 = 4.0,
}

impl ArmConfig for Ucb1Config {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        let exploration = positive("exploration", self.exploration)?;
        ArmRival::new(problem, self.kind(), DELTA, |evidence| {
            let r = evidence.problem.reward.r();
            Ok(Ucb1 {
                width: 2.0 * exploration * r * r,
            })
        })
    }
}

struct Ucb1 {
    /// 2·exploration·R².
    width: f64,
}

impl Rule for Ucb1 {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        let log = libm::log(evidence.outcomes.max(1) as f64);
        let (mut best, mut index) = (0, f64::NEG_INFINITY);
        for arm in 0..evidence.arms() {
            let own = match evidence.mean(arm, 0) {
                None => f64::INFINITY,
                Some(mean) => mean + (self.width * log / evidence.pulls(arm) as f64).sqrt(),
            };
            if own > index {
                (best, index) = (arm, own);
            }
        }
        plan.play(best);
    }
}
