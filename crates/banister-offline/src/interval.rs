//! Confidence intervals for means of terms.

use banister::Error;
use banister::interval::Mixture;
use banister::theory::upper_quantile;
use libm::log;

use crate::bets::{Bets, last_refuted, log_sum_exp};
use crate::random::{Purpose, below, stream};

/// The z with P(|N(0, 1)| ≤ z) = `confidence`.
pub(crate) fn normal_quantile(confidence: f64) -> f64 {
    upper_quantile(0.5 * (1.0 - confidence))
}

/// Ends of the normal interval around an estimate.
pub(crate) fn around(centre: f64, standard_error: f64, confidence: f64) -> (f64, f64) {
    let width = normal_quantile(confidence) * standard_error;
    (centre - width, centre + width)
}

/// Mean, and sample variance with n − 1 (0 for one term).
pub(crate) fn mean_and_variance(terms: impl Iterator<Item = f64>) -> (f64, f64, u64) {
    // Welford's recursion: no cancellation, one pass.
    let (mut mean, mut squares, mut n) = (0.0, 0.0, 0_u64);
    for x in terms {
        n += 1;
        let step = x - mean;
        mean += step / n as f64;
        squares += step * (x - mean);
    }
    (mean, squares / n.saturating_sub(1).max(1) as f64, n)
}

/// One side of Maurer and Pontil's empirical Bernstein bound (2009, Theorem 11): with probability at
/// least 1 − δ the mean of n independent variables with values in an interval of length `length` lies
/// less than this above its expectation (or, of the mirrored variables, below it).
pub(crate) fn bernstein_width(variance: f64, n: u64, length: f64, delta: f64) -> f64 {
    let (n, log_term) = (n as f64, log(2.0 / delta));
    (2.0 * variance * log_term / n).sqrt() + 7.0 * length * log_term / (3.0 * (n - 1.0))
}

/// Percentile bootstrap of a statistic of column sums: rounds are drawn with replacement.
///
/// A resample for which the statistic does not exist (`None`) does not count.
pub(crate) fn bootstrap(
    columns: &[Vec<f64>],
    resamples: usize,
    seed: u64,
    confidence: f64,
    statistic: impl Fn(&[f64]) -> Option<f64>,
) -> Result<(f64, f64), Error> {
    let n = columns.first().map_or(0, Vec::len);
    let mut rng = stream(seed, Purpose::Bootstrap);
    let mut found = Vec::with_capacity(resamples);
    let mut sums = vec![0.0; columns.len()];
    for _ in 0..resamples {
        sums.fill(0.0);
        for _ in 0..n {
            let row = below(&mut rng, n);
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum += column[row];
            }
        }
        found.extend(statistic(&sums));
    }
    found.sort_unstable_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - confidence);
    // The order statistics that leave at most `tail` of the resamples outside on each side.
    let skip = (tail * found.len() as f64).floor() as usize;
    let ends = (found.get(skip), found.iter().rev().nth(skip));
    match ends {
        (Some(&lower), Some(&upper)) => Ok((lower, upper)),
        _ => {
            let allowed =
                "no resample has a weight above 0: the log has no information on this policy";
            Err(Error::invalid("policy", "hardly ever played", allowed))
        }
    }
}

/// The mixture interval of a value that lies in [lowest, highest].
#[derive(Debug, Clone)]
pub(crate) struct MixtureEnds {
    pub lowest: f64,
    pub highest: f64,
    /// Bets on terms whose mean is at most (value − lowest)/(highest − lowest).
    pub below: Bets,
    /// Bets on terms whose mean is at most (highest − value)/(highest − lowest).
    pub above: Bets,
    /// For bounded weights: terms in standard units with the values that 0 and 1 stand for.
    pub bounded: Vec<(Mixture, [f64; 2])>,
    /// ln(1/δ) of each end.
    pub log_inverse_delta: f64,
}

impl MixtureEnds {
    /// Tests, after `scale` times as many rounds of the same kind, whether a value is refuted as too
    /// small (`true`) or as too large (`false`).
    fn refuted(&self, scale: f64) -> impl Fn(f64, bool) -> bool {
        let (below, above) = (self.below.log_wealth(scale), self.above.log_wealth(scale));
        let scaled = |(terms, ends): &(Mixture, [f64; 2])| (terms.scaled(scale), *ends);
        let bounded: Vec<_> = self.bounded.iter().map(scaled).collect();
        // Kinds of evidence share δ: their wealths are averaged.
        let limit = self.log_inverse_delta + log(1.0 + bounded.len() as f64);
        let (lowest, highest) = (self.lowest, self.highest);
        let length = highest - lowest;
        move |value, too_small| {
            let bets = if too_small {
                below((value - lowest) / length)
            } else {
                above((highest - value) / length)
            };
            bounded.iter().fold(bets, |sum, (terms, [zero, one])| {
                let mu = ((value - zero) / (one - zero)).clamp(0.0, 1.0);
                // A value is too small where the mean of the mirrored terms is below theirs.
                let other = if too_small == (zero < one) {
                    terms.mirrored().log_wealth(1.0 - mu)
                } else {
                    terms.log_wealth(mu)
                };
                log_sum_exp(&[sum, other])
            }) >= limit
        }
    }

    /// The ends, and whether every value is refuted; the ends are then those of the range.
    fn ends(&self) -> (f64, f64, bool) {
        let (refuted, length) = (self.refuted(1.0), self.highest - self.lowest);
        let below = last_refuted(|h| refuted(self.lowest + length * h, true));
        let above = last_refuted(|h| refuted(self.highest - length * h, false));
        let (lower, upper) = (self.lowest + length * below, self.highest - length * above);
        if lower <= upper {
            (lower, upper, false)
        } else {
            (self.lowest, self.highest, true)
        }
    }
}

/// Interval that can be projected to more rounds.
#[derive(Debug, Clone)]
pub(crate) enum Ends {
    /// No information: the whole line.
    Unknown,
    /// Ends whose distance to the estimate falls with the root of n.
    Around(f64, (f64, f64)),
    Mixture(Box<MixtureEnds>),
}

impl Ends {
    /// The ends, and whether the log refutes every value.
    pub(crate) fn now(&self) -> (f64, f64, bool) {
        match self {
            Self::Unknown => (f64::NEG_INFINITY, f64::INFINITY, false),
            Self::Around(_, (lower, upper)) => (*lower, *upper, false),
            Self::Mixture(mixture) => mixture.ends(),
        }
    }

    /// True if the interval would exclude a value after `scale` times as many rounds of the same kind,
    /// if `shift` is added to its ends.
    pub(crate) fn excludes(&self, value: f64, scale: f64, shift: [f64; 2]) -> bool {
        match self {
            Self::Unknown => false,
            Self::Around(centre, (lower, upper)) => {
                let shrunk = |end: f64| centre + (end - centre) / scale.sqrt();
                shrunk(*lower) + shift[0] > value || shrunk(*upper) + shift[1] < value
            }
            Self::Mixture(mixture) => {
                let refuted = mixture.refuted(scale);
                refuted(value, true) != refuted(value, false)
            }
        }
    }
}
