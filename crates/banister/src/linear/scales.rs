//! One self-normalised bound per ridge of a grid, for intervals that take the best of them.
//!
//! With V = Σ_s x_s x_sᵀ, the noise sum N = Σ_s η_s x_s is bounded in the norm of (V + λ_k)⁻¹ for every level
//! λ_k = 16^k λ_0 at once, each with its share of δ_s. As θ̂ − θ = Σ⁻¹(N − λ_0 θ) with Σ = V + λ_0 I, and as
//! ‖Σ⁻¹x‖² in V + λ_k is a + (λ_k − λ_0) b for a = ‖x‖² in Σ⁻¹ and b = ‖Σ⁻¹x‖²,
//!
//! |⟨x, θ̂ − θ⟩| ≤ min_k β_k √(a + (λ_k − λ_0) b) + λ_0 S √b,  β_k = R √(ln det(I + V/λ_k) + 2 ln(6/δ_s)).
//!
//! Level 0 is exact after every outcome. The others are computed now and then: V + λ_k ≥ Σ, so that an outcome
//! adds no more to ln det(V + λ_k) than to ln det Σ, and what ln det Σ has grown by since is added to them.

use banister_solve::dense::{self, LEVELS, Widths};
use serde::{Deserialize, Serialize};

use super::Evidence;
use super::regression::Regression;

/// λ_{k+1}/λ_k.
const RATIO: f64 = 16.0;

/// λ_0 beside the squared length of the longest action.
const SHARE: f64 = 0.05;

/// Growth of ln det Σ after which the other levels are computed again, at least and per dimension: what they may lag
/// by stays below a part of what they are, and the work below that of the outcomes themselves.
const GROWTH: f64 = 0.05;
const GROWTH_PER_DIMENSION: f64 = GROWTH / 8.0;

/// Part of b that is given away, so that what rounding may add to √b becomes a multiple of a.
const GIVEN: f64 = 1e-3;

/// λ_0 by default, for actions of at most this length.
pub(crate) fn default_ridge(longest: f64) -> f64 {
    let ridge = SHARE * longest * longest;
    // Nothing but zero is on offer, or all but zero.
    if ridge.is_normal() { ridge } else { SHARE }
}

/// λ_k.
pub(crate) fn ridge(lambda: f64, level: usize) -> f64 {
    (0..level).fold(lambda, |ridge, _| ridge * RATIO)
}

/// Log-determinants of the levels above the first; part of the regression's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scales {
    /// λ_0.
    pub lambda: f64,
    /// ln det(Σ⊥/λ_0) and ln det(Σ/λ_0) when the levels were computed.
    computed_at: [f64; 2],
    /// At least ln det(I + V⊥/λ_k) and ln det(I + V/λ_k) then, for k from 1.
    log_dets: [[f64; LEVELS - 1]; 2],
}

impl Scales {
    /// Before the first outcome.
    pub(super) fn new(lambda: f64) -> Self {
        Self {
            lambda,
            computed_at: [0.0; 2],
            log_dets: [[0.0; LEVELS - 1]; 2],
        }
    }

    pub(super) fn fits(&self) -> bool {
        self.lambda > 0.0
    }

    /// True if they are to be computed again, given the log-determinants at λ_0.
    #[inline]
    pub(super) fn is_old(&self, d: usize, now: [f64; 2]) -> bool {
        let growth = GROWTH.max(GROWTH_PER_DIMENSION * d as f64);
        (0..2).any(|side| now[side] - self.computed_at[side] >= growth)
    }

    /// Takes the log-determinants of a level k ≥ 1 as computed, and what rounding may have taken from them.
    pub(super) fn set(&mut self, level: usize, now: [f64; 2], computed: Option<[f64; 2]>) {
        self.computed_at = now;
        for side in 0..2 {
            // V/λ_k is no larger than V/λ_0. NaN fails.
            let computed = computed.map_or(f64::INFINITY, |computed| computed[side]);
            self.log_dets[side][level - 1] = if computed < now[side] {
                computed
            } else {
                now[side]
            };
        }
    }

    /// At least ln det(I + V/λ_k), given those at λ_0.
    #[inline]
    fn log_det(&self, side: usize, level: usize, now: [f64; 2]) -> f64 {
        if level == 0 {
            return now[side];
        }
        let grown = now[side] - self.computed_at[side];
        (self.log_dets[side][level - 1] + grown).min(now[side])
    }
}

