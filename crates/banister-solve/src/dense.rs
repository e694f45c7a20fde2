//! Dense kernels for many short vectors at once.
//!
//! Vectors are columns of a **coordinate-major** table: coordinate j of column a is
//! `table[j * stride + a]`, so that a pass over columns vectorises. Every column's numbers are made
//! by the same operations in the same order whatever the vector width: results are the same on every
//! CPU.

use crate::scan::LANES;

/// The stride for a table of so many columns: whole chunks, and an odd number of them, so that the
/// rows of a chunk do not fall on the same cache lines.
pub fn stride(columns: usize) -> usize {
    let chunks = columns.div_ceil(LANES).max(1);
    (chunks | 1) * LANES
}

/// Declares a kernel that runs with wider vectors where the processor has them. No instruction fuses
/// a product with a sum, so the width does not show in the results.
macro_rules! wide {
    ($(#[$doc:meta])* $name:ident, $body:ident, ($($arg:ident: $type:ty),*)) => {
        $(#[$doc])*
        pub fn $name($($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn widest($($arg: $type),*) {
                    $body($($arg),*);
                }
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $type),*) {
                    $body($($arg),*);
                }
                // SAFETY: the processor has just been asked whether it knows these instructions.
                #[allow(unsafe_code)]
                if std::arch::is_x86_feature_detected!("avx512f") {
                    return unsafe { widest($($arg),*) };
                } else if std::arch::is_x86_feature_detected!("avx2") {
                    return unsafe { wide($($arg),*) };
                }
            }
            $body($($arg),*);
        }
    };
}

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
    /// p.
    pub across: usize,
    /// Per signal: W Σ_s target·x̃_s, over p or all coordinates.
    pub whitened: &'a [Vec<f64>],
}

/// What a [`WhitenPass`] fills; all lists are as long as the stride.
#[derive(Debug)]
pub struct Whitened<'a> {
    /// y = W x̃ of every action, coordinate-major.
    pub table: &'a mut [f64],
    /// Distance between coordinates.
    pub stride: usize,
    /// Squared lengths over the first p coordinates, and over all.
    pub squares: &'a mut [Vec<f64>; 2],
    /// Last coordinate of x̃.
    pub last: &'a mut [f64],
    /// Predictions, one list per signal.
    pub means: &'a mut [Vec<f64>],
    /// Room for a chunk of turned actions.
    pub room: &'a mut Vec<f64>,
}

impl WhitenPass<'_> {
    /// Turns, whitens and predicts all actions, a chunk of them at a time, so that every number is
    /// read from memory once.
    pub fn run(&self, out: &mut Whitened) {
        out.room.resize(self.reflector.len() * LANES, 0.0);
        whiten_all(self, out);
    }
}

wide!(
    /// See [`WhitenPass::run`].
    whiten_all, whiten_all_body, (pass: &WhitenPass, out: &mut Whitened)
);

#[inline(always)]
fn whiten_all_body(pass: &WhitenPass, out: &mut Whitened) {
    let d = pass.reflector.len();
    let mut rows = pass.features.chunks(LANES * d);
    for from in (0..out.stride).step_by(LANES) {
        turn_chunk(rows.next().unwrap_or(&[]), pass.reflector, out.room);
        let x = &out.room[..];
        let whole = d / ROWS * ROWS;
        for j in (0..whole).step_by(ROWS) {
            whiten_rows::<ROWS>(pass, x, j, from, out.stride, out.table);
        }
        for j in whole..d {
            whiten_rows::<1>(pass, x, j, from, out.stride, out.table);
        }
        out.last[from..from + LANES].copy_from_slice(&x[(d - 1) * LANES..]);
        let mut square = [0.0; LANES];
        add_squares(out.table, out.stride, from, 0..pass.across, &mut square);
        out.squares[0][from..from + LANES].copy_from_slice(&square);
        add_squares(out.table, out.stride, from, pass.across..d, &mut square);
        out.squares[1][from..from + LANES].copy_from_slice(&square);
        for (means, whitened) in out.means.iter_mut().zip(pass.whitened) {
            let mut sum = [0.0; LANES];
            for (j, &v) in whitened.iter().enumerate() {
                let y = &out.table[j * out.stride + from..][..LANES];
                for lane in 0..LANES {
                    sum[lane] += v * y[lane];
                }
            }
            means[from..from + LANES].copy_from_slice(&sum);
        }
    }
}

