//! The engine of banister's decision service: an ordered event log, and everything that is learned from it.
//!
//! Decisions and outcomes are events, numbered without gaps; what is learned is a fold over them. [`Writer`] owns the
//! log: it takes [commands](Command) from a queue, makes the events of many durable with one sync (group commit), folds
//! them, and only then answers. The log is a SQLite file, or a PostgreSQL database that any number of processes share:
//! the writer holds the counter row, has first folded everything that others wrote, and so decides on exactly the state
//! that the log holds.
//!
//! ```text
//!   command → queue → execute (checks, decides) → events → commit → fold → answer
//!   query   → queue → state → answer
//! ```
//!
//! | read | for |
//! |---|---|
//! | `events/` | what the log holds |
//! | `store/` | where it is kept: SQLite, PostgreSQL; tokens |
//! | `state/` | the fold: declarations, experiments, snapshots |
//! | `commands/` | operations that write events |
//! | `queries/` | operations that read the state |
//! | `writer/` | the queue, the group commit, outages, expiry |
//! | `rebuild.rs` | the proof that the state follows from the log |
//! | `refusal.rs`, `time.rs`, `object.rs` | errors, timestamps, strict JSON objects |
//!
//! Uses the core crate; knows nothing of HTTP.

#![allow(missing_docs)]

mod commands;
mod events;
pub mod object;
mod queries;
mod rebuild;
mod refusal;
mod state;
mod store;
mod time;
mod writer;

pub use commands::*;
pub use events::{
    Author, Candidate, Charge, DecisionEvent, Event, EventKind, Import, LeaseEvent, OutcomeEvent,
    OutcomeSoFar, Part, PolicyEstimates, PublishedPolicy, Record, candidate_names, named_costs,
    replay_reports, shown_id,
};
pub use queries::*;
pub use rebuild::{Rebuilt, RebuiltExperiment, rebuild};
pub use refusal::Refusal;
pub use state::{
    Account, AlarmRaised, Arm, ArmMissing, Assigned, BudgetView, Budgets, CertifiedPolicy, Change,
    CheckedDeclaration, Combine, Counts, Declaration, DeclaredArm, DeclaredContext, DefaultOutcome,
    Delay, Edit, EngineState, Experiment, ExperimentInfo, ExperimentStatus, Flag, ForcedSafe,
    GivenSegment, GuardrailPoint, History, Imported, Kind, LONGEST_FEATURES, Latest, MOST_ACTIONS,
    Minute, Missing, NamedArm, NamedPolicy, Namespace, Notice, NoticeKind, PastPeriod, Point,
    RecordedAlarm, Returns, Rollout, SegmentFields, Segments, Share, Step, StopWhen, Tracked, Unit,
    period_bounds,
};
pub use store::{
    Begun, Database, Found, Key, PostgresLog, REVOKED, Readers, Role, Scope, Snapshot, Span, Store,
    StoreError, StoredToken, Token, parse_expiry,
};
pub use time::Timestamp;
pub use writer::{Busy, Meter, Monitor, Options, Work, Writer, WriterHandle};
