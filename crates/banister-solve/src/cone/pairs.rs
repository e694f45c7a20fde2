//! Single actions and pairs of actions: (V) and (P) of the theorem.

use super::pair_passes;
use super::passes::{self, BLOCK};
use super::problem::ConeProblem;
use super::scaled::ScaledProblem;
use super::search::{Search, WorkBudget};

/// The pair scan and its workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pairs {
    /// Actions by falling bound, as far as it is above the target.
    order: Vec<usize>,
    gram: Vec<f64>,
    values: Vec<f64>,
    anchor: Vec<f64>,
}

impl Pairs {
    /// The best feasible action, and every action mixed with the safe one.
    pub(crate) fn vertices(
        &mut self,
        problem: &ConeProblem<'_>,
        scaled: &ScaledProblem,
        search: &mut Search,
    ) {
        let feasible = (0..scaled.actions).filter(|&a| scaled.is_slack(a));
        if let Some(a) = feasible.max_by(|&a, &b| scaled.value[a].total_cmp(&scaled.value[b])) {
            search.offer(problem, [(a, 1.0)].into_iter());
        }
        self.anchor.clear();
        self.anchor.reserve(scaled.dimension);
        self.gram.clear();
        self.gram.resize(scaled.reward.len(), 0.0);
        self.values.resize(scaled.reward.len(), 0.0);
        self.scan_row(problem, scaled, scaled.safe, search);
    }

    /// Scans the pairs of every action that no bound rules out: a pair is at most the larger
    /// exposure of its two actions (`sweep.rs`), or without a norm the larger objective.
    pub(crate) fn scan(
        &mut self,
        problem: &ConeProblem<'_>,
        scaled: &ScaledProblem,
        exposed: &[f64],
        search: &mut Search,
        budget: &mut WorkBudget<'_, '_>,
    ) {
        let k = scaled.actions;
        let target = search.target();
        let measure = if scaled.cone { exposed } else { &scaled.value };
        self.order.clear();
        self.order.reserve(k);
        self.order.extend((0..k).filter(|&a| measure[a] > target));
        self.order
            .sort_unstable_by(|&a, &b| measure[b].total_cmp(&measure[a]).then(a.cmp(&b)));
        let rest = measure[..k].iter().filter(|&&x| x <= target);
        let rest = rest.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        for at in 0..self.order.len() {
            let i = self.order[at];
            if measure[i] <= search.target() || budget.spend(4 * k as u64) {
                search.dismiss(measure[i]);
                break;
            }
            self.scan_partners(problem, scaled, search, budget, i);
        }
        search.dismiss(rest);
    }

    /// The pairs of i with every other action.
    fn scan_partners(
        &mut self,
        problem: &ConeProblem<'_>,
        scaled: &ScaledProblem,
        search: &mut Search,
        budget: &mut WorkBudget<'_, '_>,
        i: usize,
    ) {
        budget.spend((scaled.actions * (scaled.dimension + 8)) as u64);
        self.anchor.clear();
        self.anchor
            .extend((0..scaled.dimension).map(|j| -scaled.z(j, i)));
        let products = (0.0, 0.0);
        passes::form(&scaled.z, &self.anchor, products, &scaled.u, &mut self.gram);
        self.scan_row(problem, scaled, i, search);
    }

    /// All pairs with action i, whose products with the others are in `gram`.
    fn scan_row(
        &mut self,
        problem: &ConeProblem<'_>,
        scaled: &ScaledProblem,
        i: usize,
        search: &mut Search,
    ) {
        let (end, rows) = (scaled.end(i), scaled.pair_rows(&self.gram));
        search.pairs += scaled.actions as u64 - 1;
        let top = if scaled.cone {
            pair_passes::pairs_cone(&end, &rows, scaled.rho, &mut self.values)
        } else {
            pair_passes::pairs_linear(&end, &rows, scaled.rho, &mut self.values)
        };
        if !(top > search.reached) {
            return;
        }
        for b in (0..self.values.len()).step_by(BLOCK) {
            if passes::top(&self.values[b..b + BLOCK]) <= search.reached {
                continue;
            }
            for j in b..(b + BLOCK).min(scaled.actions) {
                if self.values[j] > search.reached && i != j {
                    let other = scaled.end(j);
                    let (_, w) = if scaled.cone {
                        pair_passes::pair::<true>(&end, &other, self.gram[j], scaled.rho)
                    } else {
                        pair_passes::pair::<false>(&end, &other, self.gram[j], scaled.rho)
                    };
                    search.offer(problem, [(i, 1.0 - w), (j, w)].into_iter());
                }
            }
        }
    }
}
