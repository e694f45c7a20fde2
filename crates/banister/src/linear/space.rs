//! The feature space, turned so that the safe action points along the last axis.
//!
//! In turned coordinates x̃ = (z, t), z = Qᵀx lives in the safe action's complement and t along it.
//! With z first, the Cholesky factor of Σ contains the factor of Σ⊥ as its leading block, so one
//! factor serves the reward and all guardrails.

use banister_solve::dense::dot;

/// R^d as the safe action x_0 sees it.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    /// d.
    pub dimension: usize,
    /// p: d − 1, or d if x_0 = 0.
    pub across: usize,
    /// h of the Householder reflection I − hh'; zero if x_0 = 0.
    pub reflector: Vec<f64>,
    /// x_0's coordinate on the last axis, its length up to sign; 0 if x_0 = 0.
    pub safe_length: f64,
}

impl Space {
    /// The space around a finite vector x_0.
    pub(crate) fn around(safe: &[f64]) -> Self {
        let d = safe.len();
        let largest = safe.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
        if largest == 0.0 {
            return Self {
                dimension: d,
                across: d,
                reflector: vec![0.0; d],
                safe_length: 0.0,
            };
        }
        // Scaled first, so that no square overflows or vanishes.
        let mut h: Vec<f64> = safe.iter().map(|x| x / largest).collect();
        let length = h.iter().map(|x| x * x).sum::<f64>().sqrt();
        h.iter_mut().for_each(|x| *x /= length);
        // Reflect to the far side, so that nothing cancels in the last coordinate.
        let sign = if h[d - 1] > 0.0 { -1.0 } else { 1.0 };
        let norm = (1.0 + h[d - 1].abs()).sqrt();
        h[d - 1] -= sign;
        h.iter_mut().for_each(|x| *x /= norm);
        Self {
            dimension: d,
            across: d - 1,
            reflector: h,
            safe_length: sign * length * largest,
        }
    }

    /// x̃ of x; a reflection, so it also turns back.
    pub(crate) fn turn(&self, x: &[f64], turned: &mut [f64]) {
        let by = self.lean(x);
        for (out, (x, h)) in turned.iter_mut().zip(x.iter().zip(&self.reflector)) {
            *out = x - by * h;
        }
    }

    /// h'x.
    #[inline]
    pub(crate) fn lean(&self, x: &[f64]) -> f64 {
        dot(&self.reflector, x)
    }

    /// x̃_0, with z exactly zero, in a vector of the length asked for.
    pub(crate) fn safe(&self, length: usize) -> Vec<f64> {
        let mut safe = vec![0.0; length];
        if self.across < self.dimension {
            safe[self.across] = self.safe_length;
        }
        safe
    }
}
