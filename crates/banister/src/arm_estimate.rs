//! Estimates of one arm, for inspection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimates;
use crate::interval::Interval;
use crate::problem::CheckedProblem;
use crate::problem::Direction;
use crate::problem::Signal;
use crate::problem::Standard;

/// Estimates of one arm's mean reward and costs, in the user's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmEstimate {
    /// True if the arm is on offer.
    pub offered: bool,
    /// Outcomes of it that arrived; `None` where outcomes are not counted by action.
    pub pulls: Option<u64>,
    /// Mean reward of the arm.
    pub reward: Estimate,
    /// Its mean signal under each guardrail.
    #[serde(rename = "guardrails")]
    pub costs: Vec<Estimate>,
    /// Its latest outcomes that bounds of each signal use, the reward's first, with drift; null for a mean that stays.
    #[serde(default)]
    pub windows: Vec<Option<u64>>,
}

/// An estimated mean and the interval that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate; `None` before the first outcome.
    pub mean: Option<f64>,
    /// Lower end of the interval in force.
    pub lower: f64,
    /// Upper end of the interval in force.
    pub upper: f64,
}

/// A segment, or the pool of those without a policy of their own, for inspection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentView {
    /// Name of the segment; `None` for the pool.
    pub name: Option<String>,
    /// Names of segments that share the pool's policy, those seen most often first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<String>,
    /// Decisions seen in it.
    pub contexts: u64,
    /// Share of all decisions.
    pub frequency: f64,
    /// Policy in force, as (arm, probability).
    pub policy: Vec<(usize, f64)>,
    /// Pessimistic cost of its policy under each guardrail.
    pub costs: Vec<f64>,
    /// Reward per unit of each guardrail's threshold: what a little more of it would earn, spent here.
    pub prices: Vec<f64>,
    /// Estimates of every arm in it.
    pub arms: Vec<ArmEstimate>,
}

impl Estimate {
    /// Converts from standard units, which count from the harmless end of the range.
    pub(crate) fn in_units(
        signal: &Signal,
        direction: Direction,
        mean: Option<f64>,
        ends: Interval,
    ) -> Self {
        let (origin, scale) = signal.affine(direction);
        Self::mapped(mean, ends, |y| origin + y / scale)
    }

    fn mapped(mean: Option<f64>, ends: Interval, unit: impl Fn(f64) -> f64) -> Self {
        let (a, b) = (unit(ends.lower), unit(ends.upper));
        Self {
            mean: mean.map(unit),
            lower: a.min(b),
            upper: a.max(b),
        }
    }

    /// Converts from standard units of a guardrail's signal.
    pub(crate) fn of_guardrail(guardrail: &Standard, mean: Option<f64>, ends: Interval) -> Self {
        Self::mapped(mean, ends, |y| guardrail.signal_of(y))
    }
}

/// Estimates of an arm, given the place of its statistics and its number.
pub fn of_arm(
    problem: &CheckedProblem,
    estimates: &Estimates,
    (place, arm): (usize, usize),
    offered: bool,
) -> ArmEstimate {
    let pulls = estimates.pulls()[place];
    let (mean, ends) = estimates.summary(place, 0);
    let guardrails = problem.guardrails.iter().enumerate();
    let is_safe = arm == problem.declared.safe;
    ArmEstimate {
        offered,
        pulls: Some(pulls),
        reward: Estimate::in_units(&problem.reward, Direction::AtMost, mean, ends),
        costs: guardrails
            .map(|(i, guardrail)| {
                let (mut mean, mut ends) = estimates.summary(place, i + 1);
                // The declared cost is in force, whatever was observed.
                if let (true, Some(known)) = (is_safe, guardrail.safe_cost) {
                    mean = Some(known);
                    ends = Interval {
                        lower: known,
                        upper: known,
                    };
                }
                Estimate::of_guardrail(guardrail, mean, ends)
            })
            .collect(),
        windows: estimates.windows(place),
    }
}

/// Shows intervals in standard units of an action whose outcomes are not counted: the reward's,
/// then one per guardrail. Means lie in the middle; ends are clipped to the ranges.
pub fn of_intervals(problem: &CheckedProblem, intervals: &[Interval]) -> ArmEstimate {
    let clipped = |ends: Interval| Interval {
        lower: ends.lower.clamp(0.0, 1.0),
        upper: ends.upper.clamp(0.0, 1.0),
    };
    let mean = |ends: Interval| Some((ends.lower + ends.upper) / 2.0);
    let reward = intervals.first().copied().unwrap_or(Interval::UNKNOWN);
    let costs = std::iter::zip(&problem.guardrails, intervals.iter().skip(1));
    ArmEstimate {
        offered: true,
        pulls: None,
        reward: Estimate::in_units(
            &problem.reward,
            Direction::AtMost,
            mean(reward),
            clipped(reward),
        ),
        costs: costs
            .map(|(guardrail, &own)| Estimate::of_guardrail(guardrail, mean(own), clipped(own)))
            .collect(),
        windows: Vec::new(),
    }
}
