//! A floor under the safe action's probability.
//!
//! π = f·e_0 + (1−f)π', with π' from the linear program at thresholds (τ − f·u_0)/(1−f): the whole
//! keeps π·u ≤ τ, so its certificate is what it would be without a floor. What it is for: guardrails
//! relative to the safe action are watched by its outcomes, and those come at least this often.

use super::{Bounds, Optimism};
use crate::certificate::Answer;
use crate::error::{Error, finite};

/// Adds the floor to a policy and its answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Floor {
    support: Vec<(usize, f64)>,
    costs: Vec<f64>,
}

impl Floor {
    /// The whole policy from its free part, whose objective has `safe_value` for the safe action.
    #[inline(always)]
    pub(crate) fn mix<'a>(
        &'a mut self,
        free: Answer<'a>,
        bounds: &Bounds,
        safe_value: f64,
    ) -> Answer<'a> {
        if bounds.floor == 0.0 || free.support.is_empty() {
            return free;
        }
        self.add(free, bounds, safe_value)
    }

    #[inline(never)]
    fn add<'a>(&'a mut self, free: Answer<'a>, bounds: &Bounds, safe_value: f64) -> Answer<'a> {
        let (f, safe) = (bounds.floor, bounds.safe);
        let mix = |part: f64, own: f64| f * own + (1.0 - f) * part;
        self.support.clear();
        self.support
            .extend(free.support.iter().map(|&(a, p)| (a, (1.0 - f) * p)));
        match self.support.iter_mut().find(|entry| entry.0 == safe) {
            Some(entry) => entry.1 += f,
            None => {
                let place = self.support.partition_point(|entry| entry.0 < safe);
                self.support.insert(place, (safe, f));
            }
        }
        self.costs.clear();
        let costs = free.costs.iter().zip(&bounds.cost_upper);
        self.costs.extend(costs.map(|(&c, row)| mix(c, row[safe])));
        Answer {
            support: &self.support,
            costs: &self.costs,
            value: mix(free.value, safe_value),
            upper_bound: mix(free.upper_bound, safe_value),
            ..free
        }
    }
}

/// Refuses a floor that is none, or that the optimism has no proof for.
pub(crate) fn check_floor(floor: f64, optimism: Optimism) -> Result<(), Error> {
    if !(0.0..1.0).contains(&finite("floor", floor)?) {
        let allowed = "must be at least 0 and below 1: the least probability of the safe action";
        return Err(Error::invalid("floor", floor, allowed));
    }
    let whole = matches!(optimism, Optimism::Paper | Optimism::Published);
    if floor > 0.0 && whole {
        let allowed = "a floor does not go with optimism `paper` or `published`: \
                       the paper's bonus is for the whole policy";
        return Err(Error::invalid("floor", floor, allowed));
    }
    Ok(())
}

/// Omits a floor that is none from what is written.
pub(crate) fn is_zero(x: &f64) -> bool {
    *x == 0.0
}
