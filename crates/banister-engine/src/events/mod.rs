//! Events of the log: numbered without gaps, each with its author, encoded with postcard behind a version
//! byte, and sealed by a checksum.
//!
//! An event is all that the fold needs; nothing else is kept. Read [`Event`] here, then `record.rs` (an
//! event as a store keeps it, its author and its seal), `decision.rs`
//! (a decision and its candidates), `outcome.rs` (parts, complete outcomes, and their replay),
//! `import.rs` (outcomes of another log) and `policy.rs` (policies with their certificates). May use the core crate,
//! `time` and `refusal`; knows neither the store nor the state.

mod decision;
mod import;
mod outcome;
mod policy;
mod record;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use decision::{Candidate, DecisionEvent, candidate_names};
pub use import::Import;
pub use outcome::{Charge, OutcomeEvent, OutcomeSoFar, Part, named_costs, replay_reports};
pub use policy::{LeaseEvent, PolicyEstimates, PublishedPolicy};
pub(crate) use policy::{RenderedPolicy, relative_to_safe};
pub(crate) use record::to_json;
pub use record::{Author, EventKind, Record, shown_id};

#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// An experiment was created, as this JSON declares ([`crate::Declaration`]).
    Created(String),
    /// It was changed, as this JSON says ([`crate::Edit`]).
    Edited(String),
    /// A policy over arms was published; decisions cite it by its number.
    Policy(Arc<PublishedPolicy>),
    Decision(Arc<DecisionEvent>),
    Part(Part),
    /// A complete outcome of an experiment without a time to live.
    Outcome(OutcomeEvent),
    /// A decision's time is over and it teaches nothing: in shadow mode the action taken was not reported, the agent
    /// takes no more outcomes, or it was cancelled.
    Lapsed,
    Imported(Import),
    /// A decision's time to live is over, and this is its outcome.
    Matured(OutcomeEvent),
    /// A decision's time to live is over, and its outcome never came; or it was cancelled.
    Missing {
        action: u32,
        /// The policy it was drawn from.
        policy: Vec<(usize, f64)>,
        /// Its segment, where decisions have one.
        segment: Option<Arc<str>>,
        /// Its time ([`DecisionEvent::time`]).
        time: Option<f64>,
    },
    /// An alarm was raised, as this JSON says ([`crate::AlarmRaised`]).
    AlarmRaised(String),
    /// The operator set the log's clock, from one time to another, in microseconds: no time passed in
    /// between. It belongs to no experiment.
    ClockSet {
        from: i64,
        to: i64,
    },
    /// Costs of a decision became known, and end its reservations.
    Charged(Vec<Charge>),
    /// One more report on a unit, the digest of what identifies it, and whether the unit may have no more.
    Added {
        part: Part,
        report: u64,
        is_last: bool,
    },
    /// Policies were handed out to be drawn from elsewhere; decisions made so cite them by its number.
    Leased(Arc<LeaseEvent>),
    /// A unit was given another arm before its period was over, and teaches nothing.
    Moved {
        /// The arm that it had, if it was not moved before.
        from: Option<u32>,
        /// Its decision for the rest of the period.
        decision: Arc<DecisionEvent>,
    },
    /// A notice is being sent to a receiver, by one who has until a time (in microseconds); or was delivered.
    Delivery {
        notice: u64,
        hook: u64,
        until: Option<i64>,
    },
}

impl Event {
    /// The policy of an event that decisions cite, in a segment.
    pub fn policy(&self, segment: Option<&str>) -> Option<&Arc<PublishedPolicy>> {
        match self {
            Self::Policy(published) => Some(published),
            Self::Leased(lease) => lease.policy(segment),
            _ => None,
        }
    }

    pub fn kind(&self) -> EventKind {
        match self {
            Self::Created(_) | Self::Edited(_) | Self::AlarmRaised(_) | Self::ClockSet { .. } => {
                EventKind::Experiment
            }
            Self::Policy(_) | Self::Leased(_) => EventKind::Policy,
            Self::Decision(_) => EventKind::Decision,
            // A decision is settled once, however often its unit is moved.
            Self::Part(_) | Self::Added { .. } | Self::Moved { from: None, .. } => EventKind::Part,
            Self::Outcome(_)
            | Self::Lapsed
            | Self::Matured(_)
            | Self::Missing { .. }
            | Self::Moved { .. } => EventKind::Outcome,
            Self::Imported(_) => EventKind::Import,
            Self::Charged(_) => EventKind::Charge,
            Self::Delivery { .. } => EventKind::Delivery,
        }
    }
}

/// Digest of what is encoded.
pub(crate) fn digest_of(value: &impl Serialize) -> u64 {
    // Nothing that is written to memory fails.
    let encoded = postcard::to_extend(value, Vec::new()).unwrap_or_default();
    digest(&blake3::hash(&encoded))
}

/// The first eight bytes of a digest.
pub(crate) fn digest(hash: &blake3::Hash) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(first)
}
