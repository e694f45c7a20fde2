//! Bounds: the numbers U, l, u, τ, Δ and D that optimism and the LP work on.
//!
//! Any estimator that can fill this table gets the optimism lemma: on the event that
//! r̄_a ≤ U_a and l_{a,i} ≤ c̄_{a,i} ≤ u_{a,i}, every policy planned from it is safe.

use crate::estimate::Estimates;
use crate::interval::End;
use crate::problem::CheckedProblem;

/// Times as long as it has been funded so far that an arm's certificate may still take.
const AHEAD: f64 = 100.0;

/// Most of what the safe action's floor and the margins leave that other floors may take: the rest is the program's.
const MOST_FIXED: f64 = 0.999;

/// One column per action offered now, in standard units.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// Column of the safe action.
    pub safe: usize,
    /// Thresholds τ_i.
    pub thresholds: Vec<f64>,
    /// f_0: the least probability of the safe action.
    pub floor: f64,
    /// Least probabilities of other columns as declared, which hold as far as they are certified.
    pub floors: Vec<(usize, f64)>,
    /// σ: the part of `floors` that is certified.
    pub(super) kept: f64,
    /// Thresholds of the part that is free to choose, 1 − F of the policy: (τ − φ·u)/(1 − F), φ being the floors and F
    /// their sum.
    pub free_thresholds: Vec<f64>,
    /// Thresholds of the free part for optimism, with l: with u the optimistic value could fall below r*.
    pub optimistic_thresholds: Vec<f64>,
    /// Optimistic rewards U_a, or r̃_a under `index`.
    pub reward_upper: Vec<f64>,
    /// Optimistic costs l_{a,i}, or c°_{a,i} under `index`, one row per guardrail.
    pub cost_lower: Vec<Vec<f64>>,
    /// u_{a,i}, one row per guardrail.
    pub cost_upper: Vec<Vec<f64>>,
    /// Δ_i = τ_i − u_{0,i}; nothing but the safe action may be played until all are positive.
    pub margins: Vec<f64>,
    /// D_a = max_i (u_{a,i} − l_{a,i})/Δ_i.
    pub spread: Vec<f64>,
    /// True if the safe action provably has room under every threshold.
    has_margin: bool,
    /// 1/Δ_i.
    inverse_margins: Vec<f64>,
    /// Δ in the paper's α_r: the smallest margin, or what its T_0 rule settled on.
    pub paper_margin: f64,
}

impl Bounds {
    /// No columns yet, under thresholds τ and a floor f.
    pub fn new(thresholds: Vec<f64>, floor: f64) -> Self {
        let m = thresholds.len();
        Self {
            free_thresholds: thresholds.clone(),
            optimistic_thresholds: thresholds.clone(),
            thresholds,
            floor,
            cost_lower: vec![Vec::new(); m],
            cost_upper: vec![Vec::new(); m],
            margins: vec![0.0; m],
            inverse_margins: vec![0.0; m],
            ..Self::default()
        }
    }

    /// Number of columns: actions offered now.
    #[inline]
    pub fn columns(&self) -> usize {
        self.reward_upper.len()
    }

    /// Makes room for `actions` columns.
    pub fn resize(&mut self, actions: usize) {
        self.reward_upper.resize(actions, 0.0);
        self.spread.resize(actions, 0.0);
        for row in self.cost_lower.iter_mut().chain(&mut self.cost_upper) {
            row.resize(actions, 0.0);
        }
    }

    /// Δ from the safe action's column; `settled` overrides the paper's own margin.
    pub fn update_margins(&mut self, settled: Option<f64>) {
        let mut smallest = f64::INFINITY;
        for i in 0..self.margins.len() {
            let margin = self.thresholds[i] - self.cost_upper[i][self.safe];
            self.margins[i] = margin;
            self.inverse_margins[i] = 1.0 / margin;
            smallest = smallest.min(margin);
        }
        self.paper_margin = settled.unwrap_or(smallest);
        self.has_margin = self.margins.iter().all(|&margin| margin > 0.0);
    }

    /// The floors' part of a sum over the policy, φ·x.
    pub(crate) fn fixed(&self, row: &[f64]) -> f64 {
        let others = self.floors.iter().map(|&(column, f)| f * row[column]);
        self.floor * row[self.safe] + self.kept * others.sum::<f64>()
    }

    /// 1 − F: the part of the policy that is free to choose.
    pub(crate) fn free(&self) -> f64 {
        let others: f64 = self.floors.iter().map(|floor| floor.1).sum();
        1.0 - self.floor - self.kept * others
    }

    /// Thresholds of the free part, before a policy is planned: floors come first, as far as the margins pay for them.
    pub(crate) fn update_floors(&mut self) {
        if self.floor == 0.0 && self.floors.is_empty() {
            return;
        }
        let others: f64 = self.floors.iter().map(|floor| floor.1).sum();
        let most = MOST_FIXED * (1.0 - self.floor);
        self.kept = if others > most { most / others } else { 1.0 };
        for (row, &margin) in self.cost_upper.iter().zip(&self.margins) {
            let beyond = |&(column, f): &(usize, f64)| f * (row[column] - row[self.safe]);
            let beyond: f64 = self.floors.iter().map(beyond).sum();
            if self.kept * beyond > MOST_FIXED * margin {
                self.kept = MOST_FIXED * margin.max(0.0) / beyond;
            }
        }
        let free = self.free();
        for i in 0..self.thresholds.len() {
            let left = |row: &[f64]| (self.thresholds[i] - self.fixed(row)) / free;
            // A hair lower: mixed with the floors, rounding must not lift the cost above τ.
            let upper = left(&self.cost_upper[i]);
            let optimistic = left(&self.cost_lower[i]);
            self.free_thresholds[i] = upper - 4.0 * f64::EPSILON * (1.0 + upper.abs()) / free;
            self.optimistic_thresholds[i] = optimistic;
        }
    }

