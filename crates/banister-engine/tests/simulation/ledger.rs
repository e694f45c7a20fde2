//! The ledger of all that callers were told, and the invariants of it and of the log.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::budget::Purse;
use super::database::Server;
use crate::commands::{Decided, Reported};
use crate::events::{Event, EventKind, PublishedPolicy, Record, replay_reports};
use crate::queries::ExperimentView;
use crate::state::{Change, Declaration, Edit, EngineState};
use crate::time::Timestamp;

/// Seconds by which replicas may disagree about the log's time.
pub const MOST_SKEW: f64 = 60.0;
/// Seconds by which a clock may jump and is followed at once.
const STEP: f64 = 1.0;

/// An answer to a request for a decision.
#[derive(Debug, Clone, PartialEq)]
struct AnsweredDecision {
    experiment: String,
    id: Option<String>,
    action: u32,
    probability: f64,
    time: Timestamp,
}

/// Everything that callers were told.
#[derive(Default)]
pub struct Ledger {
    /// Decisions by number.
    decisions: BTreeMap<u64, AnsweredDecision>,
    ids: BTreeMap<(String, String), u64>,
    /// Outcomes as far as acknowledged, by decision.
    outcomes: BTreeMap<u64, Reported>,
    /// Requests without an id, by experiment.
    pub anonymous: BTreeMap<String, u64>,
    /// Times at which the clock was moved.
    pub jumps: Vec<Duration>,
}

macro_rules! check {
    ($holds:expr, $($reason:tt)*) => {
        if !$holds {
            return Err(format!($($reason)*));
        }
    };
}
pub(super) use check;

impl Ledger {
    /// Takes down an answer, given when the log had `last` events.
    pub fn decided(
        &mut self,
        server: &Server,
        experiment: &str,
        decided: &Decided,
        last: u64,
    ) -> Result<(), String> {
        let number = decided.number;
        check!(
            number <= last,
            "decision {number} was told before it was in the log"
        );
        check_policy(&decided.published)?;
        let told = AnsweredDecision {
            experiment: experiment.into(),
            id: caller_id(&decided.id),
            action: decided.index,
            probability: decided.probability,
            time: decided.time,
        };
        if let Some(id) = caller_id(&decided.id) {
            let known = *(self.ids.entry((experiment.into(), id.clone()))).or_insert(number);
            check!(
                known == number,
                "`{id}` was decision {known} and is {number} now"
            );
        }
        check_told(server, number, &told)?;
        let known = self.decisions.entry(number).or_insert_with(|| told.clone());
        check!(
            *known == told,
            "decision {number} was {known:?} and is {told:?} now"
        );
        Ok(())
    }

    pub fn reported(
        &mut self,
        server: &Server,
        experiment: &str,
        reported: &Reported,
    ) -> Result<(), String> {
        let id = &reported.decision;
        let number = match id.strip_prefix('@') {
            Some(number) => number.parse().unwrap_or(0),
            None => number_of(server, experiment, id).unwrap_or(0),
        };
        check_outcome(server, number, reported)?;
        self.outcomes.insert(number, reported.clone());
        Ok(())
    }

    /// Holds a view of an experiment against the log when it had `last` events.
    pub fn viewed(&self, server: &Server, view: &ExperimentView, last: u64) -> Result<(), String> {
        let key = key_of(server, &view.name).filter(|key| *key <= last);
        let key = key.ok_or_else(|| format!("`{}` was shown and is not in the log", view.name))?;
        let (mut outcomes, mut decisions) = (0, 0);
        let own = server.records.iter().take(last as usize);
        for record in own.filter(|record| record.experiment == key) {
            // Those that expired without an outcome among them.
            outcomes += u64::from(record.kind == EventKind::Outcome);
            decisions += u64::from(record.kind == EventKind::Decision);
        }
        let counts = view.counts;
        check!(
            counts.outcomes + counts.missing <= outcomes
                && counts.decisions <= decisions
                && view.number <= last,
            "a view shows {counts:?}, the log has {outcomes} outcomes and {decisions} decisions"
        );
        Ok(())
    }

