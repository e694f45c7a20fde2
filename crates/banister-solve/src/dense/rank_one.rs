//! Rank-one updates by one outcome: of the factor, and of everything whitened by it.

use crate::lanes::{LANES, wide};

/// Update of a factor W, W'W = Σ⁻¹, when x is added to Σ: see [`RankOne::of`].
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
    /// Factor √(t_j / t_{j+1}) of the coordinate.
    shrink: f64,
}

impl RankOne {
    /// Prepares the update by y = W x: Σ + xx' = L(I + yy')L' and I + yy' = CC' with C lower triangular, so W becomes C⁻¹W and
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

/// Numbers kept of whitened actions u beside the table, by chunks of columns. With G the inner product
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

wide! {
    fn apply_rank_one(update: &RankOne, table: &mut [f64], stride: usize) {
        for from in (0..stride).step_by(LANES) {
            fold_chunk::<LANES>(update, table, stride, from, 0);
        }
    }
}

wide! {
    fn apply_lower(update: &RankOne, table: &mut [f64], stride: usize) {
        // Columns from..from + LANES are zero in the rows above.
        for from in (0..update.steps.len()).step_by(LANES) {
            fold_chunk::<LANES>(update, table, stride, from, from);
        }
    }
}

wide! {
    fn follow(update: &RankOne, table: &mut [f64], stride: usize, followed: &mut Followed) {
        let broad = stride / BROAD * BROAD;
        for from in (0..broad).step_by(BROAD) {
            follow_chunk::<BROAD>(update, table, stride, from, followed);
        }
        for from in (broad..stride).step_by(LANES) {
            follow_chunk::<LANES>(update, table, stride, from, followed);
        }
    }
}

/// Columns followed at once: what is common to them is loaded half as often.
const BROAD: usize = 2 * LANES;

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
