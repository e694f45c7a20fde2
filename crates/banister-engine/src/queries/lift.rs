//! Lifts of the arms of an experiment, and its worth left.

use banister::Ask;
use banister::lift::{ArmLift, WorthLeft};
use schemars::JsonSchema;
use serde::Serialize;

use super::Query;
use crate::refusal::Refusal;
use crate::state::EngineState;
use crate::time::Timestamp;

/// Asks for the lifts of an experiment.
pub struct ReadLifts(pub String);

/// Lifts of all arms over the safe one, and the worth left.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Lifts")]
pub struct LiftsView {
    /// Name of the experiment.
    pub experiment: String,
    /// Its last event.
    pub number: u64,
    /// The log's time.
    pub time: Timestamp,
    /// One entry per arm and signal; each interval holds at all times with its confidence, for itself.
    pub lifts: Vec<ArmLift>,
    /// Upper bound on what further learning could still earn; null where it is unknown.
    pub worth_left: Option<WorthLeft>,
    /// The worth left, in a sentence.
    pub enough: Option<String>,
    /// Time at which the policy settled.
    pub settled: Option<Timestamp>,
}

/// The worth left, as people say it.
fn in_words(left: &WorthLeft, reward: &str) -> String {
    let percent = 100.0 * left.per_decision / left.guaranteed;
    if left.guaranteed > 0.0 && percent < 1000.0 {
        format!("learning on could raise {reward} per decision by at most {percent:.1}%")
    } else {
        let most = left.per_decision;
        format!("learning on could raise {reward} per decision by at most {most:.3}")
    }
}

impl Query for ReadLifts {
    type Answer = LiftsView;

    fn reads(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn answer(self, state: &mut EngineState) -> Result<LiftsView, Refusal> {
        let now = state.now;
        let experiment = state.experiment(&self.0)?;
        let (lifts, worth_left) = (
            (experiment.learner.ask(Ask::Lifts(None)).lifts()).unwrap_or_default(),
            experiment.learner.ask(Ask::WorthLeft).worth_left(),
        );
        let reward = experiment.checked.standard.signal_name(0);
        Ok(LiftsView {
            experiment: experiment.info.experiment.clone(),
            number: experiment.number,
            time: now,
            enough: worth_left.as_ref().map(|left| in_words(left, reward)),
            lifts,
            worth_left,
            settled: experiment.settled,
        })
    }
}
