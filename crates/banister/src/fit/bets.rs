//! Bets against a model's intervals: the test of costs with a link, and valid for any model.
//!
//! Before a cost y_s in [0, 1] is seen, the model gives an interval [l_s, u_s] for its mean. On the event that all of its
//! intervals hold, of probability 1 − δ, for a cell and a half-width w
//!
//! ```text
//!   W = Π (1 + 2w (y_s − u_s))   and   Π (1 + 2w (l_s − y_s))   over outcomes of the cell with u_s − l_s ≤ 2w
//! ```
//!
//! never grow in expectation: the cell and both ends are known before y_s, and factors are positive, as w ≤ 1/4. The
//! mean over both and all w starts at 1, so that it ever reaches 1/δ' with probability at most δ', beside the δ of the
//! intervals. Small gaps show only where intervals are narrow, and call for small stakes: hence one w for both.
//!
//! ln W is a sum over outcomes, so that cells add and subtract like any sums. The test is weaker than that of residuals:
//! a gap must exceed the width of the intervals.

use libm::log;

use crate::linear::Ends;

/// Half-widths w.
const WIDTHS: [f64; 4] = [0.25, 0.125, 0.0625, 0.031_25];

/// Numbers per outcome and guardrail: the cost, its predicted mean, and ln of a factor per side and width.
pub(super) const NUMBERS: usize = 2 + 2 * WIDTHS.len();

/// A cost beside what the model expected of it, in standard units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forecast {
    pub observed: f64,
    pub ends: Ends,
}

impl Default for Forecast {
    fn default() -> Self {
        Self {
            observed: 0.0,
            ends: Ends::UNKNOWN,
        }
    }
}

impl Forecast {
    /// Writes the numbers of an outcome.
    pub(super) fn bet(&self, numbers: &mut [f64]) {
        let Ends { lower, mean, upper } = self.ends;
        (numbers[0], numbers[1]) = (self.observed, mean);
        for (pair, w) in numbers[2..].chunks_exact_mut(2).zip(WIDTHS) {
            // NaN fails.
            let stake = if upper - lower <= 2.0 * w {
                2.0 * w
            } else {
                0.0
            };
            pair[0] = log(1.0 + stake * (self.observed - upper));
            pair[1] = log(1.0 + stake * (lower - self.observed));
        }
    }
}

/// ln of the evidence in the sums of `n` outcomes, and their means: observed and predicted.
pub(super) fn evidence(sums: &[f64], n: f64) -> (f64, [f64; 2]) {
    let best = sums[2..].iter().copied().fold(f64::MIN, f64::max);
    // Of sums of n terms below 1, and their differences.
    let rounding = 4.0 * f64::EPSILON * n * n;
    let best = best - log((2 * WIDTHS.len()) as f64) - rounding;
    (best, [sums[0] / n, sums[1] / n])
}
