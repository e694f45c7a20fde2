//! Budgets: most that the decisions of a period may cost in sum, kept by reservation.
//!
//! A decision reserves the most that its action can cost. The report of its cost gives the reservation back and
//! spends the true cost, in the period of the decision. What is spent and reserved never exceeds the amount,
//! and no cost exceeds its reservation: so the sum of costs does not either, in whatever order decisions and
//! outcomes come. Sums are of integers, in billionths of the signal's unit, and so exact.

use std::collections::BTreeMap;

use banister::budget::Budget;
use banister::toolkit::CheckedProblem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::period::bounds;
use crate::events::Charge;
use crate::object::OneOrMany;
use crate::time::ClockSets;
use crate::time::Timestamp;

/// Decisions from which on their rate is known well enough to pace by.
const FEWEST_TO_PACE: u64 = 10;

/// Decisions of one period.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Tally {
    /// Number of the first decision.
    first: u64,
    /// Time from which on decisions are counted: the period's start, or that of the first decision ever.
    begun: i64,
    /// Number and time of the last decision.
    last: (u64, i64),
    decisions: u64,
    /// Decisions at which the amount did not cover the policy.
    exhausted: u64,
    spent: i128,
    reserved: i128,
}

/// A budget and what it was used for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Index of the guardrail.
    pub guardrail: usize,
    pub budget: Budget,
    /// Period of the last decision.
    current: Option<Tally>,
    /// The one before.
    previous: Option<Tally>,
}

/// Budgets of an experiment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Budgets(pub Vec<Account>);

/// A budget in the period of now.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "BudgetState")]
pub struct BudgetView {
    /// The budget as declared.
    #[serde(flatten)]
    pub budget: Budget,
    /// Start of the period.
    pub period_start: Timestamp,
    /// End of the period, and start of the next.
    pub period_end: Timestamp,
    /// Costs reported for decisions of this period.
    pub spent: f64,
    /// Most that those decisions may cost whose cost was not reported yet.
    pub reserved: f64,
    /// Amount that is neither spent nor reserved.
    pub remaining: f64,
    /// Rest of the amount per decision until the period ends, to which pacing lowers the threshold, though not
    /// below the safe action's cost; null where it does not bind.
    pub pace: Option<f64>,
    /// Costs beyond the amount: of safe actions, or of an amount that was lowered since.
    pub beyond: f64,
    /// Decisions of this period.
    pub decisions: u64,
    /// Decisions of this period at which the safe action was forced, since the rest did not cover the policy.
    pub exhausted: u64,
    /// The period before, as far as its outcomes are known.
    pub previous: Option<PastPeriod>,
}

/// Period that is over.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PastPeriod {
    /// Costs reported.
    pub spent: f64,
    /// Most that those decisions may have cost whose cost was never reported.
    pub reserved: f64,
    /// Decisions made.
    pub decisions: u64,
    /// Decisions at which the safe action was forced.
    pub exhausted: u64,
}

/// A number in billionths. Decimals are taken as meant: 0.3 is 300000000; what has more digits is rounded.
fn billionths(x: f64, round: fn(f64) -> f64) -> i128 {
    let scaled = x * 1e9;
    let nearest = scaled.round();
    let is_meant = (scaled - nearest).abs() <= scaled.abs() * 1e-15;
    (if is_meant { nearest } else { round(scaled) }) as i128
}

/// A cost in billionths, rounded up.
pub(crate) fn cost_of(x: f64) -> i128 {
    billionths(x, f64::ceil)
}

fn units(billionths: i128) -> f64 {
    billionths as f64 / 1e9
}

/// Most that an action can cost under a guardrail, in billionths.
pub(crate) fn worst_case(problem: &CheckedProblem, action: usize, guardrail: usize) -> i128 {
    cost_of(problem.own_signal(action, guardrail + 1).hi)
}

impl Account {
    fn new(guardrail: usize, budget: Budget) -> Self {
        Self {
            guardrail,
            budget,
            current: None,
            previous: None,
        }
    }

    /// True if the period of the last decision is that of `time`. Setting the clock ends no period by itself:
    /// what was spent a minute before is spent a minute ago.
    fn is_current(&self, sets: &ClockSets, time: Timestamp) -> bool {
        let per = self.budget.per;
        self.current.as_ref().is_some_and(|tally| {
            let last = sets.time_now(tally.last.0, Timestamp(tally.last.1));
            bounds(per, last).0 == bounds(per, time).0
        })
    }

