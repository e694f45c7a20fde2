//! Queries: the operations that read the state and write nothing, one subject per file.
//!
//! They are answered from memory, also while the log is unavailable. May use `state` and `events`;
//! know neither the store nor the commands.
//!
//! Read `experiment.rs` (experiments as declared), `live_state.rs` (the policy now and the agent's estimates),
//! `segments.rs` (the same by segment), `lift.rs` (what arms are worth), `health.rs` (whether to trust all that),
//! `report.rs` (all of it for people), `history.rs` (the trace over time), `flags.rs`, `notices.rs`, `stats.rs` and `ttl.rs`.

mod experiment;
mod flags;
mod health;
mod history;
mod lift;
mod live_state;
mod notices;
mod report;
mod segments;
mod stats;
mod ttl;

pub use experiment::{
    ArmView, ExperimentSummary, ExperimentView, ListExperiments, Page, ReadDigest, ReadExperiment,
    ReadExperimentInfo, ReadImports, Refusing, RenderedView, SummariseExperiments,
};
pub use flags::{FlagView, ReadFlags};
pub use health::{Check, Health, Light, ReadHealth};
pub use history::{HistoryView, ReadHistory};
pub use lift::{LiftsView, ReadLifts};
pub use live_state::{
    ArmState, EvidenceView, ExperimentState, ReadState, in_units_of_certificates,
};
pub use notices::{PendingNotice, ReadNotices};
pub use report::{ExperimentReport, GuardrailReport, ReadReport};
pub use segments::{ReadSegments, SegmentArm, SegmentGuardrail, SegmentList, SegmentRow};
pub use stats::{ExperimentStats, ReadStats, Stats};
pub(crate) use ttl::ReadTtls;
pub use ttl::{TtlStatus, Ttls};

use crate::refusal::Refusal;
use crate::state::EngineState;

/// Operation that only reads the state.
pub trait Query: Send + 'static {
    type Answer: Send + 'static;

    /// Experiment that it reads as a whole: where that takes long, from a copy beside the writer.
    fn reads(&self) -> Option<&str> {
        None
    }

    /// Reads the answer. The state is mutable only because policies are computed when somebody asks.
    fn answer(self, state: &mut EngineState) -> Result<Self::Answer, Refusal>;
}
