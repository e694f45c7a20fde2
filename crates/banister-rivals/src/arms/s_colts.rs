//! S-COLTS: Thompson sampling with coupled noise, made safe by mixing in the safe arm.
//!
//! **Problem.** K arms, any number of guardrails, the safe arm's costs known.
//! **Guarantee.** Every policy keeps every guardrail with probability 1 − δ: its pessimistic costs do.
//! **Cost per round.** K normal draws and one small linear program, no allocation.
//! **Reference.** Gangrade and Saligrama, "Constrained Linear Thompson Sampling" (2025), S-COLTS, on arms:
//! one standard normal η per arm moves its reward and its costs together, r̃ = r̂ + ωβη and c̃ = ĉ − ωβη;
//! π̂ = LP(r̃; c̃), then as much of the safe arm as the intervals need. β is half the width of the
//! `subgaussian` interval at the signal's level, with ρ = 1.

use crate::stream::{SavedStream, Stream};
use banister::toolkit::{open_unit, positive};
use banister::{Agent, Error};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::program::Program;
use super::{Evidence, Plan, Rule, make};
use crate::config::{Recipe, Registered, config};
use crate::saved::{part, to_part};
use crate::setting::known_safe_costs;

config! {
    /// S-COLTS: the best policy for rewards and costs moved by one random number per arm, with as much of the
    /// safe arm mixed in as its pessimistic costs need.
    SColtsConfig, "s_colts", false;
    guarantee(EveryRound),
    delta,
    /// ω: scale of the random moves of the estimates, in half-widths of their intervals; by default 1.
    omega: f64 = 1.0,
}

impl SColtsConfig {
    fn agent(&self, recipe: Recipe<Self>) -> Result<Box<dyn Agent>, Error> {
        open_unit("delta", self.delta)?;
        let omega = positive("omega", self.omega)?;
        make(recipe, self.delta, |evidence| {
            known_safe_costs(self.kind(), &evidence.problem)?;
            Ok(SColts {
                omega,
                r: evidence.signals().map(|signal| signal.r()).collect(),
                program: Program::new(evidence),
                stream: Stream::new(0, 0),
            })
        })
    }
}

struct SColts {
    omega: f64,
    /// R of every signal, the reward first.
    r: Vec<f64>,
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

impl SColts {
    /// r̃ and c̃; one η per arm, in the order of the arms.
    fn sample(&mut self, evidence: &Evidence) {
        for arm in 0..evidence.arms() {
            let eta: f64 = StandardNormal.sample(&mut self.stream.rng);
            let n = evidence.pulls(arm) as f64;
            // β for R = 1.
            let radius = if n > 0.0 {
                ((n + 1.0) * (libm::log(n + 1.0) + 2.0 * evidence.log_level)).sqrt() / n
            } else {
                f64::INFINITY
            };
            let step = |signal: usize| match evidence.mean(arm, signal) {
                Some(mean) => (mean, self.omega * self.r[signal] * radius * eta),
                // All that is known is the range.
                None => (0.5, self.omega * 0.5 * eta),
            };
            let (mean, noise) = step(0);
            self.program.reward[arm] = mean + noise;
            for i in 0..self.program.costs.len() {
                self.program.costs[i][arm] = if arm == evidence.safe() {
                    evidence.bounds.cost_upper[i][arm]
                } else {
                    let (mean, noise) = step(i + 1);
                    mean - noise
                };
            }
        }
    }
}

impl Rule for SColts {
    fn plan(&mut self, evidence: &Evidence, plan: &mut Plan) {
        self.sample(evidence);
        let bounds = &evidence.bounds;
        // The safe arm's costs are known and within, so there is a policy.
        plan.follow(self.program.solve(&bounds.thresholds, bounds.safe));
        plan.mix_safe(bounds);
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
