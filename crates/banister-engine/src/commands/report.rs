//! Reports an outcome: whole or in parts, in any order, counted once.

use banister::toolkit::Within;
use std::collections::BTreeMap;
use std::sync::Arc;

use banister::Origin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision_request::{check_id, taken_action};
use super::{Command, Reply, Transaction};
use crate::events::{Event, OutcomeEvent, OutcomeSoFar, Part, digest_of, named_costs, shown_id};
use crate::refusal::Refusal;
use crate::state::{
    AlarmRaised, DecisionRecord, Experiment, ExperimentInfo, Kind, MEASURED, check_names,
};
use crate::store::Key;

/// Most reports that are added up for one unit.
const MOST_REPORTS: usize = 1000;

/// Reports on a decision. The same report twice gets the same answer.
#[derive(Debug)]
pub struct Report {
    pub experiment: Arc<str>,
    pub report: OutcomeReport,
}

/// A report of an outcome, or of a part of one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutcomeReport {
    /// Id of the decision; or else `unit`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub decision: String,
    /// The unit that the decision is for, where there are units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub unit: Option<String>,
    /// Where reports on a unit are added up: an id of this one, so that it counts once if it is sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub report: Option<String>,
    /// Name of the event that it stands for, if it does: ids of other events are others.
    #[serde(skip)]
    pub event: Option<String>,
    /// The reward, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
    /// The costs that are known, by guardrail.
    #[serde(default, deserialize_with = "crate::object::map")]
    pub costs: BTreeMap<String, Option<f64>>,
    /// Costs and the reward by the names of their signals, as far as known, where signals are declared.
    #[serde(default, deserialize_with = "crate::object::map")]
    pub signals: BTreeMap<String, Option<f64>>,
    /// In shadow mode: the action that the caller took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<String>,
}

/// Outcome as far as known.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "OutcomeAnswer")]
pub struct Reported {
    /// The decision.
    pub decision: String,
    /// `partial` until everything is known, then `complete`; with a time to live `pending` until it is over.
    pub status: OutcomeStatus,
    /// The reward, if known.
    pub reward: Option<f64>,
    /// The costs, as far as known.
    pub costs: BTreeMap<String, Option<f64>>,
    /// Alarms that this report raises: its numbers lie outside their declared ranges, and count as their ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<AlarmRaised>,
}

/// Status of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeStatus {
    /// Something is missing.
    Partial,
    /// Everything is known, and is learned when the decision's time to live is over.
    Pending,
    /// Everything is known and learned.
    Complete,
}

impl Reported {
    /// True once everything is known and learned.
    pub fn is_complete(&self) -> bool {
        self.status == OutcomeStatus::Complete
    }
}

impl Command for Report {
    type Answer = Reported;
    const SHARES_COMMIT: bool = true;

    fn prepare(&self, transaction: &mut Transaction) {
        match &self.report.unit {
            Some(unit) => transaction.want_unit(&self.experiment, unit),
            None => transaction.want(&self.experiment, &self.report.decision),
        }
    }

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<Reported>, Refusal> {
        let Self {
            experiment: name,
            mut report,
        } = self;
        let experiment = transaction.state.experiment(&name)?;
        report.take_signals(experiment)?;
        let (key, unit) = (experiment.key, experiment.info.unit.clone());
        let mut record = match (&unit, &report.unit) {
            (Some(own), Some(unit)) => {
                check_id("unit", unit)?;
                if transaction.state.experiment(&name)?.info.is_outside(unit) {
                    return Err(Refusal::conflict(format!(
                        "the experiment does not decide for `{unit}`, which is outside of its namespace's part: it has \
                         no outcome"
                    )));
                }
                let standing = transaction.standing(key, own, unit);
                standing.ok_or_else(|| Refusal::unknown("decision for the unit", unit))?
            }
            (None, Some(_)) => {
                let allowed = "this experiment declares no `unit`: give the `decision`";
                return Err(Refusal::invalid("unit", "given", allowed));
            }
            _ => (transaction.decision(key, &Key::parse(&report.decision)))
                .ok_or_else(|| Refusal::unknown("decision", &report.decision))?,
        };
        transaction.check_owner(&record)?;
        report.decision = shown_id(record.id.as_deref(), record.number);
        let mut experiment = transaction.state.experiment(&name)?;
        if record.event.shadow && matches!(experiment.checked.kind, Kind::Candidates(_)) {
            // Any of the candidates may have been taken.
            record = transaction.whole(record)?;
            experiment = transaction.state.experiment(&name)?;
        }
        let event = &record.event;
        let taken = taken_action(
            experiment,
            event.shadow,
            &event.candidates,
            report.taken.as_deref(),
        )?;
        let info = experiment.info.clone();
        let mut known = record.outcome.part.clone();
        if record.outcome.complete.is_none() {
            // An outcome says what was played; whether that was reported does not matter any more.
            known.taken = known.taken.or(event.taken);
        }
        let played = if event.shadow {
            taken.or(known.taken)
        } else {
            Some(event.action)
        };
        let adds_up = experiment.checked.adds_up();
        let (mut part, alarms) = part(experiment, &report, played, adds_up)?;
        part.taken = taken;
        if adds_up {
            return transaction
                .add(&name, record, part, &report, &info)
                .map(Reply::Ready);
        }
        let merged = merge(&info.costs, &known, &part).map_err(|contradiction| {
            let by_default = match record.outcome.complete {
                Some(true) => ", by default, since its time to live was over",
                _ => "",
            };
            Refusal::conflict(format!(
                "the decision `{}` already has another outcome{by_default}: {contradiction}",
                report.decision
            ))
        })?;
        let news = merged != known;
        let mut complete = record.outcome.complete.is_some();
        if news && complete {
            // Only a decision that lapsed or is missing is complete without an outcome.
            return Err(closed(&record.outcome, &report.decision));
        }
        if news {
            let ttl = transaction.check_in_time(&name, &record)?;
            let outcome = transaction.outcome(&name, &record, &merged, false)?;
            // With a time to live nothing is learned before it is over: learned at once, early outcomes
            // would bias every estimate.
            let outcome = outcome.filter(|_| ttl.is_none());
            complete = outcome.is_some();
            let event = match outcome {
                Some(outcome) => {
                    *transaction.outcomes.entry(key).or_default() += 1;
                    Event::Outcome(outcome)
                }
                None => Event::Part(merged.clone()),
            };
            transaction.write_report(&record, event);
            transaction.charge(key, &record, &merged.costs);
        }
        let is_whole = merged.reward.is_some() && merged.costs.iter().all(Option::is_some);
        Ok(Reply::Ready(Reported {
            decision: report.decision,
            status: match (complete, is_whole) {
                (true, _) => OutcomeStatus::Complete,
                (false, true) => OutcomeStatus::Pending,
                (false, false) => OutcomeStatus::Partial,
            },
            reward: merged.reward,
            costs: named_costs(&info.costs, &merged.costs),
            alarms,
        }))
    }
}

