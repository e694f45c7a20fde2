//! The estimate of Σ_c f_c s(π_c), a linear combination of policies' expected signals.
//!
//! One policy is a combination of itself. A relative guardrail asks for s(π) − f·s(safe): both parts
//! are estimated on the same rounds, so their errors are correlated and only the terms of the
//! difference, round by round, have the right spread.

use banister::Error;
use banister::interval::Mixture;
use libm::log;

use crate::estimate::{Estimate, Estimator, IntervalKind, Options};
use crate::interval::{
    Bets, Ends, MixtureEnds, bernstein_width, bootstrap, mean_and_variance, normal_quantile,
};
use crate::log::CheckedLog;
use crate::model::Predictor;
use crate::target::Part;

pub(crate) struct Combination<'a> {
    pub log: &'a CheckedLog<'a>,
    /// The policy that is judged, with factor 1.
    pub policy: &'a Part<'a>,
    /// What is added to it: minus f times the safe arm.
    pub reference: Option<&'a Part<'a>>,
    pub predictor: Option<&'a Predictor<'a>>,
    pub options: &'a Options,
}

/// An estimate with what a verdict asks of its interval.
pub(crate) struct Found {
    pub estimate: Estimate,
    pub ends: Ends,
    /// True if the log refutes every value.
    pub refuted: bool,
}

