//! Off-policy estimates of a policy's expected reward and costs.

use banister::Error;
use serde::Serialize;

use crate::combination::{Combination, add, scaled};
use crate::interval::{Ends, around, bootstrap, mean_and_variance};
use crate::log::CheckedLog;
use crate::model::{Model, Predictor};
use crate::options::{Estimator, IntervalKind, Options};
use crate::target::Target;
use crate::weights::{Part, Weights};

/// An estimate of one expected signal with its interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// `reward` or the name of a guardrail.
    pub name: String,
    /// Point estimate of the expected signal.
    pub estimate: f64,
    /// Its standard error; infinite for the direct method.
    pub standard_error: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Probability that the interval covers.
    pub confidence: f64,
    /// Number of rounds used.
    pub n: u64,
    /// Importance weights of the policy.
    #[serde(flatten)]
    pub weights: Weights,
    /// Distances that the true value may lie below and above the expectation of the estimate because
    /// weights were clipped, judged by the weight lost in this log; absent if nothing was clipped or
    /// the signal's range is not declared. Mixture and Bernstein intervals include it, the others do
    /// not.
    pub clipping_bias: Option<[f64; 2]>,
}

/// The estimates of a policy: its reward and every cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimates {
    /// Estimate of the expected reward.
    pub reward: Estimate,
    /// One expected signal per guardrail.
    pub costs: Vec<Estimate>,
}

/// Estimates the reward and every cost of a policy from a log.
///
/// Cost: one pass over the log per signal, and for a fitted model `folds` regressions.
pub fn estimate(
    log: &CheckedLog,
    target: Target,
    model: Model,
    options: &Options,
) -> Result<Estimates, Error> {
    options.check(log)?;
    let policy = Part::new(log, 1.0, target, options)?;
    let predictor = Predictor::needed(log, model, options)?;
    let combination = Combination {
        log,
        policy: &policy,
        reference: None,
        predictor: predictor.as_ref(),
        options,
    };
    let one = |signal| combination.estimate(signal).map(|found| found.estimate);
    Ok(Estimates {
        reward: one(0)?,
        costs: (1..log.signals()).map(one).collect::<Result<_, _>>()?,
    })
}

/// An estimate with the interval's dependence on n, which verdicts need.
pub(crate) struct Found {
    pub estimate: Estimate,
    pub ends: Ends,
    /// True if the log refutes every value.
    pub refuted: bool,
}

