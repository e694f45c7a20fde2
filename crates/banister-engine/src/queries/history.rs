//! History of an experiment: policies and counts over time.

use std::sync::Arc;

use banister::SegmentCertificate;
use schemars::JsonSchema;
use serde::Serialize;

use super::{EstimateView, Query, RaisedView};
use crate::refusal::Refusal;
use crate::state::{GuardrailPoint, Point, State};
use crate::time::Timestamp;

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
    /// One entry per guardrail; of scope `overall`, certified for all segments together.
    pub guardrails: Vec<GuardrailPoint>,
    /// The segment that reward, estimates and guardrails of scope `each` are of, where decisions have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<SegmentCertificate>,
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
        let experiment = state.experiment(&self.name)?;
        let is_asked = |point: &&Point| {
            let wanted = self.segment.as_ref();
            wanted.is_none() || wanted == point.segment.as_ref().map(|own| &own.name)
        };
        let asked: Vec<&Point> = (experiment.history.points().iter())
            .filter(is_asked)
            .collect();
        // The last ones are what people wait for.
        let step = match self.segment {
            Some(_) => 1,
            None => asked.len().div_ceil(MOST_OF_ALL).max(1),
        };
        let chosen = asked.iter().rev().step_by(step).rev();
        let points = chosen.map(|point| PointView {
            time: Timestamp(point.time),
            reward: point.reward.into(),
            optimistic_reward: point.optimistic_reward,
            forced: point.forced,
            guardrails: point.guardrails.clone(),
            segment: point.segment.clone(),
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
