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
    /// Age in seconds from which on nobody wants them.
    pub most_age: f64,
}

/// A notice on its way to a receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingNotice {
    /// Key of the experiment.
    pub key: u64,
    /// Name of the experiment.
    pub experiment: String,
    pub notice: Notice,
    /// Times that somebody began to send it.
    pub attempts: u32,
    /// True if it may be sent now.
    pub is_due: bool,
}

impl<W: Fn(&str, NoticeKind) -> bool + Send + 'static> Query for ReadNotices<W> {
    type Answer = Vec<PendingNotice>;

    fn answer(self, state: &mut EngineState) -> Result<Vec<PendingNotice>, Refusal> {
        let now = state.now;
        let mut pending = Vec::new();
        for own in state.experiments() {
            let name = &own.info.experiment;
            for (notice, delivery) in own.trace.notices.of_hook(self.hook) {
                let is_old = now.seconds_since(notice.time) > self.most_age;
                if !delivery.is_delivered() && !is_old && (self.wants)(name, notice.kind) {
                    pending.push(PendingNotice {
                        key: own.key,
                        experiment: name.clone(),
                        notice: notice.clone(),
                        attempts: delivery.attempts,
                        is_due: delivery.is_due(now),
                    });
                }
            }
        }
        Ok(pending)
    }
}
