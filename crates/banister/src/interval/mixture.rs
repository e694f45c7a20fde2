//! Mixture intervals for the mean of a bounded signal: anytime, and sharp for two-valued signals, few
//! observations and low variance alike.
//!
//! Let X_1, X_2, … lie in [0, 1], each with mean μ given the past. For 0 < λ < 1 the factor
//!
//! ```text
//!   (1 − λX_j) / (1 − λμ)
//! ```
//!
//! is never negative and has conditional mean one: it is what a gambler who stakes the same part of the
//! wealth in every round, λ/(1 − λμ) on "less than μ", makes of one unit, 1 + (λ/(1 − λμ))·(μ − X_j).
//! Products of such factors, averaged over a grid that was fixed beforehand, are the wealth
//!
//! ```text
//!   W(μ) = Σ_k w_k exp( Σ_j ln(1 − λ_k X_j) − n ln(1 − λ_k μ) ),
//! ```
//!
//! a martingale that starts at 1, so that it ever reaches 1/δ with probability at most δ (Ville). The
//! data enter by the sums Σ_j ln(1 − λ_k X_j) alone, whatever μ is asked for. W increases in μ and ln W is
//! convex, hence the means that are not refuted form an interval below the root of W = 1/δ. Newton's
//! method on ln W, started right of the root, never passes it: every iterate is a valid bound.
//!
//! No factor is given away: with e^{−η} = 1 − λ, convexity has e^{−ηx} ≤ 1 − λx, with equality at 0 and 1,
//! so a term is at least Hoeffding's and for two-valued signals equal to it; and by Fan's inequality
//! it is at least that of the empirical Bernstein bound with a fixed centre.
//!
//! If conditional means differ from round to round, W at their average is at most the martingale with
//! μ_j in round j, as −ln(1 − λμ) is convex: the bounds hold for the average of the conditional means
//! up to now. Only the intersection over time then loses its meaning.
//!
//! Grid: λ_k = 1 − e^{−η_k}, η_k = 4·2^{−k}, 16 levels; weights ∝ (k+2)^{−1.3}. A level serves a factor of
//! four in n, so the grid reaches to about 10⁹ observations.
//!
//! References: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024;
//! Fan, Grama and Liu, "Exponential inequalities for martingales with applications", 2015.

use std::sync::LazyLock;

use libm::{exp, expm1, log, log1p, pow};
use serde::{Deserialize, Serialize};

use super::End;

/// Levels of the grid.
const LEVELS: usize = 16;

/// Observations after which logarithms of the products are taken: no factor is below e^{−4}, so no product
/// below e^{−512}.
const EVERY: u64 = 128;

/// Terms this far below the largest, in nats, do not show in a sum of doubles.
const NEGLIGIBLE: f64 = 45.0;

/// Newton steps at most; about ten from 1, three to five from a bound of a little earlier.
const STEPS: usize = 100;

/// Constants of the grid, worked out once.
struct Grid {
    /// η_k.
    etas: [f64; LEVELS],
    /// λ_k.
    lambdas: [f64; LEVELS],
    /// ln w_k.
    log_weights: [f64; LEVELS],
}

static GRID: LazyLock<Grid> = LazyLock::new(|| {
    let etas = std::array::from_fn(|k| 4.0 / (1_u64 << k) as f64);
    let weight = |k: usize| pow(k as f64 + 2.0, -1.3);
    let total: f64 = (0..LEVELS).map(weight).sum();
    Grid {
        etas,
        lambdas: etas.map(|eta| -expm1(-eta)),
        log_weights: std::array::from_fn(|k| log(weight(k) / total)),
    }
});

/// Σ_j ln(1 − λ_k x_j) of every level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stakes {
    /// Up to the last multiple of [`EVERY`] observations.
    logs: [f64; LEVELS],
    /// Π_j (1 − λ_k x_j) since then.
    products: [f64; LEVELS],
}

impl Stakes {
    const NONE: Self = Self {
        logs: [0.0; LEVELS],
        products: [1.0; LEVELS],
    };

