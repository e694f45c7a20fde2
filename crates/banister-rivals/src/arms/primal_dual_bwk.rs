//! PrimalDualBwK: the most optimistic reward per priced unit of consumption.
//!
//! **Problem.** K arms, any number of guardrails, a horizon T: guardrail i is a budget of τ_i·T.
//! **Guarantee.** Cumulative: once the observed costs, with what the safe arm will cost until the end, have spent
//! a budget, or the T rounds are over, the safe arm is played for the rest. It stands for the null action of
//! that setting. Where its costs are not known nothing can be set aside for it, and the budget may be exceeded
//! by them. Single rounds may break guardrails.
//! **Cost per round.** O(K·m), no allocation.
//! **Reference.** Badanidiyuru, Kleinberg and Slivkins, "Bandits with Knapsacks" (2013), the primal-dual
//! algorithm. Time is a resource too, with the budget T. Consumption is rescaled so that every budget is the
//! smallest one, B: l_{a,i}·B/B_i a round, and B/T of time. The arm played is argmax U_a/(v·consumption_a),
//! then v_i ← v_i·(1+ε)^{consumption_{a,i}}, with ε = √(ln(m+1)/B) unless given. An arm never pulled has U = 1
//! and l = 0 here, so that no first pulls need to be forced.
//!
//! v moves when an outcome arrives, by the bounds before it. Its logarithm is what is kept: v itself would
//! overflow in long runs, and only ratios matter.

use banister::toolkit::{broken, open_unit, positive};
use banister::{Error, Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::budget::{Knapsacks, KnapsacksState};
use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{Registered, config};
use crate::parameters::horizon;
use crate::saved::{part, to_part};

config! {
    /// PrimalDualBwK: plays the arm with the largest optimistic reward per priced optimistic consumption, where a
    /// resource is dearer the more of it is used; the safe arm once a budget is spent.
    PrimalDualBwkConfig, "primal_dual_bwk", RuleOnArms<Self>;
    guarantee(Cumulative: Horizon),
    delta,
    horizon,
    /// ε: growth rate of prices; by default √(ln(m+1)/B), with m guardrails and B the smallest budget.
    epsilon: Option<f64>,
}

impl ArmConfig for PrimalDualBwkConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        open_unit("delta", self.delta)?;
        let horizon = horizon(self.horizon)?;
        if let Some(epsilon) = self.epsilon {
            positive("epsilon", epsilon)?;
        }
        ArmRival::new(problem, self.kind(), self.delta, |evidence| {
            let budget = Knapsacks::new(evidence, horizon);
            let smallest = budget.smallest();
            let resources = budget.limits.len() + 1;
            let epsilon = self
                .epsilon
                .unwrap_or_else(|| (libm::log(resources as f64) / smallest).sqrt());
            let limits = budget.limits.iter().copied();
            Ok(PrimalDualBwk {
                log_step: libm::log1p(epsilon),
                scales: limits
                    .chain([horizon as f64])
                    .map(|limit| smallest / limit)
                    .collect(),
                log_prices: vec![0.0; resources],
                prices: vec![1.0; resources],
                budget,
            })
        })
    }
}

struct PrimalDualBwk {
    /// ln(1+ε).
    log_step: f64,
    /// B/B_i, time last.
    scales: Vec<f64>,
    /// ln v, time last.
    log_prices: Vec<f64>,
    /// v over its largest entry; written anew in every round.
    prices: Vec<f64>,
    budget: Knapsacks,
}

/// Memory beside the evidence, for snapshots.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    budget: KnapsacksState,
    log_prices: Vec<f64>,
}

impl PrimalDualBwk {
    /// Optimistic consumption of a resource by an arm, rescaled.
    fn consumption(&self, evidence: &ArmEvidence, arm: usize, resource: usize) -> f64 {
        let row = evidence.bounds.cost_lower.get(resource);
        self.scales[resource] * row.map_or(1.0, |lower| lower[arm])
    }
}

impl Rule for PrimalDualBwk {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        let reward = &evidence.bounds.reward_upper;
        if self.budget.is_over(evidence) {
            plan.play(evidence.safe());
            return;
        }
        let logs = self.log_prices.iter().copied();
        let largest = logs.fold(f64::NEG_INFINITY, f64::max);
        for (price, log) in self.prices.iter_mut().zip(&self.log_prices) {
            *price = libm::exp(log - largest);
        }
        let (best, _) = evidence.best(|arm| {
            let prices = self.prices.iter().enumerate();
            let spent: f64 = prices
                .map(|(j, price)| price * self.consumption(evidence, arm, j))
                .sum();
            // Time is always spent, but its price may have become too small to tell from none.
            reward[arm] / spent.max(f64::MIN_POSITIVE)
        });
        plan.play(best);
    }

    fn learn(&mut self, evidence: &ArmEvidence, arm: usize, _: f64, costs: &[f64]) {
        self.budget.spend(evidence, costs);
        for resource in 0..self.log_prices.len() {
            let consumed = self.consumption(evidence, arm, resource);
            self.log_prices[resource] += self.log_step * consumed;
        }
    }

    fn save(&self) -> Result<Value, Error> {
        to_part(Memory {
            budget: self.budget.save(),
            log_prices: self.log_prices.clone(),
        })
    }

    fn restore(&mut self, _: &ArmEvidence, memory: &Value) -> Result<(), Error> {
        let Memory { budget, log_prices } = part("memory", memory)?;
        if log_prices.len() != self.log_prices.len() || log_prices.iter().any(|p| !(*p >= 0.0)) {
            return Err(broken(format!(
                "the logarithms of its prices are {log_prices:?}"
            )));
        }
        self.log_prices = log_prices;
        self.budget.restore(budget)
    }
}
