//! From arms and their intervals to the columns of the bounds.

use super::Opb;
use crate::interval::Count;
use crate::optimism::Optimism;

impl Opb {
    pub(crate) fn push_arm(&mut self, name: String) {
        self.names.push(name);
        self.column.push(Some(self.arm.len()));
        self.arm.push(self.names.len() - 1);
        self.estimates.add_arm(&self.problem);
    }

    /// Rebuilds the map from arms to columns.
    pub(crate) fn renumber(&mut self) {
        self.column.fill(None);
        for (column, &arm) in self.arm.iter().enumerate() {
            self.column[arm] = Some(column);
        }
    }

    /// Rebuilds all columns and forgets warm starts: the set of columns changed.
    pub(crate) fn refresh_all(&mut self) {
        self.bounds.resize(self.arm.len());
        self.bounds.safe = self.column[self.problem.declared.safe].unwrap_or(0);
        self.planner.reset(self.arm.len());
        self.refresh_columns();
        self.planner.changed_all(&self.bounds);
        self.stale = true;
    }

    /// Rebuilds all columns, the safe one first: margins come from it, and spreads from margins.
    pub(super) fn refresh_columns(&mut self) {
        self.write_costs(self.bounds.safe, self.problem.declared.safe);
        let settled = self.t_zero.as_ref().and_then(|rule| rule.margin());
        self.bounds.update_margins(settled);
        self.alpha = self.checked.config.optimism.paper_alpha(
            self.bounds.thresholds.first().copied().unwrap_or(1.0),
            self.bounds.paper_margin,
        );
        for column in 0..self.arm.len() {
            let arm = self.arm[column];
            self.write_costs(column, arm);
            let count = Count::new(self.estimates.pulls()[arm]);
            self.write_reward(column, arm, &count);
        }
    }

    /// Writes what one column says about the reward; after its costs, which D is made from.
    #[inline(always)]
    pub(super) fn write_reward(&mut self, column: usize, arm: usize, count: &Count) {
        match self.alpha {
            Some(alpha) => {
                let (centre, radius) = self.estimates.centre_and_radius(arm, count);
                self.planner
                    .set_paper_reward(column, centre, alpha * radius);
            }
            None => {
                self.bounds.reward_upper[column] = self.estimates.ends(arm, 0).upper;
                if self.checked.config.optimism == Optimism::Index {
                    self.write_means(column, arm);
                }
                self.bounds.update_spread(column);
            }
        }
    }

    /// Writes the means of one column; after its bounds.
    #[inline(never)]
    fn write_means(&mut self, column: usize, arm: usize) {
        let (safe, estimates) = (self.problem.declared.safe, &self.estimates);
        let middle = 0.5 * self.bounds.reward_upper[column];
        self.bounds.reward_mean[column] = estimates.mean(arm, 0).unwrap_or(middle);
        for (i, guardrail) in self.problem.guardrails.iter().enumerate() {
            let (l, u) = (
                self.bounds.cost_lower[i][column],
                self.bounds.cost_upper[i][column],
            );
            let base = match guardrail.factor {
                0.0 => Some(0.0),
                _ => estimates.mean(safe, i + 1),
            };
            let cost = match (estimates.mean(arm, i + 1), base) {
                (Some(own), Some(base)) => {
                    let (own, base) = ((own, own), (base, base));
                    guardrail.cost_bounds(own, base, arm == safe).0
                }
                _ => 0.5 * (l + u),
            };
            // A known cost is both its ends.
            self.bounds.cost_mean[i][column] = cost.max(l).min(u);
        }
    }

    /// Writes the cost bounds of one column.
    #[inline(always)]
    pub(super) fn write_costs(&mut self, column: usize, arm: usize) {
        if self.safe_matters || arm == self.problem.declared.safe {
            return self.write_relative_costs(column, arm);
        }
        for i in 0..self.problem.guardrails.len() {
            let ends = self.estimates.ends(arm, i + 1);
            self.bounds.cost_lower[i][column] = ends.lower;
            self.bounds.cost_upper[i][column] = ends.upper;
        }
    }

    /// [`Opb::write_costs`] where the safe action may come into it.
    #[inline(never)]
    fn write_relative_costs(&mut self, column: usize, arm: usize) {
        let is_safe = arm == self.problem.declared.safe;
        for (i, guardrail) in self.problem.guardrails.iter().enumerate() {
            let own = self.estimates.ends(arm, i + 1);
            let (lower, upper) = match guardrail.safe_cost {
                Some(known) if is_safe => (known, known),
                _ if guardrail.factor == 0.0 && !is_safe => (own.lower, own.upper),
                _ => self.relative_bounds(i, arm, is_safe),
            };
            self.bounds.cost_lower[i][column] = lower;
            self.bounds.cost_upper[i][column] = upper;
        }
    }

    /// Cost bounds that depend on the safe action's estimates.
    fn relative_bounds(&self, i: usize, arm: usize, is_safe: bool) -> (f64, f64) {
        let own = self.estimates.ends(arm, i + 1);
        let safe = self.estimates.ends(self.problem.declared.safe, i + 1);
        let mut bounds = self.problem.guardrails[i].cost_bounds(
            (own.lower, own.upper),
            (safe.lower, safe.upper),
            is_safe,
        );
        if let (true, Some(rule)) = (is_safe, &self.t_zero) {
            bounds.1 = rule.upper(i).unwrap_or(bounds.1);
            bounds.0 = bounds.0.min(bounds.1);
        }
        bounds
    }
}