#[inline(always)]
fn add_squares(
    table: &[f64],
    stride: usize,
    from: usize,
    rows: std::ops::Range<usize>,
    square: &mut [f64; LANES],
) {
    for j in rows {
        let y = &table[j * stride + from..][..LANES];
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
fn whiten_rows<const N: usize>(
    pass: &WhitenPass,
    x: &[f64],
    j: usize,
    from: usize,
    stride: usize,
    y: &mut [f64],
) {
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
        y[(j + r) * stride + from..][..LANES].copy_from_slice(&sums[r]);
    }
}

/// How a factor W, W'W = Σ⁻¹, changes when x is added to Σ: see [`RankOne::of`].
#[derive(Debug, Clone, Default)]
pub struct RankOne {
    steps: Vec<Step>,
    /// t_p and t_d: 1 + ‖y‖² over the first p coordinates, and over all.
    pub totals: [f64; 2],
    across: usize,
}

/// One coordinate of it.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// y_j, of y = W x before the update.
    y: f64,
    /// y_j / t_j with t_j = 1 + Σ_{k<j} y_k².
    lean: f64,
    /// √(t_j / t_{j+1}).
    shrink: f64,
}

impl RankOne {
    /// Σ + xx' = L(I + yy')L' and I + yy' = CC' with C lower triangular, so W becomes C⁻¹W and
    /// every whitened column u becomes C⁻¹u, whose coordinate j is
    /// (u_j − y_j G_j/t_j) √(t_j/t_{j+1}) with G_j = Σ_{k<j} y_k u_k.
    pub fn of(&mut self, y: &[f64], across: usize) {
        self.steps.clear();
        self.across = across;
        let mut total = 1.0;
        for (j, &y) in y.iter().enumerate() {
            if j == across {
                self.totals[0] = total;
            }
            let next = total + y * y;
            self.steps.push(Step {
                y,
                lean: y / total,
                shrink: (total / next).sqrt(),
            });
            total = next;
        }
        if across >= y.len() {
            self.totals[0] = total;
        }
        self.totals[1] = total;
    }

    /// Applies it to all columns of a table.
    pub fn apply(&self, table: &mut [f64], stride: usize) {
        apply_rank_one(self, table, stride);
    }

    /// Applies it to a lower triangular table, such as W itself.
    pub fn apply_lower(&self, table: &mut [f64], stride: usize) {
        apply_lower(self, table, stride);
    }

    /// Applies it to a table of whitened actions and to what is kept of them: see [`Followed`].
    pub fn follow(&self, table: &mut [f64], stride: usize, followed: &mut Followed) {
        follow(self, table, stride, followed);
    }
}

/// What is kept of whitened actions u beside the table, by chunks of columns. With G the inner product
/// ⟨x, u⟩ in Σ⁻¹ before the update, over the first p coordinates or over all, and t likewise: squared
/// lengths fall by G²/t and predictions move by G times a step.
#[derive(Debug)]
pub struct Followed<'a> {
    /// Squared lengths over the first p coordinates, and over all.
    pub squares: &'a mut [Vec<f64>; 2],
    /// Predictions, one list per signal.
    pub means: &'a mut [Vec<f64>],
    /// Per signal: its step, and whether it predicts from all coordinates.
    pub steps: &'a [(f64, bool)],
}

wide!(
    /// See [`RankOne::apply`].
    apply_rank_one, apply_body, (update: &RankOne, table: &mut [f64], stride: usize)
);

#[inline(always)]
fn apply_body(update: &RankOne, table: &mut [f64], stride: usize) {
    for from in (0..stride).step_by(LANES) {
        fold_chunk::<LANES>(update, table, stride, from, 0);
    }
}

wide!(
    /// See [`RankOne::apply_lower`].
    apply_lower, apply_lower_body, (update: &RankOne, table: &mut [f64], stride: usize)
);

#[inline(always)]
fn apply_lower_body(update: &RankOne, table: &mut [f64], stride: usize) {
    // Columns from..from + LANES are zero in the rows above.
    for from in (0..update.steps.len()).step_by(LANES) {
        fold_chunk::<LANES>(update, table, stride, from, from);
    }
}

wide!(
    /// See [`RankOne::follow`].
    follow, follow_body,
    (update: &RankOne, table: &mut [f64], stride: usize, followed: &mut Followed)
);

/// Columns followed at once: what is common to them is loaded half as often.
const BROAD: usize = 2 * LANES;

#[inline(always)]
fn follow_body(update: &RankOne, table: &mut [f64], stride: usize, followed: &mut Followed) {
    let broad = stride / BROAD * BROAD;
    for from in (0..broad).step_by(BROAD) {
        follow_chunk::<BROAD>(update, table, stride, from, followed);
    }
    for from in (broad..stride).step_by(LANES) {
        follow_chunk::<LANES>(update, table, stride, from, followed);
    }
}

#[inline(always)]
fn follow_chunk<const N: usize>(
    update: &RankOne,
    table: &mut [f64],
    stride: usize,
    from: usize,
    followed: &mut Followed,
) {
    let products = fold_chunk::<N>(update, table, stride, from, 0);
    for side in 0..2 {
        let inverse = 1.0 / update.totals[side];
        let squares = &mut followed.squares[side][from..from + N];
        let g = &products[side];
        for lane in 0..N {
            let left = squares[lane] - g[lane] * g[lane] * inverse;
            squares[lane] = if left > 0.0 { left } else { 0.0 };
        }
    }
    for (means, &(step, whole)) in followed.means.iter_mut().zip(followed.steps) {
        let means = &mut means[from..from + N];
        let g = &products[usize::from(whole)];
        for lane in 0..N {
            means[lane] += step * g[lane];
        }
    }
}

