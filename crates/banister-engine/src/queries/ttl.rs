//! Experiments with a time to live, for the expiry thread.

use super::Query;
use crate::refusal::Refusal;
use crate::state::{ExperimentStatus, State};

/// Asks for the experiments with a time to live.
pub(crate) struct ReadTtls;

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
    type Answer = Vec<TtlStatus>;

    fn answer(self, state: &mut State) -> Result<Vec<TtlStatus>, Refusal> {
        let active = (state.experiments())
            .filter(|experiment| experiment.status != ExperimentStatus::Archived);
        let statuses = active.filter_map(|experiment| {
            Some(TtlStatus {
                experiment: experiment.key,
                ttl_seconds: experiment.checked.declaration.ttl_seconds?,
                settled: experiment.settled,
            })
        });
        Ok(statuses.collect())
    }
}
