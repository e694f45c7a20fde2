//! Declared drift: how fast means may move.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Problem;
use crate::error::{Error, finite};
use crate::path::FieldPath;

/// Most that the mean of a signal may move in a unit of time, for every arm: |μ_t − μ_s| ≤ by·|t − s|, also within a
/// unit: a mean that may jump by 0.01 once a day moves faster than 0.01 per day.
///
/// ```
/// use banister::Guardrail;
///
/// let complaints: Guardrail = serde_json::from_value(serde_json::json!({
///     "name": "complaints", "at_most": 0.2, "drift": {"by": 1e-6, "per": "decision"},
/// }))?;
/// assert!(complaints.signal.drift.is_some());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// Distance, in the units of the signal.
    pub by: f64,
    /// Unit of time.
    pub per: DriftUnit,
    /// Most units that the clock goes on by from one decision to the next, for the longest pause there may be; by the hour
    /// or day a year if absent. A time beyond it is refused: milliseconds given for seconds would age everything for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<f64>,
}

/// A year, in seconds.
const YEAR: f64 = 366.0 * 86_400.0;

/// Unit of time of a drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DriftUnit {
    /// One decision of the agent.
    Decision,
    /// An hour on the caller's clock ([`crate::Round::time`]).
    Hour,
    /// A day on the caller's clock.
    Day,
}

impl DriftUnit {
    /// True if time is that of the caller's clock.
    pub fn is_by_clock(self) -> bool {
        self != Self::Decision
    }

    /// Its name, and its length in decisions or seconds.
    fn parts(self) -> (&'static str, f64) {
        match self {
            Self::Decision => ("decision", 1.0),
            Self::Hour => ("hour", 3600.0),
            Self::Day => ("day", 86_400.0),
        }
    }
}

impl std::fmt::Display for Drift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} per {}", self.by, self.per.parts().0)
    }
}

impl Drift {
    /// Drift of a sum of means that move, each with its weight.
    pub(super) fn sum(terms: [(Option<Self>, f64); 2]) -> Option<Self> {
        let drifts = || {
            terms
                .into_iter()
                .filter_map(|(drift, weight)| Some((drift?, weight)))
        };
        let (first, _) = drifts().next()?;
        let speed: f64 = drifts().map(|(own, weight)| weight * own.speed()).sum();
        let by = speed * first.per.parts().1;
        Some(Self { by, ..first })
    }

    /// v: the drift per decision, or per second.
    pub(crate) fn speed(&self) -> f64 {
        self.by / self.per.parts().1
    }

    /// Most decisions, or seconds, from one decision to the next.
    pub(super) fn longest_pause(&self) -> f64 {
        let default = [f64::INFINITY, YEAR][usize::from(self.per.is_by_clock())];
        (self.pause).map_or(default, |pause| pause * self.per.parts().1)
    }

    /// Refuses what is no speed, and no pause; `width` is that of the signal's range.
    pub(super) fn check(&self, width: f64) -> Result<(), Error> {
        if let Some(pause) = self.pause.filter(|own| !(own.is_finite() && *own > 0.0)) {
            let allowed = "must be a positive number of its units";
            return Err(Error::invalid("pause", pause, allowed));
        }
        if finite("by", self.by)? < 0.0 {
            return Err(Error::invalid("by", self.by, "must be at least 0"));
        }
        if self.by > width {
            let allowed = format!("must be at most {width}, the width of the signal's range");
            return Err(Error::invalid("by", self.by, allowed));
        }
        Ok(())
    }
}

/// Refuses drifts that are counted in decisions beside others by the clock: there is one time for all.
pub(super) fn check_units(problem: &Problem) -> Result<(), Error> {
    let beside = problem.signals.values().map(|signal| signal.config().drift);
    let drifts = std::iter::once(problem.reward.drift)
        .chain(problem.guardrails.iter().map(|own| own.signal.drift))
        .chain(beside)
        .enumerate()
        .filter_map(|(place, drift)| drift.map(|drift| (place, drift)));
    let mut first = None;
    for (place, drift) in drifts {
        let by_clock = drift.per.is_by_clock();
        if *first.get_or_insert(by_clock) != by_clock {
            let field = problem.field_of(place).key("drift").key("per");
            let allowed = "drifts of one problem are all per decision, or all per hour or day";
            return Err(Error::invalid(field, drift, allowed));
        }
    }
    Ok(())
}

impl Problem {
    /// Declaration of a signal: 0 the reward, 1 + i guardrail i, then those declared beside them.
    pub(super) fn field_of(&self, place: usize) -> FieldPath {
        let guardrails = self.guardrails.len();
        match place.checked_sub(1) {
            None => "reward".into(),
            Some(i) if i < guardrails => ("guardrails", i).into(),
            Some(i) => {
                let name = self.signals.keys().nth(i - guardrails);
                ("signals", name.map_or("", |name| name)).into()
            }
        }
    }
}
