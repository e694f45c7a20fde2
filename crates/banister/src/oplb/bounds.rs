//! From estimates to bounds: the safe action's, then an interval for every signal of every action.

use banister_solve::dense;

use super::FeatureLearner;
use super::width::Width;
use crate::linear::{index_width, sigmoid, upper_end};
use crate::optimism::Optimism;

/// The safe action's own bounds, in standard units.
pub(super) struct SafeReward {
    /// ⟨x_0, θ̂⟩ in standard units.
    centre: f64,
    /// ‖x_0‖ in Σ⁻¹.
    length: f64,
    /// Upper end of its interval, not clipped.
    upper: f64,
}

impl SafeReward {
    /// Upper bound on its reward.
    pub(super) fn upper_end(&self) -> f64 {
        upper_end(self.upper)
    }
}

impl FeatureLearner {
    /// Writes the safe action's cost bounds and the margins they leave.
    pub(super) fn write_safe(&mut self) -> SafeReward {
        let column = self.evidence.actions.safe;
        for (i, guardrail) in self.evidence.problem.guardrails.iter().enumerate() {
            let (lower, upper) = match guardrail.safe_cost {
                Some(known) => (known, known),
                None => {
                    let (lower, upper) = self.safe_interval(i);
                    let own = if lower <= upper {
                        (lower, upper)
                    } else {
                        // They contradict each other, and an outcome of the safe action raises the alarm.
                        self.own_interval(i)
                    };
                    guardrail.cost_bounds(own, own, true)
                }
            };
            self.plan.bounds.cost_lower[i][column] = lower;
            self.plan.bounds.cost_upper[i][column] = upper;
        }
        let (length, centre) = self
            .evidence
            .regression
            .along(0, self.evidence.space.safe_length);
        let reach = self.safe_reach(0, length);
        let (length, mut centre) = (length.abs(), centre + self.evidence.signals[0].offset);
        let mut upper = centre + reach;
        if self.is_linked(0) {
            (centre, upper) = (self.linked_safe[0].mean, self.linked_safe[0].upper);
        }
        let settled = self.t_zero.as_ref().and_then(|rule| rule.margin());
        self.plan.bounds.update_margins(settled);
        SafeReward {
            centre,
            length,
            upper,
        }
    }

    /// Half-width of a signal's interval at x_0, given its whitened length.
    fn safe_reach(&self, signal: usize, length: f64) -> f64 {
        let solved = self.evidence.regression.along_solved(length);
        let rounding = self.rounding_beside(signal) * length.abs();
        self.width(signal).at(length * length, solved) + rounding
    }

    /// The interval of the safe action's own y under guardrail i: the regression's, and beside it a
    /// scalar one, since the regression alone may never prove a margin.
    pub(super) fn safe_interval(&self, i: usize) -> (f64, f64) {
        let (length, centre) = self
            .evidence
            .regression
            .along(i + 1, self.evidence.space.safe_length);
        let centre = centre + self.evidence.signals[i + 1].offset;
        let reach = self.safe_reach(i + 1, length);
        let (mut lower, mut upper) = if self.is_linked(i + 1) {
            (self.linked_safe[i + 1].lower, self.linked_safe[i + 1].upper)
        } else {
            (centre - reach, centre + reach)
        };
        match (&self.t_zero, &self.safe_estimates) {
            (Some(rule), _) => upper = upper.min(rule.upper(i).unwrap_or(1.0)),
            (None, Some(estimates)) => {
                let own = estimates.ends(0, i + 1);
                lower = lower.max(own.lower);
                upper = upper.min(own.upper);
            }
            (None, None) => {}
        }
        (lower, upper)
    }

    /// The interval of the safe action's own y from its own outcomes alone.
    fn own_interval(&self, i: usize) -> (f64, f64) {
        let own = self.safe_estimates.as_ref().map(|e| e.ends(0, i + 1));
        own.map_or((0.0, 1.0), |own| (own.lower, own.upper))
    }

    /// ρ = α_r β: enough bonus for the lemma, which needs (ρ − β) ≥ 2κ_i/Δ_i for every guardrail;
    /// the paper's α_r = 1 + 2/min_i Δ_i where all radii are β.
    pub(super) fn reward_radius(&self) -> f64 {
        let beta = self.radius(0);
        let settled = self.t_zero.as_ref().and_then(|rule| rule.margin());
        let mut bonus = 0.0_f64;
        for (i, &margin) in self.plan.bounds.margins.iter().enumerate() {
            let margin = settled.unwrap_or(margin);
            bonus = bonus.max(2.0 * self.radius(i + 1).max(beta) / margin);
        }
        beta + bonus
    }

