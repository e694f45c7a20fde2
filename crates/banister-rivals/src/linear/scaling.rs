//! Playing a part of an action: which problems allow it, and how much of an action is safe.

use banister::Error;
use banister::solve::dense;
use banister::toolkit::positive;

use super::Evidence;
use crate::parameters::check_setting;

/// The one guardrail of a problem with x_0 = 0: ⟨x, μ⟩ ≤ b in prediction units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scaling {
    /// b.
    pub threshold: f64,
}

impl Scaling {
    /// Refuses problems in which a part of an action is not an action, or not safe for being short.
    pub(super) fn new(kind: &str, evidence: &Evidence) -> Result<Self, Error> {
        let refuse = |reason: String| Err(Error::invalid("kind", kind, reason));
        if evidence.safe_action.iter().any(|&x| x != 0.0) {
            return refuse(
                "it plays parts of actions, which lie between them and x_0 = 0: the safe action's \
                 features must all be 0 (`oplb` takes any)"
                    .into(),
            );
        }
        check_setting(kind, &evidence.problem)?;
        let [guardrail] = &evidence.problem.guardrails[..] else {
            let count = evidence.guardrails();
            return refuse(format!(
                "it keeps exactly one guardrail, and there are {count}: use `oplb`"
            ));
        };
        let threshold = guardrail.shown_threshold * evidence.signals[1].scale;
        if !(threshold > 0.0 && threshold.is_finite()) {
            return refuse(format!(
                "with x_0 = 0 the threshold of `{}` must leave room above its mean 0, and is {}",
                guardrail.name, guardrail.shown_threshold
            ));
        }
        Ok(Self { threshold })
    }

    /// The largest part of an action, at most 1, that keeps the threshold if the whole costs `upper`.
    #[inline]
    pub(super) fn largest(&self, upper: f64) -> f64 {
        self.largest_within(upper, 1.0)
    }

    /// The largest part of an action, at most `most`, that keeps the threshold if the whole costs `upper`.
    #[inline]
    pub(super) fn largest_within(&self, upper: f64, most: f64) -> f64 {
        if most * upper <= self.threshold {
            return most;
        }
        let mut scale = self.threshold / upper;
        // A quotient rounded up would cost a hair too much; one of a bound beyond all measure is nothing.
        for _ in 0..4 {
            if scale * upper <= self.threshold {
                return scale;
            }
            scale = scale.next_down().max(0.0);
        }
        0.0
    }
}

/// Radii of the bounds around the estimates, in units of ‖x‖ in Σ⁻¹.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    pub reward: f64,
    pub cost: f64,
}

impl Scaling {
    /// The part of an action with the largest reward's upper bound, each action at the largest part, at most
    /// `most`, that its cost's upper bound allows; the safe action if none promises more than its 0.
    pub(super) fn best(&self, evidence: &Evidence, reach: Reach, most: f64) -> Plan {
        let columns = &evidence.actions.columns;
        let mut plan = Plan::whole(evidence.actions.safe, 0.0);
        for a in 0..evidence.actions.count {
            let length = columns.squares[1][a].sqrt();
            let upper = columns.means[1][a] + reach.cost * length;
            let scale = self.largest_within(upper, most);
            plan.improve(
                a,
                scale,
                scale * (columns.means[0][a] + reach.reward * length),
            );
        }
        plan
    }
}

/// ‖x‖ of an action on offer.
#[inline]
pub(super) fn length(evidence: &Evidence, action: usize) -> f64 {
    let x = evidence.actions.features(action);
    dense::dot(x, x).sqrt()
}

/// Refuses anything but a number above 0 and at most 1.
pub(super) fn part(field: &str, value: f64) -> Result<f64, Error> {
    if positive(field, value)? <= 1.0 {
        return Ok(value);
    }
    let allowed = "must be above 0 and at most 1: actions are played at most at their length";
    Err(Error::invalid(field, value, allowed))
}

/// An action, the part of it to play, and its index, in prediction units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub action: usize,
    /// At most 1.
    pub scale: f64,
    /// Index that the rule maximised, of the part played.
    pub value: f64,
}

impl Plan {
    /// A whole action, whose index is `value`.
    pub(super) fn whole(action: usize, value: f64) -> Self {
        Self::part(action, 1.0, value)
    }

    /// A part of an action, `value` being the index of that part.
    pub(super) fn part(action: usize, scale: f64, value: f64) -> Self {
        Self {
            action,
            scale,
            value,
        }
    }

    /// Takes another one if it is better. NaN never is.
    #[inline]
    pub(super) fn improve(&mut self, action: usize, scale: f64, value: f64) {
        if value > self.value {
            *self = Self::part(action, scale, value);
        }
    }
}
