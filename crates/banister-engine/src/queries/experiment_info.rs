//! Declared properties of an experiment that answers need: names, guardrails, the safe action; its imports.

use std::sync::Arc;

use super::Query;
use crate::refusal::Refusal;
use crate::state::{EngineState, ExperimentInfo, Imported};

#[derive(Debug)]
pub struct ReadExperimentInfo(pub Arc<str>);

impl Query for ReadExperimentInfo {
    type Answer = Arc<ExperimentInfo>;

    fn answer(self, state: &mut EngineState) -> Result<Arc<ExperimentInfo>, Refusal> {
        Ok(state.experiment(&self.0)?.info.clone())
    }
}

/// Asks for the imports of an experiment, oldest first.
#[derive(Debug)]
pub struct ReadImports(pub Arc<str>);

impl Query for ReadImports {
    type Answer = Vec<Imported>;

    fn answer(self, state: &mut EngineState) -> Result<Vec<Imported>, Refusal> {
        Ok(state.experiment(&self.0)?.imports.clone())
    }
}
