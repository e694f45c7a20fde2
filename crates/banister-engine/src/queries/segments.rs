//! Segments as people look at them.

use std::ops::Range;
use std::sync::Arc;

use super::Query;
use super::estimates::in_units_of_certificates;
use crate::events::PolicyEstimates;
use crate::refusal::Refusal;
use crate::state::{EngineState, Facts, SegmentsView};
use crate::time::Timestamp;

/// Asks for segments of an experiment, those seen most often first; there are none where decisions have none.
#[derive(Debug)]
pub struct ReadSegments {
    name: Arc<str>,
    places: Range<usize>,
    /// The learned part, where it was read beside the writer.
    learned: Option<SegmentsView>,
}

impl ReadSegments {
    pub fn new(name: impl Into<Arc<str>>, places: Range<usize>) -> Self {
        Self {
            name: name.into(),
            places,
            learned: None,
        }
    }

    pub(crate) fn places(&self) -> Range<usize> {
        self.places.clone()
    }

    pub(crate) fn learned(self, learned: SegmentsView) -> Self {
        Self {
            learned: Some(learned),
            ..self
        }
    }
}

/// Segments of an experiment.
#[derive(Debug)]
pub struct SegmentPage {
    /// The experiment's last event.
    pub number: u64,
    pub time: Timestamp,
    /// Segments told apart, and the pool.
    pub total: usize,
    pub segments: Vec<SegmentState>,
    pub facts: Arc<Facts>,
}

/// A segment, or the pool of those that are not told apart; estimates of arms in the units of certificates.
#[derive(Debug)]
pub struct SegmentState {
    pub view: banister::SegmentView,
    /// Reward and guardrails of its policy.
    pub estimates: PolicyEstimates,
}

impl Query for ReadSegments {
    type Answer = SegmentPage;

    fn answer(self, state: &mut EngineState) -> Result<SegmentPage, Refusal> {
        let time = state.now;
        let experiment = state.experiment(&self.name)?;
        let facts = experiment.facts.clone();
        let (views, total) = match self.learned {
            Some(learned) => learned,
            None => (experiment.learner).with(|core| core.segments(self.places)),
        };
        let safe = experiment.checked.safe;
        let segments = views.into_iter().map(|mut view| {
            let problem = &facts.problem;
            let estimates =
                PolicyEstimates::of(problem, &view.policy, safe, |arm| view.arms.get(arm));
            let arms = view.arms.iter().enumerate().map(|(arm, own)| {
                in_units_of_certificates(problem, own, view.arms.get(safe), arm == safe)
            });
            view.arms = arms.collect();
            SegmentState { view, estimates }
        });
        Ok(SegmentPage {
            number: experiment.number,
            time,
            total,
            segments: segments.collect(),
            facts: facts.clone(),
        })
    }
}