/// The error for a report on a decision whose outcome is closed.
fn closed(outcome: &OutcomeSoFar, decision: &str) -> Refusal {
    let why = if outcome.is_cancelled {
        "was cancelled"
    } else if outcome.moved.is_some() {
        "was given another arm, and is not learned"
    } else {
        "is older than its time to live"
    };
    Refusal::conflict(format!(
        "the decision `{decision}` {why}: it has no outcome"
    ))
}

impl OutcomeReport {
    /// Puts signals where the core has them: the reward's, and the costs.
    fn take_signals(&mut self, experiment: &Experiment) -> Result<(), Refusal> {
        let problem = &experiment.checked.standard;
        let reward = problem.signal_name(problem.reported());
        let names = problem.measured().chain([reward]);
        check_names("signals", &self.signals, MEASURED, names)?;
        for (name, value) in std::mem::take(&mut self.signals) {
            let field = format!("signals.{name}");
            let place = if name == reward {
                &mut self.reward
            } else {
                self.costs.entry(name).or_default()
            };
            if place.is_some() {
                let allowed = "it is given twice: give it once";
                return Err(Refusal::invalid(field, "given", allowed));
            }
            *place = value;
        }
        Ok(())
    }
}

impl Transaction<'_> {
    /// Refuses late reports, and reports to an experiment that accepts none; returns its time to live.
    fn check_in_time(
        &mut self,
        name: &str,
        record: &DecisionRecord,
    ) -> Result<Option<f64>, Refusal> {
        let experiment = self.state.experiment(name)?;
        experiment.check_active("takes no more outcomes")?;
        let ttl = experiment.checked.declaration.ttl_seconds;
        // Whether a late report counts must not depend on when somebody looks for expired decisions.
        if let Some(ttl) = ttl
            && self.is_over(record, ttl)
        {
            return Err(Refusal::conflict(format!(
                "the time to live of the decision `{}` is over ({ttl} s): its outcome is settled",
                shown_id(record.id.as_deref(), record.number)
            )));
        }
        Ok(ttl)
    }

    /// Adds a report on a unit to those before; one that was sent before counts once.
    fn add(
        &mut self,
        name: &str,
        record: DecisionRecord,
        part: Part,
        report: &OutcomeReport,
        info: &ExperimentInfo,
    ) -> Result<Reported, Refusal> {
        let Some(id) = &report.report else {
            let allowed = "reports on a unit are added up: give each an id of its own, so that one sent again counts once";
            return Err(Refusal::invalid("report", "absent", allowed));
        };
        check_id("report", id)?;
        let number = digest_of(&(&report.event, id));
        let mut so_far = &record.outcome;
        let known = so_far.reports.iter().find(|(own, _)| *own == number);
        if let Some((_, said)) = known {
            if *said != digest_of(&part) {
                return Err(Refusal::conflict(format!(
                    "the report `{id}` on the decision `{}` said something else before: give another report an id of its own",
                    report.decision
                )));
            }
        } else {
            if so_far.complete.is_some() {
                return Err(closed(so_far, &report.decision));
            }
            self.check_in_time(name, &record)?;
            if so_far.reports.len() >= MOST_REPORTS {
                return Err(Refusal::conflict(format!(
                    "the decision `{}` has {MOST_REPORTS} reports already: the most that a unit may have",
                    report.decision
                )));
            }
            let event = Event::Added {
                part,
                report: number,
                is_last: so_far.reports.len() + 1 == MOST_REPORTS,
            };
            so_far = self.write_report(&record, event);
        }
        Ok(Reported {
            decision: report.decision.clone(),
            status: match so_far.complete {
                Some(_) => OutcomeStatus::Complete,
                None => OutcomeStatus::Pending,
            },
            reward: so_far.part.reward,
            costs: named_costs(&info.costs, &so_far.part.costs),
            alarms: Vec::new(),
        })
    }

    /// Outcome of a decision, checked by the agent; `None` if some number is missing.
    pub(super) fn outcome(
        &mut self,
        name: &str,
        record: &DecisionRecord,
        known: &Part,
        by_default: bool,
    ) -> Result<Option<OutcomeEvent>, Refusal> {
        let experiment = self.state.experiment(name)?;
        let costs: Option<Vec<f64>> = known.costs.iter().copied().collect();
        let (Some(reward), Some(costs)) = (known.reward, costs) else {
            return Ok(None);
        };
        let event = &record.event;
        let action = if event.shadow {
            known.taken.ok_or_else(|| {
                let allowed = "in shadow mode an outcome needs the action that was taken";
                Refusal::invalid("taken", "absent", allowed)
            })?
        } else {
            event.action
        };
        let before = self.outcomes.get(&experiment.key).copied().unwrap_or(0);
        let features = if action == event.action {
            event.features.clone()
        } else {
            (experiment.info).numbers(action, &event.context, &event.candidates)
        };
        let outcome = OutcomeEvent {
            action,
            features,
            reward,
            costs,
            by_default,
            segment: event.segment.clone(),
            time: event.time,
            claims: event.claims.clone(),
            returns: event.returns,
        };
        if !outcome.returns {
            let choice = |features| experiment.info.choice(features);
            experiment.check_outcome(&outcome.observed(choice, Origin::Logged), before)?;
        }
        Ok(Some(outcome))
    }
}

