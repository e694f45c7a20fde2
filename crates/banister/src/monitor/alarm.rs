//! Alarms: what is false, on which evidence, and the reaction to them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::{CheckedProblem, Standard};

/// Reaction to an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnBreach {
    /// The safe action alone, until a person acknowledges the alarm.
    #[default]
    Safe,
    /// Learning again of what the alarm is about, with a smaller share of δ: an arm's signal that has changed, arms that
    /// are suspected of a breach, or everything.
    Relearn,
    /// Nothing but the alarm.
    Alert,
}

/// Kind of evidence behind an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlarmKind {
    /// The decisions' observed costs are above the threshold.
    Breach,
    /// The costs may be above the threshold: evidence that is not enough to act on.
    BreachWarning,
    /// An arm's outcomes contradict each other over time: its mean changed.
    Refuted,
    /// An arm's reward, or a cost of it where nothing rests on the change, has another mean than before: a warning, and
    /// what was learned of it is forgotten.
    Changed,
    /// An arm's mean moves faster than its declared drift.
    Drift,
    /// The safe action costs other than was declared.
    SafeCost,
    /// A part of the outcomes costs other than the model of the features allows.
    ModelRefuted,
    /// Outcomes are missing more often in one segment, or of some arms, than elsewhere.
    Missing,
    /// Nearly as many names of segments were seen as there is room for: a warning.
    Segments,
    /// A cost lies outside its declared range.
    Range,
    /// A reward lies outside its declared range: a warning, since no guardrail rests on rewards.
    RewardRange,
}

impl AlarmKind {
    /// True if it informs and never acts.
    pub fn is_warning(self) -> bool {
        matches!(
            self,
            Self::BreachWarning
                | Self::Changed
                | Self::RewardRange
                | Self::Missing
                | Self::Segments
        )
    }

    /// The kind that a warning may turn into, or this one.
    pub(crate) fn acting(self) -> Self {
        match self {
            Self::BreachWarning => Self::Breach,
            other => other,
        }
    }

    /// True if learning again does not mend what is wrong: a declaration, or reports.
    pub(crate) fn is_beyond_learning(self) -> bool {
        self.is_warning() || matches!(self, Self::Drift | Self::SafeCost | Self::Range)
    }
}

/// Part of the outcomes whose costs the model of the features does not explain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Misfit {
    /// Mean that the model expects of them, in the units of the guardrail's signal.
    pub predicted: f64,
    /// Conditions on features that select them, all of which must hold; none: all outcomes, or all of the arm's.
    pub cell: [Option<FeatureRange>; 3],
}

/// Range of one feature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureRange {
    /// Number of the feature, counted from 0.
    pub feature: usize,
    /// Lower end, which is not part of it.
    pub above: Option<f64>,
    /// Upper end, which is part of it.
    pub at_most: Option<f64>,
}

impl fmt::Display for FeatureRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "feature {} ", self.feature)?;
        match (self.above.map(short), self.at_most.map(short)) {
            (Some(low), None) => write!(f, "high (above {low})"),
            (None, Some(high)) => write!(f, "low (at most {high})"),
            (Some(low), Some(high)) => write!(f, "middling ({low} to {high})"),
            (None, None) => write!(f, "anywhere"),
        }
    }
}

/// An alarm: an assumption is false, at the level of its test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Alarm {
    /// Assumption that the evidence contradicts.
    pub kind: AlarmKind,
    /// Its number, in the order of alarms raised.
    pub number: u64,
    /// Index of the guardrail, or, past the last one, of a signal that guardrails are sums of; none where the evidence is
    /// about the reward.
    pub guardrail: Option<usize>,
    /// Number of the arm, where the evidence is about one.
    pub arm: Option<usize>,
    /// Number of the segment, where the evidence is about one.
    pub segment: Option<usize>,
    /// Outcomes taken when it was raised.
    pub outcome: u64,
    /// Outcomes that the evidence rests on: since the cost has been too high, all of the arm's, or those missing; of
    /// names of segments their number.
    pub outcomes: u64,
    /// Mean of the guardrail's signal over those, in its units (for a relative guardrail: of its excess over the factor
    /// times the safe mean); of a breach by one arm how far it is beyond what was certified; of a signal outside its
    /// range, the value reported; of missing outcomes their share; of names of segments the most there can be.
    pub mean: f64,
    /// Strength of the evidence as a likelihood ratio.
    pub evidence: f64,
    /// True if it forces the safe action until it is acknowledged.
    pub forces_safe: bool,
    /// Outcomes that the model does not explain, where the evidence is against it.
    pub misfit: Option<Misfit>,
}

