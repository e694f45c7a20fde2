//! The actions on offer and what the regression says about them.
//!
//! A new set costs one blocked pass over its K actions (O(Kd²)). While the same set stays on offer,
//! outcomes are followed by rank-one steps (O(Kd)): with v = Σ⁻¹x_t, g_a = ⟨x_a, v⟩ and s = ⟨x_t, v⟩,
//! ‖x_a‖²_{Σ⁻¹} falls by g_a²/(1+s) and ⟨x_a, θ̂⟩ moves by g_a (r − ⟨x_t, θ̂⟩)/(1+s). Steps are taken
//! when a decision asks for them, so a set that is replaced costs nothing more.

use banister_solve::dense::{self, Followed};
use serde::{Deserialize, Serialize};

use super::regression::{Follow, Regression, Update};
use super::space::Space;

/// Actions with their whitened features, all tables coordinate-major with the same stride.
#[derive(Debug, Clone, Default)]
pub(crate) struct Actions {
    /// Number of actions, the safe one included.
    pub count: usize,
    /// Place of the safe action.
    pub safe: usize,
    pub stride: usize,
    /// Features as offered, one after another, the safe action included.
    features: Vec<f64>,
    /// x̃.
    pub turned: Vec<f64>,
    /// x̃'s share of x_0: ⟨x, x_0⟩/‖x_0‖².
    pub share: Vec<f64>,
    pub columns: Columns,
    is_current: bool,
    pending: Vec<Update>,
    pending_count: usize,
    /// Room for h'x of every action, and for a signal's whitened sums.
    leans: Vec<f64>,
    whitened: Vec<f64>,
}

/// What follows from the regression; what a snapshot keeps of a set that stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Columns {
    /// y = W x̃.
    pub whitened: Vec<f64>,
    /// ‖z‖² in Σ⊥⁻¹ and ‖x‖² in Σ⁻¹.
    pub squares: [Vec<f64>; 2],
    /// Per signal: its prediction.
    pub means: Vec<Vec<f64>>,
}

impl Actions {
    /// Replaces the set: `features` holds rows of the space's dimension. Where `hide_safe`, the safe
    /// action's own column is zero: its cost has an interval of its own.
    pub(crate) fn replace(
        &mut self,
        space: &Space,
        features: &[f64],
        safe_action: &[f64],
        hide_safe: bool,
        limit: f64,
    ) {
        let d = space.dimension;
        self.features.clear();
        self.features.extend_from_slice(features);
        shorten(&mut self.features, d, limit, safe_action);
        let rows = features.len() / d;
        let found = self.features.chunks_exact(d).position(|x| x == safe_action);
        self.safe = found.unwrap_or(rows);
        if found.is_none() {
            self.features.extend_from_slice(safe_action);
        }
        self.count = self.features.len() / d;
        self.stride = dense::stride(self.count);
        self.turn_all(space);
        for j in 0..d {
            // Exactly along the last axis, whatever the reflection rounded.
            let along = !hide_safe && j == space.across;
            self.turned[j * self.stride + self.safe] = if along { space.safe_length } else { 0.0 };
        }
        self.share.clear();
        if space.across < d {
            let along = &self.turned[space.across * self.stride..][..self.stride];
            let scale = 1.0 / space.safe_length;
            self.share.extend(along.iter().map(|t| t * scale));
            self.share[self.safe] = 1.0;
        } else {
            self.share.resize(self.stride, 0.0);
        }
        self.is_current = false;
        self.pending_count = 0;
    }

    fn turn_all(&mut self, space: &Space) {
        let d = space.dimension;
        self.turned.resize(d * self.stride, 0.0);
        let rows = self.features.chunks_exact(d);
        self.leans.clear();
        self.leans.extend(rows.map(|x| space.lean(x)));
        let (stride, table) = (self.stride, &mut self.turned);
        // Padding columns belong to no action and stay zero.
        let padding = self.count / 8 * 8..stride;
        table
            .chunks_exact_mut(stride)
            .for_each(|row| row[padding.clone()].fill(0.0));
        dense::reflect(&self.features, &self.leans, &space.reflector, stride, table);
    }

    /// Features of an action, as offered.
    pub(crate) fn features(&self, action: usize) -> &[f64] {
        let d = self.features.len() / self.count;
        &self.features[action * d..(action + 1) * d]
    }

    /// All features, one action after another.
    pub(crate) fn all_features(&self) -> &[f64] {
        &self.features
    }

    /// x̃ of an action.
    pub(crate) fn turned(&self, action: usize, out: &mut [f64]) {
        let rows = self.turned.chunks_exact(self.stride);
        for (out, row) in out.iter_mut().zip(rows) {
            *out = row[action];
        }
    }

    /// y of an action, if it is up to date.
    pub(crate) fn whitened(&self, action: usize, out: &mut [f64]) -> bool {
        let known = self.is_current && self.pending_count == 0;
        if known {
            let rows = self.columns.whitened.chunks_exact(self.stride);
            for (out, row) in out.iter_mut().zip(rows) {
                *out = row[action];
            }
        }
        known
    }

    /// Where the regression should write its next update, if this set wants to follow it.
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

    /// Brings the columns up to date. `along[s]` is what a signal earns per share of x_0, known
    /// beforehand.
    pub(crate) fn update(&mut self, regression: &Regression, along: &[f64], across: usize) {
        if self.is_current {
            for step in 0..self.pending_count {
                self.step(step);
            }
        } else {
            self.refresh(regression, along, across);
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

    fn refresh(&mut self, regression: &Regression, along: &[f64], across: usize) {
        let (stride, signals) = (self.stride, along.len());
        let (factor, factor_stride) = regression.factor();
        self.whiten(factor, factor_stride, across);
        let columns = &mut self.columns;
        columns.means.resize(signals, Vec::new());
        for signal in 0..signals {
            let means = &mut columns.means[signal];
            means.resize(stride, 0.0);
            regression.whitened(signal, &mut self.whitened);
            dense::products(&columns.whitened, stride, &self.whitened, means);
            if along[signal] != 0.0 {
                dense::add_scaled(&self.share, along[signal], means);
            }
        }
    }

    /// Y = W X̃ and both squared lengths, in one pass over the actions.
    pub(crate) fn whiten(&mut self, factor: &[f64], factor_stride: usize, across: usize) {
        let (stride, columns) = (self.stride, &mut self.columns);
        let d = self.turned.len() / stride;
        columns.whitened.resize(d * stride, 0.0);
        let y = &mut columns.whitened;
        dense::whiten(factor, factor_stride, &self.turned, stride, d, y);
        let [part, full] = &mut columns.squares;
        part.clear();
        part.resize(stride, 0.0);
        dense::add_squares(y, stride, 0, across, part);
        full.clone_from(part);
        dense::add_squares(y, stride, across, d, full);
    }

    /// The columns up to date, if the set has been decided on: what a snapshot keeps.
    pub(crate) fn saved(&self) -> Option<Columns> {
        self.is_current.then(|| {
            let mut own = self.clone();
            for step in 0..own.pending_count {
                own.step(step);
            }
            own.columns
        })
    }

    /// Takes up saved columns; `false` if they do not fit.
    #[must_use]
    pub(crate) fn restore(&mut self, columns: Columns, signals: usize) -> bool {
        let stride = self.stride;
        let fits = columns.whitened.len() == self.turned.len()
            && columns.squares.iter().all(|row| row.len() == stride)
            && columns.means.len() == signals
            && columns.means.iter().all(|row| row.len() == stride);
        if fits {
            self.columns = columns;
            self.is_current = true;
        }
        fits
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
