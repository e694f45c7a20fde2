//! From the sets of all arms to a policy in the context.

use super::OplbPerArm;
use super::arm::Frame;
use crate::certificate::Answer;
use crate::decision::{Decision, Fallback};
use crate::linear::Ends;

impl OplbPerArm {
    /// Publishes the policy for the context, with its certificate.
    ///
    /// Never fails: without a provable margin in this context, before the first context, or if the solver's answer does
    /// not check, the policy is the safe arm, and the certificate says so.
    pub fn decide(&mut self) -> &Decision {
        self.begin_decision();
        self.write_bounds();
        let reason = if self.monitor.forces_safe() {
            Some(Fallback::Alarm)
        } else if self.context.is_none() || !self.bounds.has_margin() {
            Some(Fallback::MarginNotProven)
        } else {
            self.plan()
        };
        if let Some(reason) = reason {
            self.publish_safe(reason);
        }
        &self.decision
    }

    /// The safe arm alone, for a reason that lies outside.
    pub(super) fn decide_safe(&mut self, reason: Fallback) -> &Decision {
        self.begin_decision();
        self.write_bounds();
        self.publish_safe(reason);
        &self.decision
    }

    fn begin_decision(&mut self) {
        self.decision.outcomes = self.outcomes - self.monitor.forgotten();
        self.decision.alarm = self.monitor.foremost();
    }

    /// Ends of a signal of an arm in the context, in standard units: a declared safe cost holds in every one.
    pub(super) fn ends(&mut self, arm: usize) -> Vec<Ends> {
        let mut every = vec![Ends::UNKNOWN; self.signals.len()];
        let frame = Frame {
            checked: &self.checked,
            signals: &self.signals,
            numbers: self.numbers,
        };
        let context = &self.rows[arm][1..];
        self.arms[arm].view(frame, context, &mut self.room, |signal, ends| {
            every[signal] = ends
        });
        if arm == self.problem.declared.safe {
            for (i, guardrail) in self.problem.guardrails.iter().enumerate() {
                if let Some(known) = guardrail.safe_cost {
                    every[i + 1] = Ends {
                        lower: known,
                        mean: known,
                        upper: known,
                    };
                }
            }
        }
        every
    }

    /// Writes the bounds of every column, the safe one first: margins come from it.
    fn write_bounds(&mut self) {
        let (safe, column) = (self.problem.declared.safe, self.bounds.safe);
        let own = self.ends(safe);
        self.write_column(column, &own, &own);
        self.bounds.update_margins(None);
        for column in 0..self.columns.len() {
            let arm = self.columns[column];
            if arm != safe {
                let ends = self.ends(arm);
                self.write_column(column, &ends, &own);
            }
        }
        self.bounds.update_spreads();
    }

    /// Writes one column from the ends of its arm and of the safe one.
    fn write_column(&mut self, column: usize, ends: &[Ends], safe: &[Ends]) {
        let bounds = &mut self.bounds;
        bounds.reward_upper[column] = ends[0].upper;
        for (i, guardrail) in self.problem.guardrails.iter().enumerate() {
            let (own, safe) = (ends[i + 1], safe[i + 1]);
            let (lower, upper) = guardrail.cost_bounds(
                (own.lower, own.upper),
                (safe.lower, safe.upper),
                column == bounds.safe,
            );
            bounds.cost_lower[i][column] = lower;
            bounds.cost_upper[i][column] = upper;
        }
    }

    /// Solves for the policy; the reason if it does not check.
    fn plan(&mut self) -> Option<Fallback> {
        self.planner.changed_all(&self.bounds);
        self.planner.plan(&self.bounds);
        let free = Answer::from(self.planner.planned());
        let value = self.planner.safe_value(&self.bounds);
        let answer = self.floor.mix(free, &self.bounds, value);
        if !answer.is_within(&self.bounds.thresholds) {
            return Some(answer.failure());
        }
        self.decision.policy.clear();
        let support = answer
            .support
            .iter()
            .map(|&(column, p)| (self.columns[column], p));
        self.decision.policy.extend(support);
        self.certifier.certify(&answer, &mut self.decision);
        None
    }

    #[cold]
    fn publish_safe(&mut self, reason: Fallback) {
        let column = self.bounds.safe;
        let value = self.bounds.reward_upper[column];
        let cost = |i: usize| self.bounds.cost_upper[i][column];
        (self.certifier).certify_safe(
            &self.problem,
            self.problem.declared.safe,
            value,
            cost,
            reason,
            &mut self.decision,
        );
    }
}