    /// Tallies of the period that a time is in, and of the one before it.
    fn tallies(&self, sets: &ClockSets, time: Timestamp) -> (Option<&Tally>, Option<&Tally>) {
        if self.is_current(sets, time) {
            (self.current.as_ref(), self.previous.as_ref())
        } else {
            (None, self.current.as_ref())
        }
    }

    fn amount(&self) -> i128 {
        billionths(self.budget.amount, f64::floor)
    }

    /// Amount that is neither spent nor reserved, in billionths; negative where safe actions went beyond.
    pub(crate) fn remaining(&self, sets: &ClockSets, time: Timestamp) -> i128 {
        let used = (self.tallies(sets, time).0)
            .map_or(0, |tally| tally.spent.saturating_add(tally.reserved));
        self.amount().saturating_sub(used)
    }

    /// Rest of the amount for each decision that is expected until the period ends, at the rate of this period
    /// and the one before; `None` where it is not paced, or the rate not known.
    pub(crate) fn pace(&self, sets: &ClockSets, time: Timestamp) -> Option<f64> {
        if !self.budget.pacing {
            return None;
        }
        let (start, end) = bounds(self.budget.per, time);
        let (current, previous) = self.tallies(sets, time);
        let (mut decisions, mut seconds) = (0, 0.0);
        let length = end.seconds_since(start);
        for (tally, until) in [(current, time), (previous, start)] {
            if let Some(tally) = tally {
                let begun = sets.time_now(tally.first, Timestamp(tally.begun));
                decisions += tally.decisions;
                seconds += until.seconds_since(begun).clamp(0.0, length);
            }
        }
        if decisions < FEWEST_TO_PACE {
            return None;
        }
        // A burst at the start is no rate.
        let rate = decisions as f64 / seconds.max(length / 100.0);
        let expected = rate * end.seconds_since(time);
        let remaining = units(self.remaining(sets, time).max(0));
        Some(remaining / expected.max(1.0))
    }

    /// Tally that a decision belongs to.
    fn tally_of(&mut self, decision: u64) -> Option<&mut Tally> {
        let mut both = [&mut self.current, &mut self.previous]
            .into_iter()
            .flatten();
        both.find(|tally| decision >= tally.first)
    }

    /// The budget as it is now, with its pace where that held the last policy back.
    pub(crate) fn view(&self, sets: &ClockSets, now: Timestamp, pace: Option<f64>) -> BudgetView {
        let (period_start, period_end) = bounds(self.budget.per, now);
        let (current, previous) = self.tallies(sets, now);
        let spent = current.map_or(0, |tally| tally.spent);
        BudgetView {
            budget: self.budget.clone(),
            period_start,
            period_end,
            spent: units(spent),
            reserved: units(current.map_or(0, |tally| tally.reserved)),
            remaining: units(self.remaining(sets, now).max(0)),
            pace: pace.filter(|_| current.is_some()),
            beyond: units((spent - self.amount()).max(0)),
            decisions: current.map_or(0, |tally| tally.decisions),
            exhausted: current.map_or(0, |tally| tally.exhausted),
            previous: previous.map(|tally| PastPeriod {
                spent: units(tally.spent),
                reserved: units(tally.reserved),
                decisions: tally.decisions,
                exhausted: tally.exhausted,
            }),
        }
    }
}

impl Budgets {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes up budgets as declared. One whose period stays keeps what was spent; another starts anew.
    pub(crate) fn declare(
        &mut self,
        budgets: &BTreeMap<String, OneOrMany<Budget>>,
        guardrails: &[String],
    ) {
        let mut before = std::mem::take(&mut self.0);
        let named = guardrails.iter().enumerate();
        let each = named.filter_map(|(guardrail, name)| Some((guardrail, budgets.get(name)?)));
        for (guardrail, budget) in
            each.flat_map(|(guardrail, own)| own.as_slice().iter().map(move |b| (guardrail, b)))
        {
            let known = |own: &Account| own.guardrail == guardrail && own.budget.per == budget.per;
            let place = before.iter().position(known);
            let account = place.map_or_else(
                || Account::new(guardrail, budget.clone()),
                |place| before.swap_remove(place),
            );
            self.0.push(Account {
                budget: budget.clone(),
                ..account
            });
        }
    }

