//! Online mirror descent over policies whose optimistic costs keep the thresholds, the inner step of S-OPS.
//!
//! Weights are kept as logarithms: in long runs those of bad arms leave what a float can hold.

use banister::toolkit::Bounds;

/// Precision of the projection, in costs. Errors add up over the rounds, so it is close to rounding.
const TOLERANCE: f64 = 1e-14;
/// Turns of the projection through all guardrails, at most.
const TURNS: usize = 200;
/// Steps to the multiplier of one guardrail, at most.
const STEPS: usize = 100;

/// The projection and its buffers.
pub(super) struct Descent {
    /// q̂, by arm.
    pub policy: Vec<f64>,
    /// ln q̃ less what the multipliers of the other guardrails take.
    shifted: Vec<f64>,
    /// μ, by guardrail.
    multipliers: Vec<f64>,
}

impl Descent {
    pub fn new(arms: usize, guardrails: usize) -> Self {
        Self {
            policy: vec![1.0 / arms as f64; arms],
            shifted: vec![0.0; arms],
            multipliers: vec![0.0; guardrails],
        }
    }

    /// Projects ln q̃ by relative entropy onto { π·l ≤ τ }, in place: q̂_a ∝ q̃_a·exp(−Σ_i μ_i l_{a,i}), each
    /// μ_i in turn the least that keeps its guardrail. False if numbers leave what a float can hold.
    pub fn project(&mut self, weights: &mut [f64], bounds: &Bounds) -> bool {
        self.multipliers.fill(0.0);
        for _ in 0..TURNS {
            let mut moved = false;
            for i in 0..self.multipliers.len() {
                let before = self.multipliers[i];
                self.shift(weights, bounds, Some(i));
                self.multipliers[i] = self.multiplier(bounds, i);
                moved |= self.multipliers[i] != before;
            }
            if !moved || self.multipliers.len() == 1 {
                break;
            }
        }
        self.shift(weights, bounds, None);
        if !self.softmax(0.0, &[]) {
            return false;
        }
        let total = self.policy.iter().sum::<f64>();
        let largest = self
            .shifted
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        // As logarithms of probabilities, so that they cannot drift away.
        let log_total = libm::log(total);
        for (weight, shifted) in weights.iter_mut().zip(&self.shifted) {
            *weight = shifted - largest - log_total;
        }
        self.policy.iter_mut().for_each(|p| *p /= total);
        weights.iter().all(|weight| weight.is_finite())
    }

    /// Takes every multiplier but one off the weights.
    fn shift(&mut self, weights: &[f64], bounds: &Bounds, but: Option<usize>) {
        self.shifted.copy_from_slice(weights);
        for (i, lower) in bounds.cost_lower.iter().enumerate() {
            let multiplier = self.multipliers[i];
            if Some(i) != but && multiplier > 0.0 {
                for (shifted, l) in self.shifted.iter_mut().zip(lower) {
                    *shifted -= multiplier * l;
                }
            }
        }
    }

    /// exp(shifted − μ·l) over the largest of them; false if there is none.
    fn softmax(&mut self, multiplier: f64, lower: &[f64]) -> bool {
        for (a, own) in self.policy.iter_mut().enumerate() {
            *own = self.shifted[a] - lower.get(a).map_or(0.0, |l| multiplier * l);
        }
        let largest = self
            .policy
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        self.policy
            .iter_mut()
            .for_each(|own| *own = libm::exp(*own - largest));
        largest.is_finite()
    }

    /// Cost beyond the threshold of guardrail i with its multiplier, and the variance of l, its slope.
    fn excess(&mut self, bounds: &Bounds, i: usize, multiplier: f64) -> (f64, f64) {
        let (lower, threshold) = (&bounds.cost_lower[i], bounds.thresholds[i]);
        self.softmax(multiplier, lower);
        let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
        for (p, l) in self.policy.iter().zip(lower) {
            let over = l - threshold;
            total += p;
            first += p * over;
            second += p * over * over;
        }
        let mean = first / total;
        (mean, second / total - mean * mean)
    }

    /// The least μ_i ≥ 0 that keeps guardrail i: Newton's steps inside a bracket.
    fn multiplier(&mut self, bounds: &Bounds, i: usize) -> f64 {
        let (excess, slope) = self.excess(bounds, i, 0.0);
        if !(excess > TOLERANCE) {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut next = excess / slope;
        for _ in 0..STEPS {
            if !(next > low && next < high) {
                next = if high.is_finite() {
                    0.5 * (low + high)
                } else {
                    2.0 * low + 1.0
                };
            }
            let (excess, slope) = self.excess(bounds, i, next);
            if excess.abs() <= TOLERANCE || next == low || next == high {
                return next;
            }
            if excess > 0.0 {
                low = next;
            } else {
                high = next;
            }
            next += excess / slope;
        }
        if high.is_finite() { high } else { low }
    }
}
