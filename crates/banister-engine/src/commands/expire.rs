//! Events that the engine itself writes: decisions whose time to live is over, settled in their order, and alarms.

use super::transaction::stored;
use super::{Command, Reply, Transaction};
use crate::events::{DecisionEvent, Event, to_json};
use crate::refusal::Refusal;
use crate::state::{Change, Combine, DecisionRecord, Edit, ExperimentStatus};
use crate::store::Key;

/// Settles decisions of an experiment. Sent by the expiry thread only.
#[derive(Debug, Clone, PartialEq)]
pub struct Expire {
    /// Key of the experiment.
    pub experiment: u64,
    /// Numbers of the decisions.
    pub decisions: Vec<u64>,
    /// Event up to which everything is settled, if there are no decisions.
    pub settled: u64,
}

impl Command for Expire {
    type Answer = ();

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<()>, Refusal> {
        let name = (transaction.experiment(self.experiment)?.info.experiment).clone();
        let key = |&number| (self.experiment, Key::Number(number));
        let keys: Vec<(u64, Key)> = self.decisions.iter().map(key).collect();
        let mut rest = &keys[..];
        while !rest.is_empty() {
            let found = transaction.find(rest)?;
            rest = rest.get(found.len()..).unwrap_or_default();
            for found in found.into_iter().flatten() {
                if let Some(record) = stored(found)? {
                    transaction.expire(&name, record)?;
                }
            }
        }
        // Only where nothing is left to be written: what is not durable yet has to be found again.
        if self.decisions.is_empty()
            && let Some(experiment) = transaction.state.by_key(self.experiment)
        {
            experiment.trace.settled = experiment.trace.settled.max(self.settled);
        }
        Ok(Reply::Ready(()))
    }
}

impl Transaction<'_> {
    /// Event of a decision whose outcome will never come.
    pub(super) fn missing(&mut self, key: u64, event: &DecisionEvent) -> Result<Event, Refusal> {
        Ok(Event::Missing {
            action: event.action,
            policy: self.policy_of(key, event)?.policy.clone(),
            segment: event.segment.clone(),
            time: event.time,
        })
    }

    /// Learns an outcome, filled up with the default one; without a default, an outcome that is not whole
    /// by now is missing.
    fn expire(&mut self, name: &str, record: DecisionRecord) -> Result<(), Refusal> {
        if record.outcome.complete.is_some() {
            return Ok(());
        }
        let experiment = self.state.experiment(name)?;
        let key = experiment.key;
        let ttl = experiment.checked.declaration.ttl_seconds;
        // The thread that found it may have read another clock, or another time to live.
        if !ttl.is_some_and(|ttl| self.is_over(&record, ttl)) {
            return Ok(());
        }
        let experiment = self.state.experiment(name)?;
        let default = experiment.checked.declaration.default_outcome.as_ref();
        let mut part = match &experiment.checked.declaration.unit {
            Some(unit) if unit.outcomes == Combine::Mean => record.outcome.mean(),
            _ => record.outcome.part.clone(),
        };
        part.taken = part.taken.or(record.event.taken);
        let names = &experiment.info.costs;
        part.costs.resize(names.len(), None);
        // What was not reported of a unit's sum is nothing; a unit without any report may be missing.
        let nothing = experiment.checked.unreported();
        let is_known = |value: Option<f64>| value.is_some();
        let is_whole = if nothing.is_some() {
            !record.outcome.reports.is_empty()
        } else {
            is_known(part.reward) && part.costs.iter().copied().all(is_known)
        };
        part.reward = part.reward.or(default.map(|d| d.reward)).or(nothing);
        for (cost, name) in part.costs.iter_mut().zip(names) {
            let default = default.and_then(|d| d.costs.get(name).copied());
            *cost = cost.or(default).or(nothing);
        }
        // A horizon that is used up refuses outcomes: such a decision lapses.
        let outcome = if record.event.shadow && part.taken.is_none() {
            Ok(None)
        } else {
            self.outcome(name, &record, &part, !is_whole)
        };
        let event = match outcome {
            Ok(Some(outcome)) => {
                *self.outcomes.entry(key).or_default() += u64::from(!outcome.returns);
                Event::Matured(outcome)
            }
            Ok(None) if !record.event.shadow && !record.event.returns => {
                self.missing(key, &record.event)?
            }
            _ => Event::Lapsed,
        };
        let is_learned = matches!(event, Event::Matured(_));
        self.write_report(&record, event);
        if is_learned {
            self.charge(key, &record, &part.costs);
        }
        Ok(())
    }
}

/// Records the alarms that folding has raised and no event records yet, and settles the policies of experiments that know
/// enough. Sent by the writer itself, after a commit that calls for it.
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
        let looks = (transaction.state.experiments_mut()).filter(|e| e.should_look());
        let enough = looks.filter_map(|e| e.has_enough().then_some(e.key));
        let enough: Vec<u64> = enough.collect();
        for key in enough {
            let settled = Change {
                settled: Some(true),
                ..Change::default()
            };
            transaction.edit(key, &Edit::Change(settled))?;
        }
        Ok(Reply::Ready(()))
    }
}

/// Writes the share of the traffic that rollouts have come to. Sent by the expiry thread, when one is due.
pub(crate) struct RollOut;

impl Command for RollOut {
    type Answer = ();

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<()>, Refusal> {
        let now = transaction.time;
        let due = (transaction.state.experiments())
            .filter(|e| e.is_rollout_due(now) && e.status != ExperimentStatus::Archived);
        let due: Vec<(u64, f64)> = due.map(|e| (e.key, e.share_at(now))).collect();
        for (key, share) in due {
            let change = Change {
                share: Some(share),
                ..Change::default()
            };
            transaction.edit(key, &Edit::Change(change))?;
        }
        Ok(Reply::Ready(()))
    }
}
