//! Lower triangular matrices kept by rows: products, sums of squares, factors.

use crate::lanes::{LANES, wide};

wide! {
    /// y = W x for a lower triangular W; x and every row of W are zero from the diagonal on, up to
    /// whole chunks.
    pub fn lower_times(w: &[f64], stride: usize, x: &[f64], y: &mut [f64]) {
        for (j, (out, row)) in y.iter_mut().zip(w.chunks_exact(stride)).enumerate() {
            let to = (j / LANES + 1) * LANES;
            *out = dot_chunks(&row[..to], &x[..to]);
        }
    }
}

wide! {
    /// out = W'y over the first rows of a lower triangular W, as many as y has numbers; `out` is padded to whole chunks.
    pub fn transposed_times(w: &[f64], stride: usize, y: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (j, (row, y)) in w.chunks_exact(stride).zip(y).enumerate() {
            let to = (j / LANES + 1) * LANES;
            for (out, w) in out[..to].iter_mut().zip(&row[..to]) {
                *out += w * y;
            }
        }
    }
}

/// Inner product of two vectors, in a fixed order.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let whole = a.len() / LANES * LANES;
    let mut sum = dot_chunks(&a[..whole], &b[..whole]);
    for (x, y) in a[whole..].iter().zip(&b[whole..]) {
        sum += x * y;
    }
    sum
}

/// Over whole chunks, one sum per lane.
#[inline(always)]
fn dot_chunks(a: &[f64], b: &[f64]) -> f64 {
    let (a, _) = a.as_chunks::<LANES>();
    let (b, _) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}

/// Y = W X for a lower triangular W by rows, with X and Y of `d` coordinates.
pub fn lower_times_table(w: &[f64], w_stride: usize, x: &[f64], stride: usize, y: &mut [f64]) {
    for (j, (out, row)) in y
        .chunks_exact_mut(stride)
        .zip(w.chunks_exact(w_stride))
        .enumerate()
    {
        out.fill(0.0);
        for (x, w) in x.chunks_exact(stride).zip(&row[..j + 1]) {
            for (out, x) in out.iter_mut().zip(x) {
                *out += w * x;
            }
        }
    }
}

wide! {
    /// Adds xx' to a lower triangle kept by rows; x is padded with zeros to whole chunks.
    pub fn add_square(sigma: &mut [f64], stride: usize, x: &[f64], d: usize) {
        let (chunks, _) = x.as_chunks::<LANES>();
        for (j, row) in sigma.chunks_exact_mut(stride).take(d).enumerate() {
            let (row, _) = row.as_chunks_mut::<LANES>();
            let by = x[j];
            for (out, x) in row[..j / LANES + 1].iter_mut().zip(chunks) {
                for lane in 0..LANES {
                    out[lane] += by * x[lane];
                }
            }
        }
    }
}

wide! {
    /// Adds y_j times one vector, padded to whole chunks, to row j of a table.
    pub fn add_product(table: &mut [f64], stride: usize, y: &[f64], vector: &[f64]) {
        let (vector, _) = vector.as_chunks::<LANES>();
        for (row, y) in table.chunks_exact_mut(stride).zip(y) {
            let (row, _) = row.as_chunks_mut::<LANES>();
            for (out, v) in row.iter_mut().zip(vector) {
                for lane in 0..LANES {
                    out[lane] += y * v[lane];
                }
            }
        }
    }
}

/// Cholesky: Σ = LL' for the lower triangle of `sigma` (row j is `sigma[j * stride..]`), then
/// W = L⁻¹ into `w` of the same layout; `factor` holds L meanwhile. False, with `w` as it was, if Σ
/// is not positive definite.
#[must_use]
pub fn inverse_factor(
    sigma: &[f64],
    stride: usize,
    d: usize,
    factor: &mut Vec<f64>,
    w: &mut [f64],
) -> bool {
    factor.clear();
    factor.resize(d * d, 0.0);
    for j in 0..d {
        for k in 0..=j {
            let mut sum = sigma[j * stride + k];
            for i in 0..k {
                sum -= factor[j * d + i] * factor[k * d + i];
            }
            if k < j {
                factor[j * d + k] = sum / factor[k * d + k];
            } else if sum > 0.0 && sum.is_finite() {
                factor[j * d + j] = sum.sqrt();
            } else {
                return false;
            }
        }
    }
    w[..d * stride].fill(0.0);
    for k in 0..d {
        w[k * stride + k] = 1.0 / factor[k * d + k];
        for j in k + 1..d {
            let mut sum = 0.0;
            for i in k..j {
                sum += factor[j * d + i] * w[i * stride + k];
            }
            w[j * stride + k] = -sum / factor[j * d + j];
        }
    }
    true
}

wide! {
    /// Cholesky factor L of Σ + shift·I from the lower triangle of `sigma`: L' by rows, as a chunk of a row is then
    /// summed at once; false if that is not positive definite.
    #[must_use]
    pub fn factor_shifted(sigma: &[f64], stride: usize, d: usize, shift: f64, factor: &mut Vec<f64>) -> bool {
        factor.clear();
        factor.resize(d * stride, 0.0);
        for k in 0..d {
            let (above, row) = factor.split_at_mut(k * stride);
            for j in k..d {
                row[j] = sigma[j * stride + k];
            }
            row[k] += shift;
            let first = k / LANES;
            let (chunks, _) = row[..stride].as_chunks_mut::<LANES>();
            for (c, out) in chunks.iter_mut().enumerate().skip(first) {
                // In the order of `dot`.
                let mut sums = [[0.0; LANES]; LANES];
                for (i, above) in above.chunks_exact(stride).enumerate() {
                    let (chunks, _) = above.as_chunks::<LANES>();
                    for lane in 0..LANES {
                        sums[i % LANES][lane] += above[k] * chunks[c][lane];
                    }
                }
                let [a, b, c, d, e, f, g, h] = sums;
                for i in 0..LANES {
                    out[i] -= ((a[i] + e[i]) + (b[i] + f[i])) + ((c[i] + g[i]) + (d[i] + h[i]));
                }
            }
            let square = row[k];
            if !(square > 0.0 && square < f64::INFINITY) {
                return false;
            }
            let root = square.sqrt();
            row[first * LANES..stride].iter_mut().for_each(|x| *x /= root);
            // Before the diagonal, whole chunks have left something.
            row[first * LANES..k].fill(0.0);
            row[k] = root;
        }
        true
    }
}
