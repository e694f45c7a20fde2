//! Outcomes as the tests see them: which decision each belongs to.

use crate::problem::Claim;

/// A decision's outcome as the detectors see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched<'a> {
    /// True if the action was the safe one.
    pub is_safe: bool,
    /// Number of the arm; none of an action that was offered by its features.
    pub arm: Option<usize>,
    /// Segment whose own guardrails it is watched under.
    pub segment: Option<usize>,
    /// Claims of its decision; without any, nothing says what it should be.
    pub claims: Option<&'a [Claim]>,
}

/// The decision that an outcome belongs to: what the monitor may conclude from it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Origin {
    /// The agent's own, right after the one before: nothing was pending in between.
    #[default]
    Immediate,
    /// The agent's own, by the number under which it was drawn ([`crate::Event::Drawn`]); outcomes come in any order.
    Announced(u64),
    /// The agent's own, late but in the order of decisions.
    InOrder(u64),
    /// Another policy's: it teaches, and says nothing about this agent's policies.
    Logged,
    /// Another policy's, of a request that comes with the frequencies of those to be decided: its segment counts too.
    Sampled {
        /// True for one outcome of each request: a request that was answered by all arms counts once.
        is_first: bool,
        /// True if the arm was chosen without regard to the segment, as where every arm answered: the mean over segments
        /// that share a policy is taught too.
        is_blind: bool,
    },
}

impl Origin {
    /// Number of the decision, where it has one.
    #[inline]
    pub(crate) fn decision(self) -> Option<u64> {
        match self {
            Self::Announced(decision) | Self::InOrder(decision) => Some(decision),
            Self::Immediate | Self::Logged | Self::Sampled { .. } => None,
        }
    }

    /// True for another policy's.
    #[inline]
    pub(crate) fn is_logged(self) -> bool {
        matches!(self, Self::Logged | Self::Sampled { .. })
    }
}
