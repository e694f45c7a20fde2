//! Cancels a decision that was never carried out: its outcome is missing, and it costs nothing.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Command, Reply, Transaction};
use crate::events::{Event, shown_id};
use crate::refusal::Refusal;
use crate::state::DecisionRecord;
use crate::store::Key;

/// Cancels a decision; a repeated cancellation changes nothing.
#[derive(Debug)]
pub struct Cancel {
    pub experiment: Arc<str>,
    pub decision: String,
}

/// A decision that was cancelled.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cancelled {
    /// Id of the decision.
    pub decision: String,
}

impl Command for Cancel {
    type Answer = Cancelled;
    const SHARES_COMMIT: bool = true;

    fn prepare(&self, transaction: &mut Transaction) {
        transaction.want(&self.experiment, &self.decision);
    }

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<Cancelled>, Refusal> {
        let key = transaction.state.experiment(&self.experiment)?.key;
        let record = (transaction.decision(key, &Key::parse(&self.decision)))
            .ok_or_else(|| Refusal::unknown("decision", &self.decision))?;
        transaction.check_owner(&record)?;
        let known = &record.outcome.part;
        if known.reward.is_some() || known.costs.iter().any(Option::is_some) {
            return Err(Refusal::conflict(format!(
                "the decision `{}` has an outcome, or a part of one: it was carried out",
                self.decision
            )));
        }
        let decision = shown_id(record.id.as_deref(), record.number);
        if !record.outcome.is_cancelled {
            transaction.cancel(&self.experiment, record)?;
        }
        Ok(Reply::Ready(Cancelled { decision }))
    }
}

impl Transaction<'_> {
    fn cancel(&mut self, name: &str, record: DecisionRecord) -> Result<(), Refusal> {
        let experiment = self.active(name)?;
        let (key, costs) = (experiment.key, experiment.info.costs.len());
        let ttl = experiment.checked.declaration.ttl_seconds;
        let is_over = ttl.is_some_and(|ttl| self.is_over(&record, ttl));
        if record.outcome.complete.is_some() || is_over {
            return Err(Refusal::conflict(format!(
                "the time to live of the decision `{}` is over: its outcome is settled",
                shown_id(record.id.as_deref(), record.number)
            )));
        }
        let event = if record.event.shadow || record.event.returns {
            Event::Lapsed
        } else {
            // The policy that it was drawn from may be its own, which is not in memory.
            let whole = self.whole(record.clone())?;
            self.missing(key, &whole.event)?
        };
        self.write_report(&record, event);
        self.charge(key, &record, &vec![Some(0.0); costs]);
        Ok(())
    }
}
