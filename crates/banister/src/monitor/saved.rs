//! A monitor in snapshots.

use serde::{Deserialize, Serialize};

use super::declared::Sums;
use super::{Detector, DetectorState, Memory, Monitor, detectors_in_each};
use crate::error::{Error, broken};
use crate::problem::CheckedProblem;

/// A monitor as a snapshot keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorState {
    memory: Memory,
    detectors: Vec<Option<DetectorState>>,
    declared: Vec<Option<Sums>>,
    /// By segment, and by guardrail that holds in each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    segments: Vec<Vec<Option<DetectorState>>>,
}

impl Monitor {
    pub(crate) fn save(&self) -> MonitorState {
        let states = |detectors: &Vec<Option<Detector>>| {
            let each = detectors.iter();
            each.map(|d| d.as_ref().map(|d| d.state().clone()))
                .collect()
        };
        let declared = self.declared.iter();
        MonitorState {
            memory: self.saved.clone(),
            detectors: states(&self.detectors),
            segments: self.segments.iter().map(states).collect(),
            declared: declared.map(|d| d.as_ref().map(|d| d.state)).collect(),
        }
    }

    /// Takes up a saved monitor.
    pub(crate) fn restore(
        &mut self,
        problem: &CheckedProblem,
        saved: MonitorState,
    ) -> Result<(), Error> {
        let (m, each) = (self.detectors.len(), detectors_in_each(problem, 0));
        let fits = saved.detectors.len() == m
            && saved.declared.len() == m
            && saved.memory.missing.is_sound()
            && fit(&self.detectors, &saved.detectors)
            && (saved.segments.iter()).all(|own| own.is_empty() || fit(&each, own))
            && std::iter::zip(&self.declared, &saved.declared).all(|(own, saved)| {
                own.is_some() == saved.is_some() && saved.as_ref().is_none_or(Sums::is_sound)
            });
        if !fits {
            return Err(broken("`monitor` does not match the problem"));
        }
        take_up(&mut self.detectors, saved.detectors);
        for (segment, states) in saved.segments.into_iter().enumerate() {
            let mut own = if states.is_empty() {
                Vec::new()
            } else {
                detectors_in_each(problem, segment)
            };
            take_up(&mut own, states);
            self.segments.push(own);
        }
        for (own, saved) in self.declared.iter_mut().zip(saved.declared) {
            if let (Some(own), Some(saved)) = (own, saved) {
                own.state = saved;
            }
        }
        self.saved = saved.memory;
        Ok(())
    }
}

/// Returns true if states can be those of detectors.
fn fit(detectors: &[Option<Detector>], states: &[Option<DetectorState>]) -> bool {
    detectors.len() == states.len()
        && std::iter::zip(detectors, states).all(|(own, saved)| {
            own.is_some() == saved.is_some() && saved.as_ref().is_none_or(DetectorState::is_sound)
        })
}

fn take_up(detectors: &mut [Option<Detector>], states: Vec<Option<DetectorState>>) {
    for (own, saved) in detectors.iter_mut().zip(states) {
        if let (Some(own), Some(saved)) = (own, saved) {
            own.restore(saved);
        }
    }
}
