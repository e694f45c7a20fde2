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
    /// y = W x̃ of every action, coordinate-major; where asked for.
    pub table: Option<&'a mut [f64]>,
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
    /// Room for a chunk of turned actions and their y, and for W'.
    pub room: &'a mut Vec<f64>,
}

impl WhitenPass<'_> {
    /// Turns, whitens and predicts all actions, a chunk of them at a time, so that every number is
    /// read from memory once.
    pub fn run(&self, out: &mut Whitened) {
        let d = self.reflector.len();
        out.room.resize(d * (2 * LANES + d), 0.0);
        if out.solved.is_some() {
            // By rows, as products with W' are taken from them.
            let transposed = &mut out.room[2 * d * LANES..];
            for (j, row) in self.factor.chunks_exact(self.factor_stride).enumerate() {
                for (k, &w) in row[..d].iter().enumerate() {
                    transposed[k * d + j] = w;
                }
            }
        }
        whiten_all(self, out);
    }
}

wide! {
    fn whiten_all(pass: &WhitenPass, out: &mut Whitened) {
        let d = pass.reflector.len();
        let mut rows = pass.features.chunks(LANES * d);
        // A chunk's y is used many times, and rows of the table lie far apart: it is made beside it.
        let (x, y) = out.room.split_at_mut(d * LANES);
        let (y, transposed) = y.split_at_mut(d * LANES);
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
            if let Some(table) = &mut out.table {
                for (j, y) in y.iter().enumerate() {
                    table[j * out.stride + from..][..LANES].copy_from_slice(y);
                }
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
                    solve_rows::<ROWS>(transposed, pass.across, y, k, &mut squares);
                }
                for k in whole..d {
                    solve_rows::<1>(transposed, pass.across, y, k, &mut squares);
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
fn solve_rows<const N: usize>(
    transposed: &[f64],
    across: usize,
    y: &[[f64; LANES]],
    k: usize,
    squares: &mut [[f64; LANES]; 2],
) {
    let d = y.len();
    // Before the diagonal W' is zero.
    let rows: [&[f64]; N] = std::array::from_fn(|r| &transposed[(k + r) * d..][..d]);
    let mut sums = [[0.0; LANES]; N];
    let across = across.max(k);
    for (part, squares) in [k..across, across..d].into_iter().zip(squares) {
        for j in part {
            for r in 0..N {
                for lane in 0..LANES {
                    sums[r][lane] += rows[r][j] * y[j][lane];
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