impl Combination<'_> {
    fn parts(&self) -> impl Iterator<Item = &Part<'_>> {
        std::iter::once(self.policy).chain(self.reference)
    }

    /// The estimate of one signal, and its interval as it would be with more rounds; 0 is the reward.
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

    /// The mixture interval of v = Σ_c f_c s(π_c), for a signal in [lo, hi].
    ///
    /// With v⁻ = Σ_c min(f_c·lo, f_c·hi) the terms w_c |f_c| (y − lo) of parts with f_c > 0 and
    /// w_c |f_c| (hi − y) of the others are never negative, and their sum has expectation v − v⁻, or less
    /// if weights were clipped or the log cannot contain all that π_c plays. A lower bound of that
    /// expectation is one of v, and no more is assumed. The upper end mirrors it.
    ///
    /// Where the log is known to contain all of it and weights are not clipped ([`Part::covered`]), the
    /// terms Σ_c f_c w_c (y − lo), or (y − hi), are bounded with expectation v up to a
    /// constant: they are narrower on the far side, above all for rare events.
    fn mixture(&self, signal: usize) -> Result<Ends, Error> {
        let [lo, hi] = self.needed_range(signal)?;
        let ([mut lowest, mut highest], mut factors) = ([0.0; 2], 0.0);
        let mut possible = Some([0.0; 2]);
        for part in self.parts() {
            let [low, high] = scaled([lo, hi], part.factor);
            (lowest, highest) = (lowest + low, highest + high);
            factors += part.factor;
            possible = possible.zip(part.covered).map(|(mut sum, most)| {
                add(&mut sum, scaled([0.0, most * (hi - lo)], part.factor));
                sum
            });
        }
        // Terms from the low end of the range, then from the high end, where y − hi is negative.
        let bounded = possible.map_or(Vec::new(), |[low, high]| {
            let (a, b) = (factors * lo, factors * hi);
            vec![
                (Mixture::default(), [a + low, a + high]),
                (Mixture::default(), [b - low, b - high]),
            ]
        });
        let mut ends = MixtureEnds {
            lowest,
            highest,
            below: Bets::new(),
            above: Bets::new(),
            bounded,
            log_inverse_delta: log(2.0 / (1.0 - self.options.confidence)),
        };
        let length = highest - lowest;
        for (t, y) in self.log.observed(signal).enumerate() {
            let (mut below, mut above, mut signed) = (0.0, 0.0, 0.0);
            for part in self.parts() {
                let weight = part.clipped[t];
                let [near, far] = if part.factor > 0.0 {
                    [y - lo, hi - y]
                } else {
                    [hi - y, y - lo]
                };
                below += weight * part.factor.abs() * near;
                above += weight * part.factor.abs() * far;
                signed += weight * part.factor;
            }
            ends.below.push(below / length);
            ends.above.push(above / length);
            if let ([from_low, from_high], Some([low, high])) = (&mut ends.bounded[..], possible) {
                let unit = |x: f64| ((x - low) / (high - low)).clamp(0.0, 1.0);
                from_low.0.push(unit(signed * (y - lo)));
                from_high.0.push(unit(signed * (hi - y)));
            }
        }
        Ok(Ends::Mixture(Box::new(ends)))
    }

    /// z_t, round by round.
    fn terms(&self, signal: usize) -> Vec<f64> {
        let log = self.log;
        let arms = log.declared().arms;
        let rounds = std::iter::zip(log.observed(signal), log.declared().actions);
        let terms = rounds.enumerate().map(|(t, (y, &action))| {
            let (residual, predictor) = match self.predictor {
                Some(model) => (y - model.at(log, signal, t, action), self.predictor),
                None => (y, None),
            };
            let of_part = |part: &Part| {
                let predicted = predictor.map_or(0.0, |model| {
                    (part.target).expect(t, arms, |a| model.at(log, signal, t, a))
                });
                let weight = part.clipped.get(t).copied().unwrap_or(0.0);
                part.factor * (predicted + weight * residual)
            };
            self.parts().map(of_part).sum()
        });
        terms.collect()
    }

    /// Empirical Bernstein for the mean of the terms.
    ///
    /// Where weights may be clipped, 1 − w of the policy's probability is unseen in expectation, and
    /// the residual there may be anything in its range: the lower end is that of
    /// z + Σ_c (1 − w_c)·(lowest f_c·residual), whose expectation is at most the true value; the
    /// upper end mirrors it. With a model fitted here the terms are independent within a fold given
    /// the other folds, so each fold has its own bound at δ over the number of folds.
    fn bernstein(&self, signal: usize, terms: &[f64]) -> Result<(f64, f64), Error> {
        let [lo, hi] = self.needed_range(signal)?;
        let unit = hi - lo;
        let residual = match self.predictor {
            Some(_) => [-unit, unit],
            None => [lo, hi],
        };
        // Ranges of the terms for the lower end and for the upper end, and their hidden parts.
        let (mut lows, mut highs) = ([0.0; 2], [0.0; 2]);
        let mut hidden = Vec::new();
        for part in self.parts() {
            let most = part.most.ok_or_else(|| {
                let allowed = "a `bernstein` interval needs a bound on the weights known beforehand: \
                               give `clip` or `min_pscore`";
                Error::invalid("clip", "not given", allowed)
            })?;
            let [low, high] = scaled(residual, part.factor);
            let model = scaled([lo, hi], part.factor);
            let base = self.predictor.map_or([0.0; 2], |_| model);
            if part.may_clip {
                let width = most * (high - low);
                add(&mut lows, [base[0] + low, base[1] + low + width]);
                add(&mut highs, [base[0] + high - width, base[1] + high]);
                hidden.push([low, high]);
            } else {
                let range = [
                    base[0] + (most * low).min(0.0),
                    base[1] + (most * high).max(0.0),
                ];
                add(&mut lows, range);
                add(&mut highs, range);
                hidden.push([0.0; 2]);
            }
        }
        let (groups, group_count) = match self.predictor.and_then(Predictor::groups) {
            Some((folds, count)) => (Some(folds), count),
            None => (None, 1),
        };
        // Half of δ for each end, shared by the folds.
        let delta = 0.5 * (1.0 - self.options.confidence) / group_count as f64;
        let end = |side: usize, range: [f64; 2], sign: f64| -> f64 {
            let term = |t: usize| {
                let unseen = std::iter::zip(self.parts(), &hidden)
                    .map(|(part, hidden)| (1.0 - part.clipped[t]) * hidden[side]);
                terms[t] + unseen.sum::<f64>()
            };
            let of_group = |group: usize| {
                let own = |t: &usize| groups.is_none_or(|folds| folds[*t] == group);
                let rounds = (0..terms.len()).filter(own).map(term);
                let (mean, variance, n) = mean_and_variance(rounds);
                let width = bernstein_width(variance, n, range[1] - range[0], delta);
                (mean + sign * width) * n as f64
            };
            (0..group_count).map(of_group).sum::<f64>() / terms.len() as f64
        };
        Ok((end(0, lows, -1.0), end(1, highs, 1.0)))
    }

    fn needed_range(&self, signal: usize) -> Result<[f64; 2], Error> {
        self.log.range(signal).ok_or_else(|| {
            let field = match signal.checked_sub(1) {
                None => "reward_range".to_string(),
                Some(g) => format!("cost_range[{g}] ({})", self.log.signal_name(signal)),
            };
            let allowed = format!(
                "a `{}` interval needs the lowest and highest value of the signal",
                self.options.interval.name()
            );
            Error::invalid(field, "not given", allowed)
        })
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

    /// How far off clipping may put the estimate: the weight lost times what the residual may be.
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

/// The normal interval.
pub(crate) fn around(centre: f64, standard_error: f64, confidence: f64) -> (f64, f64) {
    let width = normal_quantile(confidence) * standard_error;
    (centre - width, centre + width)
}

/// {factor·x : x in the range}.
fn scaled([lo, hi]: [f64; 2], factor: f64) -> [f64; 2] {
    let (a, b) = (factor * lo, factor * hi);
    [a.min(b), a.max(b)]
}

fn add(sum: &mut [f64; 2], other: [f64; 2]) {
    sum[0] += other[0];
    sum[1] += other[1];
}
