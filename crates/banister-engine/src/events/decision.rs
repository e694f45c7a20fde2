//! A decision as the log keeps it.

use std::sync::Arc;

use banister::{Claim, Pending};
use serde::{Deserialize, Serialize};

use super::PublishedPolicy;

/// Decision with the policy it was drawn from.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DecisionEvent {
    /// Digest of the request, to tell a repeated one from another with the same id.
    pub request: u64,
    /// Number of the policy's event; `None`: the decision has a policy of its own.
    pub policy: Option<u64>,
    /// The policy of this decision alone.
    pub own: Option<Arc<PublishedPolicy>>,
    pub action: u32,
    pub probability: f64,
    /// Reason for which the safe action was forced.
    pub fallback: Option<banister::Fallback>,
    /// The uniform number that drew it.
    pub draw: f64,
    /// Numbers of the context, or of the candidate drawn, by which its outcome is learned; empty for arms.
    pub features: Vec<f64>,
    /// The context, if the request brought one: its numbers, or where the declaration names fields a code for
    /// each (`Fields::codes`).
    pub context: Vec<f64>,
    /// The candidates, if the request brought any.
    pub candidates: Vec<Candidate>,
    /// True if it was made in shadow mode.
    pub shadow: bool,
    /// In shadow mode: the action that the caller took, if known then.
    pub taken: Option<u32>,
    /// In shadow mode: the caller's probability of it.
    pub propensity: Option<f64>,
    /// Segment that it was made in, where decisions have one.
    pub segment: Option<Arc<str>>,
    /// Claims about its action, and its segment's own excess ([`banister::Decision::claims`]): what its outcome and its
    /// context are tested against. Empty in shadow mode.
    pub claims: Vec<Claim>,
    pub excess: Vec<f64>,
    /// Its time as declared drift counts it, where there is one: seconds since the experiment was created, or the number
    /// of the decision in it.
    pub time: Option<f64>,
    /// True if its unit was learned, or will be, from an earlier period: its outcome is shown and teaches nothing.
    pub returns: bool,
}

impl DecisionEvent {
    /// The decision without its candidates and its own policy, which only few need: repeating an answer,
    /// and shadow mode.
    pub(crate) fn light(self: Arc<Self>) -> Arc<Self> {
        if self.own.is_none() && self.candidates.is_empty() {
            return self;
        }
        Arc::new(Self {
            own: None,
            candidates: Vec::new(),
            features: self.features.clone(),
            context: self.context.clone(),
            segment: self.segment.clone(),
            claims: self.claims.clone(),
            excess: self.excess.clone(),
            ..*self
        })
    }

    /// The decision with the action that a uniform number drew from a policy.
    pub(crate) fn drawn(self, published: &PublishedPolicy, draw: f64, action: u32) -> Self {
        let (claims, excess) = published.claimed(action, self.shadow);
        Self {
            action,
            probability: published.probability(action),
            fallback: published.fallback,
            draw,
            claims,
            excess,
            ..self
        }
    }

    /// The decision to an agent, whose outcome comes later; with the probability of its policy's safe action, where
    /// outcomes come in any order.
    pub(crate) fn pending(&self, number: u64, safe_probability: Option<f64>) -> Pending<'_> {
        Pending {
            decision: number,
            action: self.action as usize,
            segment: self.segment.as_deref(),
            safe_probability,
            excess: &self.excess,
            time: self.time,
        }
    }

    /// Returns true if nothing was left out: every decision cites a policy, or has its own.
    pub(crate) fn is_whole(&self) -> bool {
        self.policy.is_some() || self.own.is_some()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its name; unnamed ones go by their index.
    pub name: Option<String>,
    pub features: Vec<f64>,
}

/// Names of candidates, in their order.
pub fn candidate_names(candidates: &[Candidate]) -> Vec<Option<String>> {
    candidates.iter().map(|c| c.name.clone()).collect()
}
