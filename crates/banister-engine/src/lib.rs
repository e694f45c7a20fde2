//! The ordered event log of banister's decision service.
//!
//! Decisions and outcomes are events, numbered without gaps; what is learned is a fold over them.
//! [`Writer`] owns the log: it takes requests from a queue, makes many of them durable with one sync
//! (group commit), folds what it wrote, and only then answers. The log is a SQLite file, or a
//! PostgreSQL database that any number of processes share: whoever writes holds the counter row, has
//! first folded everything that others wrote, and so decides on exactly the state that the log holds.
//!
//! ```text
//!   request → desk (checks, decides) → events → commit → fold → answer
//! ```

mod declaration;
mod desk;
mod event;
mod experiment;
mod expiry;
mod history;
pub mod object;
mod published;
mod queue;
mod rebuild;
mod refusal;
mod request;
mod snapshots;
mod state;
mod store;
mod time;
mod token;
mod view;
mod writer;

pub use declaration::{
    Checked, Declaration, DeclaredArm, DefaultOutcome, Kind, LONGEST_FEATURES, MOST_ACTIONS,
    NamedArm,
};
pub use desk::{Heard, MOST_IMPORTED, hear, named_costs};
pub use event::{Candidate, DecisionEvent, Event, EventKind, Import, OutcomeEvent, Part, Record};
pub use experiment::{
    Alarm, AlarmRaised, Arm, ArmMissing, Change, Counts, Evidence, Experiment, ExperimentStatus,
    Facts, Imported, Latest, Missing, RecordedAlarm,
};
pub use history::{GuardrailPoint, History, Minute, Point};
pub use published::{Estimates, Known, Published};
pub use queue::{Asker, Busy};
pub use rebuild::{Rebuilt, RebuiltExperiment, rebuild};
pub use refusal::Refusal;
pub use request::{
    Answer, Decided, DecisionRequest, Life, NamedAction, OfferedAction, OutcomeReport, Overdue,
    Reported, Request, action_name, shown_id,
};
pub use state::State;
pub use store::{Database, Found, Key, REVOKED, Snapshot, Store, StoreError, StoredToken};
pub use time::Timestamp;
pub use token::{Role, Token};
pub use view::{
    AlarmView, ArmView, Beliefs, EstimateView, EvidenceView, ExperimentStats, ExperimentView,
    FallbackView, HistoryView, MinuteView, PointView, RaisedView, StateView, Stats, beliefs,
};
pub use writer::{Monitor, Options, Writer};
