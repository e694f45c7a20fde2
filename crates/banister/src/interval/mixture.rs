//! Mixture intervals for the mean of a bounded signal: anytime, and sharp for two-valued signals, few
//! observations and low variance alike.
//!
//! Let X_1, X_2, … lie in [0, 1], each with mean μ given the past. Two kinds of factors have a
//! conditional mean of at most one:
//!
//! ```text
//!   η > 0:      exp(−ηX_j) / (1 − μ(1 − e^{−η}))                     as e^{−ηx} ≤ 1 − x(1 − e^{−η})
//!   0 < λ < 1:  exp(λ(μ − X_j) − ψ(λ)(X_j − m_j)²)                   Fan's inequality, below
//! ```
//!
//! where ψ(λ) = −ln(1 − λ) − λ and the centre m_j = (1/2 + S_{j−1})/j is known before X_j. Fan: for
//! ξ ≥ −1, exp(λξ − ψ(λ)ξ²) ≤ 1 + λξ; with ξ = m_j − X_j the mean of the right side is
//! 1 + λ(m_j − μ) ≤ exp(λ(m_j − μ)). Products of such factors, averaged over a grid that was fixed
//! beforehand, are the wealth
//!
//! ```text
//!   W(μ) = ½ Σ_k w_k exp(−η_k S − n ln(1 − μ(1 − e^{−η_k}))) + ½ Σ_k v_k exp(λ_k(nμ − S) − ψ(λ_k)Q)
//! ```
//!
//! with S = ΣX_j and Q = Σ(X_j − m_j)²: a supermartingale that starts at 1, so that it ever reaches
//! 1/δ with probability at most δ (Ville). W increases in μ and ln W is convex, hence the means that
//! are not refuted form an interval below the root of W = 1/δ. Newton's method on ln W, started right
//! of the root, never passes it: every iterate is a valid bound.
//!
//! If conditional means differ from round to round, W at their average is still below a
//! supermartingale (both exponents are at most those with μ_j in round j, by convexity of
//! −ln(1 − μa)): the bounds hold for the average of the conditional means up to now. Only the
//! intersection over time then loses its meaning.
//!
//! Grid: η_k = 4·2^{−k}, 15 levels; λ_k = 0.9, 0.75, 0.5, 0.25, …, 14 levels; weights ∝ (k+6)^{−1.3}.
//! A level serves a factor of four in n, so the grid reaches to about 10⁹ observations.
//!
//! References: Fan, Grama and Liu, "Exponential inequalities for martingales with applications", 2015;
//! Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence
//! sequences", 2021.

use std::sync::LazyLock;

use libm::{exp, expm1, log, log1p, pow};
use serde::{Deserialize, Serialize};

/// Levels of η, the part for two-valued signals.
const ETAS: usize = 15;
/// Levels of λ, the part for low variance.
const LAMBDAS: usize = 14;
const LEVELS: usize = ETAS + LAMBDAS;

/// Terms this far below the largest, in nats, do not show in a sum of doubles.
const NEGLIGIBLE: f64 = 45.0;

/// Newton steps at most; about ten from 1, three to five from a bound of a little earlier.
const STEPS: usize = 100;

/// Constants of the grid, worked out once.
struct Grid {
    /// η_k.
    etas: [f64; ETAS],
    /// 1 − e^{−η_k}.
    falls: [f64; ETAS],
    /// λ_k.
    lambdas: [f64; LAMBDAS],
    /// ψ(λ_k).
    psis: [f64; LAMBDAS],
    /// ln(w_k/2), then ln(v_k/2).
    log_weights: [f64; LEVELS],
}

