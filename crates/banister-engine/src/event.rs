//! What the log holds: events, numbered without gaps.

use std::sync::Arc;

use banister::{Origin, Outcomes, Played};
use serde::{Deserialize, Serialize};

use crate::published::Published;
use crate::time::Timestamp;

/// First byte of every body: the version of the encoding after it. Version 2 has more kinds of events;
/// those of version 1 are encoded as they were.
const VERSION: u8 = 2;

/// What kind of event a record is; stores index by it.
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
    /// By its number.
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
    /// Its number: 1, 2, 3, … over all experiments.
    pub number: u64,
    /// When; never before the event with the number before.
    pub time: Timestamp,
    /// The number of the event that created its experiment.
    pub experiment: u64,
    /// What kind of event.
    pub kind: EventKind,
    /// Of a part or an outcome: the decision's number.
    pub decision: Option<u64>,
    /// Of a decision: the caller's id.
    pub id: Option<String>,
    /// The event, encoded.
    pub body: Vec<u8>,
}

/// An event.
#[derive(Debug, Serialize, Deserialize)]
pub enum Event {
    /// An experiment was created, as this JSON declares ([`crate::Declaration`]).
    Created(String),
    /// It was changed, as this JSON says ([`crate::Change`]).
    Changed(String),
    /// An arm was added.
    ArmAdded {
        /// Its name.
        name: String,
        /// Its features, where arms have any.
        features: Option<Vec<f64>>,
    },
    /// An arm was retired.
    ArmRetired {
        /// Its number.
        arm: u32,
    },
    /// A policy over arms was published; decisions cite it by its number.
    Policy(Arc<Published>),
    /// A decision was made.
    Decision(Arc<DecisionEvent>),
    /// A part of an outcome came in.
    Part(Part),
    /// An outcome is complete.
    Outcome(OutcomeEvent),
    /// A decision's time is over and it teaches nothing: in shadow mode nobody said what was taken, or the
    /// agent takes no more outcomes.
    Lapsed,
    /// Outcomes of another log.
    Imported(Import),
    /// A decision's time to live is over, and this is its outcome.
    Matured {
        /// The outcome.
        outcome: OutcomeEvent,
        /// Probability that the decision's policy gave the safe action.
        safe_probability: f64,
    },
    /// A decision's time to live is over, and its outcome never came.
    Missing {
        /// The action drawn.
        action: u32,
        /// The policy it was drawn from.
        policy: Vec<(u32, f64)>,
    },
    /// An alarm was raised, as this JSON says ([`crate::AlarmRaised`]).
    AlarmRaised(String),
    /// A person acknowledged the alarms, with a note.
    AlarmsAcknowledged(String),
}

/// A decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DecisionEvent {
    /// Digest of the request, to tell a repeated one from another with the same id.
    pub request: u64,
    /// Number of the policy's event; `None`: the decision has a policy of its own.
    pub policy: Option<u64>,
    /// The policy of this decision alone.
    pub own: Option<Arc<Published>>,
    /// The action drawn.
    pub action: u32,
    /// Its probability.
    pub probability: f64,
    /// Why the safe action was forced, if it was.
    pub fallback: Option<banister::Fallback>,
    /// The uniform number that drew it.
    pub draw: f64,
    /// Features of the action, where it has any.
    pub features: Vec<f64>,
    /// The context, if the request brought one.
    pub context: Vec<f64>,
    /// The candidates, if the request brought any.
    pub candidates: Vec<Candidate>,
    /// Whether it was made in shadow mode.
    pub shadow: bool,
    /// In shadow mode: the action that the caller took, if known then.
    pub taken: Option<u32>,
    /// In shadow mode: the caller's probability of it.
    pub propensity: Option<f64>,
}

/// A candidate action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its name; unnamed ones go by their index.
    pub name: Option<String>,
    /// Its features.
    pub features: Vec<f64>,
}

/// A part of an outcome, or what is known of one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Part {
    /// The reward, if known.
    pub reward: Option<f64>,
    /// The costs, one place per guardrail.
    pub costs: Vec<Option<f64>>,
    /// In shadow mode: the action that the caller took, if known.
    pub taken: Option<u32>,
}

/// A complete outcome, with all that learning from it takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutcomeEvent {
    /// The arm, or the candidate's index.
    pub action: u32,
    /// Its features, where it has any.
    pub features: Vec<f64>,
    /// The reward.
    pub reward: f64,
    /// The costs.
    pub costs: Vec<f64>,
    /// Whether the time to live was over and (some of) it is the declared default.
    pub by_default: bool,
}

/// Imported outcomes, in columns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Import {
    /// Digest of the whole import, which all of its events have: the same one twice is counted once.
    pub digest: u64,
    /// Arms by number; empty where actions are features.
    pub arms: Vec<u32>,
    /// Features, one vector after another; empty where actions are arms.
    pub features: Vec<f64>,
    /// The rewards.
    pub rewards: Vec<f64>,
    /// One cost per guardrail, one outcome after another.
    pub costs: Vec<f64>,
}

impl Import {
    /// The digest of these outcomes.
    pub(crate) fn digested(&self) -> u64 {
        let columns = (&self.arms, &self.features, &self.rewards, &self.costs);
        // Numbers and lists only: there is nothing to fail on.
        let bytes = postcard::to_stdvec(&columns).unwrap_or_default();
        digest(&bytes)
    }

    /// Hands the outcomes to `take` as agents want them.
    pub(crate) fn outcomes<T>(&self, take: impl FnOnce(&Outcomes) -> T) -> T {
        let arms: Vec<usize> = self.arms.iter().map(|&arm| arm as usize).collect();
        take(&Outcomes {
            played: match self.features.is_empty() {
                true => Played::Arms(&arms),
                false => Played::Features(&self.features),
            },
            rewards: &self.rewards,
            costs: &self.costs,
            origin: Origin::Logged,
        })
    }
}

impl Event {
    /// Its kind.
    pub fn kind(&self) -> EventKind {
        match self {
            Self::Created(_)
            | Self::Changed(_)
            | Self::ArmAdded { .. }
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

    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        // Numbers, texts and lists only: there is nothing to fail on.
        postcard::to_extend(self, vec![VERSION]).unwrap_or_default()
    }

    /// From bytes; the reason if they are not an event.
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
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(bytes).as_bytes()[..8]);
    u64::from_le_bytes(first)
}
