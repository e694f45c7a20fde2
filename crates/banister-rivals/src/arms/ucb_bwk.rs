//! UCB for bandits with knapsacks: a doubly optimistic program under slightly smaller budgets.
//!
//! **Problem.** K arms, any number of guardrails, a horizon T: guardrail i is a budget of τ_i·T.
//! **Guarantee.** Cumulative: once the observed costs, with what the safe arm will cost until the end, have spent
//! a budget, or the T rounds are over, the safe arm is played for the rest. It stands for the null action of
//! that setting. Where its costs are not known nothing can be set aside for it, and the budget may be exceeded
//! by them. Single rounds may break guardrails.
//! **Cost per round.** One arm's intervals and one small linear program, no allocation.
//! **Reference.** Agrawal and Devanur, "Bandits with Concave Rewards and Convex Knapsacks" (2014), the UCB
//! algorithm on the special case of knapsacks: LP(U; l) with the thresholds (1−ε)τ. Its ε is of order
//! √(K/B) up to logarithms, B the smallest budget; the default here, min(1/2, √(K·ln T/B)), is our choice.
//! If even the lower bounds of all costs leave no policy, the safe arm is played.

use banister::solve::{Lp, Status};
use banister::toolkit::{finite, open_unit};
use banister::{Error, Problem};
use serde_json::Value;

use super::budget::Knapsacks;
use super::program::PhaseOne;
use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{Registered, config};
use crate::parameters::horizon;
use crate::saved::{part, to_part};

config! {
    /// UCB for bandits with knapsacks: the best policy if every reward is as high and every cost as low as its
    /// interval allows, under thresholds lowered by a share; the safe arm once a budget is spent.
    UcbBwkConfig, "ucb_bwk", RuleOnArms<Self>;
    guarantee(Cumulative: Horizon),
    delta,
    horizon,
    /// ε: the share of each budget that is held back, 0 or more and below 1; by default
    /// min(1/2, √(K·ln T/B)), with B the smallest budget.
    epsilon: Option<f64>,
}

impl ArmConfig for UcbBwkConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        open_unit("delta", self.delta)?;
        let horizon = horizon(self.horizon)?;
        if let Some(epsilon) = self.epsilon
            && !(finite("epsilon", epsilon)? >= 0.0 && epsilon < 1.0)
        {
            return Err(Error::invalid(
                "epsilon",
                epsilon,
                "must be 0 or more and below 1",
            ));
        }
        ArmRival::new(problem, self.kind(), self.delta, |evidence| {
            let budget = Knapsacks::new(evidence, horizon);
            let epsilon = self.epsilon.unwrap_or_else(|| {
                let arms = evidence.arms() as f64;
                let log = libm::log(horizon as f64);
                (arms * log / budget.smallest()).sqrt().min(0.5)
            });
            let thresholds = evidence.bounds.thresholds.iter();
            Ok(UcbBwk {
                thresholds: thresholds.map(|tau| (1.0 - epsilon) * tau).collect(),
                budget,
                solver: PhaseOne::default(),
            })
        })
    }
}

struct UcbBwk {
    /// (1−ε)τ.
    thresholds: Vec<f64>,
    budget: Knapsacks,
    solver: PhaseOne,
}

impl Rule for UcbBwk {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        let bounds = &evidence.bounds;
        if self.budget.is_over(evidence) {
            plan.play(bounds.safe);
            return;
        }
        let lp = Lp {
            reward: &bounds.reward_upper,
            costs: &bounds.cost_lower,
            thresholds: &self.thresholds,
        };
        let solution = self.solver.solve(&lp, bounds.safe);
        match solution.status {
            Status::Infeasible => plan.play(bounds.safe),
            _ => plan.follow(solution),
        }
    }

    fn learn(&mut self, evidence: &ArmEvidence, _: usize, _: f64, costs: &[f64]) {
        self.budget.spend(evidence, costs);
    }

    fn reset(&mut self) {
        self.solver.reset();
    }

    fn save(&self) -> Result<Value, Error> {
        to_part(self.budget.save())
    }

    fn restore(&mut self, _: &ArmEvidence, memory: &Value) -> Result<(), Error> {
        self.budget.restore(part("memory", memory)?)
    }
}
