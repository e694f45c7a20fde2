//! Records: events as a store keeps them, with their authors, sealed.

use std::fmt;
use std::sync::{Arc, LazyLock};

use super::{Event, digest};
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// First byte of every body.
const VERSION: u8 = 12;
/// Bytes of a seal, the last of a body.
const SEAL: usize = 8;

/// Kind of a record; stores index by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum EventKind {
    /// An experiment was created, changed, or got or lost an arm; the clock was set.
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
    /// Costs of a decision were charged to its budgets.
    Charge = 7,
    /// A notice was sent to a receiver.
    Delivery = 8,
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
            Self::Charge,
            Self::Delivery,
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
    /// Never before the time of the event with the number before, unless the clock was set.
    pub time: Timestamp,
    /// Number of the event that created its experiment; 0 for events of the log itself.
    pub experiment: u64,
    pub kind: EventKind,
    /// Number of the decision that a part, an outcome or a charge belongs to.
    pub decision: Option<u64>,
    /// Caller's id of a decision.
    pub id: Option<String>,
    /// Version, author, encoded [`Event`] and seal.
    pub body: Vec<u8>,
}

impl Record {
    /// Encodes an event into the body, and seals the whole record.
    pub fn write(&mut self, author: &Author, event: &Event) -> Result<(), String> {
        let body = postcard::to_extend(&(author.name(), event), vec![VERSION]);
        self.body = body.map_err(|e| format!("event {} cannot be encoded: {e}", self.number))?;
        let seal = self.seal(&self.body);
        self.body.extend_from_slice(&seal);
        Ok(())
    }

    /// Digest of everything in the record: a bit that flips anywhere in it shows.
    fn seal(&self, body: &[u8]) -> [u8; SEAL] {
        let mut hash = blake3::Hasher::new();
        let absent = (1_u64 << 63).to_le_bytes();
        let id = self.id.as_deref();
        for number in [
            self.number.to_le_bytes(),
            self.time.0.to_le_bytes(),
            self.experiment.to_le_bytes(),
            (self.kind as u64).to_le_bytes(),
            self.decision.map_or(absent, u64::to_le_bytes),
            id.map_or(absent, |id| (id.len() as u64).to_le_bytes()),
        ] {
            hash.update(&number);
        }
        hash.update(id.unwrap_or_default().as_bytes());
        hash.update(body);
        digest(&hash.finalize()).to_le_bytes()
    }

    /// Content of the body, once the seal is verified.
    fn content(&self) -> Result<&[u8], String> {
        match self.body.first() {
            None => return Err("it is empty".into()),
            Some(&VERSION) => {}
            Some(version) => {
                return Err(format!(
                    "its encoding has version {version}, this program reads version {VERSION}"
                ));
            }
        }
        let (body, seal) = (self.body.split_last_chunk::<SEAL>()).ok_or("it is cut off")?;
        if *seal != self.seal(body) {
            return Err("its checksum does not match: a part of it was changed".into());
        }
        Ok(body.get(1..).unwrap_or_default())
    }

    /// Verifies the seal.
    pub fn verify(&self) -> Result<(), String> {
        self.content().map(|_| ())
    }

    /// Decodes author and event.
    pub(crate) fn decode(&self) -> Result<(Author, Event), String> {
        let (author, event): (String, Event) =
            postcard::from_bytes(self.content()?).map_err(|e| e.to_string())?;
        Ok((Author::new(Some(author.into())), event))
    }

    /// Decodes author and event; an error names the event's number.
    pub fn read(&self) -> Result<(Author, Event), Refusal> {
        self.decode()
            .map_err(|e| Refusal::unavailable(format!("event {} is damaged: {e}", self.number)))
    }

    /// Decodes the event; an error names the event's number.
    pub fn event(&self) -> Result<Event, Refusal> {
        self.read().map(|(_, event)| event)
    }

    /// Name of the decision in answers.
    pub fn shown_id(&self) -> String {
        shown_id(self.id.as_deref(), self.number)
    }
}

/// Returns the name of a decision in answers: the caller's id, or `@` and the number.
pub fn shown_id(id: Option<&str>, number: u64) -> String {
    id.map_or_else(|| format!("@{number}"), str::to_string)
}

/// JSON in an event, or of an answer.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, Refusal> {
    serde_json::to_string(value)
        .map_err(|e| Refusal::unavailable(format!("it cannot be encoded: {e}")))
}

/// Author of an event: the name of a token, or one of two names that no token has.
#[derive(Debug, Clone)]
pub struct Author {
    name: Arc<str>,
    /// True if it may come back to its own decisions only.
    owns: bool,
}

impl Author {
    /// Callers without a token, where none is needed.
    pub const ANONYMOUS: &'static str = "anonymous";
    /// The engine itself: expired decisions, alarms.
    pub const ENGINE: &'static str = "banister";

    /// The holder of a token, or a caller without one.
    pub fn new(token: Option<Arc<str>>) -> Self {
        static ANONYMOUS: LazyLock<Arc<str>> = LazyLock::new(|| Author::ANONYMOUS.into());
        Self {
            name: token.unwrap_or_else(|| ANONYMOUS.clone()),
            owns: false,
        }
    }

    /// Restricts the author to decisions of its own: it may neither repeat others' nor report on them.
    pub fn of_its_own(self) -> Self {
        Self { owns: true, ..self }
    }

    pub(crate) fn engine() -> Self {
        Self::new(Some(Self::ENGINE.into()))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if it may come back to a decision of `other`.
    pub(crate) fn may_touch(&self, other: &Self) -> bool {
        !self.owns || other.name == self.name
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
