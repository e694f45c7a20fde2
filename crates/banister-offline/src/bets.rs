//! Bets on terms that are never negative, and the lower confidence bound that their wealth gives.

use std::sync::LazyLock;

use libm::{exp, log, pow};

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
    /// Sum of terms, Σ x_t.
    sum: f64,
    /// Sum of centres, Σ m_t.
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

pub(crate) fn log_sum_exp(exponents: &[f64]) -> f64 {
    let largest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Terms 45 nats below the largest do not show.
    let near = exponents.iter().filter(|e| !(**e < largest - 45.0));
    largest + log(near.map(|exponent| exp(exponent - largest)).sum::<f64>())
}

/// The largest h in [0, 1] up to which everything is refuted; 0 if nothing is.
pub(crate) fn last_refuted(refuted: impl Fn(f64) -> bool) -> f64 {
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
