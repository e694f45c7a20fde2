//! Random streams of agents that sample to decide.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

/// A numbered random stream of a seed.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    seed: u64,
    stream: u64,
    /// Generator to draw from.
    pub rng: ChaCha8Rng,
}

/// Position of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamState {
    seed: u64,
    stream: u64,
    /// Words drawn, in units of 2⁶⁴ and the rest: JSON's integers end there.
    position: [u64; 2],
}

impl Stream {
    /// The start of a numbered stream of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self { seed, stream, rng }
    }

    /// Position for a snapshot.
    pub(crate) fn save(&self) -> StreamState {
        let position = self.rng.get_word_pos();
        StreamState {
            seed: self.seed,
            stream: self.stream,
            position: [(position >> 64) as u64, position as u64],
        }
    }

    /// Continues where [`Stream::save`] left it.
    pub(crate) fn restore(state: StreamState) -> Self {
        let mut own = Self::new(state.seed, state.stream);
        let [high, low] = state.position;
        (own.rng).set_word_pos(u128::from(high) << 64 | u128::from(low));
        own
    }
}
