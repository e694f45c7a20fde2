//! Confidence intervals for means of terms.

use banister::Error;
use libm::{erfc, log};

use crate::random::{Purpose, below, stream};

/// The z with P(|N(0, 1)| ≤ z) = `confidence`, by bisection: it is asked for once an estimate.
pub(crate) fn normal_quantile(confidence: f64) -> f64 {
    let tail = 1.0 - confidence;
    let (mut lo, mut hi) = (0.0, 40.0);
    for _ in 0..80 {
        let middle = 0.5 * (lo + hi);
        if erfc(middle / std::f64::consts::SQRT_2) > tail {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    0.5 * (lo + hi)
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
            let allowed = "no resample has a weight above 0: the log says nothing of this policy";
            Err(Error::invalid("policy", "hardly ever played", allowed))
        }
    }
}
