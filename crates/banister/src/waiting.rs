//! Decisions whose outcomes have not come.

use serde::{Deserialize, Serialize};

use crate::error::{Error, broken};

/// Numbers of decisions that wait for their outcomes, by place of their statistics; places beyond the last have none.
///
/// They count for exploration alone: an arm that was drawn a thousand times is not unknown as one that never was, also
/// while its outcomes are on their way. Bounds that safety rests on count outcomes that have come.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Waiting(Vec<u64>);

impl Waiting {
    /// Decisions at a place where some outcomes have come, with those that wait; 0 before the first outcome.
    #[inline]
    pub(crate) fn drawn(&self, outcomes: u64, place: usize) -> u64 {
        let pending = self.0.get(place).copied().unwrap_or(0);
        if outcomes > 0 { outcomes + pending } else { 0 }
    }

    /// A decision was made.
    pub(crate) fn announce(&mut self, place: usize) {
        self.0.resize(self.0.len().max(place + 1), 0);
        self.0[place] += 1;
    }

    /// An outcome has come, or never will. One that nothing waited for changes nothing.
    #[inline]
    pub(crate) fn end(&mut self, place: usize) {
        if let Some(own) = self.0.get_mut(place) {
            *own = own.saturating_sub(1);
        }
    }

    /// Decisions so far teach nothing at a place any more.
    pub(crate) fn clear(&mut self, place: usize) {
        if let Some(own) = self.0.get_mut(place) {
            *own = 0;
        }
    }

    pub(crate) fn clear_all(&mut self) {
        self.0.clear();
    }

    /// Refuses what cannot have been saved with this many places: counts beyond any life would overflow.
    pub(crate) fn check(self, places: usize) -> Result<Self, Error> {
        let is_sound = self.0.len() <= places && self.0.iter().all(|&own| own < 1 << 40);
        (is_sound.then_some(self)).ok_or_else(|| broken("`waiting` is impossible"))
    }
}
