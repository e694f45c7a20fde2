//! Single actions and pairs of actions: (V) and (P) of the theorem.

use super::pair_passes::{self, Line};
use super::passes::{self, BLOCK};
use super::problem::ConeProblem;
use super::scaled::ScaledProblem;
use super::search::{Search, WorkBudget};
use crate::lp::{Chord, climb};

/// A row where more than one pair in this many is left by the screen is crowded.
const MANY: usize = 32;

/// With no more actions than this, solving a row's pairs is as cheap as ruling them out.
pub(super) const SMALL: usize = 16;

/// The pair scan and its workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pairs {
    /// Two lines per action: f_a and a_a + ρ|s_a|, with what they use of the guardrail.
    heights: Vec<f64>,
    uses: Vec<f64>,
    /// F̄_a, one per action.
    bounds: Vec<f64>,
    /// Actions by falling F̄, as far as it is above the target.
    order: Vec<usize>,
    gram: Vec<f64>,
    values: Vec<f64>,
    anchor: Vec<f64>,
    /// True once screening left many pairs of a row: the rows to come are solved at once.
    crowded: bool,
}

impl Pairs {
    /// Chooses λ and computes F̄_a(λ) for all actions; their maximum bounds every policy.
    ///
    /// Policies within the guardrail have f(π) ≤ Σ_a π_a F̄_a(λ) with
    /// F̄_a(λ) = max(f_a − λ(g_a−τ), a_a + ρ|s_a| − λ(w_a−τ)): √(σ² + t²) less a multiple of t is
    /// convex in (σ, t), and (s'π, ‖Zπ‖) is a mixture of points (s_a, ‖Z_a‖) and (s_a, 0). The best
    /// λ is the slope of a concave envelope, which `envelope.rs` knows how to find.
    pub(crate) fn bound(&mut self, scaled: &ScaledProblem) -> f64 {
        let k = scaled.actions;
        self.anchor.clear();
        self.anchor.reserve(scaled.dimension);
        self.heights.clear();
        self.uses.clear();
        self.heights.extend_from_slice(&scaled.value[..k]);
        self.uses.extend(scaled.slack[..k].iter().map(|x| -x));
        if scaled.cone {
            for a in 0..k {
                self.heights
                    .push(scaled.reward[a] + scaled.rho * scaled.along[a].abs());
                self.uses.push(-scaled.u[a]);
            }
        }
        let solved = climb(&self.heights, &self.uses, 0.0, Chord::at(scaled.safe));
        let slope = solved.slope.max(0.0);
        let line = |r: usize| self.heights[r] - slope * self.uses[r];
        self.bounds.clear();
        for a in 0..k {
            let upper = if scaled.cone { line(k + a) } else { line(a) };
            self.bounds.push(line(a).max(upper));
        }
        // Outwards by what the sums may have lost.
        let grain = 1e-14 * (scaled.size + slope * scaled.reach);
        self.bounds.iter_mut().for_each(|x| *x += grain);
        self.bounds.resize(scaled.reward.len(), f64::NEG_INFINITY);
        passes::top(&self.bounds)
    }

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
        self.gram.clear();
        self.gram.resize(scaled.reward.len(), 0.0);
        self.values.resize(scaled.reward.len(), 0.0);
        self.scan_row(problem, scaled, scaled.safe, search);
    }

    /// Scans every pair that no bound rules out, given the sweep's exposure of each action.
    ///
    /// A pair is at most the larger F̄ of its two actions, and at most the larger exposure: it needs
    /// an action above the target in both senses. The smaller of the two sets takes every partner.
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
        let above = |row: &[f64]| row[..k].iter().filter(|&&x| x > target).count();
        let by_exposure = scaled.cone && above(exposed) < above(&self.bounds);
        let measure = if by_exposure { exposed } else { &self.bounds };
        self.crowded = false;
        self.order.clear();
        self.order.reserve(k);
        self.order.extend((0..k).filter(|&a| measure[a] > target));
        self.order
            .sort_unstable_by(|&a, &b| measure[b].total_cmp(&measure[a]).then(a.cmp(&b)));
        let measure = if by_exposure { exposed } else { &self.bounds };
        let rest = measure[..k].iter().filter(|&&x| x <= target);
        let rest = rest.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        for at in 0..self.order.len() {
            let i = self.order[at];
            let measure = if by_exposure { exposed } else { &self.bounds };
            let level = measure[i];
            if level <= search.target() || budget.spend(4 * k as u64) {
                search.dismiss(level);
                break;
            }
            self.scan_partners(problem, scaled, exposed, search, budget, i);
        }
        search.dismiss(rest);
    }

    /// The pairs of i with every action that could make a better one.
    fn scan_partners(
        &mut self,
        problem: &ConeProblem<'_>,
        scaled: &ScaledProblem,
        exposed: &[f64],
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
        if !scaled.cone || scaled.actions <= SMALL {
            return self.scan_row(problem, scaled, i, search);
        }
        search.pairs += scaled.actions as u64 - 1;
        let (end, rows) = (scaled.end(i), scaled.pair_rows(&self.gram));
        let target = search.target();
        let lines =
            [&scaled.value[..], exposed, &self.bounds[..]].map(|at| Line { at, own: at[i] });
        let mut left = usize::MAX;
        if !self.crowded {
            left = pair_passes::screen(&end, &rows, &lines, target, &mut self.values);
            self.crowded = left > scaled.actions / MANY;
        }
        if self.crowded {
            left = if scaled.is_slack(i) {
                pair_passes::refine_within(&end, &rows, scaled.rho, target, &mut self.values)
            } else {
                pair_passes::refine_beyond(&end, &rows, scaled.rho, target, &mut self.values)
            };
        }
        if left < scaled.actions {
            search.dismiss(target);
        }
        if left == 0 {
            return;
        }
        for j in 0..scaled.actions {
            if self.values[j] != 0.0 && i != j {
                budget.spend(16);
                let other = scaled.end(j);
                let (f, w) = pair_passes::pair::<true>(&end, &other, self.gram[j], scaled.rho);
                if f > search.reached {
                    search.offer(problem, [(i, 1.0 - w), (j, w)].into_iter());
                }
            }
        }
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
