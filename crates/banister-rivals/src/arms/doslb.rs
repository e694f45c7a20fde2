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
use banister::{Agent, Error, Guarantee, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::anywhere::Anywhere;
use super::{Evidence, Plan, Rule, make};
use crate::registry::{AgentConfig, Registered};
use crate::saved::{part, to_part};
use crate::{DELTA, Saved};

/// DOSLB on arms: the best policy if every reward is as high and every cost as low as its interval allows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DoslbConfig {
    /// What results call it; by default `doslb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// δ: probability with which some interval may fail.
    pub delta: f64,
}

impl Default for DoslbConfig {
    fn default() -> Self {
        Self {
            label: None,
            delta: DELTA,
        }
    }
}

impl Registered for DoslbConfig {
    fn kind(&self) -> &'static str {
        "doslb"
    }
    fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
    fn guarantee(&self) -> Guarantee {
        Guarantee::Cumulative
    }
    fn takes_features(&self) -> bool {
        false
    }
    fn delta(&mut self) -> Option<&mut f64> {
        Some(&mut self.delta)
    }
    fn make(&self, problem: &Problem, saved: Option<&Saved>) -> Result<Box<dyn Agent>, Error> {
        open_unit("delta", self.delta)?;
        let config = AgentConfig::Doslb(self.clone());
        make(config, problem, saved, self.delta, |_| Ok(Doslb::default()))
    }
}

#[derive(Default)]
struct Doslb {
    solver: Anywhere,
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
