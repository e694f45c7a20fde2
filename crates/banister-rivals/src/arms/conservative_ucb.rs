//! Conservative UCB, about costs: optimistic as long as what was saved before can pay for it.
//!
//! **Problem.** K arms, any number of guardrails, the safe arm's costs known.
//! **Guarantee.** Cumulative: with probability 1 − δ the expected costs of all arms played, summed, never
//! exceed the threshold times their number; single rounds may. Outcomes on their way are not counted, so
//! they can pass that sum by what they cost.
//! **Cost per round.** O(K·m), no allocation.
//! **Reference.** Wu, Shariff, Lattimore and Szepesvári, "Conservative Bandits" (2016), Conservative UCB, with
//! the condition on costs in place of rewards: the arm with the largest U is played if
//! Σ_a n_a·u_{a,i} + u_{candidate,i} ≤ τ_i·(t + 1) for every guardrail, with the bounds of now and t outcomes
//! so far; else the safe arm.

use banister::toolkit::open_unit;
use banister::{Error, Problem};

use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{Registered, config};
use crate::parameters::known_safe_costs;

config! {
    /// Conservative UCB on costs: plays the arm with the largest optimistic reward whenever the pessimistic costs
    /// of everything played, with it, stay within the thresholds times the rounds; else the safe arm.
    ConservativeUcbConfig, "conservative_ucb", RuleOnArms<Self>;
    guarantee(Cumulative: Anytime),
    delta,
}

impl ArmConfig for ConservativeUcbConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        open_unit("delta", self.delta)?;
        ArmRival::new(problem, self.kind(), self.delta, |evidence| {
            known_safe_costs(self.kind(), &evidence.problem)?;
            Ok(ConservativeUcb)
        })
    }
}

struct ConservativeUcb;

/// True if the budgets so far can pay for an arm.
fn affordable(evidence: &ArmEvidence, candidate: usize) -> bool {
    let bounds = &evidence.bounds;
    let rounds = evidence.outcomes as f64 + 1.0;
    std::iter::zip(&bounds.cost_upper, &bounds.thresholds).all(|(upper, threshold)| {
        let arms = 0..evidence.arms();
        let spent: f64 = arms.map(|a| evidence.pulls(a) as f64 * upper[a]).sum();
        spent + upper[candidate] <= threshold * rounds
    })
}

impl Rule for ConservativeUcb {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        let (candidate, _) = evidence.best(|arm| evidence.bounds.reward_upper[arm]);
        plan.play(if affordable(evidence, candidate) {
            candidate
        } else {
            evidence.safe()
        });
    }
}
