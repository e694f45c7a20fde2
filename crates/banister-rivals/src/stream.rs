//! Random streams of agents that sample to decide.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

/// A random stream that can be saved and taken up where it stopped.
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
pub(crate) struct SavedStream {
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
    pub(crate) fn save(&self) -> SavedStream {
        let position = self.rng.get_word_pos();
        SavedStream {
            seed: self.seed,
            stream: self.stream,
            position: [(position >> 64) as u64, position as u64],
        }
    }

    /// Position that depends on the outcomes alone: a place that nothing
    /// drawn before is likely to have come from.
    pub(crate) fn save_learned(&self, outcomes: u64) -> SavedStream {
        SavedStream {
            // Far beyond what is drawn between two outcomes.
            position: [0, outcomes << 20],
            ..self.save()
        }
    }

    /// Continues at a saved position.
    pub(crate) fn restore(saved: SavedStream) -> Self {
        let mut own = Self::new(saved.seed, saved.stream);
        let [high, low] = saved.position;
        own.rng
            .set_word_pos(u128::from(high) << 64 | u128::from(low));
        own
    }
}
