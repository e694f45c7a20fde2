//! Ends of intervals that an agent needs, and the budget that each draws on.

use crate::interval::{End, Rule};
use crate::problem::{Direction, Standard};

/// Rule for bounding one signal.
#[derive(Debug, Clone, Copy)]
pub(super) struct SignalRule {
    pub(super) rule: Rule,
    /// True if intervals are intersected over time.
    pub(super) intersect: bool,
    /// Ends wanted of an arm, and of the safe one.
    pub(super) ends: [Ends; 2],
    /// Place of the same signal in the row that is learned instead, and whether it stands there mirrored.
    pub(super) twin: Option<(usize, bool)>,
    /// Number of the weighted sum that it is, whose signals are learned instead.
    pub(super) sum: Option<usize>,
}

impl SignalRule {
    /// True if outcomes teach it in its own place.
    pub(super) fn is_learned(&self) -> bool {
        self.twin.is_none() && self.sum.is_none()
    }
}

/// Budget that an end draws on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Safety,
    Optimism,
    /// None: nothing rests on it but the search for changes, at optimism's level.
    Change,
}

/// Ends of a signal's interval that an agent needs, by the budget they draw on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ends {
    pub(super) lower: Option<Side>,
    pub(super) upper: Option<Side>,
}

impl Ends {
    pub(super) const NONE: Self = Self {
        lower: None,
        upper: None,
    };

    /// Ends of a cost: safety needs y_a from above and, for a relative guardrail, whose cost is
    /// y_a − f·y_0, the safe action's y_0 from below; for f < 1 also from above, as its own cost is (1 − f)·y_0.
    pub(super) fn of_cost(guardrail: &Standard, is_safe: bool) -> Self {
        use Side::{Optimism, Safety};
        let (lower, upper) = match guardrail.factor {
            _ if is_safe && guardrail.safe_cost.is_some() => return Self::NONE,
            f if is_safe && f > 1.0 => (Safety, Optimism),
            f if is_safe && f > 0.0 => (Safety, Safety),
            _ => (Optimism, Safety),
        };
        Self {
            lower: Some(lower),
            upper: Some(upper),
        }
    }

    /// Ends of the signal that a relative ratio is per unit of: safety divides an arm's by its harmful end, and the safe
    /// action's by the other.
    pub(super) fn per(guardrail: &Standard, is_safe: bool) -> Self {
        use Side::{Optimism, Safety};
        let from_below = (guardrail.direction == Direction::AtMost) != is_safe;
        let mut sides = [Some(Safety), Some(Optimism)];
        sides.rotate_left(usize::from(!from_below));
        let [lower, upper] = sides;
        Self { lower, upper }
    }

    /// Ends that serve two uses of a signal, safety's first.
    pub(super) fn and(self, other: Self, mirrored: bool) -> Self {
        let either = |a: Option<Side>, b: Option<Side>| match (a, b) {
            (Some(Side::Safety), _) | (_, None) => a,
            (Some(Side::Optimism), Some(Side::Change)) => a,
            _ => b,
        };
        let (lower, upper) = if mirrored {
            (other.upper, other.lower)
        } else {
            (other.lower, other.upper)
        };
        Self {
            lower: either(self.lower, lower),
            upper: either(self.upper, upper),
        }
    }

    pub(super) fn count(self, side: Side) -> usize {
        [self.lower, self.upper]
            .iter()
            .filter(|&&own| own == Some(side))
            .count()
    }

    /// Each end and the budget it draws on.
    pub(super) fn each(self) -> [(End, Option<Side>); 2] {
        [(End::Lower, self.lower), (End::Upper, self.upper)]
    }
}

/// Ends of an arm on one side.
pub(super) fn count(rules: &[SignalRule], is_safe: bool, side: Side) -> usize {
    let learned = rules.iter().filter(|r| r.is_learned());
    let ends = learned.map(|r| r.ends[usize::from(is_safe)]);
    ends.map(|ends| ends.count(side)).sum()
}
