//! Margin-adaptive OPB: first finds an arm with a large margin, then mixes with that one.
//!
//! **Problem.** K arms, one guardrail, the safe arm's cost known.
//! **Guarantee.** Every policy keeps the guardrail with probability 1 − δ: its pessimistic cost does. What
//! OPB pays for the safe arm's margin Δ, it pays for the best margin ρ of any arm once that is found.
//! **Cost per round.** One arm's intervals and a few small linear programs, as OPB, no allocation.
//! **Reference.** Ours. The optimism lemma ([`banister::Optimism`]) mixes an optimistic policy with the safe
//! arm until it is pessimistically feasible; any action with u < τ can be that anchor, and κ and D shrink as
//! its margin τ − u grows. So while some arm may have more than twice the margin of every arm certified so
//! far, the arm with the smallest l is played, with as much of the safe arm as that needs; then `least`,
//! with the arm of the largest certified margin as the anchor. What is certified stays so, as intervals only
//! narrow: the first part ends once and for all, and needs no memory.

use banister::toolkit::{Bounds, Planner, SavedPlanner, broken, open_unit};
use banister::{Agent, Error, Optimism};
use serde_json::Value;

use super::{Evidence, Plan, Rule, make};
use crate::config::{Recipe, Registered, config};
use crate::saved::{part, to_part};
use crate::setting::{known_safe_costs, one_guardrail};

config! {
    /// Margin-adaptive OPB: looks for an arm whose margin is at least half of what any arm can have, and then
    /// plays as OPB does, but measured by that margin in place of the safe arm's.
    MaOpsConfig, "ma_ops", false;
    guarantee(EveryRound),
    delta,
}

impl MaOpsConfig {
    fn agent(&self, recipe: Recipe<Self>) -> Result<Box<dyn Agent>, Error> {
        open_unit("delta", self.delta)?;
        make(recipe, self.delta, |evidence| {
            one_guardrail(self.kind(), &evidence.problem)?;
            known_safe_costs(self.kind(), &evidence.problem)?;
            // The anchor may be another one each round, and with it all of D.
            let mut planner = Planner::dense(Optimism::Least);
            planner.reset(evidence.arms());
            Ok(MaOps {
                planner,
                anchored: evidence.bounds.clone(),
            })
        })
    }
}

struct MaOps {
    planner: Planner,
    /// The bounds with the anchor as their safe action.
    anchored: Bounds,
}

impl MaOps {
    /// `least` from an anchor.
    fn exploit(&mut self, bounds: &Bounds, anchor: usize, plan: &mut Plan) {
        let anchored = &mut self.anchored;
        anchored.safe = anchor;
        anchored.reward_upper.copy_from_slice(&bounds.reward_upper);
        anchored.cost_lower[0].copy_from_slice(&bounds.cost_lower[0]);
        anchored.cost_upper[0].copy_from_slice(&bounds.cost_upper[0]);
        anchored.update_margins(None);
        anchored.update_spreads();
        plan.follow_bound(self.planner.plan(anchored));
    }
}

/// An arm that may have a large margin, as far as it is safe to play it.
fn explore(bounds: &Bounds, arm: usize, plan: &mut Plan) {
    plan.play(arm);
    plan.mix_safe(bounds);
}

impl Rule for MaOps {
    fn plan(&mut self, evidence: &Evidence, plan: &mut Plan) {
        let bounds = &evidence.bounds;
        let (lower, upper) = (&bounds.cost_lower[0], &bounds.cost_upper[0]);
        let tau = bounds.thresholds[0];
        let mut anchor = bounds.safe;
        let mut cheapest = 0;
        for arm in 0..evidence.arms() {
            if upper[arm] < upper[anchor] {
                anchor = arm;
            }
            if lower[arm] < lower[cheapest] {
                cheapest = arm;
            }
        }
        if 2.0 * (tau - upper[anchor]) >= tau - lower[cheapest] {
            self.exploit(bounds, anchor, plan);
        } else {
            explore(bounds, cheapest, plan);
        }
    }

    fn save(&self, _: &Evidence, learned: bool) -> Value {
        if learned {
            Value::Null
        } else {
            to_part(self.planner.save())
        }
    }

    fn restore(&mut self, evidence: &Evidence, memory: &Value) -> Result<(), Error> {
        if !memory.is_null() {
            let saved: SavedPlanner = part("warm start", memory)?;
            if !(saved.kappa >= 0.0) {
                return Err(broken(format!("its κ is {}", saved.kappa)));
            }
            (self.planner).restore(&saved, evidence.problem.guardrails.len());
        }
        Ok(())
    }
}
