//! LinConTS: Thompson sampling of rewards and of costs.
//!
//! **Problem.** K arms, any number of guardrails; no safe arm is needed, and the costs of one that is known
//! are estimated like all others.
//! **Guarantee.** Cumulative: its paper bounds both the regret and the sum of violations by O(ln T), for
//! coins under one guardrail that is a linear function of the reward; single rounds may break guardrails.
//! **Cost per round.** K·(m + 1) draws and one small linear program, no allocation.
//! **Reference.** Saxena, Gonzalez and Jaldén, "Thompson Sampling for Linearly Constrained Bandits" (2020),
//! LinConTS; here with costs that are signals of their own. Draws are from Beta(1 + s, 1 + n − s) where a
//! signal is bounded and from N(mean, R²/n) where it is sub-Gaussian (uniform before the first outcome),
//! arm by arm, the reward first, then the costs. If no policy keeps the thresholds under the costs drawn,
//! all arms are played alike, and the certificate's solver status is `infeasible`.

use crate::stream::{SavedStream, Stream};
use banister::solve::Status;
use banister::{Agent, Error};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::posterior::Posterior;
use super::program::Program;
use super::{Evidence, Plan, Rule, make};
use crate::config::{DELTA, Recipe, config};
use crate::saved::{part, to_part};

config! {
    /// LinConTS: the best policy for rewards and costs drawn from their posteriors.
    LinConTsConfig, "lin_con_ts", false;
    guarantee(Cumulative),
}

impl LinConTsConfig {
    fn agent(&self, recipe: Recipe<Self>) -> Result<Box<dyn Agent>, Error> {
        make(recipe, DELTA, |evidence| {
            Ok(LinConTs {
                posteriors: evidence.signals().map(Posterior::new).collect(),
                program: Program::new(evidence),
                stream: Stream::new(0, 0),
            })
        })
    }
}

struct LinConTs {
    /// Of every signal, the reward first.
    posteriors: Vec<Posterior>,
    program: Program,
    stream: Stream,
}

/// Memory beside the evidence, for snapshots.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    stream: SavedStream,
    basis: Vec<usize>,
}

impl Rule for LinConTs {
    fn plan(&mut self, evidence: &Evidence, plan: &mut Plan) {
        let rng = &mut self.stream.rng;
        for arm in 0..evidence.arms() {
            let n = evidence.pulls(arm);
            for (signal, posterior) in self.posteriors.iter().enumerate() {
                let drawn = posterior.draw(n, evidence.estimates.sum(arm, signal), rng);
                match signal {
                    0 => self.program.reward[arm] = drawn,
                    _ => self.program.costs[signal - 1][arm] = drawn,
                }
            }
        }
        let bounds = &evidence.bounds;
        let solution = self.program.solve(&bounds.thresholds, bounds.safe);
        match solution.status {
            Status::Infeasible => plan.surrender(evidence.arms()),
            _ => plan.follow(solution),
        }
    }

    fn samples(&self) -> bool {
        true
    }

    fn reseed(&mut self, seed: u64, stream: u64) {
        self.stream = Stream::new(seed, stream);
    }

    fn save(&self, evidence: &Evidence, learned: bool) -> Value {
        to_part(if learned {
            Memory {
                stream: self.stream.save_learned(evidence.outcomes),
                basis: Vec::new(),
            }
        } else {
            Memory {
                stream: self.stream.save(),
                basis: self.program.basis(),
            }
        })
    }

    fn restore(&mut self, _: &Evidence, memory: &Value) -> Result<(), Error> {
        let memory: Memory = part("memory", memory)?;
        self.stream = Stream::restore(memory.stream);
        self.program.set_basis(&memory.basis);
        Ok(())
    }
}
