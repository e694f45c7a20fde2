//! Several guardrails: a revised simplex with m + 1 rows.
//!
//! Rows 0..m are the guardrails with their slacks, row m says that probabilities sum to one. With
//! the safe action known, {safe action, m slacks} is a feasible starting basis, and non-degenerate
//! since the safe action has margin. A warm start refactors the last basis: still feasible, the
//! primal method goes on; dual feasible, the dual method repairs it; else a cold start. Dantzig's
//! rule, Bland's after `DEGENERATE` pivots without progress; the basis is refactored at the end
//! and the final prices are checked against all actions once more, so the bound is the truth and
//! not a relic of updates.
//!
//! Reading order: `basis.rs` (the state and the algebra of a basis), `dual.rs`, `primal.rs`,
//! `phase_one.rs` (no safe action known).

mod basis;
mod dual;
mod phase_one;
mod primal;

pub(crate) use basis::Simplex;

use super::problem::Lp;
use super::solution::Solution;

impl Simplex {
    pub(crate) fn basis(&self) -> &[usize] {
        &self.basis
    }

    pub(crate) fn set_basis(&mut self, basis: &[usize]) {
        self.basis.clear();
        self.basis.extend_from_slice(basis);
    }

    pub(crate) fn solve(&mut self, lp: &Lp<'_>, start: Option<usize>, out: &mut Solution) {
        let meets = |a: usize| (0..lp.costs.len()).all(|i| lp.costs[i][a] <= lp.thresholds[i]);
        match start.filter(|&a| a < lp.reward.len() && meets(a)) {
            Some(a) => self.solve_from(lp, a, out),
            None => self.solve_in_two_phases(lp, out),
        }
    }
}
