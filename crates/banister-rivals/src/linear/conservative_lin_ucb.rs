//! Conservative LinUCB, on costs: optimistic as long as the costs so far leave room for it.
//!
//! **Problem.** Feature vectors, any x_0 and any number of guardrails; the safe costs are known.
//! **Guarantee.** With probability 1 − δ, after every round the sum of the mean costs of the actions played
//! so far is at most τ times their number; single rounds may break guardrails. It counts actions when their
//! outcomes arrive: while some are pending, those may exceed the budget by what they cost.
//! **Cost per round.** O(Kd + (m + d)d) on the same actions, O(Kd²) on new ones, no allocation.
//! **Reference.** Kazerouni, Ghavamzadeh, Abbasi-Yadkori and Van Roy, "Conservative Contextual Linear
//! Bandits" (2017), CLUCB, with costs in place of the reward that must not fall behind.

use banister::toolkit::broken;
use banister::toolkit::linear::Confidence;
use banister::{Error, Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lin_ucb::optimistic;
use super::{Evidence, LinearConfig, LinearRival, Plan, Rule, RuleOnFeatures};
use crate::config::{Registered, config, regression};
use crate::parameters::known_safe_costs;
use crate::saved::{part, to_part};

config! {
    /// Conservative LinUCB: plays the optimistic action if the largest costs that all actions so far may have
    /// had, and its own, stay within τ a round; the safe action otherwise.
    ConservativeLinUcbConfig, "conservative_lin_ucb", RuleOnFeatures<Self>;
    guarantee(Cumulative: Anytime),
    regression,
}

impl LinearConfig for ConservativeLinUcbConfig {
    fn rival(&self, problem: &Problem) -> Result<LinearRival, Error> {
        let parameters = self.parameters();
        LinearRival::new(problem, self.kind(), parameters, None, |evidence| {
            known_safe_costs(self.kind(), &evidence.problem)?;
            let budgets = std::iter::zip(&evidence.problem.guardrails, &evidence.signals[1..]);
            Ok(ConservativeLinUcb {
                confidence: parameters.confidence(evidence),
                budgets: budgets
                    .map(|(guardrail, signal)| ConservativeBudget {
                        threshold: guardrail.shown_threshold * signal.scale,
                        // Known: refused above where it is not.
                        safe: guardrail.safe_cost.unwrap_or(1.0) - signal.offset,
                    })
                    .collect(),
                played: Played {
                    safe: 0,
                    sum: vec![0.0; evidence.regression.padded()],
                },
                whitened: vec![0.0; evidence.regression.padded()],
            })
        })
    }
}

struct ConservativeLinUcb {
    confidence: Confidence,
    budgets: Vec<ConservativeBudget>,
    played: Played,
    /// Room for W times the sum and an action.
    whitened: Vec<f64>,
}

/// One guardrail, in prediction units.
struct ConservativeBudget {
    threshold: f64,
    /// The safe action's cost.
    safe: f64,
}

/// Actions played so far, by the outcomes that arrived.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Played {
    /// Number of plays of the safe action.
    safe: u64,
    /// Σ_s x̃_s over the others.
    sum: Vec<f64>,
}

impl ConservativeLinUcb {
    /// True if an action keeps all budgets.
    fn affords(&mut self, evidence: &Evidence, action: usize) -> bool {
        let regression = &evidence.regression;
        let columns = &evidence.actions.columns;
        regression.whiten(&self.played.sum, &mut self.whitened);
        let (stride, d) = (evidence.actions.stride, evidence.dimension());
        let y = &mut self.whitened[..d];
        // One bound for the sum of all features, this action's among them: ‖z + x‖ in Σ⁻¹ is at most ‖z‖ + ‖x‖,
        // and far below Σ_s ‖x_s‖.
        for (y, row) in y.iter_mut().zip(columns.whitened.chunks_exact(stride)) {
            *y += row[action];
        }
        let length = y.iter().map(|y| y * y).sum::<f64>().sqrt();
        let rounds = evidence.outcomes as f64 + 1.0;
        self.budgets.iter().enumerate().all(|(i, budget)| {
            let radius = self.confidence.of(evidence, i + 1);
            let safe = self.played.safe as f64 * budget.safe;
            safe + regression.predict(i + 1, y) + radius * length <= rounds * budget.threshold
        })
    }
}

impl Rule for ConservativeLinUcb {
    fn radius(&self, evidence: &Evidence, signal: usize) -> f64 {
        self.confidence.of(evidence, signal)
    }

    fn plan(&mut self, evidence: &Evidence) -> Plan {
        let (beta, safe) = (self.confidence.of(evidence, 0), evidence.actions.safe);
        let best = optimistic(evidence, beta);
        if best.action == safe || self.affords(evidence, best.action) {
            return best;
        }
        let columns = &evidence.actions.columns;
        let own = columns.means[0][safe] + beta * columns.squares[1][safe].sqrt();
        Plan::whole(safe, own)
    }

    fn learn(&mut self, evidence: &Evidence, is_safe: bool) {
        if is_safe {
            self.played.safe += 1;
            return;
        }
        for (sum, x) in self.played.sum.iter_mut().zip(evidence.taken()) {
            *sum += x;
        }
    }

    fn save(&self) -> Result<Value, Error> {
        to_part(&self.played)
    }

    fn restore(&mut self, evidence: &Evidence, memory: &Value) -> Result<(), Error> {
        let played: Played = part("budget", memory)?;
        if played.sum.len() != self.played.sum.len() || played.safe > evidence.outcomes {
            return Err(broken("its budget does not match its outcomes"));
        }
        self.played = played;
        Ok(())
    }
}