    fn of(logs: [f64; LEVELS]) -> Self {
        Self { logs, ..Self::NONE }
    }

    #[inline]
    fn push(&mut self, lambdas: &[f64; LEVELS], x: f64) {
        for (product, lambda) in std::iter::zip(&mut self.products, lambdas) {
            *product *= 1.0 - lambda * x;
        }
    }

    #[cold]
    fn take_logs(&mut self) {
        *self = Self::of(self.sums());
    }

    fn sums(&self) -> [f64; LEVELS] {
        std::array::from_fn(|k| self.logs[k] + log(self.products[k]))
    }

    /// True if observations in [0, 1] may have left it.
    fn is_sound(&self) -> bool {
        self.logs.iter().all(|&x| x <= 0.0 && x.is_finite())
            && self.products.iter().all(|&x| x > 0.0 && x <= 1.0)
    }
}

/// Observations that are neither 0 nor 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Between {
    count: u64,
    /// Of X.
    direct: Stakes,
    /// Of 1 − X.
    mirrored: Stakes,
}

impl Between {
    const NONE: Self = Self {
        count: 0,
        direct: Stakes::NONE,
        mirrored: Stakes::NONE,
    };

    fn map(&self, count: u64, sum: impl Fn(bool, usize, f64) -> f64) -> Self {
        let stakes = |mirrored: bool, own: &Stakes| {
            let sums = own.sums();
            Stakes::of(std::array::from_fn(|k| sum(mirrored, k, sums[k])))
        };
        Self {
            count,
            direct: stakes(false, &self.direct),
            mirrored: stakes(true, &self.mirrored),
        }
    }
}

/// Sufficient statistics of the mixture interval; one update is a count for an observation of 0 or 1, and 32
/// products for one in between; one bound is a few evaluations of 16 terms. Nothing allocates.
///
/// ```
/// use banister::interval::Mixture;
///
/// let mut clicks = Mixture::default();
/// for t in 0..400 {
///     clicks.push(f64::from(u8::from(t % 4 == 0)));
/// }
/// let log_term = 40_f64.ln(); // δ = 0.025 on each side
/// let (lower, upper) = (clicks.lower(log_term, 0.0), clicks.upper(log_term, 1.0));
/// assert!(0.17 < lower && lower < 0.19 && 0.32 < upper && upper < 0.34);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mixture {
    n: u64,
    /// S.
    sum: f64,
    /// Observations of 0 and of 1, whose factors are 1 and 1 − λ_k.
    zeros: f64,
    ones: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    between: Option<Between>,
}

impl Mixture {
    /// Takes one observation, which must lie in [0, 1].
    #[inline]
    pub fn push(&mut self, x: f64) {
        self.n += 1;
        self.sum += x;
        // One branch for 0 and 1: which of them it is could not be predicted.
        if x * (1.0 - x) == 0.0 {
            self.ones += x;
            self.zeros += 1.0 - x;
        } else {
            self.push_between(x);
        }
    }

    #[inline(never)]
    fn push_between(&mut self, x: f64) {
        let lambdas = &GRID.lambdas;
        let own = self.between.get_or_insert(Between::NONE);
        own.direct.push(lambdas, x);
        own.mirrored.push(lambdas, 1.0 - x);
        own.count += 1;
        if own.count.is_multiple_of(EVERY) {
            own.direct.take_logs();
            own.mirrored.take_logs();
        }
    }

