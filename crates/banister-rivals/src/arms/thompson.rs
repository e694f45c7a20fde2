//! Thompson sampling, a reference that ignores guardrails.
//!
//! **Problem.** K arms; guardrails are reported, not kept.
//! **Guarantee.** None about costs; regret against the best *unconstrained* arm is of order ln T for coins.
//! **Cost per round.** K draws, O(K), no allocation.
//! **Reference.** Agrawal and Goyal, "Analysis of Thompson Sampling for the Multi-armed Bandit Problem" (2012),
//! Thompson sampling for Bernoulli bandits: the arm with the largest draw from Beta(1 + s, 1 + n − s), drawn
//! arm by arm. Rewards between 0 and 1 count as fractions of a success rather than by a coin of their own;
//! sub-Gaussian rewards have the posterior N(mean, R²/n), uniform on the range before the first outcome.

use crate::stream::{SavedStream, Stream};
use banister::{Agent, Error};
use serde_json::Value;

use super::posterior::Posterior;
use super::{Evidence, Plan, Rule, make};
use crate::config::{DELTA, Recipe, config};
use crate::saved::{part, to_part};

config! {
    /// Thompson sampling: plays the arm whose reward, drawn from its posterior, is largest, whatever it costs.
    ThompsonConfig, "thompson", false;
    guarantee(Unsafe),
}

impl ThompsonConfig {
    fn agent(&self, recipe: Recipe<Self>) -> Result<Box<dyn Agent>, Error> {
        make(recipe, DELTA, |evidence| {
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
    fn plan(&mut self, evidence: &Evidence, plan: &mut Plan) {
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

    fn samples(&self) -> bool {
        true
    }

    fn reseed(&mut self, seed: u64, stream: u64) {
        self.stream = Stream::new(seed, stream);
    }

    fn save(&self, evidence: &Evidence, learned: bool) -> Value {
        to_part(if learned {
            self.stream.save_learned(evidence.outcomes)
        } else {
            self.stream.save()
        })
    }

    fn restore(&mut self, _: &Evidence, memory: &Value) -> Result<(), Error> {
        let saved: SavedStream = part("stream", memory)?;
        self.stream = Stream::restore(saved);
        Ok(())
    }
}
