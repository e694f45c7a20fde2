//! History of an experiment: policies and counts over time.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::{EstimateView, Query, RaisedView};
use crate::refusal::Refusal;
use crate::state::{GuardrailPoint, State};
use crate::time::Timestamp;

/// Asks for the history of an experiment.
#[derive(Debug)]
pub struct ReadHistory(pub Arc<str>);

/// The trace of an experiment.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "History")]
pub struct HistoryView {
    /// Policies over time, oldest first.
    pub points: Vec<PointView>,
    /// Counts by the minute, oldest first; minutes without any are left out.
    pub per_minute: Vec<MinuteView>,
    /// Alarms, acknowledged ones too, oldest first.
    pub alarms: Vec<RaisedView>,
}

/// A policy at some moment.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Point")]
pub struct PointView {
    /// Time of publication.
    pub time: Timestamp,
    /// Its estimated reward.
    pub reward: EstimateView,
    /// Its optimistic reward.
    pub optimistic_reward: f64,
    /// True if the safe action was forced.
    pub forced: bool,
    /// One entry per guardrail.
    pub guardrails: Vec<GuardrailPoint>,
}

/// Counts of one minute.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Minute")]
pub struct MinuteView {
    /// Its beginning.
    pub time: Timestamp,
    /// Decisions.
    pub decisions: u64,
    /// Outcomes.
    pub outcomes: u64,
    /// Decisions where the safe action was forced.
    pub forced: u64,
}

impl Query for ReadHistory {
    type Answer = HistoryView;

    fn answer(self, state: &mut State) -> Result<HistoryView, Refusal> {
        let experiment = state.experiment(&self.0)?;
        let points = experiment.history.points().iter().map(|point| PointView {
            time: Timestamp(point.time),
            reward: point.reward.into(),
            optimistic_reward: point.optimistic_reward,
            forced: point.forced,
            guardrails: point.guardrails.clone(),
        });
        let minutes = experiment.history.minutes().map(|minute| MinuteView {
            time: Timestamp(minute.time),
            decisions: minute.decisions,
            outcomes: minute.outcomes,
            forced: minute.forced,
        });
        Ok(HistoryView {
            points: points.collect(),
            per_minute: minutes.collect(),
            alarms: experiment.alarms.iter().map(RaisedView::from).collect(),
        })
    }
}