    /// Adds the statistics of another shard of the same signal.
    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.sum += other.sum;
        self.zeros += other.zeros;
        self.ones += other.ones;
        if let Some(between) = &other.between {
            let own = self.between.unwrap_or(Between::NONE);
            let theirs = [between.direct.sums(), between.mirrored.sums()];
            self.between = Some(own.map(own.count + between.count, |mirrored, k, sum| {
                sum + theirs[usize::from(mirrored)][k]
            }));
        }
    }

    /// True if these can be the statistics of earlier observations and more.
    pub(crate) fn extends(&self, earlier: &Self) -> bool {
        let between = |own: &Self| own.between.map_or(0, |between| between.count);
        self.n >= earlier.n
            && self.zeros >= earlier.zeros
            && self.ones >= earlier.ones
            && between(self) >= between(earlier)
    }

    /// Statistics of the observations since an earlier moment, given those of that moment.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let before = earlier.between.unwrap_or(Between::NONE);
        let theirs = [before.direct.sums(), before.mirrored.sums()];
        Self {
            n: self.n - earlier.n,
            sum: self.sum - earlier.sum,
            zeros: self.zeros - earlier.zeros,
            ones: self.ones - earlier.ones,
            between: self.between.map(|own| {
                own.map(own.count - before.count, |mirrored, k, sum| {
                    (sum - theirs[usize::from(mirrored)][k]).min(0.0)
                })
            }),
        }
    }

    /// Statistics that `factor` times as many observations of the same kind would have: a forecast.
    pub fn scaled(&self, factor: f64) -> Self {
        let n = (self.n as f64 * factor).round();
        let exact = if self.n > 0 { n / self.n as f64 } else { 0.0 };
        let between = self.between.map(|own| {
            let count = (own.count as f64 * exact).round() as u64;
            own.map(count, |_, _, sum| sum * exact)
        });
        Self {
            n: n as u64,
            sum: self.sum * exact,
            zeros: self.zeros * exact,
            ones: self.ones * exact,
            between,
        }
    }

    /// Statistics of the mirrored signal 1 − X, whose upper end is one minus the lower end of X.
    #[inline]
    pub fn mirrored(&self) -> Self {
        Self {
            n: self.n,
            sum: self.n as f64 - self.sum,
            zeros: self.ones,
            ones: self.zeros,
            between: self.between.map(|own| Between {
                count: own.count,
                direct: own.mirrored,
                mirrored: own.direct,
            }),
        }
    }

    /// n, the number of observations.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// S, their sum.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// True if observations in [0, 1] may have left these statistics.
    pub(crate) fn is_sound(&self) -> bool {
        let between = self.between.unwrap_or(Between::NONE);
        let counted = self.zeros + self.ones + between.count as f64;
        self.sum.is_finite()
            && self.zeros >= 0.0
            && self.ones >= 0.0
            && counted == self.n as f64
            && between.direct.is_sound()
            && between.mirrored.is_sound()
    }

    /// Σ_j ln(1 − λ_k x_j) of every level, for X or for 1 − X.
    fn sums(&self, mirrored: bool) -> [f64; LEVELS] {
        std::array::from_fn(|k| self.sum_of(mirrored, k))
    }

    /// Σ_j ln(1 − λ_k x_j) of one level.
    fn sum_of(&self, mirrored: bool, k: usize) -> f64 {
        let between = self.between.as_ref();
        let (ones, stakes) = if mirrored {
            (self.zeros, between.map(|own| &own.mirrored))
        } else {
            (self.ones, between.map(|own| &own.direct))
        };
        stakes.map_or(0.0, |own| own.logs[k] + log(own.products[k])) - GRID.etas[k] * ones
    }

    /// The index of `index` optimism: the first mean at which the wealth of some level, without its weight, reaches x.
    ///
    /// Z_λ(μ) = x has the root μ(λ) = (1 − exp((Σ_j ln(1 − λX_j) − ln x)/n))/λ. Those λ with μ(λ) ≤ m are those with
    /// Σ_j ln(1 + b(m − X_j)) ≥ ln x, b = λ/(1 − λm), which is concave in b: an interval. So the least root over the grid
    /// is found by going downhill, and where one begins does not matter.
    pub(crate) fn index(&self, end: End, log_x: f64) -> f64 {
        let mirrored = end == End::Lower;
        let n = self.n as f64;
        let root = |k: usize| -expm1((self.sum_of(mirrored, k) - log_x) / n) / GRID.lambdas[k];
        // η = √(8 ln x/n) is the best level for outcomes that vary the most.
        let guess = libm::ilogb(2.0 * n / log_x) / 2;
        let mut k = guess.clamp(0, LEVELS as i32 - 1) as usize;
        let mut best = root(k);
        for next in [
            usize::wrapping_add as fn(usize, usize) -> usize,
            usize::wrapping_sub,
        ] {
            while let Some(found) = Some(next(k, 1)).filter(|&k| k < LEVELS).map(root)
                && found < best
            {
                (k, best) = (next(k, 1), found);
            }
        }
        if mirrored { 1.0 - best } else { best }
    }

    /// ln W(μ): evidence that the mean is below μ, for μ in [0, 1].
    pub fn log_wealth(&self, mu: f64) -> f64 {
        self.log_wealth_and_slope(&self.sums(false), mu).0
    }

    /// The derivative of ln W at μ.
    pub(crate) fn slope(&self, mu: f64) -> f64 {
        self.log_wealth_and_slope(&self.sums(false), mu).1
    }

    /// ln W(μ) and its derivative, given Σ_j ln(1 − λ_k X_j).
    fn log_wealth_and_slope(&self, sums: &[f64; LEVELS], mu: f64) -> (f64, f64) {
        let grid = &*GRID;
        let n = self.n as f64;
        let mut exponents = [0.0; LEVELS];
        let mut largest = f64::NEG_INFINITY;
        for (k, exponent) in exponents.iter_mut().enumerate() {
            *exponent = grid.log_weights[k] + sums[k] - n * log1p(-mu * grid.lambdas[k]);
            largest = largest.max(*exponent);
        }
        let (mut total, mut slope) = (0.0, 0.0);
        for (k, exponent) in exponents.into_iter().enumerate() {
            // NaN is not skipped: it must show.
            if !(exponent < largest - NEGLIGIBLE) {
                let share = exp(exponent - largest);
                let lambda = grid.lambdas[k];
                total += share;
                slope += share * n * lambda / (1.0 - mu * lambda);
            }
        }
        (largest + log(total), slope / total)
    }

    /// Upper end: the mean exceeds it at any time with probability at most δ. `log_inverse_delta` is
    /// ln(1/δ); `start` is 1, or an upper end found earlier, and is returned if nothing below is shown.
    ///
    /// The end may fall below the sample mean: intersected over time, bounds may be empty, which
    /// refutes that the means are constant.
    pub fn upper(&self, log_inverse_delta: f64, start: f64) -> f64 {
        self.bound(false, log_inverse_delta, start)
    }

    /// Lower end; `start` is 0, or a lower end found earlier. See [`Mixture::upper`].
    pub fn lower(&self, log_inverse_delta: f64, start: f64) -> f64 {
        1.0 - self.bound(true, log_inverse_delta, 1.0 - start)
    }

    /// An end, searched from a guess on either side of it: one step of Newton's method from a point left of the root
    /// lands right of it.
    pub(crate) fn end_from(&self, end: End, log_inverse_delta: f64, guess: f64) -> f64 {
        let mirrored = end == End::Lower;
        let guess = if mirrored { 1.0 - guess } else { guess };
        let (log_wealth, slope) = self.log_wealth_and_slope(&self.sums(mirrored), guess);
        let excess = log_wealth - log_inverse_delta;
        let start = if excess > 0.0 {
            guess
        } else {
            guess - excess / slope
        };
        let found = self.bound(mirrored, log_inverse_delta, start);
        if mirrored { 1.0 - found } else { found }
    }

    fn bound(&self, mirrored: bool, log_inverse_delta: f64, start: f64) -> f64 {
        let sums = self.sums(mirrored);
        // NaN counts as 1.
        let mut mu = if start < 1.0 { start.max(0.0) } else { 1.0 };
        for _ in 0..STEPS {
            let (log_wealth, slope) = self.log_wealth_and_slope(&sums, mu);
            let excess = log_wealth - log_inverse_delta;
            // Written so that NaN ends the search at a bound that holds.
            if !(excess > 0.0) {
                break;
            }
            let next = (mu - excess / slope).max(0.0);
            if !(next < mu) {
                break;
            }
            let step = mu - next;
            mu = next;
            if step <= 1e-12 * mu {
                break;
            }
        }
        mu
    }
}
