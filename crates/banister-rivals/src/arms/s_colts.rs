//! S-COLTS: Thompson sampling with coupled noise, made safe by mixing in the safe arm.
//!
//! **Problem.** K arms, any number of guardrails, the safe arm's costs known.
//! **Guarantee.** Every policy keeps every guardrail with probability 1 − δ: its pessimistic costs do.
//! **Cost per round.** K normal draws and one small linear program, no allocation.
//! **Reference.** Gangrade and Saligrama, "Constrained Linear Thompson Sampling" (NeurIPS 2025), S-COLTS, on arms:
//! one standard normal η per arm moves its reward and its costs together, r̃ = r̂ + ωβη and c̃ = ĉ − ωβη;
//! π̂ = LP(r̃; c̃), then as much of the safe arm as the intervals need. β is half the width of the
//! `subgaussian` interval at the signal's level, with ρ = 1. The law of η and ω = 1 are our reading of the paper's
//! outline, not its constants.

use banister::toolkit::{open_unit, positive};
use banister::{Agent, Error};
use serde_json::Value;

use super::perturbation::Perturbation;
use super::{Evidence, Plan, Rule, make};
use crate::config::{Recipe, Registered, config};
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
            Ok(SColts(Perturbation::new(evidence, omega)))
        })
    }
}

struct SColts(Perturbation);

impl Rule for SColts {
    fn plan(&mut self, evidence: &Evidence, plan: &mut Plan) {
        self.0.sample(evidence);
        let bounds = &evidence.bounds;
        // The safe arm's costs are known and within, so there is a policy.
        plan.follow(self.0.program.solve(&bounds.thresholds, bounds.safe));
        plan.mix_safe(bounds);
    }

    fn samples(&self) -> bool {
        true
    }

    fn reseed(&mut self, seed: u64, stream: u64) {
        self.0.reseed(seed, stream);
    }

    fn save(&self, evidence: &Evidence, learned: bool) -> Value {
        self.0.save(evidence, learned)
    }

    fn restore(&mut self, _: &Evidence, memory: &Value) -> Result<(), Error> {
        self.0.restore(memory)
    }
}
