//! The random streams that runs draw from.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Opens a random stream of a seed.
pub(crate) fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}
