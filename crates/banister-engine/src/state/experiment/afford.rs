//! Policies that budgets can pay for.
//!
//! Where the rest of an amount does not cover everything that a policy may draw, the safe action is played
//! alone: to look at the draw first would change the probabilities. Where it does, but would not last for the
//! period, the policy is mixed with the safe action. Neither needs the agent, so that policies which were
//! computed beside the writer are held against the reservations of the very commit that they are drawn in.

use std::sync::Arc;

use banister::{CheckedProblem, Fallback, WhenExhausted};

use super::Experiment;
use crate::events::{DecisionEvent, PublishedPolicy};
use crate::refusal::Refusal;
use crate::state::budget::{Account, Budgets, worst_case};
use crate::state::clock::ClockSets;
use crate::time::Timestamp;

/// A policy made for budgets.
pub(super) struct Allowed {
    /// The agent's own.
    base: Arc<PublishedPolicy>,
    share: f64,
    fallback: Option<Fallback>,
    policy: Arc<PublishedPolicy>,
}

/// Reserves what a decision may cost.
pub(crate) fn reserve(
    budgets: &mut Budgets,
    problem: &CheckedProblem,
    sets: &ClockSets,
    time: Timestamp,
    number: u64,
    decision: &DecisionEvent,
) {
    let is_exhausted = decision.fallback == Some(Fallback::BudgetExhausted);
    budgets.reserve(sets, number, time, is_exhausted, |guardrail| {
        worst_case(problem, decision.action, guardrail)
    });
}

impl Experiment {
    /// Refuses a decision if a budget says so once it does not even cover the safe action.
    pub(crate) fn check_budgets(
        &self,
        budgets: &Budgets,
        sets: &ClockSets,
        time: Timestamp,
        safe: u32,
    ) -> Result<(), Refusal> {
        for account in &budgets.0 {
            let worst = worst_case(&self.checked.standard, safe, account.guardrail);
            if account.budget.when_exhausted == WhenExhausted::Safe
                || worst <= account.remaining(sets, time)
            {
                continue;
            }
            let view = account.view(sets, time);
            let seconds = view.period_end.seconds_since(time).ceil();
            return Err(Refusal::Exhausted {
                reason: format!(
                    "the budget of `{}` is exhausted: {} of {} per {} is left, and the safe action may \
                     cost {}; the next {} begins at {}",
                    self.facts.guardrails[account.guardrail],
                    view.remaining,
                    view.budget.amount,
                    view.budget.per.name(),
                    worst as f64 / 1e9,
                    view.budget.per.name(),
                    view.period_end,
                ),
                retry_after: (seconds as u32).max(1),
            });
        }
        Ok(())
    }

    /// The policy as far as budgets can pay for it.
    pub(crate) fn allowed(
        &mut self,
        budgets: &Budgets,
        sets: &ClockSets,
        time: Timestamp,
        base: Arc<PublishedPolicy>,
    ) -> Arc<PublishedPolicy> {
        let problem = &self.checked.standard;
        let covers = |account: &Account| {
            let remaining = account.remaining(sets, time);
            let mut drawn = base.policy.iter();
            drawn.all(|&(action, _)| worst_case(problem, action, account.guardrail) <= remaining)
        };
        if base.fallback.is_some() {
            // It is the safe action alone already, and has its reason.
            return base;
        }
        let (share, paces, fallback) = if budgets.0.iter().all(covers) {
            let (share, paces) = paced(budgets, sets, time, &base, problem);
            (share, paces, None)
        } else {
            (0.0, Vec::new(), Some(Fallback::BudgetExhausted))
        };
        if share >= 1.0 {
            return base;
        }
        if let Some(allowed) = &self.allowed
            && Arc::ptr_eq(&allowed.base, &base)
            && allowed.fallback == fallback
            && (allowed.share * 0.95..=allowed.share * 1.1).contains(&share)
        {
            // Every other policy is an event: it changes in steps.
            return allowed.policy.clone();
        }
        let policy = Arc::new(base.mixed(share, problem, &paces, fallback));
        self.allowed = Some(Allowed {
            base,
            share,
            fallback,
            policy: policy.clone(),
        });
        policy
    }
}

/// Share of the policy at which no paced guardrail costs more per decision than there is left for each that is
/// expected, and those paces by guardrail. Where the safe action itself costs more, it is played alone; where
/// the policy costs less than it, mixing does not help.
fn paced(
    budgets: &Budgets,
    sets: &ClockSets,
    time: Timestamp,
    base: &PublishedPolicy,
    problem: &CheckedProblem,
) -> (f64, Vec<(usize, f64)>) {
    let (mut share, mut paces): (f64, _) = (1.0, Vec::new());
    for account in &budgets.0 {
        let Some(pace) = account.pace(sets, time) else {
            continue;
        };
        let i = account.guardrail;
        let (cost, safe) = (
            base.guardrails[i].pessimistic_cost,
            base.safe_cost(problem, i),
        );
        if cost > pace && cost > safe {
            share = share.min(((pace - safe) / (cost - safe)).max(0.0));
            paces.push((i, pace));
        }
    }
    (share, paces)
}
