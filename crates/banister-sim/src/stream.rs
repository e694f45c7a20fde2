//! The random streams that runs draw from.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Opens a random stream of a seed.
pub(crate) fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// Draws a uniform number in [0, 1).
#[inline]
pub(crate) fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}
