//! Ridge regression of all signals on turned features, with one factor for all of them.
//!
//! Σ = λI + Σ_s x̃_s x̃_sᵀ = LLᵀ and W = L⁻¹ is kept, lower triangular. An action's whitened features
//! y = W x̃ give everything: ‖x‖²_{Σ⁻¹} = ‖y‖², ‖z‖²_{Σ⊥⁻¹} = the same over the first p coordinates,
//! and ⟨x, θ̂⟩ = ⟨y, W Σ_s r_s x̃_s⟩. A rank-one update costs O(d²); every so often W is made afresh
//! from Σ, where that undoes more rounding than it adds ([`Rounding`]).

use banister_solve::dense::{self, RankOne};
use serde::{Deserialize, Serialize};

use super::rounding::{GROUP, Rounding};
use super::scales::{Scales, ridge};

/// Updates after which W is made afresh, or kept where that is more exact.
const REFRESH: u32 = 1024;

/// The regression of m + 1 signals.
#[derive(Debug, Clone)]
pub struct Regression {
    d: usize,
    /// p.
    across: usize,
    lambda: f64,
    /// Coordinates that each signal regresses on: d, or p where the part along x_0 is known.
    coordinates: Vec<usize>,
    stride: usize,
    /// Columns for the signals' tables.
    lanes: usize,
    state: RegressionState,
    /// Room for y, for L and for Σ.
    y: Vec<f64>,
    factor: Vec<f64>,
    sum: Vec<f64>,
}

/// All that an update changes; what a snapshot keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegressionState {
    /// Σ, lower triangle by rows.
    sigma: Total,
    /// W, by rows.
    factor: Vec<f64>,
    /// Σ_s target·x̃_s, coordinate-major, one column per signal.
    sums: Total,
    /// W times `sums`.
    whitened: Vec<f64>,
    /// ln det(Σ⊥/λ) and ln det(Σ/λ).
    log_dets: [f64; 2],
    /// Updates since W was made afresh or kept.
    updates: u32,
    rounding: Rounding,
    /// Log-determinants at larger ridges, where intervals are made from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scales: Option<Scales>,
}

impl RegressionState {
    /// Before the first outcome.
    fn new(d: usize, lambda: f64, stride: usize, lanes: usize, signals: usize) -> Self {
        let diagonal = |value: f64| {
            let mut matrix = vec![0.0; d * stride];
            (0..d).for_each(|j| matrix[j * stride + j] = value);
            matrix
        };
        Self {
            sigma: Total::new(diagonal(lambda)),
            factor: diagonal(1.0 / lambda.sqrt()),
            sums: Total::new(vec![0.0; d * lanes]),
            whitened: vec![0.0; d * lanes],
            log_dets: [0.0; 2],
            updates: 0,
            rounding: Rounding::new(d, lambda, signals),
            scales: None,
        }
    }
}

/// Long sums, exact to rounding: a group of outcomes is summed on its own, then added with what the
/// last addition lost (Kahan). Summed plainly, a million outcomes would lose more
/// digits than the updates of W do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Total {
    settled: Vec<f64>,
    lost: Vec<f64>,
    recent: Vec<f64>,
}

impl Total {
    fn new(settled: Vec<f64>) -> Self {
        let zeros = vec![0.0; settled.len()];
        Self {
            settled,
            lost: zeros.clone(),
            recent: zeros,
        }
    }

    fn settle(&mut self) {
        for k in 0..self.settled.len() {
            let more = self.recent[k] + self.lost[k];
            let sum = self.settled[k] + more;
            self.lost[k] = more - (sum - self.settled[k]);
            self.settled[k] = sum;
        }
        self.recent.fill(0.0);
    }

    fn at(&self, k: usize) -> f64 {
        self.settled[k] + self.recent[k]
    }

    fn fits(&self, other: &Self) -> bool {
        [&self.settled, &self.lost, &self.recent]
            .iter()
            .all(|list| list.len() == other.settled.len())
    }
}

/// Effect of one outcome, for tables of whitened actions to follow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Update {
    pub rank_one: RankOne,
    /// Per signal: how far its prediction was off, divided by t_p or t_d; and whether by t_d.
    pub steps: Vec<(f64, bool)>,
}

/// Verdict: tables of whitened actions can or cannot follow an outcome by its [`Update`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    Update,
    Afresh,
}

impl Regression {
    /// `coordinates[s]` is the number of leading coordinates that signal s regresses on.
    pub(crate) fn new(d: usize, across: usize, lambda: f64, coordinates: Vec<usize>) -> Self {
        let stride = dense::stride(d);
        let lanes = dense::stride(coordinates.len());
        let state = RegressionState::new(d, lambda, stride, lanes, coordinates.len());
        Self {
            d,
            across,
            lambda,
            coordinates,
            stride,
            lanes,
            state,
            y: vec![0.0; d],
            factor: Vec::with_capacity(d * stride),
            sum: Vec::with_capacity(d * stride),
        }
    }