impl Alarm {
    /// The alarm that the `outcome`-th outcome raises if a signal (0 the reward, 1 + i guardrail i) of an arm, or of
    /// an action without a number, lies outside its declared range.
    pub fn of_range(
        problem: &CheckedProblem,
        on_breach: OnBreach,
        (arm, signal): (Option<usize>, usize),
        value: f64,
        outcome: u64,
    ) -> Option<Self> {
        if problem
            .own_signal(arm.unwrap_or(usize::MAX), signal)
            .admits(value)
        {
            return None;
        }
        let guardrail = signal.checked_sub(1);
        let kind = match guardrail {
            None => AlarmKind::RewardRange,
            Some(_) => AlarmKind::Range,
        };
        Some(Self {
            guardrail,
            arm,
            mean: value,
            forces_safe: !kind.is_warning() && on_breach != OnBreach::Alert,
            ..Self::certain(kind, outcome)
        })
    }

    /// One that is not a matter of chance, and informs: what others start from.
    pub(super) fn certain(kind: AlarmKind, outcome: u64) -> Self {
        Self {
            kind,
            number: 0,
            guardrail: None,
            arm: None,
            segment: None,
            outcome,
            outcomes: 1,
            mean: 0.0,
            evidence: f64::MAX,
            forces_safe: false,
            misfit: None,
        }
    }

    /// The alarm in a sentence; `arm` and `segment` are the names of its arm and segment, where it is about one.
    pub fn describe(
        &self,
        problem: &CheckedProblem,
        arm: Option<&str>,
        segment: Option<&str>,
    ) -> String {
        let told = self.told(problem, arm);
        match segment {
            Some(segment) => format!("in the segment {segment}, {told}"),
            None => told,
        }
    }

    /// Place in the row of the signal that it is about.
    fn place(&self, problem: &CheckedProblem) -> usize {
        (self.guardrail).map_or(0, |i| (i + 1).min(problem.width() - 1))
    }

    fn told(&self, problem: &CheckedProblem, arm: Option<&str>) -> String {
        let guardrail = self.guardrail.and_then(|i| problem.guardrails.get(i));
        let own = arm.unwrap_or("the arm");
        let name = problem.signal_name(self.place(problem));
        match (self.kind, guardrail) {
            (AlarmKind::Missing, _) => self.told_missing(),
            (AlarmKind::Segments, _) => self.told_segments(),
            (AlarmKind::Breach, Some(guardrail)) => self.told_breach(guardrail, arm),
            (AlarmKind::BreachWarning, Some(guardrail)) => {
                let told = self.told_breach(guardrail, arm);
                format!("{told}: a warning, which may be chance")
            }
            (AlarmKind::Refuted, _) => self.told_refuted(name, own),
            (AlarmKind::Drift, _) => {
                let n = self.outcomes;
                format!(
                    "the {name} of {own} moves faster than its declared drift, over {n} outcomes"
                )
            }
            (AlarmKind::Changed, _) => {
                let (n, mean) = (self.outcomes, short(self.mean));
                format!(
                    "the {name} of {own} has changed (mean {mean} over {n} outcomes): it is learned anew"
                )
            }
            (AlarmKind::SafeCost, Some(guardrail)) => self.told_safe_cost(guardrail, own),
            (AlarmKind::ModelRefuted, Some(guardrail)) => self.told_model(guardrail, own),
            _ => self.told_range(problem, arm),
        }
    }

