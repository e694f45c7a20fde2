//! Experiments as flags.

use std::sync::Arc;

use super::Query;
use crate::refusal::Refusal;
use crate::state::{EngineState, ExperimentInfo, ExperimentStatus, Flag};

/// Asks for the flags that are not archived: one by name, or all.
pub struct ReadFlags(pub Option<String>);

/// An experiment that is a flag.
pub struct FlagView {
    pub flag: Flag,
    pub info: Arc<ExperimentInfo>,
}

impl Query for ReadFlags {
    type Answer = Vec<FlagView>;

    fn answer(self, state: &mut EngineState) -> Result<Vec<FlagView>, Refusal> {
        let view = |experiment: &crate::state::Experiment| {
            let flag = experiment.checked.declaration.flag.clone();
            let flag = flag.filter(|_| experiment.status != ExperimentStatus::Archived)?;
            let info = experiment.info.clone();
            Some(FlagView { flag, info })
        };
        Ok(match &self.0 {
            Some(name) => (state.experiment(name).ok())
                .and_then(|own| view(own))
                .into_iter()
                .collect(),
            None => state.experiments().filter_map(view).collect(),
        })
    }
}