    /// Writes an interval for every signal of every action.
    pub(super) fn write_bounds(&mut self, safe: &SafeReward) {
        let (count, column) = (self.evidence.actions.count, self.evidence.actions.safe);
        let means = &self.evidence.actions.columns.means;
        let squares = &self.evidence.actions.columns.squares;
        let solved = &self.evidence.actions.solved;
        let offered = (&self.evidence.actions, &self.evidence.space);
        for (i, guardrail) in self.evidence.problem.guardrails.iter().enumerate() {
            let (lower, upper) = (
                self.plan.bounds.cost_lower[i][column],
                self.plan.bounds.cost_upper[i][column],
            );
            let side = usize::from(self.evidence.regression.is_whole(i + 1));
            let offset = self.evidence.signals[i + 1].offset;
            let (width, reach) = (self.width(i + 1), self.reach_of(i + 1));
            let rounding = self.rounding_beside(i + 1);
            let (lowers, uppers) = (
                &mut self.plan.bounds.cost_lower[i][..count],
                &mut self.plan.bounds.cost_upper[i][..count],
            );
            match (&mut self.logits[i + 1], width) {
                (Some(logit), _) => logit.view_all(reach, offered, |a, [lower, upper]| {
                    (lowers[a], uppers[a]) = (sigmoid(lower), sigmoid(upper));
                }),
                (None, Width::Ellipsoid(radius)) => {
                    let (means, squares) = (&means[i + 1], &squares[side]);
                    dense::both_ends(means, offset, squares, radius, lowers, uppers);
                }
                (None, Width::Levels(widths)) => {
                    let (means, squares, solved) = (&means[i + 1], &squares[side], &solved[side]);
                    dense::both_ends_within(
                        means, offset, squares, solved, &widths, lowers, uppers,
                    );
                }
            }
            if rounding > 0.0 {
                for a in 0..count {
                    let reach = rounding * squares[1][a].sqrt();
                    // Written so that NaN says nothing.
                    self.plan.bounds.cost_lower[i][a] =
                        (self.plan.bounds.cost_lower[i][a] - reach).max(0.0);
                    self.plan.bounds.cost_upper[i][a] =
                        (self.plan.bounds.cost_upper[i][a] + reach).min(1.0);
                }
            }
            if guardrail.factor != 0.0 {
                // (1 − f)·y_0 has ends (lower, upper): y_0 itself.
                let own = guardrail.safe_from_cost((lower, upper));
                for a in 0..count {
                    let ends = (
                        self.plan.bounds.cost_lower[i][a],
                        self.plan.bounds.cost_upper[i][a],
                    );
                    let (l, u) = guardrail.cost_bounds(ends, own, false);
                    self.plan.bounds.cost_lower[i][a] = l;
                    self.plan.bounds.cost_upper[i][a] = u;
                }
            }
            self.plan.bounds.cost_lower[i][column] = lower;
            self.plan.bounds.cost_upper[i][column] = upper;
        }
        let offset = self.evidence.signals[0].offset;
        if self.checked.optimism == Optimism::Paper {
            let rho = self.reward_radius();
            let v = &mut self.plan.planner.paper_rewards()[..count];
            dense::reach(&means[0], offset, &squares[1], rho, v);
            v[column] = safe.centre + rho * safe.length;
        } else {
            let (width, reach) = (self.width(0), self.reach_of(0));
            let rounding = self.rounding_beside(0);
            let upper = &mut self.plan.bounds.reward_upper[..count];
            match (&mut self.logits[0], width) {
                (Some(logit), _) => logit.view_all(reach, offered, |a, [_, most]| {
                    upper[a] = sigmoid(most);
                }),
                (None, Width::Ellipsoid(beta)) => {
                    dense::upper_ends(&means[0], offset, &squares[1], beta, upper);
                }
                (None, Width::Levels(widths)) => {
                    let (squares, solved) = (&squares[1], &solved[1]);
                    dense::upper_ends_within(&means[0], offset, squares, solved, &widths, upper);
                }
            }
            if rounding > 0.0 {
                for (upper, square) in upper.iter_mut().zip(&squares[1]) {
                    *upper = (*upper + rounding * square.sqrt()).min(1.0);
                }
            }
            self.plan.bounds.reward_upper[column] = safe.upper_end();
            if self.checked.optimism == Optimism::Index {
                self.write_indices();
            }
            self.plan.bounds.update_spreads();
        }
        self.plan.planner.changed_all(&self.plan.bounds);
    }

    /// Replaces U and l by indices between them and the means. Upper ends of costs stay: safety rests on them.
    fn write_indices(&mut self) {
        let (count, column) = (self.evidence.actions.count, self.evidence.actions.safe);
        let (t, columns) = (
            self.evidence.outcomes as f64,
            &self.evidence.actions.columns,
        );
        for (signal, own) in self.evidence.signals.iter().enumerate() {
            let guardrail = signal.checked_sub(1);
            let relative =
                guardrail.is_some_and(|i| self.evidence.problem.guardrails[i].factor != 0.0);
            if self.is_linked(signal) || relative {
                continue;
            }
            let side = usize::from(self.evidence.regression.is_whole(signal));
            for a in 0..count {
                let mean = columns.means[signal][a] + own.offset;
                let width = index_width(own.r, t, columns.squares[side][a]);
                let bounds = &mut self.plan.bounds;
                // Written so that NaN says nothing.
                match guardrail {
                    None => {
                        let upper = &mut bounds.reward_upper[a];
                        *upper = upper.min((mean + width).max(0.0));
                    }
                    Some(_) if a == column => {}
                    Some(i) => {
                        let lower = &mut bounds.cost_lower[i][a];
                        *lower = lower.max(mean - width).min(bounds.cost_upper[i][a]);
                    }
                }
            }
        }
    }
}
