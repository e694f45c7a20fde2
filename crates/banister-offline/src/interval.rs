//! Confidence intervals for means of terms.

use std::sync::LazyLock;

use banister::Error;
use banister::interval::Mixture;
use libm::{erfc, exp, log, pow};

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

/// Bets against large means, one per level λ of a fixed grid: evidence that the mean of terms which
/// are never negative is at least h.
///
/// Let x_t ≥ 0 have mean h_t given the past, with an average of at most 1, and let the centre m_t in
/// [0, 1] be known before x_t. Then (1 + λ(x_t − m_t)) exp(λ(m_t − h_t)) has conditional mean
/// (1 + λ(h_t − m_t)) exp(−λ(h_t − m_t)) ≤ 1 for 0 < λ < 1, whatever the largest x_t may be: a bet
/// loses at most λm_t. Products of these, averaged over λ, are a supermartingale, and by Ville they ever
/// exceed 1/δ with probability at most δ. They depend on the h_t by their average alone, so that the
/// bound is one for the average, whoever chose what was played in round t.
#[derive(Debug, Clone)]
pub(crate) struct Bets {
    n: f64,
    /// Σ x_t.
    sum: f64,
    /// Σ m_t.
    centres: f64,
    /// Π (1 + λ(x_t − m_t)) of each level since its logarithm was last taken.
    products: [f64; LEVELS],
    /// Their logarithms before that.
    logs: [f64; LEVELS],
}

const LEVELS: usize = 18;

/// λ of each level: 0.95, 0.75, 0.5, 0.25, … The last serves hundreds of millions of rounds.
const BETS: [f64; LEVELS] = {
    let mut bets = [0.95; LEVELS];
    bets[1] = 0.75;
    let mut level = 2;
    while level < LEVELS {
        bets[level] = 2.0 / (1_u64 << level) as f64;
        level += 1;
    }
    bets
};

/// Logarithms of the levels' weights, which sum to one.
static LOG_WEIGHTS: LazyLock<[f64; LEVELS]> = LazyLock::new(|| {
    let weight = |level: usize| pow(level as f64 + 6.0, -1.3);
    let total: f64 = (0..LEVELS).map(weight).sum();
    std::array::from_fn(|level| log(weight(level) / total))
});

/// Products within these bounds survive any finite weight without overflow.
const SMALL: f64 = 1e-100;
const LARGE: f64 = 1e100;

impl Bets {
    pub(crate) fn new() -> Self {
        Self {
            n: 0.0,
            sum: 0.0,
            centres: 0.0,
            products: [1.0; LEVELS],
            logs: [0.0; LEVELS],
        }
    }

    pub(crate) fn push(&mut self, x: f64) {
        self.n += 1.0;
        let centre = ((0.5 + self.sum) / self.n).min(1.0);
        self.sum += x;
        self.centres += centre;
        let gain = x - centre;
        for (product, bet) in std::iter::zip(&mut self.products, BETS) {
            *product *= 1.0 + bet * gain;
        }
        let is_near = |product: &f64| *product > SMALL && *product < LARGE;
        if !self.products.iter().all(is_near) {
            for (logs, product) in std::iter::zip(&mut self.logs, &mut self.products) {
                *logs += log(std::mem::replace(product, 1.0));
            }
        }
    }

    /// Logarithm of the wealth as a function of the mean h, after `scale` times as many rounds of the
    /// same kind.
    pub(crate) fn log_wealth(&self, scale: f64) -> impl Fn(f64) -> f64 {
        let levels: [(f64, f64); LEVELS] = std::array::from_fn(|level| {
            let won = self.logs[level] + log(self.products[level]) + BETS[level] * self.centres;
            let slope = scale * BETS[level] * self.n;
            (LOG_WEIGHTS[level] + scale * won, slope)
        });
        move |h| log_sum_exp(&levels.map(|(won, slope)| won - slope * h))
    }

    /// The lower confidence bound of the mean at level δ, between 0 and 1.
    pub(crate) fn lower(&self, delta: f64) -> f64 {
        let (log_wealth, limit) = (self.log_wealth(1.0), log(1.0 / delta));
        last_refuted(|h| log_wealth(h) >= limit)
    }
}

fn log_sum_exp(exponents: &[f64]) -> f64 {
    let largest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Terms 45 nats below the largest do not show.
    let near = exponents.iter().filter(|e| !(**e < largest - 45.0));
    largest + log(near.map(|exponent| exp(exponent - largest)).sum::<f64>())
}

/// The largest h in [0, 1] up to which everything is refuted; 0 if nothing is.
fn last_refuted(refuted: impl Fn(f64) -> bool) -> f64 {
    if refuted(1.0) {
        return 1.0;
    }
    let (mut below, mut above) = (0.0, 1.0);
    for _ in 0..45 {
        let middle = 0.5 * (below + above);
        if refuted(middle) {
            below = middle;
        } else {
            above = middle;
        }
    }
    below
}

/// The mixture interval of a value that lies in [lowest, highest].
#[derive(Debug, Clone)]
pub(crate) struct MixtureEnds {
    pub lowest: f64,
    pub highest: f64,
    /// Bets on terms whose mean is at most (value − lowest)/(highest − lowest).
    pub below: Bets,
    /// The same for (highest − value)/(highest − lowest).
    pub above: Bets,
    /// Where weights are bounded: terms in standard units with the values that 0 and 1 stand for.
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

/// An interval, and what it would be with more rounds.
#[derive(Debug, Clone)]
pub(crate) enum Ends {
    /// The whole line.
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