    /// Forgets all outcomes.
    pub(crate) fn clear(&mut self) {
        let (signals, has_scales) = (self.coordinates.len(), self.state.scales.is_some());
        self.state = RegressionState::new(self.d, self.lambda, self.stride, self.lanes, signals);
        self.state.scales = has_scales.then(|| Scales::new(self.lambda));
    }

    /// Forgets all outcomes, and from now on keeps the levels of a grid that starts at this ridge.
    pub(crate) fn set_scales(&mut self, lambda: f64) {
        self.lambda = lambda;
        self.state.scales = Some(Scales::new(lambda));
        self.clear();
    }

    /// True if no outcome has said anything yet, of any action but zero.
    #[inline]
    pub(crate) fn is_blank(&self) -> bool {
        self.state.log_dets[1] == 0.0
    }

    /// λ, or λ_0 of a grid.
    #[inline]
    pub(crate) fn lambda(&self) -> f64 {
        self.lambda
    }

    /// Levels of the grid, where one is kept.
    #[inline]
    pub(super) fn scales(&self) -> Option<&Scales> {
        self.state.scales.as_ref()
    }

    /// Largest effect of rounding on ‖Σ⁻¹x‖ per unit of ‖x‖ in Σ⁻¹; NaN where nothing can be relied upon.
    #[inline]
    pub(crate) fn solved_rounding(&self) -> f64 {
        self.state.rounding.solved(self.d)
    }

    /// Lower triangle of Σ by rows, and the distance between them.
    pub(super) fn gram(&self) -> (Vec<f64>, usize) {
        let entries = 0..self.state.sigma.settled.len();
        (
            entries.map(|k| self.state.sigma.at(k)).collect(),
            self.stride,
        )
    }

    /// Computes the levels of the grid where they are old.
    fn rescale(&mut self) {
        let state = &mut self.state;
        let now = state.log_dets;
        let Some(scales) = state
            .scales
            .as_mut()
            .filter(|scales| scales.is_old(self.d, now))
        else {
            return;
        };
        let (d, stride) = (self.d, self.stride);
        self.sum.clear();
        let entries = 0..state.sigma.settled.len();
        self.sum.extend(entries.map(|k| state.sigma.at(k)));
        for level in 1..dense::LEVELS {
            let ridge = ridge(self.lambda, level);
            let shift = ridge - self.lambda;
            // Rounding takes no more from a log-determinant than this.
            let lost = state.rounding.log_det_afresh(d, ridge);
            let computed = dense::factor_shifted(&self.sum, stride, d, shift, &mut self.factor);
            let computed = (computed && lost.is_finite()).then(|| {
                let mut sums = [lost; 2];
                for j in 0..d {
                    let root = self.factor[j * stride + j];
                    let log = libm::log(root * root / ridge);
                    sums[1] += log;
                    if j < self.across {
                        sums[0] += log;
                    }
                }
                sums
            });
            scales.set(level, now, computed);
        }
    }

    /// W and the distance between its rows.
    #[inline]
    pub(crate) fn factor(&self) -> (&[f64], usize) {
        (&self.state.factor, self.stride)
    }

    /// ln det(Σ⊥/λ) and ln det(Σ/λ).
    #[inline]
    pub fn log_dets(&self) -> [f64; 2] {
        self.state.log_dets
    }

    /// Bound on its rounding.
    #[inline]
    pub(crate) fn rounding(&self) -> &Rounding {
        &self.state.rounding
    }

    /// Largest effect of rounding on the radius β of a signal that regresses on all coordinates.
    #[inline]
    pub fn rounding_reach(&self, signal: usize, beta: f64) -> f64 {
        self.state.rounding.reach(self.d, signal, beta)
    }

    /// Largest effect of rounding on the bounds of a signal that is known along x_0; see [`Rounding::reach_across`].
    pub(crate) fn rounding_across(
        &self,
        signal: usize,
        beta: f64,
        slope: f64,
        longest: f64,
    ) -> f64 {
        (self.state.rounding).reach_across(self.d, signal, beta, slope, longest)
    }

    /// The next target of a signal is made from parts of this size in all.
    #[inline]
    pub(crate) fn add_target(&mut self, signal: usize, size: f64) {
        self.state.rounding.add_target(signal, size);
    }

    /// tr Σ.
    fn trace(&self) -> f64 {
        let diagonal = (0..self.d).map(|j| self.state.sigma.at(j * self.stride + j));
        diagonal.sum()
    }

