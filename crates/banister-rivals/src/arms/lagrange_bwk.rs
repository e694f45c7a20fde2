//! LagrangeBwK: a game of arms against resources, each side learning from what the other does.
//!
//! **Problem.** K arms, any number of guardrails, a horizon T: guardrail i is a budget of τ_i·T.
//! **Guarantee.** Cumulative: once the observed costs, with what the safe arm will cost until the end, have spent
//! a budget, or the T rounds are over, the safe arm is played for the rest. It stands for the null action of
//! that setting. Where its costs are not known nothing can be set aside for it, and the budget may be exceeded
//! by them. Single rounds may break guardrails.
//! **Cost per round.** O(K + m), no allocation.
//! **Reference.** Immorlica, Sankararaman, Schapire and Slivkins, "Adversarial Bandits with Knapsacks" (2019),
//! LagrangeBwK for stochastic outcomes. The payoff of arm a against resource i is r + 1 − c_i·T/B_i; time is a
//! resource with the budget T, so that against it the payoff is r. All payoffs are scaled to [0, 1] from
//! [1 − T/B, 2], B the smallest budget. Arms are chosen by EXP3.P with the constants of Auer, Cesa-Bianchi, Freund
//! and Schapire, "The Nonstochastic Multiarmed Bandit Problem" (2002), resources by Hedge with ε = √(8 ln(m+1)/T).
//! The arms are told the expected payoff over Hedge's distribution in place of a draw from it: the same in
//! expectation, and one random number fewer.
//!
//! p of EXP3.P is that of the weights when an outcome arrives, so late outcomes count as if they had come at once.

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
    /// LagrangeBwK: EXP3.P over the arms against Hedge over the resources, on the Lagrangian of the budgets; the
    /// safe arm once a budget is spent.
    LagrangeBwkConfig, "lagrange_bwk", RuleOnArms<Self>;
    guarantee(Cumulative: Horizon),
    delta,
    horizon,
    /// γ of EXP3.P, the share of exploration, above 0 and below 1; by default min(3/5, 2√(3K·ln K/(5T))).
    exploration: Option<f64>,
    /// ε: learning rate of Hedge; by default √(8·ln(m+1)/T), with m guardrails.
    epsilon: Option<f64>,
}

impl ArmConfig for LagrangeBwkConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        open_unit("delta", self.delta)?;
        let horizon = horizon(self.horizon)?;
        if let Some(exploration) = self.exploration {
            open_unit("exploration", exploration)?;
        }
        if let Some(epsilon) = self.epsilon {
            positive("epsilon", epsilon)?;
        }
        ArmRival::new(problem, self.kind(), self.delta, |evidence| {
            let budget = Knapsacks::new(evidence, horizon);
            if let Some(g) = (evidence.problem.guardrails.iter()).find(|g| !(g.threshold > 0.0)) {
                let allowed = format!("it needs budgets above 0, and that of `{}` is not", g.name);
                return Err(Error::invalid("kind", self.kind(), allowed));
            }
            let (arms, rounds) = (evidence.arms() as f64, horizon as f64);
            let resources = budget.limits.len() + 1;
            Ok(LagrangeBwk {
                exploration: self.exploration.unwrap_or_else(|| {
                    (2.0 * (0.6 * arms * libm::log(arms) / rounds).sqrt()).min(0.6)
                }),
                epsilon: self
                    .epsilon
                    .unwrap_or_else(|| (8.0 * libm::log(resources as f64) / rounds).sqrt()),
                bonus: 2.0 * (libm::log(arms * rounds / self.delta) / (arms * rounds)).sqrt(),
                span: 1.0 + rounds / budget.smallest(),
                weights: vec![0.0; evidence.arms()],
                policy: vec![0.0; evidence.arms()],
                prices: vec![0.0; resources],
                budget,
            })
        })
    }
}

struct LagrangeBwk {
    /// γ.
    exploration: f64,
    /// ε.
    epsilon: f64,
    /// α/√(KT), α = 2√(ln(KT/δ)).
    bonus: f64,
    /// Width of [1 − T/B, 2].
    span: f64,
    /// ln of EXP3.P's weights.
    weights: Vec<f64>,
    /// p; written anew where it is needed.
    policy: Vec<f64>,
    /// ln of Hedge's weights, time last.
    prices: Vec<f64>,
    budget: Knapsacks,
}

/// Memory beside the evidence, for snapshots.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    budget: KnapsacksState,
    weights: Vec<f64>,
    prices: Vec<f64>,
}

fn largest(of: &[f64]) -> f64 {
    of.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

impl LagrangeBwk {
    /// p = (1−γ)·w/Σw + γ/K.
    fn mix(&mut self) {
        let most = largest(&self.weights);
        let mut total = 0.0;
        for (p, weight) in self.policy.iter_mut().zip(&self.weights) {
            *p = libm::exp(weight - most);
            total += *p;
        }
        let share = self.exploration / self.policy.len() as f64;
        for p in &mut self.policy {
            *p = (1.0 - self.exploration) * *p / total + share;
        }
    }
}

impl Rule for LagrangeBwk {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        plan.play(evidence.safe());
        if !self.budget.is_over(evidence) {
            self.mix();
            plan.spread(&self.policy);
        }
    }

    fn learn(&mut self, evidence: &ArmEvidence, arm: usize, reward: f64, costs: &[f64]) {
        if !self.budget.is_over(evidence) {
            self.mix();
            let most = largest(&self.prices);
            let reward = evidence.problem.reward.standardise(reward);
            let (mut total, mut expected) = (0.0, 0.0);
            for (i, price) in self.prices.iter_mut().enumerate() {
                // Time is consumed at its rate, so that 1 − consumption is 0.
                let guardrail = evidence.problem.guardrails.get(i);
                let left = guardrail.map_or(0.0, |g| 1.0 - g.standardise(costs[i]) / g.threshold);
                let weight = libm::exp(*price - most);
                total += weight;
                expected += weight * left;
                // The resources' side wants payoffs to be small.
                *price -= self.epsilon * left / self.span;
            }
            let payoff = (reward + expected / total - 2.0) / self.span + 1.0;
            let step = self.exploration / (3.0 * self.weights.len() as f64);
            for (weight, p) in self.weights.iter_mut().zip(&self.policy) {
                *weight += step * self.bonus / p;
            }
            self.weights[arm] += step * payoff / self.policy[arm];
            // Only differences matter.
            for of in [&mut self.weights, &mut self.prices] {
                let most = largest(of);
                of.iter_mut().for_each(|x| *x -= most);
            }
        }
        self.budget.spend(evidence, costs);
    }

    fn save(&self) -> Result<Value, Error> {
        to_part(Memory {
            budget: self.budget.save(),
            weights: self.weights.clone(),
            prices: self.prices.clone(),
        })
    }

    fn restore(&mut self, _: &ArmEvidence, memory: &Value) -> Result<(), Error> {
        let Memory {
            budget,
            weights,
            prices,
        } = part("memory", memory)?;
        let fits = |of: &[f64], own: &[f64]| {
            of.len() == own.len() && of.iter().all(|x| x.is_finite() && *x <= 0.0)
        };
        if !fits(&weights, &self.weights) || !fits(&prices, &self.prices) {
            return Err(broken(format!(
                "its logarithms are {weights:?}, {prices:?}"
            )));
        }
        (self.weights, self.prices) = (weights, prices);
        self.budget.restore(budget)
    }
}
