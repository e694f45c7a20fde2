//! Models q̂ of the signals: given by the caller, or fitted here with cross-fitting.
//!
//! Cross-fitting: the rounds are dealt to k folds by a seeded permutation, and the model that
//! predicts for a round was fitted on the other folds only. A prediction thus never knows the
//! outcome it is compared with, and the doubly robust estimate stays unbiased whatever the model.

use banister::Error;
use banister::solve::dense::inverse_factor;

use crate::log::{CheckedLog, Features, count};
use crate::options::Options;
use crate::random::{Purpose, below, stream};

/// Source of predictions q̂(round, arm) of every signal.
///
/// Predictions are moved into the signal's declared range where they leave it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Model<'a> {
    /// Fitted here with cross-fitting: per-arm means without features, one ridge regression per arm
    /// on a context, one ridge regression over the features of offered actions.
    #[default]
    Fitted,
    /// Given, (1 + m) × n × K numbers: the reward's table of one row of K arms per round, then one
    /// such table per guardrail. It must not have been fitted on the log's own outcomes.
    Given(&'a [f64]),
}

/// A checked or fitted model.
pub(crate) enum Predictor<'a> {
    Given(&'a [f64]),
    Fitted(Fitted<'a>),
}

/// Most numbers that the regressions of one fold may take.
const MAX_NUMBERS: usize = 100_000_000;

/// Linear models, per fold: one for each arm with a model of its own, then one for all others.
pub(crate) struct Fitted<'a> {
    /// The fold of each round.
    folds: Vec<usize>,
    fold_count: usize,
    /// Arms with a model of their own, sorted: those that were played, or none where features are
    /// the actions' own.
    own: Vec<usize>,
    /// Per model: intercept and coefficients of every signal.
    coefficients: Vec<Vec<f64>>,
    features: Features<'a>,
    arms: usize,
}

impl<'a> Predictor<'a> {
    /// Makes the model, if the estimator has one.
    pub(crate) fn needed(
        log: &CheckedLog<'a>,
        model: Model<'a>,
        options: &Options,
    ) -> Result<Option<Self>, Error> {
        let needed = options.estimator.has_model();
        needed.then(|| Self::new(log, model, options)).transpose()
    }

    fn new(log: &CheckedLog<'a>, model: Model<'a>, options: &Options) -> Result<Self, Error> {
        let (n, arms, signals) = (log.rounds(), log.declared().arms, log.signals());
        let numbers = match model {
            Model::Fitted => return Fitted::new(log, options).map(Self::Fitted),
            Model::Given(numbers) => numbers,
        };
        let expected = n.checked_mul(arms).and_then(|x| x.checked_mul(signals));
        let shape = format!("signals × rounds × arms, {signals} × {n} × {arms}");
        count("model", numbers.len(), expected, &shape)?;
        match numbers.iter().position(|q| !q.is_finite()) {
            None => Ok(Self::Given(numbers)),
            Some(at) => {
                let (signal, rest) = (at / (n * arms), at % (n * arms));
                let field = format!("model[{signal}][{}][{}]", rest / arms, rest % arms);
                let allowed = "only finite numbers are allowed";
                Err(Error::invalid(field, numbers[at], allowed))
            }
        }
    }

    /// q̂ of a signal, in its declared range.
    pub(crate) fn at(&self, log: &CheckedLog, signal: usize, round: usize, arm: usize) -> f64 {
        let q = match self {
            Self::Given(numbers) => {
                numbers[(signal * log.rounds() + round) * log.declared().arms + arm]
            }
            Self::Fitted(fitted) => fitted.at(signal, round, arm),
        };
        match log.range(signal) {
            Some([lo, hi]) => q.clamp(lo, hi),
            None => q,
        }
    }

    /// The groups of rounds whose terms are independent given the rest: folds, or all rounds.
    pub(crate) fn groups(&self) -> Option<(&[usize], usize)> {
        match self {
            Self::Given(_) => None,
            Self::Fitted(fitted) => Some((&fitted.folds, fitted.fold_count)),
        }
    }
}

impl<'a> Fitted<'a> {
    fn new(log: &CheckedLog<'a>, options: &Options) -> Result<Self, Error> {
        let n = log.rounds();
        if matches!(log.declared().features, Features::Played { .. }) {
            let allowed = "a model must predict for arms that were not played: give the features of \
                           all that were offered, a context, or the model's predictions";
            let value = "those of the action played alone";
            return Err(Error::invalid("features", value, allowed));
        }
        if options.folds < 2 || options.folds > n / 2 {
            let allowed = format!("must be at least 2 and at most half of the {n} rounds");
            return Err(Error::invalid("folds", options.folds, allowed));
        }
        let mut own = match log.declared().features {
            Features::Offered { .. } => Vec::new(),
            _ => log.declared().actions.to_vec(),
        };
        own.sort_unstable();
        own.dedup();
        let mut fitted = Self {
            folds: deal(n, options.folds, options.seed),
            fold_count: options.folds,
            own,
            coefficients: Vec::new(),
            features: log.declared().features,
            arms: log.declared().arms,
        };
        let d = fitted.row(0, 0).len();
        let square = d.checked_add(1).and_then(|size| size.checked_mul(size));
        let numbers = square.and_then(|square| square.checked_mul(fitted.models()));
        if numbers.is_none_or(|numbers| numbers > MAX_NUMBERS) {
            let allowed = format!(
                "too large for {} regressions here: give the model's predictions",
                fitted.models()
            );
            return Err(Error::invalid("features.dimension", d, allowed));
        }
        for fold in 0..options.folds {
            fitted.fit(log, fold, options.ridge)?;
        }
        Ok(fitted)
    }

