//! From arms and their intervals to the columns of the bounds.

use super::ArmLearner;
use crate::guarded::Shell;
use crate::interval::Count;
use crate::optimism::Optimism;

impl ArmLearner {
    /// Rebuilds all columns and forgets warm starts: the set of columns changed.
    pub(super) fn refresh_all(&mut self, shell: &Shell) {
        let columns = shell.arms.offered().len();
        let safe = shell.arms.column(shell.safe).unwrap_or(0);
        self.plan.resize(columns, safe);
        self.refresh_columns(shell);
        self.plan.planner.changed_all(&self.plan.bounds);
    }

    /// Rebuilds all columns, the safe one first: margins come from it, and spreads from margins.
    pub(super) fn refresh_columns(&mut self, shell: &Shell) {
        self.write_costs(shell, self.plan.bounds.safe, shell.safe);
        let settled = self.t_zero.as_ref().and_then(|rule| rule.margin());
        self.plan.bounds.update_margins(settled);
        self.alpha = self.checked.config.optimism.paper_alpha(
            self.plan.bounds.thresholds.first().copied().unwrap_or(1.0),
            self.plan.bounds.paper_margin,
        );
        for (column, &arm) in shell.arms.offered().iter().enumerate() {
            self.write_costs(shell, column, arm);
            let count = Count::new(self.estimates.count(arm, 0));
            self.write_reward(shell, column, arm, &count);
        }
    }

    /// Writes what one column says about the reward; after its costs, which D is made from.
    #[inline(always)]
    pub(super) fn write_reward(&mut self, shell: &Shell, column: usize, arm: usize, count: &Count) {
        match self.alpha {
            Some(alpha) => {
                let (centre, radius) = self.estimates.centre_and_radius(arm, count);
                self.plan
                    .planner
                    .set_paper_reward(column, centre, alpha * radius);
            }
            None => {
                self.plan.bounds.reward_upper[column] = self.estimates.ends(arm, 0).upper;
                if self.checked.config.optimism == Optimism::Index {
                    self.write_means(shell, column, arm);
                }
                self.plan.bounds.update_spread(column);
            }
        }
    }

    /// Writes the means of one column; after its bounds.
    #[inline(never)]
    fn write_means(&mut self, shell: &Shell, column: usize, arm: usize) {
        let (safe, estimates) = (shell.safe, &self.estimates);
        let middle = 0.5 * self.plan.bounds.reward_upper[column];
        self.plan.bounds.reward_mean[column] = estimates.mean(arm, 0).unwrap_or(middle);
        for (i, guardrail) in shell.problem.guardrails.iter().enumerate() {
            let (l, u) = (
                self.plan.bounds.cost_lower[i][column],
                self.plan.bounds.cost_upper[i][column],
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
            self.plan.bounds.cost_mean[i][column] = cost.max(l).min(u);
        }
    }

    /// Writes the cost bounds of one column.
    #[inline(always)]
    pub(super) fn write_costs(&mut self, shell: &Shell, column: usize, arm: usize) {
        if self.safe_matters || arm == shell.safe {
            return self.write_relative_costs(shell, column, arm);
        }
        for i in 0..shell.problem.guardrails.len() {
            let ends = self.estimates.ends(arm, i + 1);
            self.plan.bounds.cost_lower[i][column] = ends.lower;
            self.plan.bounds.cost_upper[i][column] = ends.upper;
        }
    }

    /// [`ArmLearner::write_costs`] where the safe action may come into it.
    #[inline(never)]
    fn write_relative_costs(&mut self, shell: &Shell, column: usize, arm: usize) {
        let is_safe = arm == shell.safe;
        for (i, guardrail) in shell.problem.guardrails.iter().enumerate() {
            let own = self.estimates.ends(arm, i + 1);
            let (lower, upper) = match guardrail.safe_cost {
                Some(known) if is_safe => (known, known),
                _ if guardrail.factor == 0.0 && !is_safe => (own.lower, own.upper),
                _ => self.relative_bounds(shell, i, arm),
            };
            self.plan.bounds.cost_lower[i][column] = lower;
            self.plan.bounds.cost_upper[i][column] = upper;
        }
    }

    /// Cost bounds that depend on the safe action's estimates.
    fn relative_bounds(&self, shell: &Shell, i: usize, arm: usize) -> (f64, f64) {
        let is_safe = arm == shell.safe;
        let own = self.estimates.ends(arm, i + 1);
        let safe = self.estimates.ends(shell.safe, i + 1);
        let mut bounds = shell.problem.guardrails[i].cost_bounds(
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
