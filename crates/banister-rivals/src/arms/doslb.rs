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
use banister::{Agent, Error};
use serde_json::Value;

use super::phase_one::PhaseOne;
use super::{Evidence, Plan, Rule, make};
use crate::config::{Recipe, config};
use crate::saved::{part, to_part};

config! {
    /// DOSLB on arms: the best policy if every reward is as high and every cost as low as its interval allows.
    DoslbConfig, "doslb", false;
    guarantee(Cumulative),
    delta,
}

impl DoslbConfig {
    fn agent(&self, recipe: Recipe<Self>) -> Result<Box<dyn Agent>, Error> {
        open_unit("delta", self.delta)?;
        make(recipe, self.delta, |_| Ok(Doslb::default()))
    }
}

#[derive(Default)]
struct Doslb {
    solver: PhaseOne,
}

impl Rule for Doslb {
    fn plan(&mut self, evidence: &Evidence, plan: &mut Plan) {
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

    fn save(&self, _: &Evidence, learned: bool) -> Value {
        if learned {
            Value::Null
        } else {
            to_part(self.solver.basis())
        }
    }

    fn restore(&mut self, evidence: &Evidence, memory: &Value) -> Result<(), Error> {
        if !memory.is_null() {
            let basis: Vec<usize> = part("warm start", memory)?;
            (self.solver).set_basis(&basis, evidence.problem.guardrails.len());
        }
        Ok(())
    }
}