    /// Seconds that the log's clock may have counted from one true time to another.
    fn most_log_time(&self, server: &Server, from: Duration, to: Duration) -> f64 {
        let passed = to.saturating_sub(from).as_secs_f64();
        let jumps = self.jumps.iter().filter(|jump| **jump <= to).count();
        if jumps == 0 {
            return passed;
        }
        // Twice as fast as time passes, from where any replica's clock is.
        2.0 * passed + MOST_SKEW + STEP * jumps as f64 + 2.0 * server.believed
    }

    /// A report was refused because the time to live is over: that must be so by the true clock.
    pub fn refused_as_late(
        &self,
        server: &Server,
        experiment: &str,
        id: &str,
        ttl: f64,
        time: Duration,
    ) -> Result<(), String> {
        let number = number_of(server, experiment, id);
        let Some(&(begun, _)) = number.and_then(|n| server.written.get(n as usize - 1)) else {
            return Err(format!("`{id}` is too late and was never made"));
        };
        let most = self.most_log_time(server, begun, time);
        check!(
            most >= ttl - 1e-6,
            "a report on `{id}` was refused after at most {most} s of {ttl} s"
        );
        Ok(())
    }

    /// Holds the whole log against itself, true time and everything that was told; returns its fold.
    pub fn audit(&self, server: &Server) -> Result<EngineState, String> {
        let mut log = Log::default();
        for (record, &(begun, done)) in server.records.iter().zip(&server.written) {
            let before = server.before[record.number as usize - 1];
            log.check_event(record, before)
                .map_err(|e| format!("event {}: {e}", record.number))?;
            if let Some((decision, ttl)) = log.expired.take() {
                let made = server.written[decision as usize - 1].0;
                let most = self.most_log_time(server, made, done);
                check!(
                    most >= ttl - 1e-6,
                    "decision {decision} expired after at most {most} s of {ttl} s, by event {}",
                    record.number
                );
            }
            check!(begun <= done, "time goes back");
        }
        for (number, told) in &self.decisions {
            check_told(server, *number, told)?;
        }
        for (number, told) in &self.outcomes {
            check_outcome(server, *number, told)?;
        }
        for (experiment, sent) in &self.anonymous {
            let made = log.anonymous.get(experiment).copied().unwrap_or(0);
            check!(
                made <= *sent,
                "`{experiment}`: {sent} were asked for, {made} made"
            );
        }
        Ok(log.state)
    }
}

fn declared(json: &str) -> Result<Declaration, String> {
    serde_json::from_str(json).map_err(|e| e.to_string())
}

/// Key of an experiment.
fn key_of(server: &Server, name: &str) -> Option<u64> {
    let created = server.records.iter().find(|record| {
        record.number == record.experiment
            && matches!(record.event(), Ok(Event::Created(json))
                if declared(&json).is_ok_and(|declared| declared.name == name))
    });
    created.map(|record| record.number)
}

/// Number of the decision with a caller's id, or `@` and its number.
pub fn number_of(server: &Server, experiment: &str, id: &str) -> Option<u64> {
    if let Some(number) = id.strip_prefix('@') {
        return number.parse().ok();
    }
    let key = key_of(server, experiment)?;
    let named = |record: &&Record| record.experiment == key && record.id.as_deref() == Some(id);
    server
        .records
        .iter()
        .find(named)
        .map(|record| record.number)
}

/// The id that a caller chose.
fn caller_id(shown: &str) -> Option<String> {
    (!shown.starts_with('@')).then(|| shown.to_string())
}

fn check_policy(published: &PublishedPolicy) -> Result<(), String> {
    let total: f64 = published.policy.iter().map(|entry| entry.1).sum();
    check!((total - 1.0).abs() < 1e-9, "a policy sums to {total}");
    for guardrail in &published.guardrails {
        check!(
            guardrail.slack >= -1e-9,
            "a certificate has slack {}",
            guardrail.slack
        );
    }
    Ok(())
}

/// The log has the decision as it was told.
fn check_told(server: &Server, number: u64, told: &AnsweredDecision) -> Result<(), String> {
    let record = server.records.get(number as usize - 1);
    let Some(Ok(Event::Decision(event))) = record.map(Record::event) else {
        return Err(format!("decision {number} was told and is not in the log"));
    };
    let record = &server.records[number as usize - 1];
    check!(
        record.id == told.id
            && record.time == told.time
            && event.action == told.action
            && event.probability == told.probability,
        "decision {number} was told as {told:?}, the log has {record:?}"
    );
    Ok(())
}

