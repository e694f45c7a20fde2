//! DOSLB, doubly optimistic: optimistic about rewards and about costs.
//!
//! **Problem.** K arms, any number of guardrails; no safe arm is needed.
//! **Guarantee.** The sum of violations over the rounds, like the regret, is of order √(KT); single rounds
//! may break guardrails.
//! **Cost per round.** One arm's intervals and one small linear program, no allocation.
//! **Reference.** Chen, Gangrade and Saligrama, "Doubly-Optimistic Play for Safe Linear Bandits" (2022), on
//! arms: LP(U; l).

use banister::solve::{Lp, Status};
use banister::toolkit::open_unit;
use banister::{Error, Problem};

use super::program::PhaseOne;
use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{Registered, config};

config! {
    /// DOSLB on arms: the best policy if every reward is as high and every cost as low as its interval allows.
    DoslbConfig, "doslb", RuleOnArms<Self>;
    guarantee(Cumulative),
    delta,
}

impl ArmConfig for DoslbConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        open_unit("delta", self.delta)?;
        ArmRival::new(problem, self.kind(), self.delta, |_| Ok(Doslb::default()))
    }
}

#[derive(Default)]
struct Doslb {
    solver: PhaseOne,
}

impl Rule for Doslb {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        let bounds = &evidence.bounds;
        let lp = Lp {
            reward: &bounds.reward_upper,
            costs: &bounds.cost_lower,
            thresholds: &bounds.thresholds,
        };
        let solution = self.solver.solve(&lp, bounds.safe);
        match solution.status {
            // Only off the good event: the safe arm's lower bounds have passed a threshold.
            Status::Infeasible => plan.play(bounds.safe),
            _ => plan.follow_bound(solution),
        }
    }

    fn reset(&mut self) {
        self.solver.reset();
    }
}
