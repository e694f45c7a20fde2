//! Outcomes: whole or in parts, once.

use std::collections::BTreeMap;

use super::decide::taken;
use super::{Case, Desk, Heard, hear};
use crate::declaration::check_cost_names;
use crate::event::{Event, OutcomeEvent, Part};
use crate::experiment::{Experiment, ExperimentStatus};
use crate::refusal::Refusal;
use crate::request::{Answer, OutcomeReport, Overdue, Reported, shown_id};
use crate::store::{Found, Key};

impl Desk<'_> {
    pub(super) fn report(&mut self, name: &str, report: &OutcomeReport) -> Result<Answer, Refusal> {
        let experiment = self.state.experiment(name)?;
        let key = experiment.key;
        let case = (self.case(key, &Key::parse(&report.decision))?)
            .ok_or_else(|| Refusal::unknown("decision", &report.decision))?;
        let experiment = self.state.experiment(name)?;
        let mut part = part(experiment, report)?;
        let event = &case.event;
        part.taken = taken(
            experiment,
            event.shadow,
            &event.candidates,
            report.taken.as_deref(),
        )?;
        let facts = experiment.facts.clone();
        let known = match case.heard.complete {
            // An outcome says what was played; whether that was reported does not matter any more.
            Some(_) => case.heard.part.clone(),
            None => Part {
                taken: case.heard.part.taken.or(event.taken),
                ..case.heard.part.clone()
            },
        };
        let merged = merge(&facts.guardrails, &known, &part).map_err(|contradiction| {
            let by_default = match case.heard.complete {
                Some(true) => ", by default, since its time to live was over",
                _ => "",
            };
            Refusal::conflict(format!(
                "the decision `{}` already has another outcome{by_default}: {contradiction}",
                report.decision
            ))
        })?;
        let news = merged != known;
        let mut complete = case.heard.complete.is_some();
        if news && complete {
            // Only a lapsed decision is complete without an outcome.
            return Err(Refusal::conflict(format!(
                "the time to live of the decision `{}` was over before anybody said what was taken",
                report.decision
            )));
        }
        if news {
            if experiment.status == ExperimentStatus::Archived {
                return Err(Refusal::conflict(format!(
                    "the experiment `{name}` is archived and takes no more outcomes"
                )));
            }
            self.check_in_time(name, &case, &report.decision)?;
            complete = self.hear_news(name, &case, merged.clone())?;
        }
        let is_whole = merged.reward.is_some() && merged.costs.iter().all(Option::is_some);
        Ok(Answer::Outcome(Reported {
            decision: shown_id(case.id.as_deref(), case.number),
            complete,
            pending: is_whole && !complete,
            reward: merged.reward,
            costs: merged.costs,
            facts,
        }))
    }

    /// Refuses a report on a decision whose time to live is over: whether it counts must not depend on
    /// when somebody looks.
    fn check_in_time(&mut self, name: &str, case: &Case, decision: &str) -> Result<(), Refusal> {
        let ttl = self.state.experiment(name)?.checked.declaration.ttl_seconds;
        match ttl {
            Some(ttl) if case.time <= self.time.minus_seconds(ttl) => {
                Err(Refusal::conflict(format!(
                    "the time to live of the decision `{decision}` is over ({ttl} s): its outcome is settled"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Writes down what is now known of an outcome; says whether it is learned. With a time to live it is
    /// not before that is over, whatever it is: learned at once, early outcomes would bias every estimate.
    fn hear_news(&mut self, name: &str, case: &Case, known: Part) -> Result<bool, Refusal> {
        let waits = (self.state.experiment(name)?.checked.declaration)
            .ttl_seconds
            .is_some();
        match self.outcome(name, case, &known, false)? {
            Some(outcome) if !waits => {
                let key = self.state.experiment(name)?.key;
                self.heard.insert(case.number, Heard::from(&outcome));
                self.write(key, Some(case.number), None, Event::Outcome(outcome));
                *self.outcomes.entry(key).or_default() += 1;
                Ok(true)
            }
            _ => {
                let key = self.state.experiment(name)?.key;
                self.write(key, Some(case.number), None, Event::Part(known.clone()));
                let heard = Heard {
                    part: known,
                    complete: None,
                };
                self.heard.insert(case.number, heard);
                Ok(false)
            }
        }
    }

    /// The outcome of a decision from what is known of it, checked; `None` if something is missing.
    fn outcome(
        &mut self,
        name: &str,
        case: &Case,
        known: &Part,
        by_default: bool,
    ) -> Result<Option<OutcomeEvent>, Refusal> {
        let experiment = self.state.experiment(name)?;
        let costs: Option<Vec<f64>> = known.costs.iter().copied().collect();
        let (Some(reward), Some(costs)) = (known.reward, costs) else {
            return Ok(None);
        };
        let event = &case.event;
        let action = match event.shadow {
            false => event.action,
            true => known.taken.ok_or_else(|| {
                let allowed = "in shadow mode an outcome needs the action that was taken";
                Refusal::invalid("taken", "absent", allowed)
            })?,
        };
        let before = self.outcomes.get(&experiment.key).copied().unwrap_or(0);
        let features = match action == event.action {
            true => event.features.clone(),
            false => experiment.features(action, &event.context, &event.candidates),
        };
        experiment.check_outcome(&features, reward, &costs, before)?;
        Ok(Some(OutcomeEvent {
            action,
            features,
            reward,
            costs,
            by_default,
        }))
    }

    /// Learns the outcomes of decisions whose time is over, in the order of decisions.
    pub(super) fn expire_all(&mut self, overdue: Overdue) -> Result<Answer, Refusal> {
        let experiment = (self.state.by_key(overdue.experiment))
            .ok_or_else(|| Refusal::unknown("experiment", overdue.experiment.to_string()))?;
        let name = experiment.facts.experiment.clone();
        let keys: Vec<(u64, Key)> = (overdue.decisions.iter())
            .map(|&number| (overdue.experiment, Key::Number(number)))
            .collect();
        let found = self.store.find(&keys).map_err(Refusal::unavailable)?;
        for found in found.into_iter().flatten() {
            self.expire(&name, found)?;
        }
        // Only where nothing is left to be written: what is not durable yet has to be found again.
        if overdue.decisions.is_empty()
            && let Some(experiment) = self.state.by_key(overdue.experiment)
        {
            experiment.settled = experiment.settled.max(overdue.settled);
        }
        Ok(Answer::Expired(overdue.decisions.len() as u64))
    }

    /// Learns the outcome of a decision whose time is over, filled up with the default one; without that,
    /// an outcome that is not whole by now is missing.
    fn expire(&mut self, name: &str, found: Found) -> Result<(), Refusal> {
        let Event::Decision(event) = super::decode(&found.decision)? else {
            return Ok(());
        };
        let case = Case {
            number: found.decision.number,
            id: found.decision.id.clone(),
            time: found.decision.time,
            event,
            heard: hear(&found.reports)?,
        };
        let learned = |heard: &Heard| heard.complete.is_some();
        if learned(&case.heard) || self.heard.get(&case.number).is_some_and(learned) {
            return Ok(());
        }
        let experiment = self.state.experiment(name)?;
        let key = experiment.key;
        let default = experiment.checked.declaration.default_outcome.clone();
        let default = default.as_ref();
        let mut part = case.heard.part.clone();
        part.taken = part.taken.or(case.event.taken);
        let guardrails = &experiment.facts.guardrails;
        part.costs.resize(guardrails.len(), None);
        let is_whole = part.reward.is_some() && part.costs.iter().all(Option::is_some);
        part.reward = part.reward.or(default.map(|d| d.reward));
        for (cost, guardrail) in part.costs.iter_mut().zip(guardrails) {
            *cost = cost.or_else(|| default.and_then(|d| d.costs.get(guardrail).copied()));
        }
        let known = !case.event.shadow || part.taken.is_some();
        // A horizon that is used up refuses outcomes: such a decision lapses.
        let outcome = match known {
            true => self.outcome(name, &case, &part, !is_whole),
            false => Ok(None),
        };
        let event = match outcome {
            Ok(Some(outcome)) => {
                *self.outcomes.entry(key).or_default() += 1;
                Event::Matured {
                    safe_probability: self.policy_of(&case.event)?.safe_share(),
                    outcome,
                }
            }
            Ok(None) if !case.event.shadow => Event::Missing {
                action: case.event.action,
                policy: self.policy_of(&case.event)?.policy.clone(),
            },
            _ => Event::Lapsed,
        };
        let settled = Heard {
            complete: Some(true),
            ..Heard::default()
        };
        self.heard.insert(case.number, settled);
        self.write(key, Some(case.number), None, event);
        Ok(())
    }
}

/// What a report says, checked number by number.
fn part(experiment: &Experiment, report: &OutcomeReport) -> Result<Part, Refusal> {
    let problem = &experiment.checked.standard;
    if let Some(reward) = report.reward {
        (problem.reward.check_value("reward", reward))
            .map_err(|e| Refusal::of(e, str::to_string))?;
    }
    check_cost_names("costs", &report.costs, problem)?;
    let mut costs = Vec::with_capacity(problem.guardrails.len());
    for guardrail in &problem.guardrails {
        let cost = report.costs.get(&guardrail.name).copied().flatten();
        if let Some(cost) = cost {
            let field = format!("costs.{}", guardrail.name);
            (guardrail.signal.check_value(&field, cost))
                .map_err(|e| Refusal::of(e, str::to_string))?;
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
    Ok(Part {
        reward: report.reward,
        costs,
        taken: None,
    })
}

/// What is known after a report; the contradiction if there is one.
fn merge(guardrails: &[String], known: &Part, news: &Part) -> Result<Part, String> {
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
        costs.push(both(&guardrails[i], own, cost)?);
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

/// Costs by guardrail, as answers show them.
pub fn named_costs(guardrails: &[String], costs: &[Option<f64>]) -> BTreeMap<String, Option<f64>> {
    let known = |i: usize| costs.get(i).copied().flatten();
    let named = guardrails.iter().enumerate();
    named.map(|(i, name)| (name.clone(), known(i))).collect()
}
