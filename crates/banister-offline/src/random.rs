//! Random numbers of this crate, each purpose with a stream of its own.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Use of random numbers, with a stream of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Folds,
    Bootstrap,
    Replay,
}

/// Added to the number of a purpose. Far from the small stream numbers of simulated runs: a log that
/// was simulated with a seed must not be replayed or resampled with the very numbers that made it.
const FIRST_STREAM: u64 = 0x0ff1_13e0_0000_0000;

pub(crate) fn stream(seed: u64, purpose: Purpose) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(FIRST_STREAM + purpose as u64);
    rng
}

/// A uniform number in [0, 1).
pub(crate) fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A uniform whole number below `n`; the bias of the multiplication is below 2⁻⁶⁴·n.
pub(crate) fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize
}
