//! From estimates to a policy: one linear program, or exact OPLB.

use banister_solve::{ConeLimits, ConeProblem, Status, dense};

use super::kept::Kept;
use super::linked::view_actions;
use super::width::Width;
use super::{Oplb, Solver};
use crate::certificate::{Answer, Certifier};
use crate::decision::{Decision, Fallback};
use crate::linear::upper_end;
use crate::optimism::Optimism;

/// The safe action's own bounds, in standard units.
struct SafeReward {
    /// ⟨x_0, θ̂⟩ in standard units.
    centre: f64,
    /// ‖x_0‖ in Σ⁻¹.
    length: f64,
    /// Upper end of its interval, not clipped.
    upper: f64,
}

impl Oplb {
    /// Publishes the policy for the next round, with its certificate.
    ///
    /// Never fails: without a provable margin, or if the solver's answer does not check, the policy
    /// is the safe action, and the certificate says so.
    pub fn decide(&mut self) -> &Decision {
        self.decide_until(None)
    }

    /// [`Oplb::decide`] with a clock: when `stop` says so, `exact` settles for the best policy found
    /// and its proven gap.
    pub fn decide_until(&mut self, stop: Option<&mut dyn FnMut() -> bool>) -> &Decision {
        self.begin_decision();
        let is_finished = stop.is_none() || self.decision.solver.status == Status::Optimal;
        if let Some(kept) = self.kept
            && is_finished
            && !self.monitor.forces_safe()
            && kept.serves(self)
        {
            return &self.decision;
        }
        self.kept = None;
        let safe = self.write_safe();
        if self.monitor.forces_safe() {
            self.publish_safe(&safe, Fallback::Alarm);
            return &self.decision;
        }
        let settled = self.t_zero.as_ref().is_none_or(|rule| rule.is_settled());
        if !settled || !self.bounds.has_margin() {
            self.publish_safe(&safe, Fallback::MarginNotProven);
            return &self.decision;
        }
        if !self.evidence.is_reliable() {
            self.publish_safe(&safe, Fallback::IllConditioned);
            return &self.decision;
        }
        self.evidence.update_actions();
        let failure = match self.checked.config.solver {
            Solver::Linearised => self.decide_linearised(&safe),
            Solver::Exact => self.decide_exact(&safe, stop),
        };
        match failure {
            Some(reason) => self.publish_safe(&safe, reason),
            None => self.kept = Some(Kept::now(self)),
        }
        &self.decision
    }

    /// The safe action alone, for a reason that lies outside.
    pub(super) fn decide_safe(&mut self, reason: Fallback) -> &Decision {
        self.begin_decision();
        self.kept = None;
        let safe = self.write_safe();
        self.publish_safe(&safe, reason);
        &self.decision
    }

    /// Writes what does not depend on the policy.
    fn begin_decision(&mut self) {
        self.decision.outcomes = self.evidence.outcomes - self.monitor.forgotten();
        self.decision.alarm = self.monitor.foremost();
    }

