//! Lack of fit: costs that the model of the features does not explain.
//!
//! The model says that a cost's mean is ⟨x, μ⟩ for some μ of length at most S. Fix a cell: a part of the outcomes that
//! is chosen before their costs are seen. Let φ_s be 1 where outcome s lies in it and 0 elsewhere, n = Σφ_s,
//! z = Σφ_s x_s, Σ = V + λ_0 I and μ̂ the estimate. Under the model the sum of residuals over the cell is
//!
//! ```text
//!   T = Σ_s φ_s (y_s − ⟨x_s, μ̂⟩) = ⟨c, N⟩ + λ_0⟨Σ⁻¹z, μ⟩,   N = Σ_s η_s (x_s, φ_s),   c = (−Σ⁻¹z, 1),
//! ```
//!
//! as μ̂ − μ = Σ⁻¹(Σ_s η_s x_s − λ_0 μ). So φ is one more feature, whose parameter is 0. With Σ_k the Gram matrix of
//! (x, φ), ridge λ_k on x and κ on φ,
//!
//! ```text
//!   M_k = (det Σ_k/(λ_k^d κ))^{−1/2} exp( ‖N‖²_{Σ_k⁻¹}/(2R²) )
//! ```
//!
//! is a supermartingale that starts at 1, as φ_s and x_s are known before y_s (the method of mixtures). Cauchy and
//! Schwarz bound ⟨c, N⟩² by ‖c‖²_{Σ_k} ‖N‖²_{Σ_k⁻¹}. With a = ‖z‖²_{Σ⁻¹} and b = ‖Σ⁻¹z‖²,
//!
//! ```text
//!   ‖c‖²_{Σ_k} = κ + n − a + (λ_k − λ_0) b,        det Σ_k/(λ_k^d κ) ≤ det(I + V/λ_k) (1 + n/κ).
//! ```
//!
//! Hence the mean over k of
//!
//! ```text
//!   E_k = det(I + V/λ_k)^{−1/2} (1 + n/κ)^{−1/2} exp( (|T| − λ_0 S √b)₊² / (2R² (κ + n − a + (λ_k − λ_0) b)) )
//! ```
//!
//! is at most the mean of the M_k, and by Ville ever reaches 1/δ' with probability at most δ'. No confidence set is
//! needed beside, and the price of not knowing μ is small: at λ_k of about n the determinant is nearly 1, and
//! (λ_k − λ_0) b about n. All cells and guardrails share δ, and each time that cells are learned has 1/(j(j+1)) of it.
//!
//! Only costs are tested: safety rests on them alone. Where all arms share a model, outcomes of the safe action have a
//! test of their own; where each has its own, it is tested too, and arms share δ in the order of their first pull.
//! Costs with a link are compared with the intervals of their model instead (`bets`).
//!
//! Files: `cells` (parts of the outcomes, and their sums), `bets`.

mod bets;
mod cells;

use banister_solve::dense::LEVELS;
use libm::{exp, log};
use serde::{Deserialize, Serialize};

use crate::error::{Error, broken};
use crate::linear::{Regression, level_ridge};
use crate::monitor::{Misfit, Refuted};
pub(crate) use bets::Forecast;
pub(crate) use cells::Extent;
use cells::{Cell, Cells};

/// κ: the ridge of the cell's own parameter.
const KAPPA: f64 = 16.0;
/// Least outcomes of a cell that is looked at.
const LEAST: f64 = 20.0;
/// Growth of the outcomes after which all cells are looked at again.
const GROWTH: f64 = 1.05;
/// Cells looked at per outcome.
const LOOKS: usize = 2;

/// The test of a model with features.
#[derive(Debug, Clone)]
pub(crate) struct Fit {
    /// Dimension of the regression.
    d: usize,
    comparisons: Vec<Comparison>,
    /// ln of the evidence that refutes, before its share of a generation.
    log_level: f64,
    cells: Cells,
    turn: Turn,
    /// Room for an outcome's row (one, its costs, bets on them, its features), for a cell's sum, and for Σ⁻¹z.
    row: Vec<f64>,
    sum: Vec<f64>,
    whitened: Vec<f64>,
    solved: Vec<f64>,
}

/// Comparison of a guardrail's costs with the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Sums of residuals: means are linear.
    Residuals,
    /// Bets against the model's intervals: means have a link.
    Intervals,
    /// None.
    Untested,
}

