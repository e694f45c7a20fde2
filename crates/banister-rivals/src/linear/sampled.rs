//! Thompson sampling: a parameter drawn from the confidence set's own normal law.

use crate::stream::Stream;
use banister::Error;
use rand_distr::{Distribution, StandardNormal};
use serde_json::Value;

use super::Evidence;
use crate::saved::{part, to_part};

/// Draws θ̃ = θ̂ + v·Wᵀη with WᵀW = Σ⁻¹ and η standard normal: one draw of d numbers a decision, in the
/// order of the coordinates. Then ⟨x, θ̃⟩ = ⟨x, θ̂⟩ + v⟨y, η⟩ for the whitened features y = Wx.
///
/// W is lower triangular. Where x_0 ≠ 0 the coordinates are turned, the last pointing along x_0; the law
/// of θ̃ is the same.
#[derive(Debug)]
pub(super) struct Sample {
    stream: Stream,
    /// ⟨y_a, η⟩ by action.
    lean: Vec<f64>,
}

impl Default for Sample {
    fn default() -> Self {
        Self {
            stream: Stream::new(0, 0),
            lean: Vec::new(),
        }
    }
}

impl Sample {
    /// Draws η; ⟨y_a, η⟩ for every action on offer.
    pub(super) fn draw(&mut self, evidence: &Evidence) -> &[f64] {
        let actions = &evidence.actions;
        self.lean.clear();
        self.lean.resize(actions.stride, 0.0);
        for row in actions.columns.whitened.chunks_exact(actions.stride) {
            let eta: f64 = StandardNormal.sample(&mut self.stream.rng);
            for (lean, y) in self.lean.iter_mut().zip(row) {
                *lean += eta * y;
            }
        }
        &self.lean[..actions.count]
    }

    pub(super) fn reseed(&mut self, seed: u64, stream: u64) {
        self.stream = Stream::new(seed, stream);
    }

    pub(super) fn save(&self, evidence: &Evidence, learned: bool) -> Value {
        save_stream(&self.stream, evidence, learned)
    }

    pub(super) fn restore(&mut self, memory: &Value) -> Result<(), Error> {
        self.stream = Stream::restore(part("random stream", memory)?);
        Ok(())
    }
}

/// Position of a stream; `learned`: as far as that follows from the outcomes.
pub(super) fn save_stream(stream: &Stream, evidence: &Evidence, learned: bool) -> Value {
    to_part(if learned {
        stream.save_learned(evidence.outcomes)
    } else {
        stream.save()
    })
}
