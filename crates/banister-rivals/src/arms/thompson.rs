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
use banister::{Agent, Error, Guarantee, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::posterior::Posterior;
use super::{Evidence, Plan, Rule, make};
use crate::registry::{AgentConfig, Registered};
use crate::saved::{part, to_part};
use crate::{DELTA, Saved};

/// Thompson sampling: plays the arm whose reward, drawn from its posterior, is largest, whatever it costs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ThompsonConfig {
    /// What results call it; by default `thompson`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl Registered for ThompsonConfig {
    fn kind(&self) -> &'static str {
        "thompson"
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
        let config = AgentConfig::Thompson(self.clone());
        make(config, problem, saved, DELTA, |evidence| {
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
            let (n, sum) = (evidence.pulls(arm), evidence.estimates.of(arm)[0].sum);
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
        to_part(match learned {
            true => self.stream.save_learned(evidence.outcomes),
            false => self.stream.save(),
        })
    }

    fn restore(&mut self, _: &Evidence, memory: &Value) -> Result<(), Error> {
        let saved: SavedStream = part("stream", memory)?;
        self.stream = Stream::restore(saved);
        Ok(())
    }
}
