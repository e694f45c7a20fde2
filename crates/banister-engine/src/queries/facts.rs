//! Facts of an experiment that answers need: names, guardrails, the safe action.

use std::sync::Arc;

use super::Query;
use crate::refusal::Refusal;
use crate::state::{Facts, State};

#[derive(Debug)]
pub struct ReadFacts(pub Arc<str>);

impl Query for ReadFacts {
    type Answer = Arc<Facts>;

    fn answer(self, state: &mut State) -> Result<Arc<Facts>, Refusal> {
        Ok(state.experiment(&self.0)?.facts.clone())
    }
}
