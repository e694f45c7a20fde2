//! The algebra of the working basis: factor it, read values and prices off it.

use super::column::{Column, Purifier};
use super::pricing::Pricer;
use crate::segments::table::{Block, dot};

/// Entries of a pivot column below this are zero, relative to the columns' sizes.
pub(super) const PIVOT: f64 = 1e-11;
/// Basic values above minus this count as non-negative, relative to the row's size.
pub(super) const FEASIBLE: f64 = 1e-12;

/// A variable of the working basis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Basic {
    /// Slack of a coupling row.
    Slack(usize),
    /// A further column of a block, beside its key.
    Extra(usize),
    /// Lack of the start, added by the artificial variable, until it is feasible.
    Artificial,
}

/// The solver and its workspace.
#[derive(Debug, Clone)]
pub(in crate::segments) struct Simplex {
    pub(super) coupling: usize,
    /// One column per block.
    pub(super) keys: Vec<Column>,
    /// The working basis, one variable per coupling row, and the columns of those that are extra.
    pub(super) work: Vec<Basic>,
    pub(super) extras: Vec<Column>,
    /// Values of the working basis.
    pub(super) x: Vec<f64>,
    /// Inverse of the working basis, row-major.
    pub(super) inverse: Vec<f64>,
    matrix: Vec<f64>,
    /// Sizes of the columns of the working basis, in units of the rows.
    pub(super) sizes: Vec<f64>,
    /// λ.
    pub(super) prices: Vec<f64>,
    /// Number of times that λ has changed, and that number when each block was last priced; zero: never.
    pub(super) version: u64,
    pub(super) priced: Vec<u64>,
    /// Bound per block at the prices it was last priced at, and the prices of its local rows.
    pub(super) tops: Vec<f64>,
    pub(super) local_prices: Vec<Vec<f64>>,
    /// Σ_s of the keys' costs.
    pub(super) key_costs: Vec<f64>,
    pub(super) artificial: Vec<f64>,
    /// Size of each row: the largest cost in it, and the largest sum there can be.
    pub(super) row_scale: Vec<f64>,
    pub(super) sum_scale: Vec<f64>,
    pub(super) entering: Vec<f64>,
    pub(super) direction: Vec<f64>,
    pub(super) pricer: Pricer,
    /// Best column of the batch being priced.
    pub(super) best: Column,
    pub(super) touched: Vec<usize>,
    pub(super) policy: Vec<(usize, f64)>,
    pub(super) purifier: Purifier,
    pub(super) pivots: usize,
    /// Blocks priced since the solve began.
    pub(super) effort: usize,
    /// True if the table is not that of the basis.
    pub(super) displaced: bool,
}

impl Simplex {
    pub(in crate::segments) fn new(coupling: usize, local: usize) -> Self {
        let zeros = vec![0.0; coupling];
        Self {
            coupling,
            keys: vec![],
            work: (0..coupling).map(Basic::Slack).collect(),
            extras: (0..coupling)
                .map(|_| Column::with_room(coupling, local))
                .collect(),
            x: zeros.clone(),
            inverse: vec![0.0; coupling * coupling],
            matrix: vec![0.0; coupling * coupling],
            sizes: zeros.clone(),
            prices: zeros.clone(),
            version: 1,
            priced: vec![],
            tops: vec![],
            local_prices: vec![],
            key_costs: zeros.clone(),
            artificial: zeros.clone(),
            row_scale: zeros.clone(),
            sum_scale: zeros.clone(),
            entering: zeros.clone(),
            direction: zeros,
            pricer: Pricer::new(coupling, local),
            best: Column::with_room(coupling, local),
            touched: vec![],
            policy: Vec::with_capacity((coupling + 1) * (local + 2)),
            purifier: Purifier::default(),
            pivots: 0,
            effort: 0,
            displaced: true,
        }
    }

    /// Sizes of the rows, and the keys' costs summed anew.
    pub(super) fn measure(&mut self, blocks: &[Block], thresholds: &[f64]) {
        self.row_scale.fill(0.0);
        for (sum, tau) in self.sum_scale.iter_mut().zip(thresholds) {
            *sum = tau.abs();
        }
        for block in blocks {
            for (i, &scale) in block.cost_scales.iter().enumerate() {
                self.row_scale[i] = self.row_scale[i].max(scale);
                self.sum_scale[i] += scale;
            }
        }
        for scale in &mut self.row_scale {
            *scale = if *scale > 0.0 { *scale } else { 1.0 };
        }
        self.recount();
    }

    pub(super) fn recount(&mut self) {
        self.key_costs.fill(0.0);
        for key in &self.keys {
            for (sum, cost) in self.key_costs.iter_mut().zip(&key.costs) {
                *sum += cost;
            }
        }
    }

