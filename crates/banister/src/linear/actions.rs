//! The actions on offer and what the regression says about them.
//!
//! A new set costs one blocked pass over its K actions (O(Kd²)). While the same set stays on offer,
//! outcomes are followed by rank-one steps (O(Kd)): with v = Σ⁻¹x_t, g_a = ⟨x_a, v⟩ and s = ⟨x_t, v⟩,
//! ‖x_a‖²_{Σ⁻¹} falls by g_a²/(1+s) and ⟨x_a, θ̂⟩ moves by g_a (r − ⟨x_t, θ̂⟩)/(1+s). Steps are taken
//! when a decision asks for them, so a set that is replaced costs nothing more.

use banister_solve::dense::{self, Followed, WhitenPass, Whitened};
use serde::{Deserialize, Serialize};

use super::regression::{Follow, Regression, Update};
use super::space::Space;

/// Actions with their whitened features, all tables coordinate-major with the same stride.
#[derive(Debug, Clone, Default)]
pub struct Actions {
    /// Number of actions, the safe one included.
    pub count: usize,
    /// Place of the safe action.
    pub safe: usize,
    /// Distance between two coordinates in a table: `count`, rounded up to whole lanes.
    pub stride: usize,
    /// Length of the longest.
    pub longest: f64,
    /// Features as offered, one after another, the safe action included.
    pub(super) features: Vec<f64>,
    /// ‖x‖² of every action.
    pub(super) norms: Vec<f64>,
    /// Last coordinate of x̃.
    last: Vec<f64>,
    /// Lengths and predictions of all actions.
    pub columns: Columns,
    /// ‖Σ⊥⁻¹z‖ and ‖Σ⁻¹x‖, where the regression keeps a grid of ridges.
    pub(crate) solved: [Vec<f64>; 2],
    is_current: bool,
    pending: Vec<Update>,
    pending_count: usize,
    /// Room for the signals' whitened sums, and for a chunk of turned actions.
    whitened: Vec<Vec<f64>>,
    room: Vec<f64>,
}

/// Inputs of a refresh beside the regression.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub space: &'a Space,
    /// Per signal: what x_0 earns of it, where known beforehand.
    pub along: &'a [f64],
    /// True if the safe action's own column is zero, its costs having an interval of their own.
    pub hide_safe: bool,
    /// True if whitened features are wanted.
    pub table: bool,
}

/// Tables that follow from the regression; a snapshot keeps those of a set that stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// y = W x̃.
    pub whitened: Vec<f64>,
    /// ‖z‖² in Σ⊥⁻¹ and ‖x‖² in Σ⁻¹.
    pub squares: [Vec<f64>; 2],
    /// Per signal: its prediction.
    pub means: Vec<Vec<f64>>,
}

impl Actions {
    /// Replaces the set: `features` holds rows of the space's dimension.
    pub(crate) fn replace(&mut self, features: &[f64], safe_action: &[f64], limit: f64) {
        let d = safe_action.len();
        self.features.clear();
        self.features.extend_from_slice(features);
        shorten(&mut self.features, d, limit, safe_action);
        let mut rows = self.features.chunks_exact(d);
        match rows.position(|x| x == safe_action) {
            Some(place) => self.safe = place,
            None => {
                self.safe = features.len() / d;
                self.features.extend_from_slice(safe_action);
            }
        }
        let squares = self.features.chunks_exact(d).map(|x| dense::dot(x, x));
        self.norms.clear();
        self.norms.extend(squares);
        self.longest = self.norms.iter().copied().fold(0.0, f64::max).sqrt();
        self.count = self.features.len() / d;
        self.stride = dense::stride(self.count);
        self.is_current = false;
        self.pending_count = 0;
    }

    /// Features of an action, as offered.
    pub fn features(&self, action: usize) -> &[f64] {
        let d = self.features.len() / self.count;
        &self.features[action * d..(action + 1) * d]
    }

    /// Buffer for the regression's next update.
    pub(crate) fn next_update(&mut self) -> &mut Update {
        if self.pending_count == self.pending.len() {
            self.pending.push(Update::default());
        }
        &mut self.pending[self.pending_count]
    }

    /// The update was written; `most` updates are followed, more are not worth it.
    pub(crate) fn follow(&mut self, follow: Follow, most: usize) {
        if follow == Follow::Afresh || self.pending_count >= most {
            self.is_current = false;
        }
        if self.is_current {
            self.pending_count += 1;
        } else {
            self.pending_count = 0;
        }
    }

    /// The regression changed altogether.
    pub(crate) fn outdated(&mut self) {
        self.is_current = false;
        self.pending_count = 0;
    }