    /// Sets τ_i to what is left of a sum; margins are to be updated.
    pub(crate) fn set_threshold(&mut self, guardrail: usize, threshold: f64) {
        self.thresholds[guardrail] = threshold;
        self.free_thresholds[guardrail] = threshold;
        self.optimistic_thresholds[guardrail] = threshold;
    }

    /// Sets Δ_i where the safe action's own column does not say it.
    pub(crate) fn set_margin(&mut self, guardrail: usize, margin: f64) {
        self.margins[guardrail] = margin;
        self.inverse_margins[guardrail] = 1.0 / margin;
    }

    /// True if the safe action provably has room under every threshold.
    #[inline]
    pub(crate) fn has_margin(&self) -> bool {
        self.has_margin
    }

    /// p_a: the rate at which the margins pay for an arm's outcomes.
    fn rate(&self, column: usize) -> f64 {
        let of = |i: usize| {
            let row = &self.cost_upper[i];
            let (margin, beyond) = (self.margins[i], row[column] - row[self.safe]);
            if beyond > margin {
                margin / beyond
            } else {
                1.0
            }
        };
        (0..self.margins.len()).map(of).fold(1.0, f64::min).max(0.0)
    }

    /// Writes r̃ and c° of `index` optimism for an arm (the page of `optimism`), given the decisions for it and t/K; after its
    /// costs and the margins, by which it is funded. Decisions that wait for their outcomes count for the level: what was
    /// drawn is not unknown as what was not.
    pub(crate) fn write_indices(
        &mut self,
        problem: &CheckedProblem,
        estimates: &Estimates,
        (arm, drawn): (usize, u64),
        column: usize,
        each: f64,
    ) {
        let of = (
            each * self.rate(column),
            drawn.saturating_sub(estimates.known(arm)),
        );
        self.reward_upper[column] = estimates.index(arm, 0, End::Upper, of);
        if column == self.safe {
            return;
        }
        for (i, guardrail) in problem.guardrails.iter().enumerate() {
            // A relative cost is of two arms.
            if guardrail.factor == 0.0 {
                let index = estimates.index(arm, i + 1, End::Lower, of);
                self.cost_lower[i][column] = index.min(self.cost_upper[i][column]);
            }
            self.reckon_funding(i, column, estimates.worth(arm, i + 1), of.0);
        }
    }

    /// Raises an optimistic cost to the one that could be certified by now, given k and p t/K (the page of `optimism`).
    #[inline]
    fn reckon_funding(&mut self, guardrail: usize, column: usize, k: f64, share: f64) {
        let (lower, upper) = (
            &mut self.cost_lower[guardrail][column],
            self.cost_upper[guardrail][column],
        );
        // Rounding must not lift it above the cost that is certified.
        *lower = upper.min(*lower + (upper - *lower) * k / (k + AHEAD * share));
    }

    /// Optimistic rewards and costs as they stand, by row: indices are made from the outcomes that there were then. None
    /// where a row has a number that a snapshot cannot hold.
    pub(crate) fn optimistic(&self) -> Option<Vec<Vec<f64>>> {
        let rows = std::iter::once(&self.reward_upper).chain(&self.cost_lower);
        let rows: Vec<Vec<f64>> = rows.cloned().collect();
        let is_sound = rows.iter().flatten().all(|x| x.is_finite());
        is_sound.then_some(rows)
    }

    /// Takes up optimistic rewards and costs; false if they are not of these columns.
    pub(crate) fn set_optimistic(&mut self, rows: Vec<Vec<f64>>) -> bool {
        let columns = self.columns();
        let fits = |row: &Vec<f64>| row.len() == columns && row.iter().all(|x| x.is_finite());
        if rows.len() != 1 + self.cost_lower.len() || !rows.iter().all(fits) {
            return false;
        }
        let mut rows = rows.into_iter();
        self.reward_upper = rows.next().unwrap_or_default();
        for (row, upper) in self.cost_lower.iter_mut().zip(&self.cost_upper) {
            *row = rows.next().unwrap_or_default();
            let ends = row.iter_mut().zip(upper);
            ends.for_each(|(lower, upper)| *lower = lower.min(*upper));
        }
        self.update_spreads();
        true
    }

    /// D_a of all columns.
    pub fn update_spreads(&mut self) {
        let spread = &mut self.spread[..];
        spread.fill(0.0);
        for i in 0..self.margins.len() {
            let inverse = self.inverse_margins[i];
            let upper = &self.cost_upper[i][..spread.len()];
            let lower = &self.cost_lower[i][..spread.len()];
            for a in 0..spread.len() {
                let wide = (upper[a] - lower[a]) * inverse;
                spread[a] = if wide > spread[a] { wide } else { spread[a] };
            }
        }
    }

    /// D_a of one column.
    #[inline]
    pub(crate) fn update_spread(&mut self, column: usize) {
        let mut spread = 0.0_f64;
        for i in 0..self.margins.len() {
            let width = self.cost_upper[i][column] - self.cost_lower[i][column];
            spread = spread.max(width * self.inverse_margins[i]);
        }
        self.spread[column] = spread;
    }
}
