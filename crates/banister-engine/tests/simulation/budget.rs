//! A model of a budget: what the decisions of a period cost or may cost, recomputed from all of them whenever
//! there is one more. It knows decisions and reports, not reservations.

use std::collections::BTreeMap;

use banister::Fallback;

use banister::budget::{Budget, WhenExhausted};

/// Microseconds of an hour: all budgets of a world are per hour.
const HOUR: i64 = 3_600_000_000;
/// Most that a decision of any world can cost.
const WORST: f64 = 1.0;

/// The decisions of one period, and the budget in force.
pub struct Purse {
    amount: f64,
    when_exhausted: WhenExhausted,
    /// Cost by decision, once it is known.
    costs: BTreeMap<u64, Option<f64>>,
    /// Time of the last decision, by a clock that is never set.
    last: i64,
}

impl Purse {
    pub fn new(budget: &Budget) -> Self {
        Self {
            amount: budget.amount,
            when_exhausted: budget.when_exhausted,
            costs: BTreeMap::new(),
            last: i64::MIN,
        }
    }

    pub fn change(&mut self, budget: &Budget) {
        self.amount = budget.amount;
        self.when_exhausted = budget.when_exhausted;
    }

    /// A decision was made at a time of a clock that is never set; the log's was set by `set_by` in all.
    pub fn decide(
        &mut self,
        number: u64,
        elapsed: i64,
        set_by: i64,
        is_safe: bool,
        fallback: Option<Fallback>,
    ) -> Result<(), String> {
        let hour = |elapsed: i64| elapsed.saturating_add(set_by).div_euclid(HOUR);
        if hour(self.last) != hour(elapsed) {
            self.costs.clear();
        }
        self.last = elapsed;
        let used: f64 = self.costs.values().map(|cost| cost.unwrap_or(WORST)).sum();
        self.costs.insert(number, None);
        let (amount, when) = (self.amount, self.when_exhausted);
        let fits = used + WORST <= amount;
        // Who pauses gets the safe action, whatever is left.
        let is_paused = fallback == Some(Fallback::Paused);
        let may_go_beyond = is_safe && (when == WhenExhausted::Safe || is_paused);
        if !fits && !may_go_beyond {
            return Err(format!(
                "overspends: {used} of {amount} is used ({when:?}, safe: {is_safe})"
            ));
        }
        if fits && fallback == Some(Fallback::BudgetExhausted) {
            return Err(format!(
                "is forced by a budget of {amount} of which {used} is used"
            ));
        }
        Ok(())
    }

    /// The cost of a decision became known.
    pub fn pay(&mut self, decision: u64, cost: f64) {
        if let Some(known) = self.costs.get_mut(&decision) {
            *known = Some(cost);
        }
    }
}
