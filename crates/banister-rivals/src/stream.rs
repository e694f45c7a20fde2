//! Random streams of agents that sample to decide.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

/// A numbered random stream of a seed.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    state: StreamState,
    /// Generator to draw from.
    pub rng: ChaCha8Rng,
}

/// Seed and number of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamState {
    seed: u64,
    stream: u64,
}

impl Stream {
    /// The start of a numbered stream of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        let state = StreamState { seed, stream };
        Self { state, rng }
    }

    /// Goes on at a position that depends on the number of outcomes alone, which nothing drawn before is likely to
    /// have come from; so does a stream that is restored there.
    pub(crate) fn save(&mut self, outcomes: u64) -> StreamState {
        *self = Self::restore(self.state, outcomes);
        self.state
    }

    /// Continues where [`Stream::save`] left it.
    pub(crate) fn restore(state: StreamState, outcomes: u64) -> Self {
        let mut own = Self::new(state.seed, state.stream);
        // Far beyond what is drawn between two outcomes.
        own.rng.set_word_pos(u128::from(outcomes) << 20);
        own
    }
}
