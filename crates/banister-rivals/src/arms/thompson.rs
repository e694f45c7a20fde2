//! Thompson sampling, a reference that ignores guardrails.
//!
//! **Problem.** K arms; guardrails are reported, not kept.
//! **Guarantee.** None about costs; regret against the best *unconstrained* arm is of order ln T for coins.
//! **Cost per round.** K draws, O(K), no allocation.
//! **Reference.** Agrawal and Goyal, "Analysis of Thompson Sampling for the Multi-armed Bandit Problem" (2012),
//! Thompson sampling for Bernoulli bandits: the arm with the largest draw from Beta(1 + s, 1 + n − s), drawn
//! arm by arm. Rewards between 0 and 1 count as fractions of a success rather than by a coin of their own;
//! sub-Gaussian rewards have the posterior N(mean, R²/n), uniform on the range before the first outcome.

use crate::stream::Stream;
use banister::{Error, Problem};

use super::posterior::Posterior;
use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{DELTA, Registered, config};

config! {
    /// Thompson sampling: plays the arm whose reward, drawn from its posterior, is largest, whatever it costs.
    ThompsonConfig, "thompson", RuleOnArms<Self>;
    guarantee(Unsafe),
}

impl ArmConfig for ThompsonConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        ArmRival::new(problem, self.kind(), DELTA, |evidence| {
            Ok(Thompson {
                posterior: Posterior::new(&evidence.problem.reward),
                stream: Stream::new(0, 0),
            })
        })
    }
}

struct Thompson {
    posterior: Posterior,
    stream: Stream,
}

impl Rule for Thompson {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        let (mut best, mut most) = (evidence.safe(), f64::NEG_INFINITY);
        for arm in 0..evidence.arms() {
            let (n, sum) = (evidence.pulls(arm), evidence.estimates.sum(arm, 0));
            let drawn = self.posterior.draw(n, sum, &mut self.stream.rng);
            if drawn > most {
                (best, most) = (arm, drawn);
            }
        }
        plan.play(best);
    }

    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.stream)
    }
}
