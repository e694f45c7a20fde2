//! KL-UCB's bounds of a mean: the ends of { q : n·d(p̂, q) ≤ level }.

use banister::interval::{kl_lower, kl_upper};
use banister::toolkit::Signal;

/// d of one signal, in standard units: the binary divergence if it is bounded, the Gaussian one,
/// (p − q)²/(2R²), if it is sub-Gaussian.
#[derive(Debug, Clone, Copy)]
pub(super) struct Divergence {
    r: f64,
    bounded: bool,
}

impl Divergence {
    pub fn new(signal: &Signal) -> Self {
        Self {
            r: signal.r(),
            bounded: signal.sub_gaussian.is_none(),
        }
    }

    /// The upper end for n observations with a given mean. The search has no warm start, so that the bound
    /// depends on nothing but these.
    #[inline]
    pub fn upper(&self, mean: f64, n: u64, level: f64) -> f64 {
        let level = level / n as f64;
        if self.bounded {
            kl_upper(mean.clamp(0.0, 1.0), level, 1.0)
        } else {
            mean + self.r * (2.0 * level).sqrt()
        }
    }

    /// The lower end.
    #[inline]
    pub fn lower(&self, mean: f64, n: u64, level: f64) -> f64 {
        let level = level / n as f64;
        if self.bounded {
            kl_lower(mean.clamp(0.0, 1.0), level, 0.0)
        } else {
            mean - self.r * (2.0 * level).sqrt()
        }
    }
}
