//! Models q̂ of the signals: given by the caller, or fitted here with cross-fitting.
//!
//! Cross-fitting: the rounds are dealt to k folds by a seeded permutation, and the model that
//! predicts for a round was fitted on the other folds only. A prediction thus never knows the
//! outcome it is compared with, and the doubly robust estimate stays unbiased whatever the model.

use banister::Error;

use crate::estimate::Options;
use crate::log::{CheckedLog, Features, count};
use crate::random::{Purpose, below, stream};
use crate::ridge::Ridge;

/// Where predictions q̂(round, arm) of every signal come from.
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

/// A model that can be asked.
pub(crate) enum Predictor<'a> {
    Given(&'a [f64]),
    Fitted(Fitted<'a>),
}

/// Linear models, one per fold, or per fold and arm.
pub(crate) struct Fitted<'a> {
    /// The fold of each round.
    pub folds: Vec<usize>,
    fold_count: usize,
    /// Per fold (and per arm unless features are the actions' own): intercept and coefficients of
    /// every signal.
    coefficients: Vec<Vec<f64>>,
    features: Features<'a>,
    arms: usize,
}

impl<'a> Predictor<'a> {
    pub(crate) fn new(
        log: &CheckedLog<'a>,
        model: Model<'a>,
        options: &Options,
    ) -> Result<Self, Error> {
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
        let mut fitted = Self {
            folds: deal(n, options.folds, options.seed),
            fold_count: options.folds,
            coefficients: Vec::new(),
            features: log.declared().features,
            arms: log.declared().arms,
        };
        for fold in 0..options.folds {
            fitted.fit(log, fold, options.ridge)?;
        }
        Ok(fitted)
    }

    /// Fits the models that predict for a fold, on all the others.
    fn fit(&mut self, log: &CheckedLog, fold: usize, penalty: f64) -> Result<(), Error> {
        let d = self.row(0, 0).len();
        let signals = log.signals();
        let mut regressions = vec![Ridge::new(d, signals); self.models_per_fold()];
        let mut everything = Ridge::new(0, signals);
        let mut columns: Vec<_> = (0..signals).map(|s| log.observed(s)).collect();
        let mut outcome = vec![0.0; signals];
        for (i, &action) in log.declared().actions.iter().enumerate() {
            for (out, column) in outcome.iter_mut().zip(&mut columns) {
                *out = column.next().unwrap_or_default();
            }
            if self.folds[i] != fold {
                let model = if regressions.len() == 1 { 0 } else { action };
                regressions[model].push(self.row(i, action), &outcome);
                everything.push(&[], &outcome);
            }
        }
        // An arm that was never played is thought to be like the others.
        let mean = everything.fit(penalty).unwrap_or_default();
        for regression in &regressions {
            let fit = match regression.is_empty() {
                true => Some(mean.iter().flat_map(|m| pad(*m, d)).collect()),
                false => regression.fit(penalty),
            };
            self.coefficients.push(fit.ok_or_else(|| {
                let allowed = "the regression overflows or has no solution: scale the features, or \
                               use a larger `ridge`";
                Error::invalid("features", "not usable for a model", allowed)
            })?);
        }
        Ok(())
    }

    fn models_per_fold(&self) -> usize {
        match self.features {
            Features::Offered { .. } => 1,
            _ => self.arms,
        }
    }

    /// What a model sees of an arm in a round.
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
        let per_fold = self.models_per_fold();
        let model = self.folds[round] * per_fold + if per_fold == 1 { 0 } else { arm };
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
