//! From arms and their intervals to the columns of the bounds.

use super::ArmLearner;
use crate::arm_estimate::Estimate;
use crate::guarded::Shell;
use crate::interval::{Count, Interval};
use crate::optimism::Optimism;

impl ArmLearner {
    /// Rebuilds all columns and forgets warm starts: the set of columns changed.
    pub(super) fn refresh_all(&mut self, shell: &Shell) {
        let columns = shell.arms.offered().len();
        let safe = shell.arms.column(shell.safe).unwrap_or(0);
        self.plan.resize(columns, safe);
        self.plan.take_floors(shell, self.checked.config.floor);
        self.refresh_columns(shell);
        self.plan.planner.changed_all(&self.plan.bounds);
    }

    /// Rebuilds all columns, the safe one first: margins come from it, and spreads from margins.
    pub(super) fn refresh_columns(&mut self, shell: &Shell) {
        self.indexed = self.known(shell);
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

    /// t: outcomes that the estimates of the arms on offer rest on, with those that wait, down to five binary digits,
    /// where optimism goes by them. When it grows, so do the indices of arms that are not played.
    pub(super) fn known(&self, shell: &Shell) -> u64 {
        if self.checked.config.optimism != Optimism::Index {
            return 0;
        }
        let arms = shell.arms.offered().iter();
        let known: u64 = arms.map(|&arm| self.drawn(arm)).sum();
        let digits = known.max(1).ilog2().saturating_sub(4);
        known >> digits << digits
    }

    fn drawn(&self, arm: usize) -> u64 {
        self.waiting.drawn(self.estimates.known(arm), arm)
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
                if self.checked.config.optimism == Optimism::Index {
                    let each = self.indexed as f64 / shell.arms.offered().len() as f64;
                    let own = (arm, self.drawn(arm));
                    let bounds = &mut self.plan.bounds;
                    bounds.write_indices(&shell.problem, &self.estimates, own, column, each);
                } else {
                    self.plan.bounds.reward_upper[column] = self.estimates.ends(arm, 0).upper;
                }
                self.plan.bounds.update_spread(column);
            }
        }
    }

    /// Writes the cost bounds of one column.
    #[inline(always)]
    pub(super) fn write_costs(&mut self, shell: &Shell, column: usize, arm: usize) {
        for (i, guardrail) in shell.problem.guardrails.iter().enumerate() {
            let (lower, upper) = match guardrail.safe_cost {
                Some(known) if arm == shell.safe => (known, known),
                _ if self.safe_matters => self.relative_bounds(shell, i, arm),
                _ => {
                    let ends = self.estimates.ends(arm, i + 1);
                    (ends.lower, ends.upper)
                }
            };
            self.plan.bounds.cost_lower[i][column] = lower;
            self.plan.bounds.cost_upper[i][column] = upper;
        }
    }

    /// Cost bounds that depend on the safe action's estimates.
    fn relative_bounds(&self, shell: &Shell, i: usize, arm: usize) -> (f64, f64) {
        let is_safe = arm == shell.safe;
        let ends = |arm: usize, signal: usize| Some(self.estimates.ends(arm, signal));
        let mut bounds = self.compared(shell, i, arm, ends).unwrap_or((0.0, 1.0));
        if let (true, Some(rule)) = (is_safe, &self.t_zero) {
            // Claims take the safe action's own ends back out of it, and need one that is no higher.
            let is_relative = shell.problem.guardrails[i].factor != 0.0;
            let settled = rule.upper(i).filter(|&own| !is_relative || own < bounds.1);
            bounds.1 = settled.unwrap_or(bounds.1);
            bounds.0 = bounds.0.min(bounds.1);
        }
        bounds
    }

    /// Cost bounds under a guardrail that is relative to the safe action, from intervals of signals by arm.
    pub(super) fn compared(
        &self,
        shell: &Shell,
        i: usize,
        arm: usize,
        ends: impl Fn(usize, usize) -> Option<Interval>,
    ) -> Option<(f64, f64)> {
        let (guardrail, is_safe) = (&shell.problem.guardrails[i], arm == shell.safe);
        let of = |arm: usize, signal: usize, unit: f64| {
            ends(arm, signal).map(|own| (own.lower * unit, own.upper * unit))
        };
        let (own, safe) = (of(arm, i + 1, 1.0)?, of(shell.safe, i + 1, 1.0)?);
        let Some(per) = guardrail.per else {
            return Some(guardrail.cost_bounds(own, safe, is_safe));
        };
        let unit = shell.problem.signal_of(arm, per).1.unit();
        let per = (of(arm, per, unit)?, of(shell.safe, per, unit)?);
        Some(guardrail.ratio_bounds(own, safe, Some(per).filter(|_| !is_safe)))
    }

    /// An arm under a ratio relative to the safe action's, as certificates show it: its excess.
    pub(super) fn excess(&self, shell: &Shell, i: usize, arm: usize) -> Estimate {
        let shown = shell.problem.guardrails[i].shown();
        let mean = |arm: usize, signal: usize| {
            let lower = self.estimates.mean(arm, signal)?;
            let upper = lower;
            Some(Interval { lower, upper })
        };
        let mean = self.compared(shell, i, arm, mean);
        let mean = mean.map(|(mean, _)| shown.cost(mean));
        let (lower, upper) = self.relative_bounds(shell, i, arm);
        let (a, b) = (shown.cost(lower), shown.cost(upper));
        Estimate {
            mean,
            lower: a.min(b),
            upper: a.max(b),
        }
    }
}
