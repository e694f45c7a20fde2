//! Optimism that leans from the means towards the bounds, and plays `least` on what it finds there.
//!
//! Only u decides what is safe, so what is optimistic need not hold with high probability. With a lean x_a in
//! [0, 1] per action and policy,
//!
//! ```text
//!   r̃_a = r̂_a + x_a(U_a − r̂_a),     c̃_{a,i} = ĉ_{a,i} − x_a(ĉ_{a,i} − l_{a,i}),
//! ```
//!
//! clipped to the range and c̃ to u, stand in for U and l: R̃ = max { π·r̃ : π·c̃_i ≤ τ_i }, D̃ = max_i (u − c̃)/Δ,
//! and the policy is the one of { π·u ≤ τ } with the smallest (R̃ − π·r̃)/π·D̃.
//!
//! `index` has x_a = √(ln(1 + t/(K n_a))/L_a) ≤ 1, n_a of t outcomes being the arm's and L_a the level of its
//! bounds in nats. So the index is what a bound at the level Kn_a/t would be: a bound that fails this often
//! costs no more regret than it saves (MOSS, Audibert and Bubeck 2009; anytime, Degenne and Perchet 2016;
//! with kl, Garivier, Hadiji, Ménard and Stoltz 2022). Arms pulled more than their share need little
//! optimism, those pulled less get more of it as time goes on.

use super::Bounds;

/// Nats that anytime intervals take beside ln(1/δ_s), about.
const OVERHEAD: f64 = 3.0;

/// Lean of `index` for t/(K n_a) and ln(1/δ_s) of the arm's bounds; 1 before its first outcome.
pub(crate) fn index_lean(ratio: f64, log_level: f64) -> f64 {
    let lean = (libm::log1p(ratio) / (log_level + OVERHEAD)).sqrt();
    // NaN leans all the way.
    if lean < 1.0 { lean } else { 1.0 }
}

/// r̃, c̃ and D̃ of the last plan, in the places of U, l and D.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leaned {
    /// x_a.
    pub lean: Vec<f64>,
    pub reward: Vec<f64>,
    pub cost_lower: Vec<Vec<f64>>,
    pub spread: Vec<f64>,
}

impl Leaned {
    /// Makes room for every column.
    pub(crate) fn resize(&mut self, bounds: &Bounds) {
        let (columns, m) = (bounds.columns(), bounds.thresholds.len());
        self.cost_lower.resize(m, Vec::new());
        let lists = [&mut self.lean, &mut self.reward, &mut self.spread];
        for list in lists.into_iter().chain(&mut self.cost_lower) {
            list.resize(columns, 0.0);
        }
    }

    /// Works out the table from the leans.
    pub(crate) fn update(&mut self, bounds: &Bounds) {
        for (a, &lean) in self.lean.iter().enumerate() {
            let (mean, upper) = (bounds.reward_mean[a], bounds.reward_upper[a]);
            self.reward[a] = (mean + lean * (upper - mean)).clamp(0.0, 1.0);
            self.spread[a] = 0.0;
            for i in 0..bounds.margins.len() {
                let (l, u) = (bounds.cost_lower[i][a], bounds.cost_upper[i][a]);
                let mean = bounds.cost_mean[i][a];
                // Relative costs may be below 0, single ones not.
                let cost = (mean - lean * (mean - l)).max(l.min(0.0)).min(u);
                self.cost_lower[i][a] = cost;
                self.spread[a] = self.spread[a].max((u - cost) / bounds.margins[i]);
            }
        }
    }
}
