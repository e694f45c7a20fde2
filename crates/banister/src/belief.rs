//! What an agent believes about an arm, for people who want to look.

use serde::{Deserialize, Serialize};

use crate::guardrail::{Direction, Standard};
use crate::interval::Interval;
use crate::signal::Signal;

/// What an agent believes about one arm, in the user's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Belief {
    /// Whether it is on offer.
    pub offered: bool,
    /// Outcomes of it that arrived; `None` where outcomes are not counted by action.
    pub pulls: Option<u64>,
    /// Its mean reward.
    pub reward: Estimate,
    /// Its mean signal under each guardrail.
    pub costs: Vec<Estimate>,
}

/// An estimated mean and the interval that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate; `None` before the first outcome of an arm.
    pub mean: Option<f64>,
    /// Lower end of the interval in force.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl Estimate {
    /// From standard units, counted from the high end of the range if `mirrored`.
    pub(crate) fn in_units(
        signal: &Signal,
        mirrored: bool,
        mean: Option<f64>,
        ends: Interval,
    ) -> Self {
        let (origin, scale) = signal.affine(mirrored);
        let unit = |y: f64| origin + y / scale;
        let (a, b) = (unit(ends.lower), unit(ends.upper));
        Self {
            mean: mean.map(unit),
            lower: a.min(b),
            upper: a.max(b),
        }
    }

    /// The same for a guardrail's signal.
    pub(crate) fn of_guardrail(guardrail: &Standard, mean: Option<f64>, ends: Interval) -> Self {
        let mirrored = guardrail.direction == Direction::AtLeast;
        Self::in_units(&guardrail.signal, mirrored, mean, ends)
    }
}
