//! S-COLTS: Thompson sampling with coupled noise, made safe by mixing in the safe arm.
//!
//! **Problem.** K arms, any number of guardrails, the safe arm's costs known.
//! **Guarantee.** Every policy keeps every guardrail with probability 1 − δ: its pessimistic costs do.
//! **Cost per round.** K normal draws and one small linear program, no allocation.
//! **Reference.** Gangrade and Saligrama, "Constrained Linear Thompson Sampling" (NeurIPS 2025), S-COLTS, on arms:
//! one standard normal η per arm moves its reward and its costs together, r̃ = r̂ + ωβη and c̃ = ĉ − ωβη;
//! π̂ = LP(r̃; c̃), then as much of the safe arm as the intervals need. β is the width of our
//! own interval of the signal: U − r̂ of a reward, half of u − l of a cost. The law of η and ω = 1 are our reading of the paper's
//! outline, not its constants.

use banister::toolkit::{open_unit, positive};
use banister::{Error, Problem};

use super::perturbation::Perturbation;
use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{Registered, config};
use crate::parameters::known_safe_costs;
use crate::stream::Stream;

config! {
    /// S-COLTS: the best policy for rewards and costs moved by one random number per arm, with as much of the
    /// safe arm mixed in as its pessimistic costs need.
    SColtsConfig, "s_colts", RuleOnArms<Self>;
    guarantee(EveryRound),
    delta,
    /// ω: scale of the random moves of the estimates, in half-widths of their intervals; by default 1.
    omega: f64 = 1.0,
}

impl ArmConfig for SColtsConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        open_unit("delta", self.delta)?;
        let omega = positive("omega", self.omega)?;
        ArmRival::new(problem, self.kind(), self.delta, |evidence| {
            known_safe_costs(self.kind(), &evidence.problem)?;
            Ok(SColts(Perturbation::new(evidence, omega)))
        })
    }
}

struct SColts(Perturbation);

impl Rule for SColts {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        self.0.sample(evidence);
        let bounds = &evidence.bounds;
        // The safe arm's costs are known and within, so there is a policy.
        plan.follow(self.0.program.solve(&bounds.thresholds, bounds.safe));
        plan.mix_safe(bounds);
    }

    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.0.stream)
    }

    fn reset(&mut self) {
        self.0.program.reset();
    }
}
