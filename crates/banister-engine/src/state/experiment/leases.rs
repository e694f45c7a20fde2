//! Leases that were handed out, and the decisions that were made under them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::events::{DecisionEvent, LeaseEvent};
use crate::time::Timestamp;

/// Seconds after its end in which exposures under a lease are taken.
const REPORTED_WITHIN: f64 = 3600.0;
/// Most leases that are kept: the oldest are dropped, and exposures under them are refused.
const MOST_LEASES: usize = 1000;

/// A lease that was handed out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrantedLease {
    /// Number of its event.
    pub number: u64,
    pub issued: Timestamp,
    pub expires: Timestamp,
    /// Most decisions that may be made under it, and those made.
    pub most: u64,
    pub used: u64,
    /// Probability of the safe action, by segment.
    safe: Vec<(Option<Arc<str>>, f64)>,
}

impl Experiment {
    /// Segments that a lease has policies for: those known first; one without a name, where there are none.
    pub(crate) fn leased_segments(&self, most: usize) -> Vec<Option<Arc<str>>> {
        if self.info.segments.is_none() {
            return vec![None];
        }
        let names = self.learner.view().segment_names.iter().take(most);
        names.map(|name| Some(name.as_str().into())).collect()
    }

    /// A lease was handed out.
    pub(super) fn granted(&mut self, number: u64, time: Timestamp, lease: Arc<LeaseEvent>) {
        let oldest = time.minus_seconds(REPORTED_WITHIN);
        self.leases.retain(|own| own.expires >= oldest);
        if self.leases.len() == MOST_LEASES {
            self.leases.remove(0);
        }
        let safe = |own: &(Option<Arc<str>>, _)| own.0.clone();
        let each = lease.policies.iter();
        self.leases.push(GrantedLease {
            number,
            issued: lease.issued,
            expires: lease.expires,
            most: lease.most,
            used: 0,
            safe: each
                .map(|own| (safe(own), own.1.probability(own.1.safe)))
                .collect(),
        });
        self.leased = Some((number, lease));
    }

    /// Counts a decision under a lease; returns the probability that its policy gave the safe action.
    pub(super) fn exposed(&mut self, lease: u64, decision: &DecisionEvent) -> Option<f64> {
        let lease = self.leases.iter_mut().find(|own| own.number == lease)?;
        lease.used += 1;
        let own = lease.safe.iter().find(|own| own.0 == decision.segment);
        own.map(|own| own.1)
    }
}