/// Checks the numbers of a report about the action played, as far as it is known. One outside its range is taken and
/// raises an alarm, where the agent is watched.
fn part(
    experiment: &Experiment,
    report: &OutcomeReport,
    played: Option<u32>,
    adds_up: bool,
) -> Result<(Part, Vec<AlarmRaised>), Refusal> {
    let problem = &experiment.checked.standard;
    let is_watched = experiment.learner.view().monitor.is_some();
    let mut alarms = Vec::new();
    let mut check = |signal: usize, field: &str, x: f64| {
        let mut possible = problem.own_signals(signal).iter();
        if played.is_none() && possible.any(|own| own.admits(x)) {
            return Ok(());
        }
        let own = problem.own_signal(played.map_or(usize::MAX, |arm| arm as usize), signal);
        if adds_up {
            // Ranges are of what a unit's reports make.
            return own.check_reported(x).at(field);
        }
        alarms.extend(experiment.range_alarm(played, signal, x));
        let checked = if is_watched {
            own.check_reported(x)
        } else {
            own.check_value(x)
        };
        checked.at(field)
    };
    if let Some(reward) = report.reward {
        check(problem.reported(), "reward", reward)?;
    }
    check_names("costs", &report.costs, MEASURED, problem.measured())?;
    let mut costs = Vec::with_capacity(problem.measured().len());
    for (position, name) in problem.measured().enumerate() {
        let cost = report.costs.get(name).copied().flatten();
        if let Some(cost) = cost {
            check(problem.place_of(position), &format!("costs.{name}"), cost)?;
        }
        costs.push(cost);
    }
    let says_nothing = report.reward.is_none() && costs.iter().all(Option::is_none);
    if says_nothing && report.taken.is_none() {
        let mut allowed = "report a reward".to_string();
        if !problem.guardrails.is_empty() {
            allowed += ", costs, or both";
        }
        return Err(Refusal::invalid("reward", "absent", allowed));
    }
    let part = Part {
        reward: report.reward,
        costs,
        taken: None,
    };
    Ok((part, alarms))
}

/// Merges a report into what is known; an error says what contradicts.
fn merge(names: &[String], known: &Part, news: &Part) -> Result<Part, String> {
    fn both<T: PartialEq + Copy + std::fmt::Display>(
        field: &str,
        known: Option<T>,
        news: Option<T>,
    ) -> Result<Option<T>, String> {
        match (known, news) {
            (Some(a), Some(b)) if a != b => Err(format!("`{field}` is {a}, not {b}")),
            (a, b) => Ok(a.or(b)),
        }
    }
    let mut costs = Vec::with_capacity(news.costs.len());
    for (i, &cost) in news.costs.iter().enumerate() {
        let own = known.costs.get(i).copied().flatten();
        costs.push(both(&names[i], own, cost)?);
    }
    let taken = match (known.taken, news.taken) {
        (Some(a), Some(b)) if a != b => return Err("another action was taken".into()),
        (a, b) => a.or(b),
    };
    Ok(Part {
        reward: both("reward", known.reward, news.reward)?,
        costs,
        taken,
    })
}
