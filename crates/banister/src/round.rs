//! Rounds and outcomes: everything that is known before a decision, and everything that is known after it.
//!
//! No call has to precede another: what a call needs is in its arguments.

use crate::decision::{Decision, Fallback};
use crate::monitor::Origin;
use crate::problem::Claim;

/// Everything that is known before a decision.
///
/// ```
/// use banister::{Choice, Round};
///
/// let arms = Round::default(); // the arms that the agent knows by number
/// let hour = Round { choice: Choice::Context(&[1.0, 0.3]), ..arms };
/// assert_ne!(arms, hour);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Round<'a> {
    /// Time, where means may move ([`crate::Drift`]): seconds on the caller's clock, from any origin, with a drift per
    /// hour or day; with one per decision the number of the decision, which the agent counts itself if absent. A clock
    /// that goes back counts as standing still.
    pub time: Option<f64>,
    /// Actions to choose among.
    pub choice: Choice<'a>,
    /// Segment of users or requests. Agents without segments ignore it.
    pub segment: Option<&'a str>,
    /// Reason for playing the safe action alone, where the caller has one.
    pub only_safe: Option<Fallback>,
}

/// Actions of a round, or the one action that an outcome is about.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Choice<'a> {
    /// The agent's arms, by their numbers.
    #[default]
    Arms,
    /// Feature vectors one after another, numbered by their places; the safe action is always on offer, and comes
    /// after the last if it is not among them. In an outcome: the features of its action.
    Offered(&'a [f64]),
    /// The agent's arms, by their numbers, in a context.
    Context(&'a [f64]),
}

impl<'a> Round<'a> {
    /// A round that offers feature vectors, one after another.
    pub fn offering(features: &'a [f64]) -> Self {
        Self {
            choice: Choice::Offered(features),
            ..Self::default()
        }
    }

    /// A round in a context.
    pub fn in_context(context: &'a [f64]) -> Self {
        Self {
            choice: Choice::Context(context),
            ..Self::default()
        }
    }

    /// A round in a segment.
    pub fn in_segment(segment: &'a str) -> Self {
        Self {
            segment: Some(segment),
            ..Self::default()
        }
    }
}

/// Everything that is known after a decision: which action of which round, and its signals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome<'a> {
    /// Number of the action in its round; of one that was offered by features, these count alone.
    pub action: usize,
    /// Form in which the action was offered.
    pub choice: Choice<'a>,
    /// Segment of the round.
    pub segment: Option<&'a str>,
    /// Reward as observed.
    pub reward: f64,
    /// One cost per guardrail, as observed.
    pub costs: &'a [f64],
    /// The decision that it belongs to.
    pub origin: Origin,
    /// Time of that decision, as in its [`Round`]; that of the last round if absent.
    pub time: Option<f64>,
    /// One claim per guardrail, as that decision made them of the action ([`crate::Decision::claims`]). Of an arm's
    /// that came at once those of the last decision if absent; else none, and no breach is looked for in it.
    pub claims: Option<&'a [Claim]>,
}

impl<'a> Outcome<'a> {
    /// An outcome of an arm that came at once.
    #[inline]
    pub fn of_arm(arm: usize, reward: f64, costs: &'a [f64]) -> Self {
        Self {
            action: arm,
            choice: Choice::Arms,
            segment: None,
            reward,
            costs,
            origin: Origin::Immediate,
            time: None,
            claims: None,
        }
    }

    /// An outcome of an action with these features that came at once.
    pub fn of_features(features: &'a [f64], reward: f64, costs: &'a [f64]) -> Self {
        Self {
            choice: Choice::Offered(features),
            ..Self::of_arm(0, reward, costs)
        }
    }

    /// Claims that it is tested against: its own, or of an arm's that came at once those of the last decision.
    #[inline]
    pub(crate) fn claims_by(&self, last: &'a Decision) -> Option<&'a [Claim]> {
        // What was offered by features may go by any number.
        let is_plain =
            self.origin == Origin::Immediate && !matches!(self.choice, Choice::Offered(_));
        let own = || is_plain.then(|| last.claims(self.action))?;
        self.claims.or_else(own)
    }
}

/// A decision whose outcome comes later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pending<'a> {
    /// Number of the decision; numbers increase.
    pub decision: u64,
    /// Number of the action that was drawn.
    pub action: usize,
    /// Segment of the round.
    pub segment: Option<&'a str>,
    /// Probability that the policy gave the safe action, where outcomes come in any order: what segments share is then
    /// learned in the order of decisions. `None` where outcomes come in that order.
    pub safe_probability: Option<f64>,
    /// The segment's own cost beyond the bound on the mean over all segments, by guardrail
    /// ([`crate::decision::SegmentCertificate::excess`]); empty where there are no segments.
    pub excess: &'a [f64],
    /// Time of its [`Round`]; that of the last round if absent.
    pub time: Option<f64>,
}