    /// A decision was made: reserves the worst case of its action.
    pub(crate) fn reserve(
        &mut self,
        sets: &ClockSets,
        number: u64,
        time: Timestamp,
        is_exhausted: bool,
        (worst, dearest): (impl Fn(usize) -> i128, impl Fn(usize) -> i128),
    ) {
        for account in &mut self.0 {
            // Of several budgets those that cover every action have forced nothing.
            let has_forced =
                is_exhausted && dearest(account.guardrail) > account.remaining(sets, time);
            if !account.is_current(sets, time) {
                account.previous = account.current.take();
            }
            let begun = match &account.previous {
                Some(_) => bounds(account.budget.per, time).0,
                None => time,
            };
            let worst = worst(account.guardrail);
            let tally = account.current.get_or_insert(Tally {
                first: number,
                begun: begun.0,
                ..Tally::default()
            });
            tally.last = (number, time.0);
            tally.decisions += 1;
            tally.exhausted += u64::from(has_forced);
            tally.reserved = tally.reserved.saturating_add(worst);
        }
    }

    /// Settlements that follow from costs which were not known before, of decisions whose period is still kept.
    pub(crate) fn charges(
        &mut self,
        decision: u64,
        known: &[Option<f64>],
        news: &[Option<f64>],
        worst: impl Fn(usize) -> i128,
    ) -> Vec<Charge> {
        let mut charges = Vec::new();
        for i in 0..news.len() {
            let (known, cost) = (known.get(i).copied().flatten(), news[i]);
            let mut own = self.0.iter_mut().filter(|own| own.guardrail == i);
            if let (None, Some(cost)) = (known, cost)
                && own.any(|own| own.tally_of(decision).is_some())
            {
                charges.push(Charge {
                    guardrail: i as u32,
                    reserved: worst(i),
                    // One below its range raises an alarm; it gives no money back.
                    cost: cost_of(cost).max(0),
                });
            }
        }
        charges
    }

    /// Costs of a decision became known.
    pub(crate) fn charge(&mut self, decision: u64, charges: &[Charge]) {
        for charge in charges {
            let accounts = self.0.iter_mut();
            let own = accounts.filter(|own| own.guardrail == charge.guardrail as usize);
            for tally in own.filter_map(|own| own.tally_of(decision)) {
                tally.reserved = tally.reserved.saturating_sub(charge.reserved);
                tally.spent = tally.spent.saturating_add(charge.cost);
            }
        }
    }

    /// Sum of the starts of all periods, and of the minute where a pace depends on it: another one when one of
    /// them has ended.
    pub(crate) fn stamp(&self, now: Timestamp) -> i64 {
        let starts = self.0.iter().map(|own| bounds(own.budget.per, now).0.0);
        let is_paced = self.0.iter().any(|own| own.budget.pacing);
        let minute = if is_paced { now.0 / 60_000_000 } else { 0 };
        starts.fold(minute, i64::wrapping_add)
    }
}

/// Defect that the simulation plants: reservations are forgotten where they must not be.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forgets {
    Batch,
    Snapshot,
}

