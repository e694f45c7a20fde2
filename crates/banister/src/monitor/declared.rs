//! Evidence against a declared safe cost.
//!
//! The safe action's own outcomes either agree with the mean that was declared for it or refute it:
//! n·kl(p̂, c_0) ≥ ln((n+1)/δ) for a bounded signal (the uniform mixture of likelihood ratios), the
//! normal mixture for a sub-Gaussian one. Both hold at all times at once, so the test may look
//! whenever it likes; it looks while n is small and whenever n has grown by a hundredth.

use libm::log;
use serde::{Deserialize, Serialize};

use crate::interval::kl;
use crate::problem::Standard;

/// Outcomes up to which every one is looked at.
const EACH: u64 = 200;

/// The test of one guardrail's declared safe cost, in standard units.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Declared {
    mean: f64,
    sub_gaussian: Option<f64>,
    /// ln(1/δ).
    log_level: f64,
    pub state: Sums,
}

/// Sums over the safe action's outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sums {
    pub count: u64,
    pub sum: f64,
    /// Outcomes at which it looks next.
    pub next: u64,
}

/// Evidence that refutes a declaration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Refuted {
    /// The mean observed, in standard units.
    pub mean: f64,
    /// The evidence, as a likelihood ratio.
    pub evidence: f64,
    /// True if the safe action costs more than was declared, not less.
    pub is_dearer: bool,
}

impl Declared {
    /// The test at level δ of a guardrail whose safe cost is declared.
    pub(super) fn new(guardrail: &Standard, delta: f64) -> Option<Self> {
        Some(Self {
            mean: guardrail.safe_cost?,
            sub_gaussian: guardrail.signal.sub_gaussian.map(|_| guardrail.signal.r()),
            log_level: log(1.0 / delta),
            state: Sums::default(),
        })
    }

    /// Takes an outcome of the safe action, in standard units.
    #[inline]
    pub(super) fn take(&mut self, cost: f64) -> Option<Refuted> {
        let state = &mut self.state;
        state.count += 1;
        state.sum += cost;
        if state.count < state.next {
            return None;
        }
        state.next = state.count + 1 + state.count.saturating_sub(EACH) / 100;
        self.look()
    }

    #[inline(never)]
    fn look(&self) -> Option<Refuted> {
        let n = self.state.count as f64;
        let mean = self.state.sum / n;
        let log_evidence = match self.sub_gaussian {
            None => n * kl(mean.clamp(0.0, 1.0), self.mean) - log(n + 1.0),
            Some(r) => {
                let distance = (self.state.sum - n * self.mean) / r;
                0.5 * (distance * distance / (n + 1.0) - log(n + 1.0))
            }
        };
        // A declared mean of 0 or 1 is refuted by the first other outcome: the divergence is infinite.
        (log_evidence >= self.log_level).then(|| Refuted {
            mean,
            evidence: libm::exp(log_evidence.min(460.0)),
            is_dearer: mean > self.mean,
        })
    }
}
