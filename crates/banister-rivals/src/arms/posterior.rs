//! The posterior of a mean, for Thompson sampling.

use banister::toolkit::Signal;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution, StandardNormal, StandardUniform};

/// The posterior of the mean of one signal, from n observations with a given sum, in standard units.
///
/// Bounded signals: Beta(1 + sum, 1 + n − sum), the posterior of a coin under the uniform prior, with
/// fractions for what is between 0 and 1. Sub-Gaussian ones: N(mean, R²/n); before the first observation
/// the uniform prior on the range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posterior {
    r: f64,
    bounded: bool,
}

impl Posterior {
    pub fn new(signal: &Signal) -> Self {
        Self {
            r: signal.r(),
            bounded: signal.sub_gaussian.is_none(),
        }
    }

    /// Draws a mean.
    #[inline]
    pub fn draw(&self, n: u64, sum: f64, rng: &mut ChaCha8Rng) -> f64 {
        let count = n as f64;
        if self.bounded {
            // Rounding can leave a sum a hair outside what is possible.
            let sum = sum.clamp(0.0, count);
            // Both parameters are at least 1, so there is nothing to refuse.
            return Beta::new(1.0 + sum, 1.0 + (count - sum)).map_or(0.5, |beta| beta.sample(rng));
        }
        if n == 0 {
            return StandardUniform.sample(rng);
        }
        let normal: f64 = StandardNormal.sample(rng);
        sum / count + self.r / count.sqrt() * normal
    }
}