    /// ‖W‖² by entries.
    fn inverse_trace(&self) -> f64 {
        self.state.factor.iter().map(|w| w * w).sum()
    }

    /// True if a signal regresses on all coordinates, not only on those across x_0.
    #[inline]
    pub(crate) fn is_whole(&self, signal: usize) -> bool {
        self.coordinates[signal] == self.d
    }

    /// W Σ_s target·x̃_s of a signal.
    pub(crate) fn whitened(&self, signal: usize, out: &mut Vec<f64>) {
        out.clear();
        let rows = 0..self.coordinates[signal];
        out.extend(rows.map(|j| self.state.whitened[j * self.lanes + signal]));
    }

    /// Room for a vector that the kernels take: d numbers, then zeros up to whole chunks.
    #[inline]
    pub fn padded(&self) -> usize {
        self.stride
    }

    /// Room for one number per signal, up to whole lanes.
    pub(crate) fn padded_signals(&self) -> usize {
        self.lanes
    }

    /// y = W x̃, for padded x̃.
    pub fn whiten(&self, x: &[f64], y: &mut [f64]) {
        dense::lower_times(&self.state.factor, self.stride, x, &mut y[..self.d]);
    }

    /// A signal's prediction from whitened features.
    #[inline]
    pub fn predict(&self, signal: usize, y: &[f64]) -> f64 {
        let rows = self.state.whitened.chunks_exact(self.lanes);
        rows.zip(y).map(|(row, y)| row[signal] * y).sum()
    }

    /// ‖z‖² in Σ⊥⁻¹ and ‖Σ⊥⁻¹z‖ of whitened features, in the coordinates of a signal; `room` is padded.
    pub(crate) fn lengths(&self, signal: usize, y: &[f64], room: &mut [f64]) -> [f64; 2] {
        let y = &y[..self.coordinates[signal]];
        dense::transposed_times(&self.state.factor, self.stride, y, room);
        let solved = &room[..self.d];
        [dense::dot(y, y), dense::dot(solved, solved).sqrt()]
    }

    /// True if it keeps the levels of a grid of ridges.
    #[inline]
    pub(crate) fn has_levels(&self) -> bool {
        self.state.scales.is_some()
    }

    /// At least ‖WΣWᵀ − I‖; NaN where nothing can be relied upon.
    #[inline]
    pub(crate) fn error(&self) -> f64 {
        self.state.rounding.error()
    }

    /// The whitened length of a vector along the last axis alone, and a signal's prediction per unit
    /// of it: what x_0 needs, without a product.
    pub(crate) fn along(&self, signal: usize, length: f64) -> (f64, f64) {
        let last = self.d - 1;
        let y = self.state.factor[last * self.stride + last] * length;
        (y, y * self.state.whitened[last * self.lanes + signal])
    }

    /// ‖Σ⁻¹x‖ of such a vector, given its whitened length.
    pub(crate) fn along_solved(&self, y: f64) -> f64 {
        let row = &self.state.factor[(self.d - 1) * self.stride..];
        y.abs() * dense::dot(row, row).sqrt()
    }

    /// ‖Σ⁻¹x‖ = ‖Wᵀy‖, given y = W x̃; `room` has as many numbers as are padded.
    pub(crate) fn solved(&self, y: &[f64], room: &mut [f64]) -> f64 {
        dense::transposed_times(&self.state.factor, self.stride, y, room);
        dense::dot(room, room).sqrt()
    }

    /// Takes one outcome: padded turned features and padded targets, one per signal. `whitened` is
    /// W x̃ where it is at hand.
    pub(crate) fn observe(
        &mut self,
        x: &[f64],
        whitened: Option<&[f64]>,
        targets: &[f64],
        update: &mut Update,
    ) -> Follow {
        let mut y = std::mem::take(&mut self.y);
        match whitened {
            Some(whitened) => y.copy_from_slice(&whitened[..self.d]),
            None => self.whiten(x, &mut y),
        }
        update.rank_one.of(&y, self.across);
        let totals = update.rank_one.totals;
        update.steps.clear();
        for (signal, &target) in targets[..self.coordinates.len()].iter().enumerate() {
            let error = target - self.predict(signal, &y);
            let whole = self.is_whole(signal);
            update
                .steps
                .push((error / totals[usize::from(whole)], whole));
        }
        let (stride, lanes, d) = (self.stride, self.lanes, self.d);
        let state = &mut self.state;
        dense::add_square(&mut state.sigma.recent, stride, x, d);
        // Beyond a signal's own coordinates this means nothing; see below.
        dense::add_product(&mut state.sums.recent, lanes, &x[..d], targets);
        self.y = y;
        state.updates += 1;
        // A square that overflows is in Σ, but no update of W.
        let is_finite = totals[1] < f64::MAX;
        if is_finite {
            dense::add_product(&mut state.whitened, lanes, &self.y, targets);
            update.rank_one.apply(&mut state.whitened, lanes);
            update.rank_one.apply_lower(&mut state.factor, stride);
            state.log_dets[1] += libm::log(totals[1]);
            state.log_dets[0] = if self.across == d {
                state.log_dets[1]
            } else {
                state.log_dets[0] + libm::log(totals[0])
            };
            self.forget_beyond();
        } else {
            state.rounding.give_up();
        }
        let trace = self.trace();
        let can_follow = (self.state.rounding).update(self.d, trace, totals[1]);
        if self.state.updates.is_multiple_of(GROUP) {
            self.state.sigma.settle();
            self.state.sums.settle();
            self.maintain(trace);
        }
        self.rescale();
        // A length that falls to a fraction loses digits when followed.
        if can_follow && totals[1] <= 4.0 && self.state.updates > 0 {
            Follow::Update
        } else {
            self.state.rounding.follow_anew();
            Follow::Afresh
        }
    }

