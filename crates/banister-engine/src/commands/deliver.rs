//! Delivery of notices to their receivers.

use super::{Command, Reply, Transaction};
use crate::events::Event;
use crate::refusal::Refusal;

/// Claims a notice for a receiver, or notes its delivery. Answers false if another process was faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Deliver {
    /// Key of the experiment.
    pub experiment: u64,
    /// Number of the notice.
    pub notice: u64,
    /// Digest of the receiver.
    pub hook: u64,
    /// Seconds for which the claim holds; `None`: the notice is delivered.
    pub claim: Option<f64>,
}

impl Command for Deliver {
    type Answer = bool;

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<bool>, Refusal> {
        let now = transaction.time;
        let Some(own) = transaction.state.by_key(self.experiment) else {
            return Ok(Reply::Ready(false));
        };
        let mut pending = own.trace.notices.pending(self.hook);
        let is_open = pending.any(|(notice, own)| {
            notice.number == self.notice && (self.claim.is_none() || own.is_due(now))
        });
        drop(pending);
        if is_open {
            let (notice, hook) = (self.notice, self.hook);
            let until = self.claim.map(|seconds| now.plus_seconds(seconds).0);
            transaction.write(
                self.experiment,
                Event::Delivery {
                    notice,
                    hook,
                    until,
                },
            );
        }
        Ok(Reply::Ready(is_open))
    }
}
