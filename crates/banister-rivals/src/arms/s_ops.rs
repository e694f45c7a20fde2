//! Optimistic mixing: the doubly optimistic policy, made safe by mixing in the safe arm.
//!
//! **Problem.** K arms, any number of guardrails, the safe arm's costs known.
//! **Guarantee.** Every policy keeps every guardrail with probability 1 − δ: its pessimistic costs do.
//! **Cost per round.** One arm's intervals and one small linear program, no allocation.
//! **Reference.** The idea, an optimistic choice scaled back until it is pessimistically safe, is ROFUL's:
//! Hutchinson, Turan and Alizadeh, "Directional Optimism for Safe Linear Bandits" (2024); here on policies
//! over arms: π̂ = LP(U; l), played as (1−λ)π̂ + λ·safe with the least λ that π·u ≤ τ allows.

use banister::solve::{Lp, LpSolver};
use banister::toolkit::open_unit;
use banister::{Agent, Error};
use serde_json::Value;

use super::{Evidence, Plan, Rule, make};
use crate::config::{Recipe, Registered, config};
use crate::saved::{part, to_part};
use crate::setting::known_safe_costs;

config! {
    /// Optimistic mixing: DOSLB's policy with as much of the safe arm mixed in as its pessimistic costs need.
    SOpsConfig, "s_ops", false;
    guarantee(EveryRound),
    delta,
}

impl SOpsConfig {
    fn agent(&self, recipe: Recipe<Self>) -> Result<Box<dyn Agent>, Error> {
        open_unit("delta", self.delta)?;
        make(recipe, self.delta, |evidence| {
            known_safe_costs(self.kind(), &evidence.problem)?;
            Ok(SOps::default())
        })
    }
}

#[derive(Default)]
struct SOps {
    solver: LpSolver,
}

impl Rule for SOps {
    fn plan(&mut self, evidence: &Evidence, plan: &mut Plan) {
        let bounds = &evidence.bounds;
        let lp = Lp {
            reward: &bounds.reward_upper,
            costs: &bounds.cost_lower,
            thresholds: &bounds.thresholds,
        };
        // The safe arm's costs are known and within, so there is a policy.
        plan.follow_bound(self.solver.solve(&lp, Some(bounds.safe)));
        plan.mix_safe(bounds);
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
