//! The small linear systems of the active-set method: Gaussian elimination with partial pivoting.

/// A square system with two right-hand sides, and the space to solve it in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kkt {
    size: usize,
    /// Row-major, `size` columns and the two right-hand sides.
    rows: Vec<f64>,
}

impl Kkt {
    /// Makes room for systems up to `size`.
    pub(crate) fn reserve(&mut self, size: usize) {
        let entries = size * (size + 2);
        self.rows.reserve(entries.saturating_sub(self.rows.len()));
    }

    /// A system of zeros.
    pub(crate) fn clear(&mut self, size: usize) {
        self.size = size;
        self.rows.clear();
        self.rows.resize(size * (size + 2), 0.0);
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, r: usize) -> &mut [f64] {
        let width = self.size + 2;
        &mut self.rows[r * width..(r + 1) * width]
    }

    /// Entry r of solution `side` (0 or 1), after [`Kkt::solve`].
    #[inline]
    pub(crate) fn solution(&self, side: usize, r: usize) -> f64 {
        self.rows[r * (self.size + 2) + self.size + side]
    }

    /// Solves in place; false where the matrix is singular to working precision.
    pub(crate) fn solve(&mut self) -> bool {
        let n = self.size;
        let width = n + 2;
        for step in 0..n {
            let mut pivot = step;
            for r in step + 1..n {
                if self.rows[r * width + step].abs() > self.rows[pivot * width + step].abs() {
                    pivot = r;
                }
            }
            let entry = self.rows[pivot * width + step];
            if !(entry.abs() > 1e-300) {
                return false;
            }
            if pivot != step {
                for c in step..width {
                    self.rows.swap(pivot * width + c, step * width + c);
                }
            }
            let inverse = 1.0 / entry;
            let (upper, lower) = self.rows.split_at_mut((step + 1) * width);
            let source = &upper[step * width + step + 1..];
            for row in lower.chunks_exact_mut(width) {
                let factor = row[step] * inverse;
                if factor != 0.0 {
                    for (x, y) in row[step + 1..].iter_mut().zip(source) {
                        *x -= factor * y;
                    }
                }
            }
        }
        for r in (0..n).rev() {
            let (upper, lower) = self.rows.split_at_mut((r + 1) * width);
            let row = &mut upper[r * width..];
            let (mut x, mut y) = (row[n], row[n + 1]);
            for (c, below) in lower.chunks_exact(width).enumerate() {
                let entry = row[r + 1 + c];
                x -= entry * below[n];
                y -= entry * below[n + 1];
            }
            row[n] = x / row[r];
            row[n + 1] = y / row[r];
        }
        true
    }
}