#[inline(always)]
fn fold_chunk<const N: usize>(
    update: &RankOne,
    table: &mut [f64],
    stride: usize,
    from: usize,
    first_row: usize,
) -> [[f64; N]; 2] {
    let across = update.across.clamp(first_row, update.steps.len());
    let mut g = [0.0; N];
    fold_rows(update, first_row..across, table, stride, from, &mut g);
    let part = g;
    fold_rows(
        update,
        across..update.steps.len(),
        table,
        stride,
        from,
        &mut g,
    );
    [part, g]
}

#[inline(always)]
fn fold_rows<const N: usize>(
    update: &RankOne,
    rows: std::ops::Range<usize>,
    table: &mut [f64],
    stride: usize,
    from: usize,
    g: &mut [f64; N],
) {
    let mut place = rows.start * stride + from;
    for step in &update.steps[rows] {
        let row = &mut table[place..place + N];
        for lane in 0..N {
            let u = row[lane];
            row[lane] = (u - step.lean * g[lane]) * step.shrink;
            g[lane] += step.y * u;
        }
        place += stride;
    }
}

wide!(
    /// y = W x for a lower triangular W; x and every row of W are zero from the diagonal on, up to
    /// whole chunks.
    lower_times, lower_times_body, (w: &[f64], stride: usize, x: &[f64], y: &mut [f64])
);

#[inline(always)]
fn lower_times_body(w: &[f64], stride: usize, x: &[f64], y: &mut [f64]) {
    for (j, (out, row)) in y.iter_mut().zip(w.chunks_exact(stride)).enumerate() {
        let to = (j / LANES + 1) * LANES;
        *out = dot_chunks(&row[..to], &x[..to]);
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

wide!(
    /// Adds xx' to a lower triangle kept by rows; x is padded with zeros to whole chunks.
    add_square, add_square_body, (sigma: &mut [f64], stride: usize, x: &[f64], d: usize)
);

#[inline(always)]
fn add_square_body(sigma: &mut [f64], stride: usize, x: &[f64], d: usize) {
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

wide!(
    /// Adds y_j times one vector, padded to whole chunks, to row j of a table.
    add_product, add_product_body, (table: &mut [f64], stride: usize, y: &[f64], vector: &[f64])
);

#[inline(always)]
fn add_product_body(table: &mut [f64], stride: usize, y: &[f64], vector: &[f64]) {
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

wide!(
    /// means += step·g.
    add_scaled, add_scaled_body, (g: &[f64], step: f64, means: &mut [f64])
);

#[inline(always)]
fn add_scaled_body(g: &[f64], step: f64, means: &mut [f64]) {
    let means = &mut means[..g.len()];
    for a in 0..g.len() {
        means[a] += step * g[a];
    }
}

wide!(
    /// upper = centre + offset + radius·√square, clipped to [0, 1].
    upper_ends, upper_ends_body,
    (centre: &[f64], offset: f64, squares: &[f64], radius: f64, upper: &mut [f64])
);

#[inline(always)]
fn upper_ends_body(centre: &[f64], offset: f64, squares: &[f64], radius: f64, upper: &mut [f64]) {
    let n = upper.len();
    let (centre, squares) = (&centre[..n], &squares[..n]);
    for a in 0..n {
        upper[a] = clip(centre[a] + offset + radius * squares[a].sqrt());
    }
}

wide!(
    /// Both ends of centre + offset ± radius·√square, clipped to [0, 1].
    both_ends, both_ends_body,
    (centre: &[f64], offset: f64, squares: &[f64], radius: f64, lower: &mut [f64], upper: &mut [f64])
);

#[inline(always)]
fn both_ends_body(
    centre: &[f64],
    offset: f64,
    squares: &[f64],
    radius: f64,
    lower: &mut [f64],
    upper: &mut [f64],
) {
    let n = upper.len();
    let (centre, squares, lower) = (&centre[..n], &squares[..n], &mut lower[..n]);
    for a in 0..n {
        let (centre, reach) = (centre[a] + offset, radius * squares[a].sqrt());
        lower[a] = clip(centre - reach);
        upper[a] = clip(centre + reach);
    }
}

/// Into [0, 1].
#[inline(always)]
fn clip(x: f64) -> f64 {
    let x = if x > 0.0 { x } else { 0.0 };
    if x < 1.0 { x } else { 1.0 }
}

wide!(
    /// out = a + b·√square.
    reach, reach_body, (a: &[f64], offset: f64, squares: &[f64], b: f64, out: &mut [f64])
);

#[inline(always)]
fn reach_body(a: &[f64], offset: f64, squares: &[f64], b: f64, out: &mut [f64]) {
    let n = out.len();
    let (a, squares) = (&a[..n], &squares[..n]);
    for k in 0..n {
        out[k] = a[k] + offset + b * squares[k].sqrt();
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