/// The log has the outcome as it was told, or more of it.
fn check_outcome(server: &Server, number: u64, told: &Reported) -> Result<(), String> {
    let reports = server.records.iter().filter(|r| r.decision == Some(number));
    let reports: Vec<Record> = reports.cloned().collect();
    let log = replay_reports(&reports).map_err(|e| e.to_string())?;
    let has = |told: Option<f64>, log: Option<f64>| told.is_none() || told == log;
    let mut costs = told.costs.values().enumerate();
    let has_costs = costs.all(|(i, cost)| has(*cost, log.part.costs.get(i).copied().flatten()));
    check!(
        has(told.reward, log.part.reward)
            && has_costs
            && (!told.is_complete() || log.complete.is_some()),
        "the outcome of {number} was told as {:?}, {:?}, complete: {}; the log has {log:?}",
        told.reward,
        told.costs,
        told.is_complete()
    );
    Ok(())
}

/// The log as read by somebody who trusts nothing.
#[derive(Default)]
struct Log {
    state: EngineState,
    time: Timestamp,
    /// Log's time without the jumps by which it was set.
    elapsed: BTreeMap<u64, i64>,
    set_by: i64,
    names: BTreeMap<u64, String>,
    ttls: BTreeMap<u64, Option<f64>>,
    ids: BTreeSet<(u64, String)>,
    /// Decision and time to live of an event that says it is over.
    expired: Option<(u64, f64)>,
    settled: BTreeSet<u64>,
    reports: BTreeMap<u64, Vec<Record>>,
    /// Numbers of the outcomes, by experiment.
    outcomes: BTreeMap<u64, Vec<u64>>,
    policies: BTreeMap<u64, std::sync::Arc<PublishedPolicy>>,
    anonymous: BTreeMap<String, u64>,
    /// Budgets of experiments that have any.
    purses: BTreeMap<u64, Purse>,
}