impl Combination<'_> {
    /// Estimates one signal; 0 is the reward.
    pub(crate) fn estimate(&self, signal: usize) -> Result<Found, Error> {
        let options = self.options;
        let (estimate, standard_error, ends) = match options.estimator {
            Estimator::Snips => self.ratio(signal)?,
            _ => self.mean(signal)?,
        };
        let ends = match (options.estimator, options.interval) {
            // The spread over rounds says nothing of the model's own error.
            (Estimator::Dm, _) => Ends::Unknown,
            // The interval is one for the policy's value, whatever the estimate beside it.
            (_, IntervalKind::Mixture) => self.mixture(signal)?,
            _ => Ends::Around(estimate, ends),
        };
        let (lower, upper, refuted) = ends.now();
        let name = self.log.signal_name(signal);
        if !(estimate.is_finite() && !standard_error.is_nan() && !lower.is_nan() && !upper.is_nan())
        {
            let allowed = "sums over the log overflow: scale the signal or clip the weights";
            return Err(Error::invalid(name, "too large", allowed));
        }
        let estimate = Estimate {
            name: name.to_string(),
            estimate,
            standard_error,
            lower,
            upper,
            confidence: options.confidence,
            n: self.log.rounds() as u64,
            weights: self.policy.weights.clone(),
            clipping_bias: self.clipping_bias(signal, estimate),
        };
        Ok(Found {
            estimate,
            ends,
            refuted,
        })
    }

    /// IPS, DR and DM: the mean of z_t = Σ_c f_c [q̂(π_c) + w_c (y − q̂(a))], with its error and ends.
    fn mean(&self, signal: usize) -> Result<(f64, f64, (f64, f64)), Error> {
        let terms = self.terms(signal);
        let (mean, variance, n) = mean_and_variance(terms.iter().copied());
        let options = self.options;
        if options.estimator == Estimator::Dm {
            return Ok((mean, f64::INFINITY, (f64::NEG_INFINITY, f64::INFINITY)));
        }
        let standard_error = (variance / n as f64).sqrt();
        let ends = match options.interval {
            IntervalKind::Mixture | IntervalKind::Normal => {
                around(mean, standard_error, options.confidence)
            }
            IntervalKind::Bernstein => self.bernstein(signal, &terms)?,
            IntervalKind::Bootstrap => {
                let Options {
                    resamples,
                    seed,
                    confidence,
                    ..
                } = *options;
                let average = |sums: &[f64]| sums.first().map(|sum| sum / n as f64);
                bootstrap(&[terms], resamples, seed, confidence, average)?
            }
        };
        Ok((mean, standard_error, ends))
    }

    /// SNIPS: Σ_c f_c Σ w_c y / Σ w_c. The delta method gives each round the influence
    /// Σ_c f_c w_c (y − ŝ_c)/w̄_c.
    fn ratio(&self, signal: usize) -> Result<(f64, f64, (f64, f64)), Error> {
        let values: Vec<f64> = self.log.observed(signal).collect();
        let n = values.len() as f64;
        let mut columns = Vec::new();
        for part in self.parts() {
            let weighted = std::iter::zip(&part.clipped, &values).map(|(w, y)| w * y);
            columns.push(weighted.collect::<Vec<f64>>());
            columns.push(part.clipped.clone());
        }
        let ratios = |sums: &[f64]| -> Option<f64> {
            let parts = std::iter::zip(self.parts(), sums.chunks_exact(2));
            let ratio = |(part, sums): (&Part, &[f64])| match *sums {
                [top, below] if below > 0.0 => Some(part.factor * (top / below)),
                _ => None,
            };
            parts.map(ratio).sum()
        };
        let sums: Vec<f64> = columns.iter().map(|column| column.iter().sum()).collect();
        let estimate = ratios(&sums).ok_or_else(|| {
            let allowed = "the log never plays an action that the policy (or the safe arm) plays";
            Error::invalid("policy", "not covered by the log", allowed)
        })?;
        let influence = (0..values.len()).map(|t| -> f64 {
            let parts = std::iter::zip(self.parts(), sums.chunks_exact(2));
            let of_part = |(part, sums): (&Part, &[f64])| match *sums {
                [top, below] => {
                    part.factor * part.clipped[t] * (values[t] - top / below) * n / below
                }
                _ => 0.0,
            };
            parts.map(of_part).sum()
        });
        let (_, variance, _) = mean_and_variance(influence);
        let standard_error = (variance / n).sqrt();
        let Options {
            resamples,
            seed,
            confidence,
            ..
        } = *self.options;
        let ends = match self.options.interval {
            IntervalKind::Bootstrap => bootstrap(&columns, resamples, seed, confidence, ratios)?,
            _ => around(estimate, standard_error, confidence),
        };
        Ok((estimate, standard_error, ends))
    }

    /// Largest bias that clipping may cause: the weight lost times the range of the residual.
    fn clipping_bias(&self, signal: usize, estimate: f64) -> Option<[f64; 2]> {
        let [lo, hi] = self.log.range(signal)?;
        let mut bias = [0.0; 2];
        let mut clipped = false;
        for part in self.parts() {
            let lost = part.weights.lost;
            clipped |= lost > 0.0;
            let own = match self.options.estimator {
                // A clipped ratio is a mixture's other part: s = (1 − λ)ŝ + λ·(something in range).
                Estimator::Snips if self.reference.is_none() => {
                    let share = lost / part.weights.mean;
                    [share * (lo - estimate), share * (hi - estimate)]
                }
                Estimator::Snips => {
                    let share = lost / part.weights.mean;
                    scaled([share * (lo - hi), share * (hi - lo)], part.factor)
                }
                Estimator::Ips => scaled([lost * lo, lost * hi], part.factor),
                Estimator::Dr | Estimator::Dm => {
                    scaled([lost * (lo - hi), lost * (hi - lo)], part.factor)
                }
            };
            add(&mut bias, own);
        }
        clipped.then_some(bias)
    }
}
