//! The algebra of a basis: factor it, read values and prices off it, exchange one variable.

use crate::lp::problem::Lp;

/// Entries of a pivot column below this are zero.
pub(super) const PIVOT: f64 = 1e-11;
/// Basic values above minus this count as non-negative.
pub(super) const FEASIBLE: f64 = 1e-12;

/// The solver and its workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Simplex {
    /// Basic variables, one per row: a < K is an action, K + i the slack of guardrail i.
    pub(super) basis: Vec<usize>,
    /// Inverse of the basis matrix, row-major.
    pub(super) inverse: Vec<f64>,
    /// Values of the basic variables.
    pub(super) x: Vec<f64>,
    /// Simplex multipliers: m prices, then the value of one unit of probability.
    pub(super) y: Vec<f64>,
    pub(super) column: Vec<f64>,
    pub(super) matrix: Vec<f64>,
    /// Actions that the last pricing pass found at the optimal level.
    pub(super) ties: usize,
    pub(super) pivots: usize,
}

impl Simplex {
    pub(super) fn is_feasible(&self) -> bool {
        self.x.iter().all(|&x| x >= -FEASIBLE)
    }

    /// Reduced costs that count as zero, relative to the size of the numbers at hand.
    pub(super) fn tolerance(&self) -> f64 {
        1e-13 * (1.0 + self.y.iter().fold(0.0_f64, |a, &b| a.max(b.abs())))
    }

    /// Entry `row` of a variable's column.
    fn entry(lp: &Lp<'_>, variable: usize, row: usize) -> f64 {
        let (k, m) = (lp.reward.len(), lp.costs.len());
        if variable >= k {
            f64::from(u8::from(variable - k == row))
        } else if row == m {
            1.0
        } else {
            lp.costs[row][variable]
        }
    }

    /// Inverts the basis matrix by Gauss-Jordan with partial pivoting. False if it is singular.
    pub(super) fn factor(&mut self, lp: &Lp<'_>) -> bool {
        let n = self.basis.len();
        for r in 0..n {
            for c in 0..n {
                self.matrix[r * n + c] = Self::entry(lp, self.basis[c], r);
                self.inverse[r * n + c] = f64::from(u8::from(r == c));
            }
        }
        for c in 0..n {
            let mut p = c;
            for r in c + 1..n {
                if self.matrix[r * n + c].abs() > self.matrix[p * n + c].abs() {
                    p = r;
                }
            }
            let pivot = self.matrix[p * n + c];
            // Written so that NaN counts as singular.
            if !(pivot.abs() > PIVOT) {
                return false;
            }
            if p != c {
                for k in 0..n {
                    self.matrix.swap(p * n + k, c * n + k);
                    self.inverse.swap(p * n + k, c * n + k);
                }
            }
            let scale = 1.0 / pivot;
            for k in 0..n {
                self.matrix[c * n + k] *= scale;
                self.inverse[c * n + k] *= scale;
            }
            for r in 0..n {
                let factor = self.matrix[r * n + c];
                if r == c || factor == 0.0 {
                    continue;
                }
                for k in 0..n {
                    self.matrix[r * n + k] -= factor * self.matrix[c * n + k];
                    self.inverse[r * n + k] -= factor * self.inverse[c * n + k];
                }
            }
        }
        true
    }

    /// x = B⁻¹ (τ, 1).
    pub(super) fn values(&mut self, lp: &Lp<'_>) {
        let n = self.basis.len();
        for r in 0..n {
            let row = &self.inverse[r * n..(r + 1) * n];
            self.x[r] = dot(&row[..n - 1], lp.thresholds) + row[n - 1];
        }
    }

    /// Basic values for thresholds lowered by `shift` (relative): the same vertex, a hair inside.
    pub(super) fn lower_values(&mut self, lp: &Lp<'_>, shift: f64) {
        let n = self.basis.len();
        for r in 0..n {
            let row = &self.inverse[r * n..(r + 1) * n];
            let lowered = |tau: f64| tau - shift * (1.0 + tau.abs());
            let guardrails = row
                .iter()
                .zip(lp.thresholds)
                .map(|(b, &tau)| b * lowered(tau));
            self.x[r] = guardrails.sum::<f64>() + row[n - 1];
        }
    }

    /// y = V_B B⁻¹.
    pub(super) fn multipliers(&mut self, lp: &Lp<'_>) {
        let n = self.basis.len();
        self.y.fill(0.0);
        for r in 0..n {
            if let Some(&v) = lp.reward.get(self.basis[r]) {
                for c in 0..n {
                    self.y[c] += v * self.inverse[r * n + c];
                }
            }
        }
    }

    /// B⁻¹ times a variable's column.
    pub(super) fn direction(&mut self, lp: &Lp<'_>, variable: usize) {
        let n = self.basis.len();
        let k = lp.reward.len();
        for r in 0..n {
            let row = &self.inverse[r * n..(r + 1) * n];
            self.column[r] = if variable >= k {
                row[variable - k]
            } else {
                let costs = row.iter().zip(lp.costs).map(|(b, cost)| b * cost[variable]);
                costs.sum::<f64>() + row[n - 1]
            };
        }
    }

    pub(super) fn pivot(&mut self, row: usize, entering: usize) {
        let n = self.basis.len();
        let scale = 1.0 / self.column[row];
        let step = self.x[row] * scale;
        for c in 0..n {
            self.inverse[row * n + c] *= scale;
        }
        for r in 0..n {
            let factor = self.column[r];
            if r == row || factor == 0.0 {
                continue;
            }
            self.x[r] -= factor * step;
            for c in 0..n {
                self.inverse[r * n + c] -= factor * self.inverse[row * n + c];
            }
        }
        self.x[row] = step;
        self.basis[row] = entering;
        self.pivots += 1;
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
