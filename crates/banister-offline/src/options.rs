//! Options of estimates and verdicts: the estimator, the interval and their parameters.

use std::fmt;

use banister::Error;
use serde::{Deserialize, Serialize};

use crate::log::CheckedLog;

/// Estimator of a policy's expected signal; the formulas are on the crate's first page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// Inverse propensity scores (Horvitz–Thompson): unbiased, also on logs that an agent made while it
    /// learned; large variance.
    #[default]
    Ips,
    /// Self-normalised IPS (Swaminathan and Joachims): a small bias for less variance; the bias need not
    /// be small where an agent learned during the log.
    Snips,
    /// Doubly robust (Dudík, Langford and Li): unbiased if rounds are independent, less variance the
    /// better the model. Where an agent learned during the log, a cross-fitted model has seen outcomes
    /// that later propensities depend on, and the estimate is biased.
    Dr,
    /// The direct method: the model alone. Its bias is unknown, so its interval is the whole line.
    Dm,
}

impl Estimator {
    /// Name as written in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ips => "ips",
            Self::Snips => "snips",
            Self::Dr => "dr",
            Self::Dm => "dm",
        }
    }

    pub(crate) fn has_model(self) -> bool {
        matches!(self, Self::Dr | Self::Dm)
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Confidence interval of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalKind {
    /// Bets on weighted outcomes: holds for any number of rounds, also where an agent learned during
    /// the log, and where the log lacks actions of the policy. An interval for the policy's value,
    /// whatever the estimator; the crate's first page has the argument. Needs the signals' ranges;
    /// narrower with `min_pscore`, or where the log shows one fixed policy.
    #[default]
    Mixture,
    /// Central limit theorem, with the delta method for SNIPS. Holds for many independent rounds. With
    /// clipping it is an interval for the clipped expectation; see [`Estimate::clipping_bias`](crate::Estimate::clipping_bias).
    Normal,
    /// Maurer and Pontil's empirical Bernstein bound: holds for any number of independent rounds and
    /// includes what clipping hides. Needs the signals' ranges and a bound on the weights (`clip` or
    /// `min_pscore`); not for SNIPS.
    Bernstein,
    /// Percentile bootstrap, seeded; a fitted model is kept as it is. Costs `resamples` passes over the
    /// log for every signal.
    Bootstrap,
}

impl IntervalKind {
    /// Name as written in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mixture => "mixture",
            Self::Normal => "normal",
            Self::Bernstein => "bernstein",
            Self::Bootstrap => "bootstrap",
        }
    }
}

/// Options of an estimate.
///
/// | key | meaning | default |
/// |---|---|---|
/// | `estimator` | `ips`, `snips`, `dr` or `dm` | `ips` |
/// | `interval` | `mixture`, `normal`, `bernstein` or `bootstrap` | `mixture` |
/// | `confidence` | probability that an interval covers, each on its own | 0.95 |
/// | `clip` | weights above are cut to it | none |
/// | `min_pscore` | the logging policy's smallest probability of any action | unknown |
/// | `folds` | parts for cross-fitting a model | 5 |
/// | `ridge` | penalty λ of a fitted regression | 1 |
/// | `resamples` | bootstrap resamples | 1000 |
/// | `seed` | of the folds and of the bootstrap | 0 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Estimator of the expected signals.
    pub estimator: Estimator,
    /// Interval around the estimates.
    pub interval: IntervalKind,
    /// Confidence 1 − δ of each interval.
    pub confidence: f64,
    /// Largest weight; larger ones are cut to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// The logging policy's smallest probability of any action in any round, known beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_pscore: Option<f64>,
    /// Number k of folds.
    pub folds: usize,
    /// Ridge parameter λ of the models.
    pub ridge: f64,
    /// Number of bootstrap resamples.
    pub resamples: usize,
    /// Seed of the folds and of the bootstrap.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            estimator: Estimator::default(),
            interval: IntervalKind::default(),
            confidence: 0.95,
            clip: None,
            min_pscore: None,
            folds: 5,
            ridge: 1.0,
            resamples: 1000,
            seed: 0,
        }
    }
}

impl Options {
    /// Refuses options that make no sense, and logs too short for any interval.
    pub(crate) fn check(&self, log: &CheckedLog) -> Result<(), Error> {
        check_confidence(self.confidence)?;
        for (field, value) in [("clip", self.clip), ("ridge", Some(self.ridge))] {
            if let Some(x) = value
                && !(x > 0.0 && x.is_finite())
            {
                return Err(Error::invalid(field, x, "must be finite and above 0"));
            }
        }
        if let Some(p) = self.min_pscore
            && !(p > 0.0 && p <= 1.0)
        {
            let allowed = "must be above 0 and at most 1";
            return Err(Error::invalid("min_pscore", p, allowed));
        }
        if self.interval == IntervalKind::Bootstrap && self.resamples < 100 {
            let allowed = "percentiles need at least 100 of them";
            return Err(Error::invalid("resamples", self.resamples, allowed));
        }
        if self.interval == IntervalKind::Bernstein && self.estimator == Estimator::Snips {
            let allowed = "a ratio has no such bound: use `ips` or `dr`, or the `normal` interval";
            return Err(Error::invalid("interval", "bernstein for snips", allowed));
        }
        if log.rounds() < 2 {
            let allowed = "at least 2 rounds are needed to see any spread";
            return Err(Error::invalid("actions", "1 round", allowed));
        }
        Ok(())
    }
}

/// Refuses anything but a probability strictly between zero and one.
pub(crate) fn check_confidence(confidence: f64) -> Result<(), Error> {
    if confidence > 0.0 && confidence < 1.0 {
        return Ok(());
    }
    let allowed = "must be above 0 and below 1";
    Err(Error::invalid("confidence", confidence, allowed))
}
