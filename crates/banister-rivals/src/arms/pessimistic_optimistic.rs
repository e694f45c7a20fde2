//! The pessimistic-optimistic primal-dual agent: a queue per guardrail prices its cost.
//!
//! **Problem.** K arms, any number of guardrails, and a known Slater constant Δ: a margin that some policy
//! has under every guardrail. By default it is the safe arm's, whose costs must then be known.
//! **Guarantee.** Cumulative: its paper proves Õ(√T) regret, and that after a number of rounds that does
//! not depend on T the summed expected costs keep the thresholds; single rounds may break them.
//! **Cost per round.** O(K·m), no allocation.
//! **Reference.** Liu, Li, Shi and Ying, "An Efficient Pessimistic-Optimistic Algorithm for Stochastic Linear
//! Bandits with General Constraints" (2021), on arms:
//! a = argmax U_a − Σ_i Q_i·ĉ_{a,i}/V_t and Q_i ← (Q_i + ĉ_{a,i} − τ_i + ε_t)₊, with
//! V_t = Δ·m^{1/4}·√(`reward_weight`·t) and ε_t = m^{3/4}·√(`tightening`/t). The paper's K is the number of
//! its constraints, our m. Its constants are parameters here, as we have them from memory: they fit the regret of order
//! m^{3/4}/Δ·√t that its abstract states.
//!
//! Queues move when an outcome arrives, by the estimate before it, and t counts outcomes, so late outcomes
//! price late. Before the first outcome of an arm ĉ = 0: optimistic, so every arm is tried.

use banister::toolkit::{broken, finite, open_unit, positive};
use banister::{Error, Problem};
use serde_json::Value;

use super::{ArmConfig, ArmEvidence, ArmRival, Plan, Rule, RuleOnArms};
use crate::config::{Registered, config};
use crate::saved::{part, to_part};

config! {
    /// The pessimistic-optimistic agent: plays the arm whose optimistic reward less its priced costs is largest;
    /// prices rise while costs exceed slightly tightened thresholds.
    PessimisticOptimisticConfig, "pessimistic_optimistic", RuleOnArms<Self>;
    guarantee(Cumulative),
    delta,
    /// Δ: a margin that some policy has under every guardrail, as a share of the guardrail's range; by
    /// default the smallest margin of the safe arm.
    margin: Option<f64>,
    /// Weight of rewards against costs: V_t = Δ·m^{1/4}·√(`reward_weight`·t), by default 2/3.
    reward_weight: f64 = 2.0 / 3.0,
    /// Tightening of thresholds: by m^{3/4}·√(`tightening`/t), by default 6.
    tightening: f64 = 6.0,
}

impl ArmConfig for PessimisticOptimisticConfig {
    fn rival(&self, problem: &Problem) -> Result<ArmRival, Error> {
        open_unit("delta", self.delta)?;
        if let Some(margin) = self.margin {
            positive("margin", margin)?;
        }
        let reward_weight = positive("reward_weight", self.reward_weight)?;
        if finite("tightening", self.tightening)? < 0.0 {
            return Err(Error::invalid(
                "tightening",
                self.tightening,
                "must be 0 or more",
            ));
        }
        ArmRival::new(problem, self.kind(), self.delta, |evidence| {
            let m = evidence.problem.guardrails.len();
            let margin = match self.margin {
                Some(margin) => margin,
                None => self.safe_margin(evidence)?,
            };
            Ok(PessimisticOptimistic {
                weight: margin * libm::sqrt(libm::sqrt(m as f64) * reward_weight),
                tightening: libm::sqrt(libm::pow(m as f64, 1.5) * self.tightening),
                queues: vec![0.0; m],
            })
        })
    }
}

impl PessimisticOptimisticConfig {
    /// The smallest margin of the safe arm; 1 where there is nothing to keep.
    fn safe_margin(&self, evidence: &ArmEvidence) -> Result<f64, Error> {
        let mut smallest = 1.0_f64;
        for guardrail in &evidence.problem.guardrails {
            let Some(known) = guardrail.safe_cost else {
                let allowed = format!(
                    "it needs every `safe_cost`, or a `margin` of its own, and `{}` has no safe cost",
                    guardrail.name
                );
                return Err(Error::invalid("kind", self.kind(), allowed));
            };
            smallest = smallest.min(guardrail.threshold - known);
        }
        Ok(smallest)
    }
}

struct PessimisticOptimistic {
    /// V_t/√t.
    weight: f64,
    /// ε_t·√t.
    tightening: f64,
    /// Q.
    queues: Vec<f64>,
}

/// ĉ: what is declared of the safe arm, else the mean so far.
fn cost(evidence: &ArmEvidence, arm: usize, i: usize) -> f64 {
    match evidence.problem.guardrails[i].safe_cost {
        Some(known) if arm == evidence.safe() => known,
        _ => evidence.mean(arm, i + 1).unwrap_or(0.0),
    }
}

/// √t of the round that the next outcome ends.
fn root(evidence: &ArmEvidence) -> f64 {
    (evidence.outcomes as f64 + 1.0).sqrt()
}

impl Rule for PessimisticOptimistic {
    fn plan(&mut self, evidence: &ArmEvidence, plan: &mut Plan) {
        // Without a guardrail there is nothing to price.
        let inverse = if self.queues.is_empty() {
            0.0
        } else {
            1.0 / (self.weight * root(evidence))
        };
        let (best, _) = evidence.best(|arm| {
            let prices = self.queues.iter().enumerate();
            let priced: f64 = prices.map(|(i, q)| q * cost(evidence, arm, i)).sum();
            evidence.bounds.reward_upper[arm] - inverse * priced
        });
        plan.play(best);
        for (price, queue) in plan.prices.iter_mut().zip(&self.queues) {
            *price = queue * inverse;
        }
    }

    fn learn(&mut self, evidence: &ArmEvidence, arm: usize, _: f64, _: &[f64]) {
        let tightening = self.tightening / root(evidence);
        for (i, queue) in self.queues.iter_mut().enumerate() {
            let threshold = evidence.bounds.thresholds[i];
            *queue = (*queue + cost(evidence, arm, i) - threshold + tightening).max(0.0);
        }
    }

    fn save(&self) -> Result<Value, Error> {
        to_part(&self.queues)
    }

    fn restore(&mut self, _: &ArmEvidence, memory: &Value) -> Result<(), Error> {
        let queues: Vec<f64> = part("queues", memory)?;
        if queues.len() != self.queues.len() || queues.iter().any(|q| !(*q >= 0.0)) {
            return Err(broken(format!("its queues are {queues:?}")));
        }
        self.queues = queues;
        Ok(())
    }
}
