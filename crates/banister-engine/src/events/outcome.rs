//! Outcomes as the log keeps them: in parts, complete, and as far as reports have come.

use std::collections::BTreeMap;
use std::sync::Arc;

use banister::{Choice, Claim, Origin, Outcome};
use serde::{Deserialize, Serialize};

use super::{Author, DecisionEvent, Event, Record, digest_of};
use crate::refusal::Refusal;

/// A part of an outcome, or what is known of one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Part {
    /// The reward, if known.
    pub reward: Option<f64>,
    /// The costs, one place per guardrail.
    pub costs: Vec<Option<f64>>,
    /// In shadow mode: the action that the caller took, if known.
    pub taken: Option<u32>,
}

/// A complete outcome, with all that learning from it takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutcomeEvent {
    /// The arm, or the candidate's index.
    pub action: u32,
    /// Numbers of the context, or of the candidate; empty for arms.
    pub features: Vec<f64>,
    pub reward: f64,
    pub costs: Vec<f64>,
    /// True if the time to live was over and (some of) it is the declared default.
    pub by_default: bool,
    /// Segment of its decision, where decisions have one.
    pub segment: Option<Arc<str>>,
    /// Time of its decision ([`crate::DecisionEvent::time`]).
    pub time: Option<f64>,
    /// Claims of its decision, if it made any.
    pub claims: Vec<Claim>,
    /// True if it teaches nothing ([`crate::DecisionEvent::returns`]).
    pub returns: bool,
}

impl OutcomeEvent {
    /// The outcome as agents observe it; `choice` says how an action with these features was offered.
    pub(crate) fn observed<'a>(
        &'a self,
        choice: impl Fn(&'a [f64]) -> Choice<'a>,
        origin: Origin,
    ) -> Outcome<'a> {
        Outcome {
            action: self.action as usize,
            choice: choice(&self.features),
            segment: self.segment.as_deref(),
            reward: self.reward,
            costs: &self.costs,
            origin,
            time: self.time,
            claims: (!self.claims.is_empty()).then_some(&self.claims),
        }
    }
}

/// Settlement of a reservation, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Index of the guardrail.
    pub guardrail: u32,
    /// The reservation that ends.
    pub reserved: i128,
    /// The true cost.
    pub cost: i128,
}

/// Outcome of a decision as far as its reports go.
#[derive(Debug, Clone, Default)]
pub struct OutcomeSoFar {
    pub part: Part,
    /// `Some` once it is complete; true if by default, because the time to live was over.
    pub complete: Option<bool>,
    /// True if somebody said that the decision was never carried out.
    pub is_cancelled: bool,
    /// True of a complete outcome that teaches nothing, since its unit was learned before.
    pub returns: bool,
    /// Of a unit: digests of its reports' ids, and of what they said.
    pub reports: Arc<Vec<(u64, u64)>>,
    /// Of a unit: how many of them brought the reward and each cost.
    pub counts: Vec<u32>,
    /// Of a unit that was moved: the number of the event, and its decision since.
    pub moved: Option<(u64, Arc<DecisionEvent>)>,
}

impl OutcomeSoFar {
    /// Adds a unit's report to those before.
    fn add(&mut self, part: &Part, report: u64) {
        let width = 1 + part.costs.len();
        self.counts.resize(width.max(self.counts.len()), 0);
        self.part.costs.resize(part.costs.len(), None);
        let known = std::iter::once(&mut self.part.reward).chain(&mut self.part.costs);
        let brought = std::iter::once(&part.reward).chain(&part.costs);
        for ((known, brought), count) in known.zip(brought).zip(&mut self.counts) {
            if let Some(x) = brought {
                *known = Some(known.unwrap_or(0.0) + x);
                *count += 1;
            }
        }
        Arc::make_mut(&mut self.reports).push((report, digest_of(part)));
    }

    /// Takes up an event on its decision, by its number and author.
    pub(crate) fn take(&mut self, number: u64, author: &Author, event: &Event) {
        match event {
            Event::Part(part) => self.part = part.clone(),
            Event::Added { part, report, .. } => self.add(part, *report),
            Event::Moved { decision, .. } => {
                self.complete = Some(true);
                self.moved = Some((number, decision.clone()));
            }
            Event::Outcome(outcome) | Event::Matured(outcome) => {
                let reports = std::mem::take(&mut self.reports);
                *self = Self {
                    reports,
                    ..Self::from(outcome)
                };
            }
            Event::Lapsed | Event::Missing { .. } => {
                self.complete = Some(true);
                // The engine itself settles what is over.
                self.is_cancelled = author.name() != Author::ENGINE;
            }
            _ => {}
        }
    }

    /// The mean of a unit's reports, signal by signal.
    pub fn mean(&self) -> Part {
        let of = |place: usize, sum: Option<f64>| {
            let count = self.counts.get(place).copied().unwrap_or(0).max(1);
            sum.map(|sum| sum / f64::from(count))
        };
        let costs = self.part.costs.iter().enumerate();
        Part {
            reward: of(0, self.part.reward),
            costs: costs.map(|(i, &sum)| of(i + 1, sum)).collect(),
            taken: self.part.taken,
        }
    }
}

impl From<&OutcomeEvent> for OutcomeSoFar {
    fn from(outcome: &OutcomeEvent) -> Self {
        Self {
            part: Part {
                reward: Some(outcome.reward),
                costs: outcome.costs.iter().copied().map(Some).collect(),
                taken: Some(outcome.action),
            },
            complete: Some(outcome.by_default),
            returns: outcome.returns,
            ..Self::default()
        }
    }
}

/// Replays the reports on a decision, in the log's order.
pub fn replay_reports(reports: &[Record]) -> Result<OutcomeSoFar, Refusal> {
    let mut so_far = OutcomeSoFar::default();
    for record in reports {
        let (author, event) = record.read()?;
        so_far.take(record.number, &author, &event);
    }
    Ok(so_far)
}

/// Costs by their names, as answers show them.
pub fn named_costs(names: &[String], costs: &[Option<f64>]) -> BTreeMap<String, Option<f64>> {
    let known = |i: usize| costs.get(i).copied().flatten();
    let named = names.iter().enumerate();
    named.map(|(i, name)| (name.clone(), known(i))).collect()
}
