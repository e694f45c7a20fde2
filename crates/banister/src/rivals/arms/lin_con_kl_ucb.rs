//! LinCon-KL-UCB: KL-UCB's bounds, optimistic about rewards and about costs.
//!
//! **Problem.** K arms, any number of guardrails; no safe arm is needed, and the costs of one that is known
//! are estimated like all others.
//! **Guarantee.** Cumulative: bounds at level ln t make violations rare, not impossible; single rounds may
//! break guardrails.
//! **Cost per round.** K·(m + 1) bounds and one small linear program, no allocation.
//! **Reference.** Saxena, Gonzalez and Jaldén, "Thompson Sampling for Linearly Constrained Bandits" (2020),
//! where it is what LinConTS is compared with; here with costs that are signals of their own. The bounds are
//! the ends of { q : n·d(p̂, q) ≤ ln t }, with t the outcomes so far, and d binary where a signal is bounded,
//! Gaussian where it is sub-Gaussian. If no policy keeps the thresholds, all arms are played alike, and the
//! certificate's solver status is `infeasible`.

use banister_solve::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::divergence::Divergence;
use super::program::Program;
use super::{Evidence, Plan, Rule, make};
use crate::agent::Agent;
use crate::error::Error;
use crate::guarantee::Guarantee;
use crate::problem::Problem;
use crate::registry::{AgentConfig, Registered};
use crate::rivals::saved::{part, to_part};
use crate::rivals::{DELTA, Saved};
use crate::snapshot::broken;

/// LinCon-KL-UCB: the best policy if rewards are as high and costs as low as KL-UCB's bounds at level ln t
/// allow.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinConKlUcbConfig {
    /// What results call it; by default `lin_con_kl_ucb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl Registered for LinConKlUcbConfig {
    fn kind(&self) -> &'static str {
        "lin_con_kl_ucb"
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
    fn make(&self, problem: &Problem, saved: Option<&Saved>) -> Result<Box<dyn Agent>, Error> {
        let config = AgentConfig::LinConKlUcb(self.clone());
        make(config, problem, saved, DELTA, |evidence| {
            Ok(LinConKlUcb {
                divergences: evidence.signals().map(Divergence::new).collect(),
                program: Program::new(evidence),
            })
        })
    }
}

struct LinConKlUcb {
    /// Of every signal, the reward first.
    divergences: Vec<Divergence>,
    /// Holds the bounds of the round before, where the next search starts.
    program: Program,
}

/// What a snapshot keeps beside the evidence.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    basis: Vec<usize>,
    reward: Vec<f64>,
    costs: Vec<Vec<f64>>,
}

impl Rule for LinConKlUcb {
    fn plan(&mut self, evidence: &Evidence, plan: &mut Plan) {
        let level = libm::log(evidence.outcomes.max(1) as f64);
        let Program { reward, costs, .. } = &mut self.program;
        for arm in 0..evidence.arms() {
            let n = evidence.pulls(arm);
            for (signal, divergence) in self.divergences.iter().enumerate() {
                let mean = evidence.mean(arm, signal);
                match signal {
                    0 => {
                        let bound = &mut reward[arm];
                        *bound = mean.map_or(1.0, |p| divergence.upper(p, n, level, *bound));
                    }
                    _ => {
                        let bound = &mut costs[signal - 1][arm];
                        *bound = mean.map_or(0.0, |p| divergence.lower(p, n, level, *bound));
                    }
                }
            }
        }
        let bounds = &evidence.bounds;
        let solution = self.program.solve(&bounds.thresholds, bounds.safe);
        match solution.status {
            Status::Infeasible => plan.surrender(&self.program.reward),
            _ => plan.follow(solution),
        }
    }

    fn save(&self, _: &Evidence, learned: bool) -> Value {
        match learned {
            true => Value::Null,
            false => to_part(Memory {
                basis: self.program.basis(),
                reward: self.program.reward.clone(),
                costs: self.program.costs.clone(),
            }),
        }
    }

    fn restore(&mut self, evidence: &Evidence, memory: &Value) -> Result<(), Error> {
        if memory.is_null() {
            return Ok(());
        }
        let memory: Memory = part("memory", memory)?;
        let mut rows = std::iter::once(&memory.reward).chain(&memory.costs);
        let fits = memory.costs.len() == self.program.costs.len()
            && rows.all(|row| row.len() == evidence.arms());
        if !fits {
            return Err(broken("its bounds do not fit its problem"));
        }
        self.program.reward = memory.reward;
        self.program.costs = memory.costs;
        self.program.set_basis(&memory.basis);
        Ok(())
    }
}