    /// Entry of a working variable's column.
    fn entry(&self, w: usize, row: usize) -> f64 {
        match self.work[w] {
            Basic::Slack(i) => f64::from(u8::from(i == row)),
            Basic::Extra(s) => self.extras[w].costs[row] - self.keys[s].costs[row],
            Basic::Artificial => self.artificial[row],
        }
    }

    /// Inverts the working basis by Gauss-Jordan with partial pivoting. False if it is singular.
    pub(super) fn factor(&mut self) -> bool {
        let m = self.coupling;
        for w in 0..m {
            let size = (0..m)
                .map(|r| self.entry(w, r).abs() / self.row_scale[r])
                .fold(0.0, f64::max);
            if !(size > 0.0) {
                return false;
            }
            self.sizes[w] = size;
            for r in 0..m {
                self.matrix[r * m + w] = self.entry(w, r) / (self.row_scale[r] * size);
                self.inverse[r * m + w] = f64::from(u8::from(r == w));
            }
        }
        for c in 0..m {
            let mut p = c;
            for r in c + 1..m {
                if self.matrix[r * m + c].abs() > self.matrix[p * m + c].abs() {
                    p = r;
                }
            }
            let pivot = self.matrix[p * m + c];
            // Written so that NaN counts as singular.
            if !(pivot.abs() > PIVOT) {
                return false;
            }
            if p != c {
                for k in 0..m {
                    self.matrix.swap(p * m + k, c * m + k);
                    self.inverse.swap(p * m + k, c * m + k);
                }
            }
            for k in 0..m {
                self.matrix[c * m + k] /= pivot;
                self.inverse[c * m + k] /= pivot;
            }
            for r in 0..m {
                let factor = self.matrix[r * m + c];
                if r == c || factor == 0.0 {
                    continue;
                }
                for k in 0..m {
                    self.matrix[r * m + k] -= factor * self.matrix[c * m + k];
                    self.inverse[r * m + k] -= factor * self.inverse[c * m + k];
                }
            }
        }
        for w in 0..m {
            for r in 0..m {
                self.inverse[w * m + r] /= self.sizes[w] * self.row_scale[r];
            }
        }
        true
    }

    /// Values of the working basis for thresholds lowered by `shift` of the rows' largest sums.
    pub(super) fn values(&mut self, thresholds: &[f64], shift: f64) {
        let m = self.coupling;
        for w in 0..m {
            let terms = (0..m).map(|r| {
                let spare = thresholds[r] - shift * self.sum_scale[r] - self.key_costs[r];
                self.inverse[w * m + r] * spare
            });
            self.x[w] = terms.sum();
        }
    }

    /// λ of the basis; in phase one it prices the artificial variable alone.
    pub(super) fn multipliers(&mut self, phase_one: bool) {
        let m = self.coupling;
        let mut changed = false;
        for r in 0..m {
            let (mut price, mut size) = (0.0, 0.0);
            for w in 0..m {
                let worth = match self.work[w] {
                    Basic::Slack(_) => continue,
                    Basic::Artificial => -1.0,
                    Basic::Extra(_) if phase_one => continue,
                    Basic::Extra(s) => self.extras[w].reward - self.keys[s].reward,
                };
                let term = worth * self.inverse[w * m + r];
                price += term;
                // Entries of the inverse that should be zero are small beside this.
                let entry = worth / (self.sizes[w] * self.row_scale[r]);
                size += term.abs().max(entry.abs());
            }
            // Rounding must not leave a price negative: the bound would not be one.
            if self.work.contains(&Basic::Slack(r)) || (price < 0.0 && price >= -FEASIBLE * size) {
                price = 0.0;
            }
            changed |= self.prices[r] != price;
            self.prices[r] = price;
        }
        self.version += u64::from(changed);
    }

    /// Value of a block's key.
    pub(super) fn key_value(&self, block: usize) -> f64 {
        let extra = |w: &usize| self.work[*w] == Basic::Extra(block);
        1.0 - (0..self.coupling)
            .filter(extra)
            .map(|w| self.x[w])
            .sum::<f64>()
    }

    pub(super) fn has_extra(&self, block: usize) -> bool {
        self.work.contains(&Basic::Extra(block))
    }

    pub(super) fn is_feasible(&self) -> bool {
        self.work
            .iter()
            .zip(&self.x)
            .all(|(&basic, &x)| match basic {
                Basic::Slack(i) => x >= -FEASIBLE * self.sum_scale[i],
                Basic::Extra(s) => x >= -FEASIBLE && self.key_value(s) >= -FEASIBLE,
                Basic::Artificial => true,
            })
    }

    /// Direction of the working basis when the entering column, in `self.entering`, grows.
    pub(super) fn set_direction(&mut self) {
        let m = self.coupling;
        for w in 0..m {
            self.direction[w] = dot(&self.inverse[w * m..(w + 1) * m], &self.entering);
        }
    }
}