    /// Fits the models that predict for a fold, on all the others.
    fn fit(&mut self, log: &CheckedLog, fold: usize, penalty: f64) -> Result<(), Error> {
        let d = self.row(0, 0).len();
        let signals = log.signals();
        let mut regressions = vec![Ridge::new(d, signals); self.models()];
        let mut everything = Ridge::new(0, signals);
        let mut outcome = vec![0.0; signals];
        for (i, &action) in log.declared().actions.iter().enumerate() {
            if self.folds[i] != fold {
                for (signal, out) in outcome.iter_mut().enumerate() {
                    *out = log.value(signal, i);
                }
                regressions[self.model(action)].push(self.row(i, action), &outcome);
                everything.push(&[], &outcome);
            }
        }
        let unusable = || {
            let allowed = "the regression overflows or has no solution: scale the features, or use \
                           a larger `ridge`";
            Error::invalid("features", "not usable for a model", allowed)
        };
        // An arm that was not played is thought to be like the others.
        let mean = everything.fit(penalty).ok_or_else(unusable)?;
        for regression in &regressions {
            let fit = if regression.is_empty() {
                Some(mean.iter().flat_map(|m| pad(*m, d)).collect())
            } else {
                regression.fit(penalty)
            };
            self.coefficients.push(fit.ok_or_else(unusable)?);
        }
        Ok(())
    }

    /// Number of models per fold.
    fn models(&self) -> usize {
        self.own.len() + 1
    }

    /// The model of an arm, within a fold.
    fn model(&self, arm: usize) -> usize {
        self.own.binary_search(&arm).unwrap_or(self.own.len())
    }

    /// Features that a model sees of an arm in a round.
    fn row(&self, round: usize, arm: usize) -> &'a [f64] {
        match self.features {
            Features::None | Features::Played { .. } => &[],
            Features::Context { dimension, rows } => {
                &rows[round * dimension..(round + 1) * dimension]
            }
            Features::Offered { dimension, sets } => {
                let at = (round * self.arms + arm) * dimension;
                &sets[at..at + dimension]
            }
        }
    }

    fn at(&self, signal: usize, round: usize, arm: usize) -> f64 {
        let x = self.row(round, arm);
        let model = self.folds[round] * self.models() + self.model(arm);
        let own = &self.coefficients[model][signal * (x.len() + 1)..(signal + 1) * (x.len() + 1)];
        let (intercept, slopes) = (own[0], &own[1..]);
        intercept + std::iter::zip(slopes, x).map(|(b, x)| b * x).sum::<f64>()
    }
}

/// An intercept without slopes.
fn pad(intercept: f64, d: usize) -> impl Iterator<Item = f64> {
    std::iter::once(intercept).chain(std::iter::repeat_n(0.0, d))
}

/// Deals rounds to folds whose sizes differ by at most one (a Fisher–Yates shuffle).
fn deal(n: usize, folds: usize, seed: u64) -> Vec<usize> {
    let mut rng = stream(seed, Purpose::Folds);
    let mut dealt: Vec<usize> = (0..n).map(|i| i % folds).collect();
    for i in (1..n).rev() {
        dealt.swap(i, below(&mut rng, i + 1));
    }
    dealt
}

/// Ridge regression with an intercept, for all signals at once: sums over the rounds seen. Coordinate 0 is the intercept's.
///
/// Minimises Σ (y − b_0 − ⟨b, x⟩)² + λ‖b‖²; the intercept is not penalised. Without features it is
/// the mean.
#[derive(Debug, Clone)]
pub(crate) struct Ridge {
    /// Number of coefficients, 1 + d.
    size: usize,
    /// Lower triangle of Σ (1, x)(1, x)'.
    gram: Vec<f64>,
    /// Per signal: Σ y (1, x).
    sums: Vec<f64>,
}

impl Ridge {
    pub(crate) fn new(d: usize, signals: usize) -> Self {
        let size = d + 1;
        Self {
            size,
            gram: vec![0.0; size * size],
            sums: vec![0.0; size * signals],
        }
    }

    /// True before any round is seen.
    pub(crate) fn is_empty(&self) -> bool {
        self.gram[0] == 0.0
    }

    /// Adds one round to the sums.
    pub(crate) fn push(&mut self, x: &[f64], outcome: &[f64]) {
        let at = |j: usize| if j == 0 { 1.0 } else { x[j - 1] };
        for (j, row) in self.gram.chunks_exact_mut(self.size).enumerate() {
            let left = at(j);
            for (k, entry) in row.iter_mut().enumerate().take(j + 1) {
                *entry += left * at(k);
            }
        }
        for (sums, y) in self.sums.chunks_exact_mut(self.size).zip(outcome) {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum += y * at(j);
            }
        }
    }

    /// Intercept and coefficients of every signal; `None` if the sums overflow or leave the
    /// coefficients open.
    pub(crate) fn fit(&self, penalty: f64) -> Option<Vec<f64>> {
        let size = self.size;
        let mut gram = self.gram.clone();
        for j in 1..size {
            gram[j * size + j] += penalty;
        }
        // W = L⁻¹ of the Cholesky factor, so the solution is W'W times the sums.
        let (mut factor, mut w) = (Vec::new(), vec![0.0; size * size]);
        if !inverse_factor(&gram, size, size, &mut factor, &mut w) {
            return None;
        }
        let mut solved = Vec::with_capacity(self.sums.len());
        for sums in self.sums.chunks_exact(size) {
            let mut out = vec![0.0; size];
            for row in w.chunks_exact(size) {
                let z: f64 = std::iter::zip(row, sums).map(|(w, s)| w * s).sum();
                for (out, w) in out.iter_mut().zip(row) {
                    *out += w * z;
                }
            }
            solved.extend(out);
        }
        solved.iter().all(|b| b.is_finite()).then_some(solved)
    }
}
