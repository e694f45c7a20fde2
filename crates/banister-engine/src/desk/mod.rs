//! The desk: takes requests against the state as folded, and writes the events that follow.
//!
//! Nothing here changes the state: events are folded after they are durable, so a decision never
//! rests on an outcome that is not in the log.

mod admin;
mod decide;
mod report;

pub use admin::MOST_IMPORTED;
pub use report::named_costs;

use std::collections::HashMap;
use std::sync::Arc;

use rand_chacha::ChaCha12Rng;

use crate::event::{DecisionEvent, Event, OutcomeEvent, Part, Record};
use crate::published::Published;
use crate::refusal::Refusal;
use crate::request::{Answer, Request};
use crate::state::{OpenDecision, State};
use crate::store::{Found, Key, Store};
use crate::time::Timestamp;

/// A desk for the requests of one commit.
pub(crate) struct Desk<'a> {
    pub(crate) state: &'a mut State,
    store: &'a mut dyn Store,
    rng: &'a mut ChaCha12Rng,
    time: Timestamp,
    /// The events so far.
    pub(crate) records: Vec<Record>,
    pub(crate) events: Vec<Event>,
    /// What the store says about decisions that are not at hand.
    found: HashMap<(u64, Key), Option<Found>>,
    /// Policies that this commit publishes, by experiment.
    policies: HashMap<u64, (u64, Arc<Published>)>,
    /// Decisions of this commit, by id and by number.
    ids: HashMap<(u64, String), u64>,
    decisions: HashMap<u64, OpenDecision>,
    /// What this commit has heard about outcomes, by decision.
    heard: HashMap<u64, Heard>,
    /// Outcomes of this commit, by experiment.
    outcomes: HashMap<u64, u64>,
}

/// What became of a request.
pub(crate) enum Taken {
    /// Its answer, once the events are durable.
    Answer(Answer),
    /// The experiment as it is once the events are folded.
    View(u64),
}

/// What is known of a decision's outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heard {
    /// As far as it is known.
    pub part: Part,
    /// Whether it is complete, and if so whether by default.
    pub complete: Option<bool>,
}

/// A decision with what it takes to report on it.
struct Case {
    number: u64,
    id: Option<String>,
    time: Timestamp,
    event: Arc<DecisionEvent>,
    heard: Heard,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(
        state: &'a mut State,
        store: &'a mut dyn Store,
        rng: &'a mut ChaCha12Rng,
        now: Timestamp,
    ) -> Self {
        Self {
            // Clocks may be set back; the log's times never go back.
            time: now.max(state.time),
            state,
            store,
            rng,
            records: Vec::new(),
            events: Vec::new(),
            found: HashMap::new(),
            policies: HashMap::new(),
            ids: HashMap::new(),
            decisions: HashMap::new(),
            heard: HashMap::new(),
            outcomes: HashMap::new(),
        }
    }