/// Intervals by the best level: the numbers that they are computed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MultiScale {
    /// S, or S⊥ where the part along x_0 is known.
    pub parameter_norm: f64,
    /// ln(1/δ_s), which the levels share.
    pub log_level: f64,
}

impl MultiScale {
    /// Half-widths of a signal's intervals, in units of its range; without rounding of its predictions.
    pub(crate) fn widths(&self, evidence: &Evidence, signal: usize) -> Widths {
        self.widths_by(&evidence.regression, evidence.signals[signal].r, signal)
    }

    /// Half-widths of the intervals of a regression on its own, for noise R.
    pub(crate) fn widths_by(&self, regression: &Regression, r: f64, signal: usize) -> Widths {
        let (lambda, slack) = (regression.lambda(), regression.solved_rounding());
        let mut widths = Widths {
            of_square: self.squares_by(regression, r, signal),
            of_solved: [0.0; LEVELS],
            bias: lambda * self.parameter_norm,
        };
        for k in 1..LEVELS {
            let (square, more) = (widths.of_square[k], ridge(lambda, k) - lambda);
            // (√b + s√a)² ≤ (1 + ε)b + (1 + 1/ε)s²a.
            widths.of_solved[k] = square * more * (1.0 + GIVEN);
            widths.of_square[k] = square * (1.0 + more * (1.0 + 1.0 / GIVEN) * slack * slack);
        }
        widths
    }

    /// β_k² of every level.
    pub(crate) fn squared_radii(&self, evidence: &Evidence, signal: usize) -> [f64; LEVELS] {
        self.squares_by(&evidence.regression, evidence.signals[signal].r, signal)
    }

    fn squares_by(&self, regression: &Regression, r: f64, signal: usize) -> [f64; LEVELS] {
        let price = 2.0 * self.level_price();
        let log_dets = regression.level_log_dets(signal);
        log_dets.map(|log_det| r * r * (log_det + price).max(0.0))
    }

    /// ln(1/δ_k) of one level.
    pub(crate) fn level_price(&self) -> f64 {
        self.log_level + libm::log(LEVELS as f64)
    }
}

impl Regression {
    /// At least ln det(I + V/λ_k) of every level, in the coordinates of a signal.
    pub(crate) fn level_log_dets(&self, signal: usize) -> [f64; LEVELS] {
        let (side, now) = (usize::from(self.is_whole(signal)), self.log_dets());
        std::array::from_fn(|level| match self.scales() {
            Some(scales) => scales.log_det(side, level, now),
            None => now[side],
        })
    }

    /// Length of the noise sum in (V + λ_k)⁻¹ for every level, if `truth` is a signal's parameter in turned
    /// coordinates: N = Σ(θ̂ − θ) + λ_0 θ. Infinite where that cannot be computed.
    pub(crate) fn noise_lengths(&self, signal: usize, truth: &[f64]) -> [f64; LEVELS] {
        let estimate = self.estimate(signal);
        let n = estimate.len();
        let difference: Vec<f64> = estimate.iter().zip(truth).map(|(a, b)| a - b).collect();
        let (sigma, stride) = self.gram();
        let entry = |j: usize, k: usize| sigma[j.max(k) * stride + j.min(k)];
        let noise: Vec<f64> = (0..n)
            .map(|j| {
                let product: f64 = (0..n).map(|k| entry(j, k) * difference[k]).sum();
                product + self.lambda() * truth[j]
            })
            .collect();
        std::array::from_fn(|level| {
            let shift = ridge(self.lambda(), level) - self.lambda();
            let mut factor = Vec::new();
            if !dense::factor_shifted(&sigma, stride, n, shift, &mut factor) {
                return f64::INFINITY;
            }
            let mut solved: Vec<f64> = Vec::new();
            for j in 0..n {
                let column = factor[j..].iter().step_by(stride);
                let known: f64 = solved.iter().zip(column).map(|(a, b)| a * b).sum();
                solved.push((noise[j] - known) / factor[j * stride + j]);
            }
            solved.iter().map(|x| x * x).sum::<f64>().sqrt()
        })
    }
}
