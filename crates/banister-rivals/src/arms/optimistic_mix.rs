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
use banister::{Agent, Error, Guarantee, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Evidence, Plan, Rule, make};
use crate::registry::{AgentConfig, Registered};
use crate::saved::{part, to_part};
use crate::setting::known_safe_costs;
use crate::{DELTA, Saved};

/// Optimistic mixing: DOSLB's policy with as much of the safe arm mixed in as its pessimistic costs need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OptimisticMixConfig {
    /// What results call it; by default `optimistic_mix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// δ: probability with which some interval may fail; by default 0.01.
    pub delta: f64,
}

impl Default for OptimisticMixConfig {
    fn default() -> Self {
        Self {
            label: None,
            delta: DELTA,
        }
    }
}

impl Registered for OptimisticMixConfig {
    fn kind(&self) -> &'static str {
        "optimistic_mix"
    }
    fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
    fn guarantee(&self) -> Guarantee {
        Guarantee::EveryRound
    }
    fn takes_features(&self) -> bool {
        false
    }
    fn delta(&mut self) -> Option<&mut f64> {
        Some(&mut self.delta)
    }
    fn make(&self, problem: &Problem, saved: Option<&Saved>) -> Result<Box<dyn Agent>, Error> {
        open_unit("delta", self.delta)?;
        let config = AgentConfig::OptimisticMix(self.clone());
        make(config, problem, saved, self.delta, |evidence| {
            known_safe_costs(self.kind(), &evidence.problem)?;
            Ok(OptimisticMix::default())
        })
    }
}

#[derive(Default)]
struct OptimisticMix {
    solver: LpSolver,
}

impl Rule for OptimisticMix {
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
        match learned {
            true => Value::Null,
            false => to_part(self.solver.basis()),
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
