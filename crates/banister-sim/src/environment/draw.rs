//! Random directions, and the streams they come from.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};

/// Stream of the instance seed that fixed actions are drawn from; parameters have theirs by
/// the number of the signal, so that one more guardrail changes nothing else.
pub(super) const ACTIONS: u64 = u64::MAX;

/// Seed of instances that declare none.
pub(super) const INSTANCE_SEED: u64 = 1;

/// Opens a stream of the instance's own seed.
pub(super) fn instance_stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// Fills `out` with a point of the unit sphere. It is shorter than 1 by more than rounding, so
/// that a declared length of 1 holds for the numbers as they are.
pub(super) fn direction(rng: &mut ChaCha8Rng, out: &mut [f64]) {
    let mut squares = 0.0;
    for x in out.iter_mut() {
        *x = StandardNormal.sample(rng);
        squares += *x * *x;
    }
    if squares > 0.0 {
        let scale = (1.0 - 1e-13) / squares.sqrt();
        out.iter_mut().for_each(|x| *x *= scale);
    } else if let Some(first) = out.first_mut() {
        *first = 1.0 - 1e-13;
    }
}

/// Fills `out` with a point of the unit ball.
pub(super) fn inside(rng: &mut ChaCha8Rng, out: &mut [f64]) {
    direction(rng, out);
    let uniform: f64 = StandardUniform.sample(rng);
    let radius = libm::pow(uniform, 1.0 / out.len() as f64);
    out.iter_mut().for_each(|x| *x *= radius);
}

/// Draws a coordinate of a point of the cube [−1, 1]^p.
pub(super) fn cube(rng: &mut ChaCha8Rng) -> f64 {
    let uniform: f64 = StandardUniform.sample(rng);
    2.0 * uniform - 1.0
}
