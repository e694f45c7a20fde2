//! Evidence against a declared safe cost.
//!
//! The safe action's own outcomes either agree with the mean that was declared for it or refute it:
//! n·kl(p̂, c_0) ≥ ln((n+1)/δ) for a bounded signal (the uniform mixture of likelihood ratios), the
//! normal mixture for a sub-Gaussian one. Both hold at all times at once, so the test may look
//! whenever it likes; it looks while n is small and whenever n has grown by a hundredth.

use libm::log;
use serde::{Deserialize, Serialize};

use super::share_of_start;
use crate::interval::kl;
use crate::problem::{CheckedProblem, Direction, Signal};

/// Outcomes up to which every one is looked at.
const EACH: u64 = 200;

/// The test of one guardrail's declared safe cost, in standard units of the safe action's own range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Declared {
    signal: Signal,
    direction: Direction,
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
    /// Times that it started again.
    restarts: u64,
}

impl Sums {
    /// Returns true if every number can stand in a test.
    pub(super) fn is_sound(&self) -> bool {
        // Counts beyond any life would make the next one overflow.
        self.count.max(self.restarts) < u64::MAX / 2 && self.sum.is_finite()
    }
}

/// Evidence that refutes a declaration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Refuted {
    /// The mean observed.
    pub mean: f64,
    /// The evidence, as a likelihood ratio.
    pub evidence: f64,
    /// True if the safe action costs more than was declared, not less.
    pub is_dearer: bool,
}

impl Declared {
    /// The test at level δ of a guardrail whose safe cost is declared.
    pub(super) fn new(problem: &CheckedProblem, guardrail: usize, delta: f64) -> Option<Self> {
        let (signal, common, direction) = problem.signal_of(problem.declared.safe, guardrail + 1);
        let standard = problem.guardrails.get(guardrail)?;
        let cost = standard.safe_cost?;
        Some(Self {
            signal: *signal,
            direction,
            mean: if (signal.lo, signal.hi) == (common.lo, common.hi) {
                cost
            } else {
                signal.standardise_cost(direction, standard.signal_of(cost))
            },
            sub_gaussian: signal.sub_gaussian.map(|_| signal.r()),
            log_level: log(1.0 / delta),
            state: Sums::default(),
        })
    }

    /// Starts again, with the next share of its level: there is one budget for the whole life.
    pub(super) fn restart(&mut self) {
        if self.state.count > 0 {
            self.state = Sums {
                restarts: self.state.restarts + 1,
                ..Sums::default()
            };
        }
    }

    /// Observes an outcome of the safe action, as observed.
    #[inline]
    pub(super) fn observe(&mut self, cost: f64) -> Option<Refuted> {
        let state = &mut self.state;
        state.count += 1;
        state.sum += self.signal.standardise_cost(self.direction, cost);
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
        let (origin, scale) = self.signal.affine(self.direction);
        let level = self.log_level - log(share_of_start(self.state.restarts));
        (log_evidence >= level).then(|| Refuted {
            mean: origin + mean / scale,
            evidence: libm::exp(log_evidence.min(460.0)),
            is_dearer: mean > self.mean,
        })
    }
}
