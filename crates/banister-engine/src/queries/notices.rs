//! Notices that a receiver did not get yet.

use super::Query;
use crate::refusal::Refusal;
use crate::state::{EngineState, Notice, NoticeKind};

/// Asks for the notices of a receiver, oldest first within an experiment.
pub struct ReadNotices<W> {
    /// Digest of the receiver.
    pub hook: u64,
    /// Experiments and kinds that it wants.
    pub wants: W,
    /// Age in seconds beyond which they are not sent.
    pub most_age: f64,
}

/// A notice on its way to a receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingNotice {
    /// Key of the experiment.
    pub key: u64,
    pub notice: Notice,
    /// Number of attempts to send it.
    pub attempts: u32,
    /// True if it may be sent now.
    pub is_due: bool,
}

impl<W: Fn(&str, NoticeKind) -> bool + Send + 'static> Query for ReadNotices<W> {
    type Answer = Vec<PendingNotice>;

    fn answer(self, state: &mut EngineState) -> Result<Vec<PendingNotice>, Refusal> {
        let now = state.now;
        let each = state.experiments().flat_map(|own| {
            let pending = own.trace.notices.pending(self.hook);
            pending.map(|(notice, delivery)| (own.key, notice, delivery))
        });
        let wanted = each.filter(|(_, notice, _)| {
            let is_old = now.seconds_since(notice.time) > self.most_age;
            !is_old && (self.wants)(&notice.experiment, notice.kind)
        });
        let pending = wanted.map(|(key, notice, delivery)| PendingNotice {
            key,
            notice: notice.clone(),
            attempts: delivery.attempts,
            is_due: delivery.is_due(now),
        });
        Ok(pending.collect())
    }
}
