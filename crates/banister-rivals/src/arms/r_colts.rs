//! R-COLTS: Thompson sampling with coupled noise, drawn several times; the most promising draw is played.
//!
//! **Problem.** K arms, any number of guardrails; no safe arm is needed.
//! **Guarantee.** The sum of violations over the rounds, like the regret, is of order √T; single rounds may break
//! guardrails.
//! **Cost per round.** `draws_per_round` times K normal draws and one small linear program, no allocation.
//! **Reference.** Gangrade and Saligrama, "Constrained Linear Thompson Sampling" (NeurIPS 2025), R-COLTS, on arms:
//! moves as in S-COLTS, r̃ = r̂ + ωβη and c̃ = ĉ − ωβη with one standard normal η per arm; of several such programs
//! LP(r̃; c̃) the one with the largest value gives the policy, as it is. Their number is of order ln(1/δ), so that
//! one of them is optimistic with high probability. Made from the paper's outline: constants are parameters.
//! Where no draw leaves a policy, all arms are played alike.

use banister::solve::Status;
use banister::toolkit::{open_unit, positive};
use banister::{Error, Problem};

use super::perturbation::Perturbation;
use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{Registered, config};
use crate::stream::Stream;

config! {
    /// R-COLTS: of several draws of rewards and costs, moved by one random number per arm, the one that promises
    /// most, and the best policy for it.
    RColtsConfig, "r_colts", RuleOnArms<Self>;
    guarantee(Cumulative),
    delta,
    /// ω: scale of the random moves of the estimates, in half-widths of their intervals; by default 1.
    omega: f64 = 1.0,
    /// Number of draws in a round, 1 to 1000; by default ⌈ln(1/δ)⌉.
    draws_per_round: Option<u32>,
}

impl ArmConfig for RColtsConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        let delta = open_unit("delta", self.delta)?;
        let omega = positive("omega", self.omega)?;
        let draws = self
            .draws_per_round
            .unwrap_or_else(|| (-libm::log(delta)).ceil() as u32);
        if !(1..=1000).contains(&draws) {
            return Err(Error::invalid(
                "draws_per_round",
                draws,
                "must be 1 to 1000",
            ));
        }
        ArmRival::new(problem, self.kind(), self.delta, |evidence| {
            Ok(RColts {
                draws,
                perturbation: Perturbation::new(evidence, omega),
            })
        })
    }
}

struct RColts {
    draws: u32,
    perturbation: Perturbation,
}

impl Rule for RColts {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        let bounds = &evidence.bounds;
        let mut most = f64::NEG_INFINITY;
        plan.surrender(evidence.arms());
        for _ in 0..self.draws {
            self.perturbation.sample(evidence);
            let program = &mut self.perturbation.program;
            let solution = program.solve(&bounds.thresholds, bounds.safe);
            if solution.status != Status::Infeasible && solution.value > most {
                most = solution.value;
                plan.follow(solution);
            }
        }
    }

    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.perturbation.stream)
    }

    fn reset(&mut self) {
        self.perturbation.program.reset();
    }
}
