//! Exact OPLB: bounds on whole policies.

use banister_solve::{ConeLimits, ConeProblem, ConeSolver};

use super::FeatureLearner;
use super::bounds::SafeReward;
use crate::certificate::Answer;
use crate::decision::Fallback;
use crate::guarded::Shell;

/// Solver of exact OPLB, and room for its program.
#[derive(Debug, Clone, Default)]
pub(super) struct Exact {
    solver: ConeSolver,
    reward: Vec<f64>,
    /// Linear parts of the costs.
    costs: Vec<Vec<f64>>,
    radii: Vec<f64>,
    zeros: Vec<f64>,
}

impl Exact {
    pub(super) fn new(guardrails: usize) -> Self {
        Self {
            costs: vec![Vec::new(); guardrails],
            radii: vec![0.0; guardrails],
            ..Self::default()
        }
    }

    /// Forgets where it stopped.
    pub(super) fn reset(&mut self) {
        self.solver.reset();
    }
}

impl FeatureLearner {
    /// The paper's bounds on whole policies, maximised to a certificate.
    ///
    /// Where some safe cost is unknown, the safe action's column of Z is zero and its cost and reward
    /// are its own upper bounds: a policy's cost is at most π_0 u_0 plus the ellipsoid's bound on the
    /// rest of it. The bonus that the lemma asks for that part is linear in the policy too.
    pub(super) fn plan_exact(
        &mut self,
        shell: &mut Shell,
        safe: &SafeReward,
    ) -> Result<(), Fallback> {
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
                self.plan.bounds.cost_lower[i][column],
                self.plan.bounds.cost_upper[i][column],
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
            let margin = self.plan.bounds.margins[i];
            own_bonus = own_bonus.max((upper - lower) / margin);
            others_bonus = others_bonus.max(guardrail.factor * (own.1 - own.0) / margin);
        }
        if others_bonus > 0.0 {
            exact.reward.iter_mut().for_each(|a| *a += others_bonus);
        }
        if hidden {
            self.exact.reward[column] = safe.upper_end() + own_bonus;
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
            thresholds: &self.plan.bounds.thresholds,
            safe: column,
        };
        let mut limits = ConeLimits {
            relative_gap: self.checked.config.relative_gap,
            work: self.checked.config.max_work,
            stop: None,
        };
        let answer = Answer::from(exact.solver.solve(&problem, &mut limits));
        let evidence = &self.evidence;
        let squares = &evidence.actions.columns.squares[usize::from(hidden)];
        for (i, row) in exact.costs.iter().enumerate() {
            for &(a, _) in answer.support.iter().filter(|own| own.0 != column) {
                let end = row[a] + exact.radii[i] * squares[a].sqrt();
                self.plan.bounds.cost_upper[i][a] = end;
            }
        }
        shell.publish(&answer, &self.plan.bounds, |arms, column| {
            evidence.number(arms, column)
        })
    }
}
