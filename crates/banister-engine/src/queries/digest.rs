//! Digest of what an experiment has learned.

use std::sync::Arc;

use super::Query;
use crate::refusal::Refusal;
use crate::state::EngineState;

/// Asks for the digest and the number of the experiment's last event: equal events, equal digests.
#[derive(Debug)]
pub struct ReadDigest(pub Arc<str>);

impl Query for ReadDigest {
    type Answer = (String, u64);

    fn answer(self, state: &mut EngineState) -> Result<(String, u64), Refusal> {
        let experiment = state.experiment(&self.0)?;
        let digest = experiment
            .digest()
            .map_err(|e| Refusal::unavailable(e.to_string()))?;
        Ok((digest, experiment.number))
    }
}