static GRID: LazyLock<Grid> = LazyLock::new(|| {
    let etas = std::array::from_fn(|k| 4.0 / (1_u64 << k) as f64);
    let lambdas = std::array::from_fn(|k| match k {
        0 => 0.9,
        1 => 0.75,
        _ => 2.0 / (1_u64 << k) as f64,
    });
    let log_weights = std::array::from_fn(|i| {
        let (k, levels) = if i < ETAS {
            (i, ETAS)
        } else {
            (i - ETAS, LAMBDAS)
        };
        let weight = |k: usize| pow(k as f64 + 6.0, -1.3);
        log(0.5 * weight(k) / (0..levels).map(weight).sum::<f64>())
    });
    Grid {
        etas,
        falls: etas.map(|eta| -expm1(-eta)),
        lambdas,
        psis: lambdas.map(|lambda| -log1p(-lambda) - lambda),
        log_weights,
    }
});

/// Sufficient statistics n, S and Q of the mixture interval; one update is O(1), one bound a few
/// evaluations of 29 terms. Nothing allocates.
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
pub struct Mixture {
    n: u64,
    /// S.
    sum: f64,
    /// Q.
    squares: f64,
}

impl Mixture {
    /// Statistics n, S and Q.
    #[inline]
    pub(crate) fn of(n: u64, sum: f64, squares: f64) -> Self {
        Self { n, sum, squares }
    }

    /// Takes one observation, which must lie in [0, 1].
    #[inline]
    pub fn push(&mut self, x: f64) {
        self.n += 1;
        let centre = (0.5 + self.sum) / self.n as f64;
        self.sum += x;
        self.squares += (x - centre) * (x - centre);
    }

    /// Adds the statistics of another shard of the same signal: any predictable centre is valid.
    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Statistics that `factor` times as many observations of the same kind would have: a forecast.
    pub fn scaled(&self, factor: f64) -> Self {
        let n = (self.n as f64 * factor).round();
        let exact = if self.n > 0 { n / self.n as f64 } else { 0.0 };
        Self {
            n: n as u64,
            sum: self.sum * exact,
            squares: self.squares * exact,
        }
    }

    /// Statistics of the mirrored signal 1 − X, whose upper end is one minus the lower end of X.
    #[inline]
    pub fn mirrored(&self) -> Self {
        Self {
            sum: self.n as f64 - self.sum,
            ..*self
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

    /// ln W(μ): evidence that the mean is below μ, for μ in [0, 1].
    pub fn log_wealth(&self, mu: f64) -> f64 {
        self.log_wealth_and_slope(mu).0
    }

    /// ln W(μ) and its derivative.
    fn log_wealth_and_slope(&self, mu: f64) -> (f64, f64) {
        let grid = &*GRID;
        let n = self.n as f64;
        let (mut exponents, mut slopes) = ([0.0; LEVELS], [0.0; LEVELS]);
        for k in 0..ETAS {
            let fall = grid.falls[k];
            exponents[k] = grid.log_weights[k] - grid.etas[k] * self.sum - n * log1p(-mu * fall);
            slopes[k] = n * fall / (1.0 - mu * fall);
        }
        // nμ − S is a small difference of large numbers; it is formed once.
        let excess = n * mu - self.sum;
        for k in 0..LAMBDAS {
            let level = ETAS + k;
            let lambda = grid.lambdas[k];
            exponents[level] =
                grid.log_weights[level] + lambda * excess - grid.psis[k] * self.squares;
            slopes[level] = lambda * n;
        }
        let largest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut total, mut slope) = (0.0, 0.0);
        for (exponent, own) in std::iter::zip(exponents, slopes) {
            // NaN is not skipped: it must show.
            if !(exponent < largest - NEGLIGIBLE) {
                let share = exp(exponent - largest);
                total += share;
                slope += share * own;
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
        // NaN counts as 1.
        let mut mu = if start < 1.0 { start.max(0.0) } else { 1.0 };
        for _ in 0..STEPS {
            let (log_wealth, slope) = self.log_wealth_and_slope(mu);
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

    /// Lower end; `start` is 0, or a lower end found earlier. See [`Mixture::upper`].
    pub fn lower(&self, log_inverse_delta: f64, start: f64) -> f64 {
        1.0 - self.mirrored().upper(log_inverse_delta, 1.0 - start)
    }
}