    fn told_breach(&self, guardrail: &Standard, arm: Option<&str>) -> String {
        let (name, n, mean) = (&guardrail.name, self.outcomes, short(self.mean));
        if let Some(arm) = arm {
            let (excess, side) = (
                short(self.mean.abs()),
                guardrail.direction.select("more", "less"),
            );
            return format!(
                "{name} of {arm} averaged {excess} {side} than was certified over its last {n} outcomes"
            );
        }
        if guardrail.factor == 0.0 {
            return format!(
                "{name} averaged {mean} over the last {n} decisions, beyond its threshold {}",
                guardrail.shown_threshold
            );
        }
        format!(
            "{name} averaged {mean} beyond {} times the safe action's over the last {n} decisions",
            guardrail.factor
        )
    }

    fn told_refuted(&self, name: &str, arm: &str) -> String {
        let (n, mean) = (self.outcomes, short(self.mean));
        format!(
            "the {name} of {arm} have changed: they averaged {mean} over {n} outcomes, and are beyond that now"
        )
    }

    fn told_safe_cost(&self, guardrail: &Standard, arm: &str) -> String {
        let (name, n, mean) = (&guardrail.name, self.outcomes, short(self.mean));
        let declared = guardrail
            .safe_cost
            .map_or(f64::NAN, |y| guardrail.signal_of(y));
        format!(
            "{arm} averaged {mean} of {name} over {n} outcomes, but its safe cost is declared as {declared}"
        )
    }

    fn told_missing(&self) -> String {
        let place = match (self.segment, self.arm) {
            (Some(_), _) => "in its decisions",
            (None, Some(_)) => "where the safe arm was drawn",
            (None, None) => "where another arm than the safe one was drawn",
        };
        format!(
            "the outcomes of {} decisions did not come, a share of {}: more are missing {place} than elsewhere",
            self.outcomes,
            short(self.mean)
        )
    }

    fn told_segments(&self) -> String {
        format!(
            "{} names of segments were seen, and there is room for {} (`max_segments`): rare ones give way to new ones. \
             A segment is a class of requests, not a person or a session",
            self.outcomes, self.mean
        )
    }

    fn told_model(&self, guardrail: &Standard, arm: &str) -> String {
        let (name, n, mean) = (&guardrail.name, self.outcomes, short(self.mean));
        let predicted = self.misfit.map_or(f64::NAN, |misfit| misfit.predicted);
        let gap = short((self.mean - predicted).abs());
        let side = if self.mean > predicted {
            "more"
        } else {
            "less"
        };
        let ranges = self.misfit.map_or([None; 3], |misfit| misfit.cell);
        let ranges: Vec<String> = ranges.iter().flatten().map(|a| a.to_string()).collect();
        let ranges = ranges.join(" and ");
        let place = match self.arm {
            Some(_) if ranges.is_empty() => arm.to_string(),
            Some(_) => format!("{arm}, {ranges}"),
            None if ranges.is_empty() => "all actions but the safe one".into(),
            None => ranges,
        };
        format!(
            "{place}: {name} averaged {mean} over {n} outcomes, {gap} {side} than the model says; its \
             means are not those of the model"
        )
    }

    /// A value outside its range, and the declaration that would have held it.
    fn told_range(&self, problem: &CheckedProblem, arm: Option<&str>) -> String {
        let signal = self.place(problem);
        let own = problem.own_signal(self.arm.unwrap_or(usize::MAX), signal);
        let (name, value) = (problem.signal_name(signal), self.mean);
        let of = arm.map(|arm| format!(" of {arm}")).unwrap_or_default();
        let or_cap = if value > own.hi { ", or a `cap`" } else { "" };
        format!(
            "{name}{of} was {value}, outside its declared range [{}, {}], and counts as {}: declare a range that \
             holds every value ever possible, such as [{}, {}]{or_cap}",
            own.lo,
            own.hi,
            own.counted(value),
            own.lo.min(value),
            own.hi.max(value)
        )
    }
}

/// Rounds to four significant digits.
fn short(x: f64) -> f64 {
    format!("{x:.3e}").parse().unwrap_or(x)
}