    /// Brings the columns up to date.
    pub(crate) fn update(&mut self, regression: &Regression, terms: &Terms) {
        if self.is_current {
            for step in 0..self.pending_count {
                self.step(step);
            }
        } else {
            self.refresh(regression, terms);
        }
        self.is_current = true;
        self.pending_count = 0;
    }

    fn step(&mut self, step: usize) {
        let update = &self.pending[step];
        let Columns {
            whitened,
            squares,
            means,
        } = &mut self.columns;
        let mut followed = Followed {
            squares,
            means,
            steps: &update.steps,
        };
        update.rank_one.follow(whitened, self.stride, &mut followed);
    }

    fn refresh(&mut self, regression: &Regression, terms: &Terms) {
        let signals = terms.along.len();
        self.whitened.resize(signals, Vec::new());
        for (signal, list) in self.whitened.iter_mut().enumerate() {
            regression.whitened(signal, list);
        }
        let (factor, factor_stride) = regression.factor();
        let solved = regression.scales().is_some();
        self.whiten(terms.space, factor, factor_stride, (terms.table, solved));
        let Space {
            across,
            safe_length,
            ..
        } = *terms.space;
        let columns = &mut self.columns;
        if safe_length != 0.0 {
            // The part along x_0 is known beforehand: its share times what x_0 itself earns.
            for (means, along) in columns.means.iter_mut().zip(terms.along) {
                if *along != 0.0 {
                    dense::add_scaled(&self.last, along / safe_length, means);
                    means[self.safe] = *along;
                }
            }
        }
        if terms.hide_safe {
            if terms.table {
                columns.whitened[across * self.stride + self.safe] = 0.0;
            }
            columns.squares[1][self.safe] = 0.0;
        }
    }

    /// Y = W X̃ with squared lengths and predictions, in one pass over the actions. The safe action
    /// lies exactly along the last axis, whatever the reflection rounded. Y itself and ‖Wᵀy‖ where they are
    /// wanted.
    pub(crate) fn whiten(
        &mut self,
        space: &Space,
        factor: &[f64],
        factor_stride: usize,
        (table, solved): (bool, bool),
    ) {
        let (stride, safe, d) = (self.stride, self.safe, space.dimension);
        let columns = &mut self.columns;
        columns
            .whitened
            .resize(if table { d * stride } else { 0 }, 0.0);
        columns.means.resize(self.whitened.len(), Vec::new());
        self.last.resize(stride, 0.0);
        let lists = columns.squares.iter_mut().chain(&mut columns.means);
        for list in lists.chain(&mut self.solved) {
            list.resize(stride, 0.0);
        }
        let pass = WhitenPass {
            features: &self.features,
            reflector: &space.reflector,
            factor,
            factor_stride,
            across: space.across,
            whitened: &self.whitened,
        };
        pass.run(&mut Whitened {
            table: table.then_some(&mut columns.whitened),
            stride,
            squares: &mut columns.squares,
            last: &mut self.last,
            means: &mut columns.means,
            solved: solved.then_some(&mut self.solved),
            room: &mut self.room,
        });
        let length = if space.across < d {
            factor[space.across * factor_stride + space.across] * space.safe_length
        } else {
            0.0
        };
        for (j, row) in columns.whitened.chunks_exact_mut(stride).enumerate() {
            row[safe] = if j == space.across { length } else { 0.0 };
        }
        columns.squares[0][safe] = 0.0;
        columns.squares[1][safe] = length * length;
        if solved && space.across < d {
            let row = &factor[space.across * factor_stride..][..d];
            self.solved[0][safe] = 0.0;
            self.solved[1][safe] = length.abs() * dense::dot(row, row).sqrt();
        }
        for (means, whitened) in columns.means.iter_mut().zip(&self.whitened) {
            means[safe] = whitened.get(space.across).map_or(0.0, |w| w * length);
        }
        self.last[safe] = space.safe_length;
    }

    /// ⟨x, x_0⟩/‖x_0‖² of every action, or 0 where x_0 = 0.
    pub(crate) fn shares(&self, space: &Space) -> impl Iterator<Item = f64> {
        let scale = if space.safe_length == 0.0 {
            0.0
        } else {
            1.0 / space.safe_length
        };
        self.last[..self.count].iter().map(move |t| t * scale)
    }
}

/// Shortens rows that are longer than `limit`; the safe action has been checked.
fn shorten(features: &mut [f64], d: usize, limit: f64, safe_action: &[f64]) {
    if limit == f64::INFINITY {
        return;
    }
    for x in features.chunks_exact_mut(d) {
        let length = dense::dot(x, x).sqrt();
        if length > limit && x != safe_action {
            let scale = limit / length;
            x.iter_mut().for_each(|v| *v *= scale);
        }
    }
}
