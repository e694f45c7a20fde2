//! Floors under the probabilities of actions.
//!
//! π = φ + (1−F)π', φ being the floors and F their sum, with π' from the linear program at thresholds
//! (τ − φ·u)/(1−F): the whole keeps π·u ≤ τ, so its certificate is what it would be without floors. Floors of other
//! actions than the safe one are lowered together, to σφ, as long as the margins do not pay for them: σ is the largest
//! with σ Σ_a φ_a (u_a − u_0) ≤ Δ. What they are for: guardrails relative to the safe action are watched by its
//! outcomes, a rollout limits the traffic away from it, and some arms are to be seen at least this often.

use super::{Bounds, Optimism};
use crate::certificate::Answer;
use crate::error::{Error, finite};
use crate::floors::Floors;

/// Adds the floors to a policy and its answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Floor {
    support: Vec<(usize, f64)>,
    costs: Vec<f64>,
}

impl Floor {
    /// The whole policy from its free part, whose objective has these `values` for the actions.
    #[inline(always)]
    pub(crate) fn mix<'a>(
        &'a mut self,
        free: Answer<'a>,
        bounds: &Bounds,
        values: &[f64],
    ) -> Answer<'a> {
        let has_floors = bounds.floor > 0.0 || !bounds.floors.is_empty();
        if !has_floors || free.support.is_empty() {
            return free;
        }
        self.add(free, bounds, values)
    }

    #[inline(never)]
    fn add<'a>(&'a mut self, free: Answer<'a>, bounds: &Bounds, values: &[f64]) -> Answer<'a> {
        let part = bounds.free();
        let mix = |own: f64, row: &[f64]| bounds.fixed(row) + part * own;
        self.support.clear();
        self.support
            .extend(free.support.iter().map(|&(a, p)| (a, part * p)));
        let others = (bounds.floors.iter()).map(|&(column, f)| (column, bounds.kept * f));
        for (column, f) in others.chain([(bounds.safe, bounds.floor)]) {
            match self.support.binary_search_by_key(&column, |entry| entry.0) {
                Ok(place) => self.support[place].1 += f,
                Err(place) if f > 0.0 => self.support.insert(place, (column, f)),
                Err(_) => {}
            }
        }
        self.costs.clear();
        let costs = free.costs.iter().zip(&bounds.cost_upper);
        self.costs.extend(costs.map(|(&c, row)| mix(c, row)));
        Answer {
            support: &self.support,
            costs: &self.costs,
            value: mix(free.value, values),
            upper_bound: mix(free.upper_bound, values),
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

/// Refuses floors of other actions than the safe one, where actions have features.
pub(crate) fn check_safe_floor(floors: &Floors, optimism: Optimism) -> Result<(), Error> {
    match floors.arms.first() {
        None => check_floor(floors.safe, optimism),
        Some(&(_, floor)) => {
            let allowed = "floors of single arms require `opb`: omit them";
            Err(Error::invalid("floors.arms", floor, allowed))
        }
    }
}

/// Omits a floor that is none from what is written.
pub(crate) fn is_zero(x: &f64) -> bool {
    *x == 0.0
}
