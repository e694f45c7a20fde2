//! Shares of outcomes whose signal lies beyond a bound. "The q-quantile is at most x" says that 1{X > x} has a mean of at
//! most 1 − q.

use std::fmt;

use super::{Expression, Made, Place, Problem, Source};
use crate::error::Error;
use crate::path::Within;
use crate::problem::{Direction, Guardrail, SignalConfig};

/// 1 where a signal lies beyond a bound, else 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Exceedance {
    /// The signal, a declared one.
    pub signal: String,
    /// Side of the bound that the event is not on.
    pub side: Direction,
    /// Value beyond which the signal has to lie.
    pub bound: f64,
}

impl Exceedance {
    pub(super) fn beyond(signal: String, side: Direction, bound: f64) -> Expression {
        Expression::Exceedance(Self {
            signal,
            side,
            bound,
        })
    }

    /// The event that a bound on a quantile is about, and the highest share of it.
    pub(in crate::problem) fn of_quantile(
        signal: String,
        q: f64,
        (side, bound): (Direction, f64),
    ) -> (Expression, f64) {
        // P(X > x) ≤ 1 − q, or P(X < x) ≤ q. Declared in decimals, and meant so: 1 − 0.95 is 0.05.
        let rest = ((1.0 - q) * 1e12).round() / 1e12;
        (Self::beyond(signal, side, bound), side.select(rest, q))
    }

    pub(super) fn place(&self, problem: &Problem, guardrail: &Guardrail) -> Result<Place, Error> {
        let (place, signal) = problem.source(&self.signal).within("expression")?;
        let [lo, hi] = signal.hull();
        let Self { side, bound, .. } = *self;
        if !(bound > lo && bound < hi) {
            let allowed = format!("must lie within the signal's range [{lo}, {hi}]");
            return Err(Error::invalid("expression[2]", bound, allowed));
        }
        if guardrail.relative {
            let allowed = "a share of outcomes has a bound of its own: leave it out";
            return Err(Error::invalid("relative", true, allowed));
        }
        let config = SignalConfig {
            // How fast a share moves does not follow from how fast the mean does.
            drift: guardrail.signal.drift,
            ..SignalConfig::default()
        };
        let made = Made::Beyond { place, side, bound };
        Ok(Place::new(config, Source::Made(made)))
    }
}

impl fmt::Display for Exceedance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {}",
            self.signal,
            self.side.forbidden_side(),
            self.bound
        )
    }
}
