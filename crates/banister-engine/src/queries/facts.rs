//! Facts of an experiment that answers need: names, guardrails, the safe action; its imports.

use std::sync::Arc;

use super::Query;
use crate::refusal::Refusal;
use crate::state::{EngineState, Facts, Imported};

#[derive(Debug)]
pub struct ReadFacts(pub Arc<str>);

impl Query for ReadFacts {
    type Answer = Arc<Facts>;

    fn answer(self, state: &mut EngineState) -> Result<Arc<Facts>, Refusal> {
        Ok(state.experiment(&self.0)?.facts.clone())
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