/// An outcome, as the model has just taken it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    /// Features by which it lies in cells.
    pub features: &'a [f64],
    /// Number of its arm, where arms are cells.
    pub arm: Option<usize>,
    /// Targets of the regression, one per guardrail.
    pub targets: &'a [f64],
    /// Features as regressed on.
    pub x: &'a [f64],
    /// Costs with a link beside what was expected of them, one per guardrail.
    pub forecasts: &'a [Forecast],
}

/// The model that is tested.
pub(crate) trait Model {
    /// Its regression.
    fn regression(&self) -> &Regression;

    /// Parameters of a guardrail's signal.
    fn signal(&self, guardrail: usize) -> Signal;

    /// Mean of a guardrail's signal in its units, given those of its targets and of the last coordinate regressed on.
    fn mean(&self, guardrail: usize, target: f64, last: f64) -> f64;

    /// Mean of a guardrail's signal in its units, given the mean in standard units.
    fn of_standard(&self, guardrail: usize, mean: f64) -> f64;
}

/// The cell that is next.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    cell: usize,
    /// Outcomes when the first one was looked at.
    since: f64,
}

/// A test as a snapshot keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FitState {
    cells: cells::CellsState,
    turn: Turn,
}

/// Parameters of a signal's model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal {
    /// S, or S⊥ where the part along x_0 is known.
    pub parameter_norm: f64,
    /// R in units of the range.
    pub r: f64,
    /// Most that rounding adds to a prediction, per unit of ‖x‖ in Σ⁻¹.
    pub rounding: f64,
}

impl Fit {
    /// Test of a model on `d` features, with one comparison per guardrail; its level comes later. `arms` have cells.
    pub(crate) fn new(
        (d, padded): (usize, usize),
        comparisons: Vec<Comparison>,
        extent: Extent,
        arms: usize,
    ) -> Self {
        let linked = comparisons.iter().filter(|c| **c == Comparison::Intervals);
        let head = 1 + comparisons.len() + bets::NUMBERS * linked.count();
        Self {
            d,
            comparisons,
            log_level: f64::INFINITY,
            cells: Cells::new(d, head + d, extent, arms),
            turn: Turn::default(),
            row: vec![0.0; head + d],
            // The features are followed by zeros up to whole chunks.
            sum: vec![0.0; head + padded],
            whitened: vec![0.0; d],
            solved: vec![0.0; padded],
        }
    }

    /// True if the costs of every guardrail are compared with the model.
    pub(crate) fn is_whole(&self) -> bool {
        !self.comparisons.contains(&Comparison::Untested)
    }

    /// Goes on at level δ.
    pub(crate) fn set_level(&mut self, delta: f64) {
        self.log_level = log((self.cells.most() * self.comparisons.len().max(1)) as f64 / delta);
    }

    /// Forgets all outcomes.
    pub(crate) fn clear(&mut self) {
        self.cells.clear();
        self.turn = Turn::default();
    }

    /// Makes room for one more arm.
    pub(crate) fn add_arm(&mut self, arm: usize) {
        self.cells.add_arm(arm);
    }

    /// Observes the outcome that the model took last.
    pub(crate) fn observe(&mut self, sample: Sample<'_>) {
        let m = self.comparisons.len();
        let head = self.row.len() - self.d;
        self.row[0] = 1.0;
        self.row[1..=m].copy_from_slice(sample.targets);
        let mut bets = self.row[1 + m..head].chunks_exact_mut(bets::NUMBERS);
        for (comparison, forecast) in self.comparisons.iter().zip(sample.forecasts) {
            if *comparison == Comparison::Intervals
                && let Some(numbers) = bets.next()
            {
                forecast.bet(numbers);
            }
        }
        self.row[head..].copy_from_slice(sample.x);
        self.cells.add(sample.features, sample.arm, &self.row);
    }

