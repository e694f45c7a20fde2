//! Events of the log: numbered without gaps, encoded with postcard behind a version byte.
//!
//! An event is all that the fold needs; nothing else is kept. Read [`Event`] here, then `decision.rs`
//! (a decision and its candidates), `outcome.rs` (parts, complete outcomes, and their replay),
//! `import.rs` (outcomes of another log) and `policy.rs` (policies with their certificates). May use
//! the core crate, `time` and `refusal`; knows neither the store nor the state.

mod decision;
mod import;
mod outcome;
mod policy;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;
use crate::time::Timestamp;

pub use decision::{Candidate, DecisionEvent, candidate_names};
pub use import::Import;
pub use outcome::{OutcomeEvent, OutcomeSoFar, Part, named_costs, replay_reports};
pub(crate) use policy::relative_to_safe;
pub use policy::{Estimates, Known, PublishedPolicy};

/// First byte of every body. Versions 2 and 3 have more kinds of events; those before are encoded as
/// they were.
const VERSION: u8 = 3;

/// Kind of a record; stores index by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum EventKind {
    /// An experiment was created, changed, or got or lost an arm.
    Experiment = 1,
    /// A policy was published.
    Policy = 2,
    /// A decision was made.
    Decision = 3,
    /// A part of an outcome came in.
    Part = 4,
    /// An outcome is complete, by report or by default. At most one per decision.
    Outcome = 5,
    /// Outcomes of another log were imported.
    Import = 6,
}

impl EventKind {
    pub fn from_number(number: i64) -> Option<Self> {
        [
            Self::Experiment,
            Self::Policy,
            Self::Decision,
            Self::Part,
            Self::Outcome,
            Self::Import,
        ]
        .into_iter()
        .find(|kind| *kind as i64 == number)
    }
}

/// An event as a store keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// 1, 2, 3, … over all experiments.
    pub number: u64,
    /// Never before the time of the event with the number before.
    pub time: Timestamp,
    /// Number of the event that created its experiment.
    pub experiment: u64,
    pub kind: EventKind,
    /// Number of the decision that a part or an outcome belongs to.
    pub decision: Option<u64>,
    /// Caller's id of a decision.
    pub id: Option<String>,
    /// Encoded [`Event`].
    pub body: Vec<u8>,
}

impl Record {
    /// Decodes the event; an error names the event's number.
    pub fn event(&self) -> Result<Event, Refusal> {
        Event::decode(&self.body)
            .map_err(|e| Refusal::unavailable(format!("event {} is damaged: {e}", self.number)))
    }

    /// Name of a decision in answers.
    pub fn shown_id(&self) -> String {
        shown_id(self.id.as_deref(), self.number)
    }
}

/// Returns the name of a decision in answers: the caller's id, or `@` and the number.
pub fn shown_id(id: Option<&str>, number: u64) -> String {
    id.map_or_else(|| format!("@{number}"), str::to_string)
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// An experiment was created, as this JSON declares ([`crate::Declaration`]).
    Created(String),
    /// It was changed, as this JSON says ([`crate::Change`]).
    Changed(String),
    /// An arm was added, before arms could bring ranges.
    ArmAdded {
        name: String,
        features: Option<Vec<f64>>,
    },
    ArmRetired {
        arm: u32,
    },
    /// A policy over arms was published; decisions cite it by its number.
    Policy(Arc<PublishedPolicy>),
    Decision(Arc<DecisionEvent>),
    Part(Part),
    /// A complete outcome of an experiment without a time to live.
    Outcome(OutcomeEvent),
    /// A decision's time is over and it teaches nothing: in shadow mode nobody said what was taken, or the
    /// agent takes no more outcomes.
    Lapsed,
    Imported(Import),
    /// A decision's time to live is over, and this is its outcome.
    Matured {
        outcome: OutcomeEvent,
        /// Probability that the decision's policy gave the safe action.
        safe_probability: f64,
    },
    /// A decision's time to live is over, and its outcome never came.
    Missing {
        action: u32,
        /// The policy it was drawn from.
        policy: Vec<(u32, f64)>,
    },
    /// An alarm was raised, as this JSON says ([`crate::AlarmRaised`]).
    AlarmRaised(String),
    /// A person acknowledged the alarms, with a note.
    AlarmsAcknowledged(String),
    /// An arm was added, as this JSON says ([`crate::NamedArm`]).
    NewArm(String),
}

impl Event {
    pub fn kind(&self) -> EventKind {
        match self {
            Self::Created(_)
            | Self::Changed(_)
            | Self::ArmAdded { .. }
            | Self::NewArm(_)
            | Self::ArmRetired { .. }
            | Self::AlarmRaised(_)
            | Self::AlarmsAcknowledged(_) => EventKind::Experiment,
            Self::Policy(_) => EventKind::Policy,
            Self::Decision(_) => EventKind::Decision,
            Self::Part(_) => EventKind::Part,
            Self::Outcome(_) | Self::Lapsed | Self::Matured { .. } | Self::Missing { .. } => {
                EventKind::Outcome
            }
            Self::Imported(_) => EventKind::Import,
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        // Numbers, texts and lists only: there is nothing to fail on.
        postcard::to_extend(self, vec![VERSION]).unwrap_or_default()
    }

    /// Decodes a body; an error says why it is no event.
    pub fn decode(body: &[u8]) -> Result<Self, String> {
        match body.split_first() {
            Some((1..=VERSION, rest)) => postcard::from_bytes(rest).map_err(|e| e.to_string()),
            Some((version, _)) => Err(format!(
                "its encoding has version {version}, this program reads versions 1 to {VERSION}"
            )),
            None => Err("it is empty".into()),
        }
    }
}

/// The first eight bytes of a digest.
pub(crate) fn digest(hash: &blake3::Hash) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(first)
}