    /// Makes W afresh when it is time and that is more exact, or when W is worth nothing.
    fn maintain(&mut self, trace: f64) {
        if self.state.updates < REFRESH && self.state.rounding.is_small() {
            return;
        }
        self.state.updates = 0;
        let inverse_trace = self.inverse_trace();
        if (self.state.rounding).prefers_afresh(self.d, inverse_trace, trace) {
            let renewed = self.refresh().then(|| self.inverse_trace());
            self.state.rounding.renew(self.d, renewed, trace);
        }
    }

    /// Clears the last coordinate of signals that have only p.
    fn forget_beyond(&mut self) {
        for (signal, &coordinates) in self.coordinates.iter().enumerate() {
            for j in coordinates..self.d {
                self.state.whitened[j * self.lanes + signal] = 0.0;
            }
        }
    }

    /// Makes W and all that follows from it afresh from settled sums. `false`, and nothing has changed, if
    /// Σ has lost its positive definiteness to rounding.
    fn refresh(&mut self) -> bool {
        let (d, stride, lanes) = (self.d, self.stride, self.lanes);
        let state = &mut self.state;
        let sigma = &state.sigma.settled;
        if !dense::inverse_factor(sigma, stride, d, &mut self.factor, &mut state.factor) {
            return false;
        }
        let log = |j: usize, factor: &[f64]| {
            -libm::log(factor[j * stride + j] * factor[j * stride + j] * self.lambda)
        };
        let sum = |to: usize| (0..to).map(|j| log(j, &state.factor)).sum::<f64>();
        state.log_dets = [sum(self.across), sum(d)];
        let sums = &state.sums.settled;
        dense::lower_times_table(&state.factor, stride, sums, lanes, &mut state.whitened);
        self.forget_beyond();
        true
    }

    /// A signal's estimate in turned coordinates.
    pub(crate) fn estimate(&self, signal: usize) -> Vec<f64> {
        let n = self.coordinates[signal];
        let mut estimate = vec![0.0; n];
        for j in 0..n {
            let weight = self.state.whitened[j * self.lanes + signal];
            for (k, out) in estimate.iter_mut().enumerate().take(j + 1) {
                *out += weight * self.state.factor[j * self.stride + k];
            }
        }
        estimate
    }

    /// ‖v‖_Σ (or in Σ⊥, for a vector of p coordinates).
    pub(crate) fn length(&self, v: &[f64]) -> f64 {
        let mut sum = 0.0;
        for j in 0..v.len() {
            let entry = |k: usize| self.state.sigma.at(j * self.stride + k);
            sum += v[j] * v[j] * entry(j);
            for k in 0..j {
                sum += 2.0 * v[j] * v[k] * entry(k);
            }
        }
        sum.max(0.0).sqrt()
    }

    pub(crate) fn state(&self) -> &RegressionState {
        &self.state
    }

    /// Restores a saved state; `false` if it does not match.
    #[must_use]
    pub(crate) fn restore(&mut self, state: RegressionState) -> bool {
        let own = &self.state;
        let fits = state.sigma.fits(&own.sigma)
            && state.factor.len() == own.factor.len()
            && state.sums.fits(&own.sums)
            && state.whitened.len() == own.whitened.len()
            && state.rounding.fits(&own.rounding)
            && state.scales.is_some() == own.scales.is_some()
            && state.scales.as_ref().is_none_or(Scales::fits)
            && (0..self.d).all(|j| state.factor[j * self.stride + j] > 0.0);
        if fits {
            self.state = state;
            if let Some(scales) = &self.state.scales {
                self.lambda = scales.lambda;
            }
        }
        fits
    }
}
