//! A monitor in snapshots.

use serde::{Deserialize, Serialize};

use super::declared::Sums;
use super::{Memory, Monitor, detector};
use crate::error::Error;
use crate::snapshot::broken;

/// A monitor as a snapshot keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedMonitor {
    memory: Memory,
    detectors: Vec<Option<detector::State>>,
    declared: Vec<Option<Sums>>,
}

impl Monitor {
    pub(crate) fn save(&self) -> SavedMonitor {
        let detectors = self.detectors.iter();
        let declared = self.declared.iter();
        SavedMonitor {
            memory: self.saved.clone(),
            detectors: detectors
                .map(|d| d.as_ref().map(|d| d.state.clone()))
                .collect(),
            declared: declared.map(|d| d.as_ref().map(|d| d.state)).collect(),
        }
    }

    /// Takes up a saved monitor; one that was never saved starts anew.
    pub(crate) fn restore(&mut self, saved: Option<SavedMonitor>) -> Result<(), Error> {
        let Some(saved) = saved else {
            return Ok(());
        };
        let m = self.detectors.len();
        let fits = saved.detectors.len() == m
            && saved.declared.len() == m
            && saved.memory.order.is_sound(m)
            && std::iter::zip(&self.detectors, &saved.detectors).all(|(own, saved)| {
                own.is_some() == saved.is_some()
                    && saved.as_ref().is_none_or(detector::State::is_sound)
            })
            && std::iter::zip(&self.declared, &saved.declared)
                .all(|(own, saved)| own.is_some() == saved.is_some());
        if !fits {
            return Err(broken("`monitor` does not match the problem"));
        }
        for (own, saved) in self.detectors.iter_mut().zip(saved.detectors) {
            if let (Some(own), Some(saved)) = (own, saved) {
                own.state = saved;
            }
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