impl Log {
    fn check_event(&mut self, record: &Record, before: u64) -> Result<(), String> {
        let number = record.number;
        check!(
            number == self.state.number + 1,
            "follows {}",
            self.state.number
        );
        self.state.apply(record)?;
        let (author, event) = record.decode()?;
        check!(!author.name().is_empty(), "has no author");
        if let Event::ClockSet { from, to } = event {
            check!(
                from == self.time.0 && to == record.time.0,
                "sets the clock from {from} to {to}"
            );
            self.set_by += to - from;
        } else {
            check!(
                record.time >= self.time,
                "is of {}, after {}",
                record.time,
                self.time
            );
        }
        self.time = record.time;
        self.elapsed.insert(number, record.time.0 - self.set_by);
        let key = record.experiment;
        match event {
            Event::Created(json) => {
                let declaration = declared(&json)?;
                let taken = self.names.values().any(|name| *name == declaration.name);
                check!(!taken, "`{}` was created before", declaration.name);
                self.ttls.insert(key, declaration.ttl_seconds);
                if let Some(budget) = declaration
                    .budgets
                    .get("errors")
                    .and_then(|own| own.as_slice().first())
                {
                    self.purses.insert(key, Purse::new(budget));
                }
                self.names.insert(key, declaration.name);
            }
            Event::Edited(json) => {
                let edit = serde_json::from_str(&json).map_err(|e| e.to_string())?;
                let change = match edit {
                    Edit::Change(change) => change,
                    _ => Change::default(),
                };
                if let Some(ttl) = change.ttl_seconds {
                    self.ttls.insert(key, ttl);
                }
                if let Some(budget) =
                    (change.budgets.as_ref()).and_then(|b| b.get("errors")?.as_slice().first())
                {
                    let purse = self.purses.get_mut(&key).ok_or("has no budget to change")?;
                    purse.change(budget);
                }
            }
            Event::Policy(published) => {
                check_policy(&published)?;
                self.check_outcomes(key, &published, before, false)?;
                self.policies.insert(number, published);
            }
            Event::Decision(decision) => {
                match &record.id {
                    Some(id) => {
                        let new = self.ids.insert((key, id.clone()));
                        check!(new, "has the id `{id}` of an earlier decision");
                    }
                    None => {
                        let name = self.names.get(&key).cloned().unwrap_or_default();
                        *self.anonymous.entry(name).or_default() += 1;
                    }
                }
                let published = match (&decision.own, decision.policy) {
                    (Some(own), _) => {
                        self.check_outcomes(key, own, before, true)?;
                        own
                    }
                    (None, number) => number
                        .and_then(|number| self.policies.get(&number))
                        .ok_or("cites no policy")?,
                };
                check_policy(published)?;
                let drawn = published.draw(decision.draw);
                let made = (decision.action, decision.probability);
                check!(drawn == made, "is {made:?}, drawn was {drawn:?}");
                if let Some(purse) = self.purses.get_mut(&key).filter(|_| !decision.shadow) {
                    let (elapsed, set_by) = (self.elapsed[&number], self.set_by);
                    let is_safe = decision.action == published.safe;
                    purse.decide(number, elapsed, set_by, is_safe, published.fallback)?;
                }
            }
            Event::Outcome(outcome) => {
                self.pay(record, outcome.costs.first().copied());
                self.settle(record)?;
                self.outcomes.entry(key).or_default().push(number);
            }
            Event::Matured(_) | Event::Missing { .. } | Event::Lapsed => {
                let decision = self.settle(record)?;
                let ttl = (self.ttls.get(&key).copied().flatten()).ok_or("has no time to live")?;
                let age = (self.elapsed[&number] - self.elapsed[&decision]) as f64 / 1e6;
                check!(
                    age >= ttl - 1e-5,
                    "expires decision {decision} after {age} s of {ttl} s"
                );
                self.expired = Some((decision, ttl));
                if let Event::Matured(outcome) = &event {
                    self.pay(record, outcome.costs.first().copied());
                    self.outcomes.entry(key).or_default().push(number);
                }
            }
            Event::Part(part) => {
                self.pay(record, part.costs.first().copied().flatten());
                let decision = record.decision.ok_or("is on no decision")?;
                check!(!self.settled.contains(&decision), "comes after the outcome");
                let reports = self.reports.entry(decision).or_default();
                let known = replay_reports(reports).map_err(|e| e.to_string())?;
                reports.push(record.clone());
                let news = replay_reports(reports).map_err(|e| e.to_string())?;
                check!(
                    known.part != news.part,
                    "repeats what was known of decision {decision}"
                );
                let kept = |known: Option<f64>, news: Option<f64>| known.is_none() || known == news;
                let costs = known.part.costs.iter().zip(&news.part.costs);
                check!(
                    kept(known.part.reward, news.part.reward)
                        && costs.into_iter().all(|(known, news)| kept(*known, *news)),
                    "contradicts what was known of decision {decision}"
                );
            }
            _ => {}
        }
        Ok(())
    }

    /// The cost of a decision became known, if it did.
    fn pay(&mut self, record: &Record, cost: Option<f64>) {
        let purse = self.purses.get_mut(&record.experiment);
        if let (Some(purse), Some(decision), Some(cost)) = (purse, record.decision, cost) {
            purse.pay(decision, cost);
        }
    }

    fn settle(&mut self, record: &Record) -> Result<u64, String> {
        let decision = record.decision.ok_or("is on no decision")?;
        check!(
            self.settled.insert(decision),
            "decision {decision} has an outcome already"
        );
        Ok(decision)
    }

    /// A policy rests on outcomes that were durable before its commit began; one that is made for its
    /// decision, on all of them.
    fn check_outcomes(
        &self,
        experiment: u64,
        published: &PublishedPolicy,
        before: u64,
        is_fresh: bool,
    ) -> Result<(), String> {
        let numbers = self
            .outcomes
            .get(&experiment)
            .map_or(&[][..], Vec::as_slice);
        let durable = numbers.iter().filter(|number| **number <= before).count() as u64;
        let used = published.outcomes;
        check!(
            used == durable || (used < durable && !is_fresh),
            "rests on {used} outcomes, the log had {durable}"
        );
        Ok(())
    }
}