    /// Writes the safe action's cost bounds and the margins they leave.
    fn write_safe(&mut self) -> SafeReward {
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
            self.bounds.cost_lower[i][column] = lower;
            self.bounds.cost_upper[i][column] = upper;
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
        self.bounds.update_margins(settled);
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
    fn reward_radius(&self) -> f64 {
        let beta = self.radius(0);
        let settled = self.t_zero.as_ref().and_then(|rule| rule.margin());
        let mut bonus = 0.0_f64;
        for (i, &margin) in self.bounds.margins.iter().enumerate() {
            let margin = settled.unwrap_or(margin);
            bonus = bonus.max(2.0 * self.radius(i + 1).max(beta) / margin);
        }
        beta + bonus
    }

    /// An interval per action, then the planner that serves all agents.
    fn decide_linearised(&mut self, safe: &SafeReward) -> Option<Fallback> {
        let (count, column) = (self.evidence.actions.count, self.evidence.actions.safe);
        let means = &self.evidence.actions.columns.means;
        let squares = &self.evidence.actions.columns.squares;
        let solved = &self.evidence.actions.solved;
        for (i, guardrail) in self.evidence.problem.guardrails.iter().enumerate() {
            let (lower, upper) = (
                self.bounds.cost_lower[i][column],
                self.bounds.cost_upper[i][column],
            );
            let side = usize::from(self.evidence.regression.is_whole(i + 1));
            let (means, offset) = (&means[i + 1], self.evidence.signals[i + 1].offset);
            let width = self.width(i + 1);
            let rounding = self.rounding_beside(i + 1);
            let (lowers, uppers) = (
                &mut self.bounds.cost_lower[i][..count],
                &mut self.bounds.cost_upper[i][..count],
            );
            match width {
                Width::Ellipsoid(radius) => {
                    dense::both_ends(means, offset, &squares[side], radius, lowers, uppers);
                }
                Width::Levels(widths) => {
                    let (squares, solved) = (&squares[side], &solved[side]);
                    dense::both_ends_within(
                        means, offset, squares, solved, &widths, lowers, uppers,
                    );
                }
            }
            if rounding > 0.0 {
                for a in 0..count {
                    let reach = rounding * squares[1][a].sqrt();
                    // Written so that NaN says nothing.
                    self.bounds.cost_lower[i][a] = (self.bounds.cost_lower[i][a] - reach).max(0.0);
                    self.bounds.cost_upper[i][a] = (self.bounds.cost_upper[i][a] + reach).min(1.0);
                }
            }
            let reach = self.reach_of(i + 1);
            if let Some(logit) = &mut self.logits[i + 1] {
                view_actions(logit, &self.evidence, reach, |a, ends| {
                    self.bounds.cost_lower[i][a] = ends.lower;
                    self.bounds.cost_upper[i][a] = ends.upper;
                });
            }
            if guardrail.factor != 0.0 {
                // (1 − f)·y_0 has ends (lower, upper): y_0 itself.
                let own = guardrail.safe_from_cost((lower, upper));
                for a in 0..count {
                    let ends = (self.bounds.cost_lower[i][a], self.bounds.cost_upper[i][a]);
                    let (l, u) = guardrail.cost_bounds(ends, own, false);
                    self.bounds.cost_lower[i][a] = l;
                    self.bounds.cost_upper[i][a] = u;
                }
            }
            self.bounds.cost_lower[i][column] = lower;
            self.bounds.cost_upper[i][column] = upper;
        }
        let offset = self.evidence.signals[0].offset;
        if self.checked.optimism == Optimism::Paper {
            let rho = self.reward_radius();
            let v = &mut self.planner.paper_rewards()[..count];
            dense::reach(&means[0], offset, &squares[1], rho, v);
            v[column] = safe.centre + rho * safe.length;
        } else {
            let (width, rounding) = (self.width(0), self.rounding_beside(0));
            let upper = &mut self.bounds.reward_upper[..count];
            match width {
                Width::Ellipsoid(beta) => {
                    dense::upper_ends(&means[0], offset, &squares[1], beta, upper);
                }
                Width::Levels(widths) => {
                    let (squares, solved) = (&squares[1], &solved[1]);
                    dense::upper_ends_within(&means[0], offset, squares, solved, &widths, upper);
                }
            }
            if rounding > 0.0 {
                for (upper, square) in upper.iter_mut().zip(&squares[1]) {
                    *upper = (*upper + rounding * square.sqrt()).min(1.0);
                }
            }
            let reach = self.reach_of(0);
            if let Some(logit) = &mut self.logits[0] {
                view_actions(logit, &self.evidence, reach, |a, ends| {
                    self.bounds.reward_upper[a] = ends.upper;
                });
            }
            self.bounds.reward_upper[column] = upper_end(safe.upper);
            self.bounds.update_spreads();
        }
        self.planner.changed_all(&self.bounds);
        self.planner.plan(&self.bounds);
        let free = Answer::from(self.planner.planned());
        let value = self.planner.safe_value(&self.bounds);
        let answer = self.floor.mix(free, &self.bounds, value);
        publish(
            &self.certifier,
            &answer,
            &self.bounds.thresholds,
            &mut self.decision,
        )
    }

    /// The paper's bounds on whole policies, maximised to a certificate.
    ///
    /// Where some safe cost is unknown, the safe action's column of Z is zero and its cost and reward
    /// are its own upper bounds: a policy's cost is at most π_0 u_0 plus the ellipsoid's bound on the
    /// rest of it. The bonus that the lemma asks for that part is linear in the policy too.
    fn decide_exact(
        &mut self,
        safe: &SafeReward,
        stop: Option<&mut dyn FnMut() -> bool>,
    ) -> Option<Fallback> {
        let (count, column) = (self.evidence.actions.count, self.evidence.actions.safe);
        let (stride, rho) = (self.evidence.actions.stride, self.reward_radius());
        let hidden = self.safe_estimates.is_some();
        let columns = &self.evidence.actions.columns;
        let exact = &mut self.exact;
        let offset = self.evidence.signals[0].offset;
        exact.reward.clear();
        exact
            .reward
            .extend(columns.means[0][..count].iter().map(|mean| mean + offset));
        let mut own_bonus = 0.0_f64;
        let mut others_bonus = 0.0_f64;
        for (i, guardrail) in self.evidence.problem.guardrails.iter().enumerate() {
            let (lower, upper) = (
                self.bounds.cost_lower[i][column],
                self.bounds.cost_upper[i][column],
            );
            let offset = self.evidence.signals[i + 1].offset;
            // A relative guardrail's cost takes away f times the least that y_0 can be.
            let own = guardrail.safe_from_cost((lower, upper));
            let taken = guardrail.factor * own.0;
            let row = &mut exact.costs[i];
            row.clear();
            row.extend(
                columns.means[i + 1][..count]
                    .iter()
                    .map(|mean| mean + offset - taken),
            );
            row[column] = upper;
            let margin = self.bounds.margins[i];
            own_bonus = own_bonus.max((upper - lower) / margin);
            others_bonus = others_bonus.max(guardrail.factor * (own.1 - own.0) / margin);
        }
        if others_bonus > 0.0 {
            exact.reward.iter_mut().for_each(|a| *a += others_bonus);
        }
        if hidden {
            self.exact.reward[column] = upper_end(safe.upper) + own_bonus;
        }
        for i in 0..self.evidence.problem.guardrails.len() {
            self.exact.radii[i] = self.radius(i + 1);
            let rounding = self.rounding(i + 1);
            if rounding > 0.0 {
                // In proportion to single actions, however short their mixture.
                let squares = &self.evidence.actions.columns.squares[1];
                for (a, cost) in self.exact.costs[i].iter_mut().enumerate() {
                    if a != column {
                        *cost += rounding * squares[a].sqrt();
                    }
                }
            }
        }
        let exact = &mut self.exact;
        exact.zeros.resize(count, 0.0);
        let (d, p) = (self.evidence.space.dimension, self.evidence.space.across);
        let rows = if hidden { d } else { p };
        let whitened = &self.evidence.actions.columns.whitened;
        let problem = ConeProblem {
            reward: &exact.reward,
            reward_radius: rho,
            along: if rows < d {
                &whitened[p * stride..][..count]
            } else {
                &exact.zeros[..count]
            },
            across: &whitened[..rows * stride],
            stride,
            dimension: rows,
            costs: &exact.costs,
            cost_radii: &exact.radii,
            thresholds: &self.bounds.thresholds,
            safe: column,
        };
        let mut limits = ConeLimits {
            relative_gap: self.checked.config.relative_gap,
            work: self.checked.config.max_work,
            stop,
        };
        let answer = Answer::from(exact.solver.solve(&problem, &mut limits));
        publish(
            &self.certifier,
            &answer,
            &self.bounds.thresholds,
            &mut self.decision,
        )
    }

    #[cold]
    fn publish_safe(&mut self, safe: &SafeReward, reason: Fallback) {
        let column = self.evidence.actions.safe;
        let value = upper_end(safe.upper);
        let cost = |i: usize| self.bounds.cost_upper[i][column];
        (self.certifier).certify_safe(
            &self.evidence.problem,
            column,
            value,
            cost,
            reason,
            &mut self.decision,
        );
    }
}

/// Publishes an answer if it checks, else says why it does not.
fn publish(
    certifier: &Certifier,
    answer: &Answer,
    thresholds: &[f64],
    decision: &mut Decision,
) -> Option<Fallback> {
    if !answer.is_within(thresholds) {
        return Some(answer.failure());
    }
    decision.policy.clear();
    decision.policy.extend_from_slice(answer.support);
    certifier.certify(answer, decision);
    None
}
