//! Outcomes of another log, in columns.

use std::sync::Arc;

use banister::{Origin, Outcomes, Played};
use serde::{Deserialize, Serialize};

use super::digest;

/// Imported outcomes, in columns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Import {
    /// Digest of the whole import, which all of its events have: the same one twice is counted once.
    pub digest: u64,
    /// Arms by number; empty where actions are features.
    pub arms: Vec<u32>,
    /// Features, one vector after another; empty where actions are arms.
    pub features: Vec<f64>,
    pub rewards: Vec<f64>,
    /// One cost per guardrail, one outcome after another.
    pub costs: Vec<f64>,
    /// Segments, where decisions have one.
    pub segments: Vec<Arc<str>>,
}

impl Import {
    pub(crate) fn digested(&self) -> u64 {
        let columns = (&self.arms, &self.features, &self.rewards, &self.costs);
        let mut hasher = blake3::Hasher::new();
        // Numbers and lists only, hashed in memory: there is nothing to fail on.
        let _ = postcard::to_io(&columns, &mut hasher);
        if !self.segments.is_empty() {
            let _ = postcard::to_io(&self.segments, &mut hasher);
        }
        digest(&hasher.finalize())
    }

    /// Passes the outcomes to `take` in the form that agents observe.
    pub(crate) fn outcomes<T>(&self, take: impl FnOnce(&Outcomes) -> T) -> T {
        let arms: Vec<usize> = self.arms.iter().map(|&arm| arm as usize).collect();
        let segments: Vec<&str> = self.segments.iter().map(|name| &**name).collect();
        take(&Outcomes {
            played: if !segments.is_empty() {
                Played::InSegments(&arms, &segments)
            } else if self.features.is_empty() {
                Played::Arms(&arms)
            } else {
                Played::Features(&self.features)
            },
            rewards: &self.rewards,
            costs: &self.costs,
            origin: Origin::Logged,
        })
    }
}