#[cfg(test)]
thread_local! {
    pub(crate) static PLANTED: std::cell::Cell<Option<Forgets>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
impl Budgets {
    /// Budgets as a snapshot has them, without reservations where that is the planted defect.
    pub(crate) fn planted(mut self) -> Self {
        if PLANTED.get() == Some(Forgets::Snapshot) {
            for account in &mut self.0 {
                *account = Account::new(account.guardrail, account.budget.clone());
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use banister::budget::{Period, WhenExhausted};

    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn account(amount: f64) -> Budgets {
        Budgets(vec![Account::new(
            0,
            Budget {
                amount,
                per: Period::Day,
                when_exhausted: WhenExhausted::Safe,
                pacing: true,
            },
        )])
    }

    fn reserve(budgets: &mut Budgets, numbers: std::ops::Range<u64>, time: i64) {
        for number in numbers {
            let sets = ClockSets::default();
            let worst = |_| cost_of(1.0);
            budgets.reserve(&sets, number, Timestamp(time), false, (worst, worst));
        }
    }

    fn pace(budgets: &Budgets, time: i64) -> Option<f64> {
        budgets.0[0].pace(&ClockSets::default(), Timestamp(time))
    }

    #[test]
    fn the_rest_is_spread_over_the_decisions_to_come() {
        let mut budgets = account(100.0);
        // The first day begins at noon: ten decisions in six hours, ten more expected.
        reserve(&mut budgets, 1..10, 12 * HOUR);
        assert_eq!(pace(&budgets, 18 * HOUR), None);
        reserve(&mut budgets, 10..11, 12 * HOUR);
        assert_eq!(pace(&budgets, 18 * HOUR), Some(90.0 / 10.0));
        // The next one goes on at the rate of the one before, 10 in 12 hours.
        assert_eq!(pace(&budgets, 24 * HOUR), Some(100.0 / 20.0));
        reserve(&mut budgets, 11..41, 24 * HOUR);
        // 40 in 24 hours; 20 more in the rest of the day.
        assert_eq!(pace(&budgets, 36 * HOUR), Some(70.0 / 20.0));
        // What a decision costs after all is known, and the rest is free again.
        let free = budgets.charges(40, &[None], &[Some(0.25)], |_| cost_of(1.0));
        budgets.charge(40, &free);
        assert_eq!(pace(&budgets, 36 * HOUR), Some(70.75 / 20.0));
    }

    #[test]
    fn a_cost_belongs_to_the_day_of_its_decision() {
        let mut budgets = account(10.0);
        let later = |budgets: &mut Budgets, decision: u64, cost: f64| {
            let worst = |_: usize| cost_of(1.0);
            let charges = budgets.charges(decision, &[None], &[Some(cost)], worst);
            budgets.charge(decision, &charges);
            charges.len()
        };
        reserve(&mut budgets, 1..4, 12 * HOUR);
        reserve(&mut budgets, 4..6, 36 * HOUR);
        assert_eq!(
            later(&mut budgets, 2, 0.5) + later(&mut budgets, 4, 0.25),
            2
        );
        let view = budgets.0[0].view(&ClockSets::default(), Timestamp(36 * HOUR), None);
        assert_eq!(
            (view.spent, view.reserved, view.remaining),
            (0.25, 1.0, 8.75)
        );
        let before = view.previous.unwrap();
        assert_eq!(
            (before.spent, before.reserved, before.decisions),
            (0.5, 2.0, 3)
        );
        // Two days later nobody asks any more.
        reserve(&mut budgets, 6..7, 60 * HOUR);
        assert_eq!(later(&mut budgets, 1, 1.0), 0);
        let view = budgets.0[0].view(&ClockSets::default(), Timestamp(60 * HOUR), None);
        assert_eq!((view.spent, view.reserved), (0.0, 1.0));
    }

    #[test]
    fn a_burst_at_the_start_is_no_rate() {
        let mut budgets = account(100.0);
        reserve(&mut budgets, 1..11, 0);
        let expected = 10.0 / (864.0 * 1e6) * (24 * HOUR - 1_000_000) as f64;
        assert_eq!(pace(&budgets, 1_000_000), Some(90.0 / expected));
    }

    #[test]
    fn sums_are_exact_and_decimals_as_meant() {
        assert_eq!(
            [0.1, 0.3, 1234.56, 1e12].map(cost_of),
            [
                100_000_000,
                300_000_000,
                1_234_560_000_000,
                1_000_000_000_000_000_000_000
            ]
        );
        // Digits beyond the ninth are charged, never given.
        assert_eq!(
            (cost_of(1e-12), billionths(0.999_999_999_9, f64::floor)),
            (1, 999_999_999)
        );
    }

    #[test]
    fn a_clock_that_is_set_ends_no_period() {
        let mut budgets = account(3.0);
        reserve(&mut budgets, 1..3, 12 * HOUR);
        let mut sets = ClockSets::default();
        sets.push(3, 12 * HOUR, 12 * HOUR + 240 * HOUR);
        let left =
            |hour: i64, sets: &ClockSets| budgets.0[0].remaining(sets, Timestamp(hour * HOUR));
        assert_eq!(left(252, &sets), cost_of(1.0));
        assert_eq!(left(252, &ClockSets::default()), cost_of(3.0));
        assert_eq!(left(264, &sets), cost_of(3.0));
    }
}
