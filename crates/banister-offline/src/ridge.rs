//! Ridge regression with an intercept, for all signals at once.
//!
//! Minimises Σ (y − b_0 − ⟨b, x⟩)² + λ‖b‖²; the intercept is not penalised. Without features it is
//! the mean.

use banister::solve::dense::inverse_factor;

/// Sums over the rounds seen. Coordinate 0 is the intercept's.
#[derive(Debug, Clone)]
pub(crate) struct Ridge {
    /// Number of coefficients, 1 + d.
    size: usize,
    /// Lower triangle of Σ (1, x)(1, x)'.
    gram: Vec<f64>,
    /// Per signal: Σ y (1, x).
    sums: Vec<f64>,
}

impl Ridge {
    pub(crate) fn new(d: usize, signals: usize) -> Self {
        let size = d + 1;
        Self {
            size,
            gram: vec![0.0; size * size],
            sums: vec![0.0; size * signals],
        }
    }

    /// True before any round is seen.
    pub(crate) fn is_empty(&self) -> bool {
        self.gram[0] == 0.0
    }

    /// Adds one round to the sums.
    pub(crate) fn push(&mut self, x: &[f64], outcome: &[f64]) {
        let at = |j: usize| if j == 0 { 1.0 } else { x[j - 1] };
        for (j, row) in self.gram.chunks_exact_mut(self.size).enumerate() {
            let left = at(j);
            for (k, entry) in row.iter_mut().enumerate().take(j + 1) {
                *entry += left * at(k);
            }
        }
        for (sums, y) in self.sums.chunks_exact_mut(self.size).zip(outcome) {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum += y * at(j);
            }
        }
    }

    /// Intercept and coefficients of every signal; `None` if the sums overflow or leave the
    /// coefficients open.
    pub(crate) fn fit(&self, penalty: f64) -> Option<Vec<f64>> {
        let size = self.size;
        let mut gram = self.gram.clone();
        for j in 1..size {
            gram[j * size + j] += penalty;
        }
        // W = L⁻¹ of the Cholesky factor, so the solution is W'W times the sums.
        let (mut factor, mut w) = (Vec::new(), vec![0.0; size * size]);
        if !inverse_factor(&gram, size, size, &mut factor, &mut w) {
            return None;
        }
        let mut solved = Vec::with_capacity(self.sums.len());
        for sums in self.sums.chunks_exact(size) {
            let mut out = vec![0.0; size];
            for row in w.chunks_exact(size) {
                let z: f64 = std::iter::zip(row, sums).map(|(w, s)| w * s).sum();
                for (out, w) in out.iter_mut().zip(row) {
                    *out += w * z;
                }
            }
            solved.extend(out);
        }
        solved.iter().all(|b| b.is_finite()).then_some(solved)
    }
}
