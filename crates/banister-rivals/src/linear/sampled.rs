//! Thompson sampling: a parameter drawn from the confidence set's own normal law.

use crate::stream::Stream;
use rand_distr::{Distribution, StandardNormal};

use super::Evidence;

/// Draws θ̃ = θ̂ + v·Wᵀη with WᵀW = Σ⁻¹ and η standard normal: one draw of d numbers a decision, in the
/// order of the coordinates. Then ⟨x, θ̃⟩ = ⟨x, θ̂⟩ + v⟨y, η⟩ for the whitened features y = Wx.
///
/// W is lower triangular. Where x_0 ≠ 0 the coordinates are turned, the last pointing along x_0; the law
/// of θ̃ is the same.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) stream: Stream,
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
}
