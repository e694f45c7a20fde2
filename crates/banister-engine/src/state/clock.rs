//! Times of a log whose clock was set.

use crate::time::Timestamp;

/// The times that the log's clock was set. No time passes while it is, so that what was a second old before
/// is a second old afterwards.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClockSets(Vec<(u64, i64)>);

impl ClockSets {
    pub(crate) fn push(&mut self, number: u64, from: i64, to: i64) {
        self.0.push((number, to.saturating_sub(from)));
    }

    /// Number of times that it was set.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Time of an event by the clock as it is now.
    pub(crate) fn time_now(&self, number: u64, time: Timestamp) -> Timestamp {
        let since = self.0.iter().filter(|(set, _)| *set > number);
        Timestamp(since.fold(time.0, |time, (_, by)| time.saturating_add(*by)))
    }
}