    /// Looks up, at once, all decisions that the requests name and that are not at hand.
    pub(crate) fn look_up<'r>(
        &mut self,
        requests: impl Iterator<Item = &'r Request>,
    ) -> Result<(), Refusal> {
        let mut keys = Vec::new();
        for request in requests {
            let (name, id) = match request {
                Request::Decide(name, request) => (name, request.id.as_deref()),
                Request::Report(name, report) => (name, Some(report.decision.as_str())),
                _ => continue,
            };
            let Some(id) = id else { continue };
            let Ok(experiment) = self.state.experiment(name) else {
                continue;
            };
            let experiment = experiment.key;
            let key = Key::parse(id);
            let at_hand = match &key {
                Key::Number(number) => self.state.open().get(*number).is_some(),
                Key::Id(id) => self.state.open().number(experiment, id).is_some(),
            };
            if !at_hand {
                keys.push((experiment, key));
            }
        }
        if keys.is_empty() {
            return Ok(());
        }
        let found = self.store.find(&keys).map_err(Refusal::unavailable)?;
        self.found.extend(keys.into_iter().zip(found));
        Ok(())
    }

    /// Takes one request.
    pub(crate) fn take(&mut self, request: Request) -> Result<Taken, Refusal> {
        match request {
            Request::Decide(name, request) => self.decide(&name, *request).map(Taken::Answer),
            Request::Report(name, report) => self.report(&name, &report).map(Taken::Answer),
            Request::Expire(overdue) => self.expire_all(overdue).map(Taken::Answer),
            Request::Create(declaration) => self.create(*declaration),
            Request::Change(name, change) => self.change(&name, *change),
            Request::AddArm(name, arm) => self.add_arm(&name, arm),
            Request::RetireArm(name, arm) => self.retire_arm(&name, &arm),
            Request::Import(name, import) => self.import(&name, import),
            Request::Acknowledge(name, note) => self.acknowledge(&name, note),
            Request::RecordAlarms => Ok(self.record_alarms()),
            read => crate::view::read(self.state, read).map(Taken::Answer),
        }
    }

    /// The number of the next event.
    fn next(&self) -> u64 {
        self.state.number + 1 + self.records.len() as u64
    }

    /// Writes an event down, and says its number.
    fn write(
        &mut self,
        experiment: u64,
        decision: Option<u64>,
        id: Option<String>,
        event: Event,
    ) -> u64 {
        let number = self.next();
        self.records.push(Record {
            number,
            time: self.time,
            experiment,
            kind: event.kind(),
            decision,
            id,
            body: event.encode(),
        });
        self.events.push(event);
        number
    }

    /// A decision by what its caller calls it: of this commit, at hand, or from the store.
    fn case(&mut self, experiment: u64, key: &Key) -> Result<Option<Case>, Refusal> {
        let number = match key {
            Key::Number(number) => Some(*number),
            Key::Id(id) => (self.ids.get(&(experiment, id.clone())).copied())
                .or_else(|| self.state.open().number(experiment, id)),
        };
        if let Some(number) = number {
            let open = self.decisions.get(&number);
            if let Some(open) = open.or_else(|| self.state.open().get(number)) {
                return Ok((open.experiment == experiment).then(|| Case {
                    number,
                    id: open.id.clone(),
                    time: open.time,
                    event: open.event.clone(),
                    heard: self.heard.get(&number).cloned().unwrap_or_default(),
                }));
            }
        }
        let Some(Some(found)) = self.found.get(&(experiment, key.clone())) else {
            return Ok(None);
        };
        let number = found.decision.number;
        let Event::Decision(event) = decode(&found.decision)? else {
            return Ok(None);
        };
        let heard = match self.heard.get(&number) {
            Some(heard) => heard.clone(),
            None => hear(&found.reports)?,
        };
        Ok(Some(Case {
            number,
            id: found.decision.id.clone(),
            time: found.decision.time,
            event,
            heard,
        }))
    }
}

fn decode(record: &Record) -> Result<Event, Refusal> {
    Event::decode(&record.body)
        .map_err(|e| Refusal::unavailable(format!("event {} is damaged: {e}", record.number)))
}

/// What the reports on a decision amount to.
pub fn hear(reports: &[Record]) -> Result<Heard, Refusal> {
    let mut heard = Heard::default();
    for record in reports {
        match decode(record)? {
            Event::Part(part) => heard.part = part,
            Event::Outcome(outcome) | Event::Matured { outcome, .. } => {
                heard = Heard::from(&outcome);
            }
            Event::Lapsed | Event::Missing { .. } => heard.complete = Some(true),
            _ => {}
        }
    }
    Ok(heard)
}

impl From<&OutcomeEvent> for Heard {
    fn from(outcome: &OutcomeEvent) -> Self {
        Self {
            part: Part {
                reward: Some(outcome.reward),
                costs: outcome.costs.iter().copied().map(Some).collect(),
                taken: Some(outcome.action),
            },
            complete: Some(outcome.by_default),
        }
    }
}
