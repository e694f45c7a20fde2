//! New actions in one pass: turned, whitened and predicted, a chunk of them at a time.

use super::dot;
use crate::lanes::{LANES, wide};

/// Rows of the factor multiplied at once.
const ROWS: usize = 4;

/// A table of actions made afresh: see [`WhitenPass::run`].
#[derive(Debug, Clone, Copy)]
pub struct WhitenPass<'a> {
    /// Features, one action after another.
    pub features: &'a [f64],
    /// h of the reflection x̃ = x − (h'x)h.
    pub reflector: &'a [f64],
    /// W, lower triangular by rows, zero beyond the diagonal.
    pub factor: &'a [f64],
    /// Distance between rows of W.
    pub factor_stride: usize,
    /// Number p of coordinates across the safe action.
    pub across: usize,
    /// Per signal: W Σ_s target·x̃_s, over p or all coordinates.
    pub whitened: &'a [Vec<f64>],
}

/// Tables that a [`WhitenPass`] fills; all lists are as long as the stride.
#[derive(Debug)]
pub struct Whitened<'a> {
    /// y = W x̃ of every action, coordinate-major.
    pub table: &'a mut [f64],
    /// Distance between coordinates of `table`.
    pub stride: usize,
    /// Squared lengths over the first p coordinates, and over all.
    pub squares: &'a mut [Vec<f64>; 2],
    /// Last coordinate of x̃.
    pub last: &'a mut [f64],
    /// Predictions, one list per signal.
    pub means: &'a mut [Vec<f64>],
    /// ‖W'y‖ over the first p rows and over all, which is ‖Σ⁻¹x̃‖; where asked for.
    pub solved: Option<&'a mut [Vec<f64>; 2]>,
    /// Room for a chunk of turned actions and their y.
    pub room: &'a mut Vec<f64>,
}

impl WhitenPass<'_> {
    /// Turns, whitens and predicts all actions, a chunk of them at a time, so that every number is
    /// read from memory once.
    pub fn run(&self, out: &mut Whitened) {
        out.room.resize(2 * self.reflector.len() * LANES, 0.0);
        whiten_all(self, out);
    }
}

wide! {
    fn whiten_all(pass: &WhitenPass, out: &mut Whitened) {
        let d = pass.reflector.len();
        let mut rows = pass.features.chunks(LANES * d);
        // A chunk's y is used many times, and rows of the table lie far apart: it is made beside it.
        let (x, y) = out.room.split_at_mut(d * LANES);
        for from in (0..out.stride).step_by(LANES) {
            turn_chunk(rows.next().unwrap_or(&[]), pass.reflector, x);
            let whole = d / ROWS * ROWS;
            for j in (0..whole).step_by(ROWS) {
                whiten_rows::<ROWS>(pass, x, j, y);
            }
            for j in whole..d {
                whiten_rows::<1>(pass, x, j, y);
            }
            let (y, _) = y.as_chunks::<LANES>();
            for (j, y) in y.iter().enumerate() {
                out.table[j * out.stride + from..][..LANES].copy_from_slice(y);
            }
            out.last[from..from + LANES].copy_from_slice(&x[(d - 1) * LANES..]);
            let mut square = [0.0; LANES];
            add_squares(&y[..pass.across], &mut square);
            out.squares[0][from..from + LANES].copy_from_slice(&square);
            add_squares(&y[pass.across..], &mut square);
            out.squares[1][from..from + LANES].copy_from_slice(&square);
            for (means, whitened) in out.means.iter_mut().zip(pass.whitened) {
                let mut sum = [0.0; LANES];
                for (&v, y) in whitened.iter().zip(y) {
                    for lane in 0..LANES {
                        sum[lane] += v * y[lane];
                    }
                }
                means[from..from + LANES].copy_from_slice(&sum);
            }
            if let Some(solved) = &mut out.solved {
                let mut squares = [[0.0; LANES]; 2];
                for k in (0..whole).step_by(ROWS) {
                    solve_columns::<ROWS>(pass, y, k, &mut squares);
                }
                for k in whole..d {
                    solve_columns::<1>(pass, y, k, &mut squares);
                }
                for (solved, squares) in solved.iter_mut().zip(&squares) {
                    for (out, square) in solved[from..from + LANES].iter_mut().zip(squares) {
                        *out = square.sqrt();
                    }
                }
            }
        }
    }
}

/// Adds the squares of N coordinates of W'y for a chunk of actions, y over the first p coordinates and
/// over all.
#[inline(always)]
fn solve_columns<const N: usize>(
    pass: &WhitenPass,
    y: &[[f64; LANES]],
    k: usize,
    squares: &mut [[f64; LANES]; 2],
) {
    let mut sums = [[0.0; LANES]; N];
    // Above the diagonal W is zero.
    let across = pass.across.max(k);
    let parts = [(k, &y[k..across]), (across, &y[across..])];
    for ((start, y), squares) in parts.into_iter().zip(squares) {
        let rows = pass.factor[start * pass.factor_stride..].chunks_exact(pass.factor_stride);
        for (row, y) in rows.zip(y) {
            let w = &row[k..k + N];
            for r in 0..N {
                for lane in 0..LANES {
                    sums[r][lane] += w[r] * y[lane];
                }
            }
        }
        for sum in &sums {
            for lane in 0..LANES {
                squares[lane] += sum[lane] * sum[lane];
            }
        }
    }
}

#[inline(always)]
fn add_squares(y: &[[f64; LANES]], square: &mut [f64; LANES]) {
    for y in y {
        for lane in 0..LANES {
            square[lane] += y[lane] * y[lane];
        }
    }
}

/// Up to a chunk of actions, turned, as columns of a small table; missing ones are zero.
#[inline(always)]
fn turn_chunk(rows: &[f64], h: &[f64], out: &mut [f64]) {
    let d = h.len();
    let count = rows.len() / d;
    let mut leans = [0.0; LANES];
    for (lean, x) in leans.iter_mut().zip(rows.chunks_exact(d)) {
        *lean = dot(h, x);
    }
    for start in (0..d).step_by(LANES) {
        let width = LANES.min(d - start);
        let h = &h[start..start + width];
        let mut tile = [[0.0; LANES]; LANES];
        for a in 0..count {
            let x = &rows[a * d + start..][..width];
            for j in 0..width {
                tile[a][j] = x[j] - leans[a] * h[j];
            }
        }
        for j in 0..width {
            let out = &mut out[(start + j) * LANES..][..LANES];
            for a in 0..LANES {
                out[a] = tile[a][j];
            }
        }
    }
}

/// N coordinates of y for a chunk of actions.
#[inline(always)]
fn whiten_rows<const N: usize>(pass: &WhitenPass, x: &[f64], j: usize, y: &mut [f64]) {
    let rows: [&[f64]; N] =
        std::array::from_fn(|r| &pass.factor[(j + r) * pass.factor_stride..][..j + N]);
    let (x, _) = x[..(j + N) * LANES].as_chunks::<LANES>();
    let mut sums = [[0.0; LANES]; N];
    for k in 0..j + N {
        for r in 0..N {
            for lane in 0..LANES {
                sums[r][lane] += rows[r][k] * x[k][lane];
            }
        }
    }
    for r in 0..N {
        y[(j + r) * LANES..][..LANES].copy_from_slice(&sums[r]);
    }
}
