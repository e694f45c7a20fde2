//! Records the alarms that folding has raised and no event records yet.

use super::{Command, Reply, Transaction};
use crate::events::{Event, to_json};
use crate::refusal::Refusal;

/// Sent by the writer itself, after a commit that raised an alarm.
pub(crate) struct RecordAlarms;

impl Command for RecordAlarms {
    type Answer = ();

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<()>, Refusal> {
        let raised: Vec<_> = (transaction.state.experiments())
            .flat_map(|e| e.unrecorded().into_iter().map(|alarm| (e.key, alarm)))
            .collect();
        for (key, alarm) in raised {
            let json = to_json(&alarm)?;
            transaction.write(key, Event::AlarmRaised(json));
        }
        Ok(Reply::Ready(()))
    }
}
