//! From a solver's answer in standard units to a certificate in the user's.

use banister_solve::{ConeSolution, Solution, Status};

use crate::decision::{Decision, Fallback, GuardrailCertificate, SolverReport};
use crate::problem::CheckedProblem;
use crate::problem::Shown;

/// A solver's answer about a policy, in standard units.
pub struct Answer<'a> {
    /// (action, probability) by increasing action.
    pub support: &'a [(usize, f64)],
    /// Outcome of the solve.
    pub status: Status,
    /// Objective at the policy.
    pub value: f64,
    /// Proven upper bound on the objective of every feasible policy.
    pub upper_bound: f64,
    /// Pessimistic costs π·u, one per guardrail.
    pub costs: &'a [f64],
    /// Shadow prices of the thresholds.
    pub prices: &'a [f64],
    /// Linear problems solved for the proof.
    pub nodes: u64,
}

impl<'a> From<&'a Solution> for Answer<'a> {
    #[inline(always)]
    fn from(solution: &'a Solution) -> Self {
        Self {
            support: &solution.support,
            status: solution.status,
            value: solution.value,
            upper_bound: solution.upper_bound,
            costs: &solution.costs,
            prices: &solution.prices,
            nodes: 0,
        }
    }
}

impl<'a> From<&'a ConeSolution> for Answer<'a> {
    fn from(solution: &'a ConeSolution) -> Self {
        Self {
            support: &solution.support,
            status: solution.status,
            value: solution.value,
            upper_bound: solution.upper_bound,
            costs: &solution.costs,
            prices: &solution.prices,
            nodes: solution.nodes,
        }
    }
}

impl Answer<'_> {
    /// Reason for the safe action where the answer does not check.
    #[cold]
    pub(crate) fn failure(&self) -> Fallback {
        match self.status {
            Status::Budget => Fallback::Budget,
            _ => Fallback::SolverFailed,
        }
    }

    /// True if there is a policy and its pessimistic costs keep the thresholds: no other leaves the agent.
    #[inline(always)]
    pub fn is_within(&self, thresholds: &[f64]) -> bool {
        // Written so that NaN fails.
        self.status != Status::Infeasible
            && !self.support.is_empty()
            && std::iter::zip(self.costs, thresholds).all(|(cost, threshold)| cost <= threshold)
    }
}

/// Converts answers in standard units to certificates in the user's.
#[derive(Debug, Clone)]
pub struct Certifier {
    /// Lowest reward and width of its range.
    lo: f64,
    unit: f64,
    guardrails: Vec<Certify>,
}

/// Units of one guardrail.
#[derive(Debug, Clone, Copy)]
struct Certify {
    shown: Shown,
    threshold: f64,
    shown_threshold: f64,
    /// Reward units per guardrail unit.
    price_unit: f64,
}

impl Certifier {
    /// The units of a problem.
    pub fn new(problem: &CheckedProblem) -> Self {
        let unit = problem.reward.unit();
        let guardrails = problem.guardrails.iter().map(|g| Certify {
            shown: g.shown(),
            threshold: g.threshold,
            shown_threshold: g.shown_threshold,
            price_unit: unit / g.shown().unit(),
        });
        Self {
            lo: problem.reward.lo,
            unit,
            guardrails: guardrails.collect(),
        }
    }

    /// A decision with room for everything, before the first.
    pub fn blank(&self) -> Decision {
        let guardrails = self.guardrails.iter().map(|g| GuardrailCertificate {
            threshold: g.shown_threshold,
            ..GuardrailCertificate::default()
        });
        Decision {
            guardrails: guardrails.collect(),
            ..Decision::default()
        }
    }

    /// Writes everything but the policy and the number of outcomes.
    #[inline(always)]
    pub fn certify(&self, answer: &Answer, decision: &mut Decision) {
        let shown = |x: f64| self.lo + self.unit * x;
        // A bound that rounding left a hair below the value says the same.
        let bound = answer.upper_bound.max(answer.value);
        decision.fallback = None;
        decision.optimistic_reward = shown(answer.value);
        decision.solver = SolverReport {
            status: answer.status,
            value: shown(answer.value),
            upper_bound: shown(bound),
            gap: self.unit * (bound - answer.value),
            nodes: answer.nodes,
        };
        let m = self.guardrails.len();
        let (costs, prices) = (&answer.costs[..m], &answer.prices[..m]);
        let certificates = &mut decision.guardrails[..m];
        for (i, certify) in self.guardrails.iter().enumerate() {
            let certificate = &mut certificates[i];
            certificate.pessimistic_cost = certify.shown.cost(costs[i]);
            certificate.slack = certify.shown.unit() * (certify.threshold - costs[i]);
            certificate.price = prices[i] * certify.price_unit;
        }
    }

    /// The safe action alone, for a reason; `value` bounds its reward, `cost` its costs.
    pub fn certify_safe(
        &self,
        problem: &CheckedProblem,
        action: usize,
        value: f64,
        cost: impl Fn(usize) -> f64,
        reason: Fallback,
        decision: &mut Decision,
    ) {
        decision.policy.clear();
        decision.policy.push((action, 1.0));
        decision.fallback = Some(reason);
        let value = self.lo + self.unit * value;
        let best = problem.highest_reward();
        decision.optimistic_reward = value;
        decision.solver = SolverReport {
            status: Status::Budget,
            value,
            upper_bound: best,
            gap: (best - value).max(0.0),
            nodes: 0,
        };
        for (i, certify) in self.guardrails.iter().enumerate() {
            // The declared safety of the safe action vouches for this policy, not its interval.
            let cost = cost(i).min(certify.threshold);
            decision.guardrails[i] = GuardrailCertificate {
                pessimistic_cost: certify.shown.cost(cost),
                threshold: certify.shown_threshold,
                slack: certify.shown.unit() * (certify.threshold - cost),
                price: 0.0,
            };
        }
    }
}