    /// Looks at the next cells, after an outcome.
    pub(crate) fn look(&mut self, model: &impl Model) -> Option<Refuted> {
        // Before the first cuts there are no cells.
        if self.cells.state.generation == 0 {
            return None;
        }
        for _ in 0..LOOKS {
            if self.turn.cell >= self.cells.count() {
                self.turn.cell = 0;
            }
            if self.turn.cell == 0 {
                if self.cells.outcomes() < GROWTH * self.turn.since {
                    return None;
                }
                self.turn.since = self.cells.outcomes();
            }
            let cell = self.cells.cell(self.turn.cell);
            self.turn.cell += 1;
            if let Some(cell) = cell
                && self.cells.outcomes_in(&cell) >= LEAST
                && let Some(refuted) = self.examine(&cell, model)
            {
                return Some(refuted);
            }
        }
        None
    }

    fn examine(&mut self, cell: &Cell, model: &impl Model) -> Option<Refuted> {
        let generation = f64::from(self.cells.state.generation);
        let level = self.log_level + log(generation * (generation + 1.0));
        let head = self.row.len() - self.d;
        self.cells.sum(cell, &mut self.sum[..self.row.len()]);
        model
            .regression()
            .whiten(&self.sum[head..], &mut self.whitened);
        let n = self.sum[0];
        let mut linked = 0;
        for guardrail in 0..self.comparisons.len() {
            let (best, mean, predicted) = match self.comparisons[guardrail] {
                Comparison::Untested => continue,
                Comparison::Residuals => {
                    let Some((best, predicted)) = self.residuals(guardrail, model) else {
                        continue;
                    };
                    let last = self.sum[head + self.d - 1] / n;
                    let mean = |sum: f64| model.mean(guardrail, sum / n, last);
                    (best, mean(self.sum[1 + guardrail]), mean(predicted))
                }
                Comparison::Intervals => {
                    let at = 1 + self.comparisons.len() + bets::NUMBERS * linked;
                    linked += 1;
                    let sums = &self.sum[at..at + bets::NUMBERS];
                    let (best, [mean, predicted]) = bets::evidence(sums, n);
                    let of = |mean: f64| model.of_standard(guardrail, mean);
                    (best, of(mean), of(predicted))
                }
            };
            if best >= level {
                return Some(Refuted {
                    guardrail,
                    arm: cell.arm,
                    outcomes: n as u64,
                    mean,
                    evidence: exp(best.min(460.0)),
                    misfit: Misfit {
                        predicted,
                        cell: cell.ranges,
                    },
                });
            }
        }
        None
    }

    /// ln of the evidence in the sum at hand, and the sum that the model predicts.
    fn residuals(&mut self, guardrail: usize, model: &impl Model) -> Option<(f64, f64)> {
        let regression = model.regression();
        let length = self.whitened.iter().map(|y| y * y).sum::<f64>().sqrt();
        let n = self.sum[0];
        let (own, i) = (model.signal(guardrail), guardrail + 1);
        let [square, solved] = regression.lengths(i, &self.whitened, &mut self.solved);
        let predicted = regression.predict(i, &self.whitened);
        let lambda = regression.lambda();
        let (sum, r) = (self.sum[i], own.r);
        let solved = solved + regression.solved_rounding() * length;
        let rounding = own.rounding * length + f64::EPSILON * n * (n + sum.abs() + predicted.abs());
        let excess = (sum - predicted).abs() - lambda * own.parameter_norm * solved - rounding;
        // NaN fails.
        if !(excess > 0.0) {
            return None;
        }
        let own_part = KAPPA + (n - square / (1.0 + regression.error())).max(0.0);
        let log_dets = regression.level_log_dets(i);
        let levels = if regression.has_levels() { LEVELS } else { 1 };
        let evidence_of = |k: usize| {
            let more = level_ridge(lambda, k) - lambda;
            let variance = r * r * (own_part + more * solved * solved);
            0.5 * (excess * excess / variance - log_dets[k] - log(1.0 + n / KAPPA))
        };
        let best = (0..levels).map(evidence_of).fold(f64::MIN, f64::max);
        Some((best - log(levels as f64), predicted))
    }

    pub(crate) fn save(&self) -> FitState {
        FitState {
            cells: self.cells.state.clone(),
            turn: self.turn,
        }
    }

    /// Takes up a saved test; one that was never saved starts anew.
    pub(crate) fn restore(&mut self, saved: Option<FitState>) -> Result<(), Error> {
        let Some(saved) = saved else { return Ok(()) };
        if !(self.cells.restore(saved.cells) && saved.turn.since >= 0.0) {
            return Err(broken("`fit` does not match the problem's features"));
        }
        self.turn = saved.turn;
        Ok(())
    }
}
