//! Policies that budgets can pay for.
//!
//! Where the rest of an amount does not cover everything that a policy may draw, the safe action is played
//! alone: to look at the draw first would change the probabilities. Where it does, but would not last for the
//! period, the policy is mixed with the safe action. Neither needs the agent: a policy is published as long as
//! nothing is learned, and held against the reservations of the very commit that it is drawn in.

use std::collections::BTreeMap;
use std::sync::Arc;

use banister::Fallback;
use banister::budget::WhenExhausted;
use banister::toolkit::CheckedProblem;

use super::{Experiment, ExperimentStatus};
use crate::events::{DecisionEvent, PublishedPolicy};
use crate::object::OneOrMany;
use crate::refusal::Refusal;
use crate::state::budget::{Account, BudgetView, Budgets, cost_of, worst_case};
use crate::time::ClockSets;
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
    let worst = |guardrail: usize| worst_case(problem, decision.action as usize, guardrail);
    let dearest = |guardrail: usize| {
        let each = problem.own_signals(guardrail + 1).iter();
        each.map(|own| cost_of(own.hi)).max().unwrap_or(i128::MAX)
    };
    budgets.reserve(sets, number, time, is_exhausted, (worst, dearest));
}

impl Experiment {
    /// Budget that refuses decisions, since it does not even cover the safe action, and what that may cost.
    fn refusing<'a>(
        &self,
        budgets: &'a Budgets,
        sets: &ClockSets,
        time: Timestamp,
    ) -> Option<(&'a Account, i128)> {
        let safe = self.checked.safe;
        let refusing = (budgets.0.iter())
            .filter(|account| account.budget.when_exhausted == WhenExhausted::Refuse)
            .map(|account| {
                let worst = worst_case(&self.checked.standard, safe, account.guardrail);
                (account, worst)
            });
        // Of several the one that refuses for the longest time.
        refusing
            .filter(|(account, worst)| *worst > account.remaining(sets, time))
            .max_by_key(|(account, _)| account.view(sets, time, None).period_end)
    }

    /// Refuses a decision if a budget says so once it does not even cover the safe action.
    pub(crate) fn check_budgets(
        &self,
        budgets: &Budgets,
        sets: &ClockSets,
        time: Timestamp,
    ) -> Result<(), Refusal> {
        let Some((account, worst)) = self.refusing(budgets, sets, time) else {
            return Ok(());
        };
        let view = account.view(sets, time, None);
        let seconds = view.period_end.seconds_since(time).ceil();
        let guardrail = self.info.guardrails[account.guardrail].clone();
        Err(Refusal::Exhausted {
            reason: format!(
                "the budget of `{guardrail}` is exhausted: {} of {} per {} is left, and the safe action may \
                 cost {}; the next {} begins at {}",
                view.remaining,
                view.budget.amount,
                view.budget.per.name(),
                worst as f64 / 1e9,
                view.budget.per.name(),
                view.period_end,
            ),
            experiment: self.info.experiment.clone(),
            guardrail,
            retry_after: (seconds as u32).max(1),
        })
    }

    /// Guardrail whose budget refuses decisions now, and the end of its period.
    pub(crate) fn refused_by(
        &self,
        sets: &ClockSets,
        now: Timestamp,
    ) -> Option<(String, Timestamp)> {
        // In shadow mode it is the caller who spends; what is paused plays the safe action in any case.
        if self.checked.declaration.shadow || self.status != ExperimentStatus::Running {
            return None;
        }
        let (account, _) = self.refusing(&self.budgets, sets, now)?;
        let end = account.view(sets, now, None).period_end;
        Some((self.info.guardrails[account.guardrail].clone(), end))
    }

    /// True if budgets cover every action that a policy may draw.
    pub(crate) fn is_covered(&self, sets: &ClockSets, now: Timestamp) -> bool {
        let problem = &self.checked.standard;
        self.budgets.0.iter().all(|account| {
            let remaining = account.remaining(sets, now);
            let offered = (0..self.arms.len()).filter(|&arm| self.arms[arm].offered);
            let mut drawn = offered.chain([self.checked.safe]);
            drawn.all(|action| worst_case(problem, action, account.guardrail) <= remaining)
        })
    }

    /// Budgets as they are now, by guardrail.
    pub(crate) fn budget_views(
        &self,
        sets: &ClockSets,
        now: Timestamp,
    ) -> BTreeMap<String, OneOrMany<BudgetView>> {
        let mut views = BTreeMap::new();
        for account in &self.budgets.0 {
            let i = account.guardrail;
            let declared = self.checked.standard.guardrails[i].threshold;
            let mut last = self
                .trace
                .latest
                .iter()
                .map(|own| &own.published.guardrails[i]);
            let is_lowered = last.any(|own| own.threshold < declared);
            // With more money since then it binds no more.
            let binds = |pace: &f64| is_lowered && *pace < declared;
            let view = account.view(sets, now, account.pace(sets, now).filter(binds));
            let name = &self.info.guardrails[i];
            let own = match views.remove(name) {
                None => OneOrMany::One(view),
                Some(before) => OneOrMany::and(before, view),
            };
            views.insert(name.clone(), own);
        }
        views
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
        self.reduced(base, share, &paces, fallback)
    }

    /// The policy, or the safe action outside of the experiment's time.
    pub(crate) fn in_time(
        &mut self,
        now: Timestamp,
        base: Arc<PublishedPolicy>,
    ) -> Arc<PublishedPolicy> {
        let is_open = self.share.is_none_or(|share| share > 0.0) && self.share_at(now) > 0.0;
        if is_open || base.fallback.is_some() {
            return base;
        }
        self.reduced(base, 0.0, &[], Some(Fallback::NotRunning))
    }

    /// The policy at a share, as it was made before if that is about the same.
    fn reduced(
        &mut self,
        base: Arc<PublishedPolicy>,
        share: f64,
        paces: &[(usize, f64)],
        fallback: Option<Fallback>,
    ) -> Arc<PublishedPolicy> {
        if let Some(allowed) = &self.allowed
            && Arc::ptr_eq(&allowed.base, &base)
            && allowed.fallback == fallback
            && (allowed.share * 0.95..=allowed.share * 1.1).contains(&share)
        {
            // Every other policy is an event: it changes in steps.
            return allowed.policy.clone();
        }
        let policy = base.mixed(share, &self.checked.standard, paces, fallback);
        let policy = Arc::new(policy);
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
    let (mut share, mut paces): (f64, Vec<(usize, f64)>) = (1.0, Vec::new());
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
            // Of several budgets on a guardrail the slowest pace holds.
            match paces.iter_mut().find(|(own, _)| *own == i) {
                Some((_, slowest)) => *slowest = pace.min(*slowest),
                None => paces.push((i, pace)),
            }
        }
    }
    (share, paces)
}
