//! Progress of a simulation, and its cancellation from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of a simulation, to be read and cancelled from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    /// Rounds done so far, over all runs.
    pub rounds: AtomicU64,
    /// Work done so far: rounds weighted by their cost, see [`crate::Experiment::total_work`].
    pub work: AtomicU64,
    /// True to stop at the next opportunity.
    pub cancelled: AtomicBool,
}

impl Progress {
    /// Adds rounds of a cost each.
    pub(crate) fn report(&self, rounds: u64, weight: u64) {
        self.rounds.fetch_add(rounds, Ordering::Relaxed);
        self.work.fetch_add(rounds * weight, Ordering::Relaxed);
    }
}
