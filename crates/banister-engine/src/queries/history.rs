//! History of an experiment: policies and counts over time.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::Query;
use crate::refusal::Refusal;
use crate::state::{EngineState, Minute, Point, RecordedAlarm};

/// Most points of all segments together in one answer.
const MOST_OF_ALL: usize = 512;

/// Asks for the history of an experiment.
#[derive(Debug)]
pub struct ReadHistory {
    pub name: Arc<str>,
    /// The segment whose points are asked for; `None`: of all of them.
    pub segment: Option<String>,
}

/// The trace of an experiment.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "History")]
pub struct HistoryView {
    /// Policies over time, oldest first.
    pub points: Vec<Point>,
    /// Counts by the minute, oldest first; minutes without any are left out.
    pub per_minute: Vec<Minute>,
    /// Alarms, acknowledged ones too, oldest first.
    pub alarms: Vec<RecordedAlarm>,
}

impl Query for ReadHistory {
    type Answer = HistoryView;

    fn answer(self, state: &mut EngineState) -> Result<HistoryView, Refusal> {
        let experiment = state.experiment(&self.name)?;
        let is_asked = |point: &&Point| {
            let wanted = self.segment.as_ref();
            wanted.is_none() || wanted == point.segment.as_ref().map(|own| &own.name)
        };
        let asked: Vec<&Point> = (experiment.trace.history.points().iter())
            .filter(is_asked)
            .collect();
        // The last ones are what people wait for.
        let step = match self.segment {
            Some(_) => 1,
            None => asked.len().div_ceil(MOST_OF_ALL).max(1),
        };
        let chosen = asked.iter().rev().step_by(step).rev();
        Ok(HistoryView {
            points: chosen.copied().cloned().collect(),
            per_minute: experiment.trace.history.minutes().copied().collect(),
            alarms: experiment.alarms.clone(),
        })
    }
}
