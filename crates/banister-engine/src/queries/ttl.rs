//! Experiments with a time to live, for the expiry thread.

use super::Query;
use crate::refusal::Refusal;
use crate::state::{EngineState, ExperimentStatus};
use crate::time::{ClockSets, Timestamp};

/// Asks for the experiments with a time to live.
pub(crate) struct ReadTtls;

/// Experiments with a time to live, and the log's time.
#[derive(Debug, Clone, PartialEq)]
pub struct Ttls {
    pub now: Timestamp,
    pub clock_sets: ClockSets,
    pub experiments: Vec<TtlStatus>,
    /// True if a rollout has to be taken further.
    pub is_rollout_due: bool,
}

/// Experiment with a time to live.
#[derive(Debug, Clone, PartialEq)]
pub struct TtlStatus {
    /// Key of the experiment.
    pub experiment: u64,
    pub ttl_seconds: f64,
    /// Event up to which its decisions are settled.
    pub settled: u64,
}

impl Query for ReadTtls {
    type Answer = Ttls;

    fn answer(self, state: &mut EngineState) -> Result<Ttls, Refusal> {
        let active =
            || (state.experiments()).filter(|own| own.status != ExperimentStatus::Archived);
        let statuses = active().filter_map(|experiment| {
            Some(TtlStatus {
                experiment: experiment.key,
                ttl_seconds: experiment.checked.declaration.ttl_seconds?,
                settled: experiment.trace.settled,
            })
        });
        Ok(Ttls {
            experiments: statuses.collect(),
            is_rollout_due: active().any(|own| own.is_rollout_due(state.now)),
            now: state.now,
            clock_sets: state.clock_sets().clone(),
        })
    }
}
