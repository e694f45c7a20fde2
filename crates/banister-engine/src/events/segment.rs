//! Segments of decisions: what events say of them.
//!
//! Bodies are encoded field after field, so that no field can join those that a log holds already. What is said of
//! segments has a place of its own in a body instead, and comes back to its event when that is decoded.

use std::sync::Arc;

use banister::SegmentCertificate;
use serde::{Deserialize, Serialize};

use super::Event;

/// All that an event says of segments.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum InSegments {
    /// The segment of a decision, with its part of the certificate.
    Decision(SegmentCertificate),
    /// The segment of an outcome.
    Outcome(Arc<str>),
    /// Those of imported outcomes.
    Import(Vec<Arc<str>>),
}

impl InSegments {
    /// Record of an event; `None` for events without segments.
    pub(super) fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Decision(decision) => {
                let own = decision.own.as_ref()?;
                own.segment.clone().map(Self::Decision)
            }
            Event::Outcome(outcome) | Event::Matured { outcome, .. } => {
                outcome.segment.clone().map(Self::Outcome)
            }
            Event::Missing { segment, .. } => segment.clone().map(Self::Outcome),
            Event::Imported(import) if !import.segments.is_empty() => {
                Some(Self::Import(import.segments.clone()))
            }
            _ => None,
        }
    }

    /// Gives an event back what it said.
    pub(super) fn give_back(self, event: &mut Event) {
        match (self, event) {
            (Self::Decision(certificate), Event::Decision(decision)) => {
                // Both were decoded just now, and belong to nobody else.
                let Some(decision) = Arc::get_mut(decision) else {
                    return;
                };
                decision.segment = Some(certificate.name.as_str().into());
                if let Some(own) = decision.own.as_mut().and_then(Arc::get_mut) {
                    own.segment = Some(certificate);
                }
            }
            (Self::Outcome(name), Event::Outcome(outcome) | Event::Matured { outcome, .. }) => {
                outcome.segment = Some(name);
            }
            (Self::Outcome(name), Event::Missing { segment, .. }) => *segment = Some(name),
            (Self::Import(names), Event::Imported(import)) => import.segments = names,
            _ => {}
        }
    }
}
