//! Segments as people look at them.

use std::ops::Range;

use banister::toolkit::SegmentView;
use banister::{ArmEstimate, Scope};
use schemars::JsonSchema;
use serde::Serialize;

use super::Query;
use super::live_state::in_units_of_certificates;
use crate::events::PolicyEstimates;
use crate::refusal::Refusal;
use crate::state::{EngineState, Experiment};
use crate::time::Timestamp;

/// Asks for segments of an experiment, those seen most often first; there are none where decisions have none.
#[derive(Debug)]
pub struct ReadSegments {
    pub name: String,
    pub places: Range<usize>,
}

/// Segments of an experiment, those seen most often first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SegmentList {
    /// The experiment.
    pub experiment: String,
    /// Its last event.
    pub number: u64,
    /// Time of the list.
    pub time: Timestamp,
    /// Number of segments with a policy of their own, the pool included.
    pub total: usize,
    /// Segments with a policy of their own, and the pool of all others last.
    pub segments: Vec<SegmentRow>,
}

/// A segment, or the pool of those without a policy of their own.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SegmentRow {
    /// Name of the segment; null for the pool.
    pub name: Option<String>,
    /// Names of segments that share the pool's policy, those seen most often first; not all where they are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<String>,
    /// Decisions seen in it.
    pub contexts: u64,
    /// Share of all decisions.
    pub frequency: f64,
    /// Pessimistic cost of its policy, threshold and price under each guardrail.
    pub guardrails: Vec<SegmentGuardrail>,
    /// Probability and estimates of every arm in it.
    pub arms: Vec<SegmentArm>,
    /// Reward and guardrails of its policy.
    pub estimates: PolicyEstimates,
}

/// A guardrail in a segment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SegmentGuardrail {
    /// Name.
    pub name: String,
    /// Decisions over which its mean is taken.
    pub scope: Scope,
    /// Pessimistic cost of the segment's own policy.
    pub pessimistic_cost: f64,
    /// Bound on that cost with scope `each`; with scope `overall` on the mean over all segments.
    pub threshold: f64,
    /// Reward per unit of threshold: what a little more of it would earn, spent here.
    pub price: f64,
}

/// An arm in a segment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SegmentArm {
    /// Name.
    pub name: String,
    /// Its probability.
    pub probability: f64,
    /// Its estimates.
    #[serde(flatten)]
    pub estimate: ArmEstimate,
}

impl Query for ReadSegments {
    type Answer = SegmentList;

    fn reads(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn answer(self, state: &mut EngineState) -> Result<SegmentList, Refusal> {
        let (sets, time) = (state.clock_sets().clone(), state.now);
        let experiment = state.experiment(&self.name)?;
        let drift_time = experiment.drift_time(&sets, time, 0);
        let views = experiment.learner.segments(drift_time, self.places);
        let rows = views.into_iter().map(|view| row(experiment, view));
        Ok(SegmentList {
            experiment: experiment.info.experiment.clone(),
            number: experiment.number,
            time,
            total: experiment.learner.segment_count().told_apart,
            segments: rows.collect(),
        })
    }
}

/// A segment with names, in the units of certificates.
fn row(experiment: &Experiment, view: SegmentView) -> SegmentRow {
    let (problem, safe) = (&experiment.info.problem, experiment.checked.safe);
    let guardrails = problem.guardrails.iter().enumerate();
    let arms = view.arms.iter().zip(&experiment.info.arms).enumerate();
    SegmentRow {
        guardrails: guardrails
            .map(|(i, guardrail)| SegmentGuardrail {
                name: guardrail.name.clone(),
                scope: guardrail.scope,
                pessimistic_cost: view.costs[i],
                threshold: guardrail.shown_threshold,
                price: view.prices[i],
            })
            .collect(),
        arms: arms
            .map(|(arm, (own, name))| {
                let entry = view.policy.iter().find(|entry| entry.0 == arm);
                let is_safe = arm == safe;
                SegmentArm {
                    name: name.clone(),
                    probability: entry.map_or(0.0, |entry| entry.1),
                    estimate: in_units_of_certificates(problem, own, view.arms.get(safe), is_safe),
                }
            })
            .collect(),
        estimates: PolicyEstimates::of(problem, &view.policy, safe, |arm| view.arms.get(arm)),
        name: view.name,
        pooled: view.pooled,
        contexts: view.contexts,
        frequency: view.frequency,
    }
}
