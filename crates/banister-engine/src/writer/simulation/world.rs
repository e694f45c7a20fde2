//! Processes, callers, an operator, and the scheduler that lets one of them act at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};

use super::super::expiry::overdue;
use super::super::job::{CommandJob, Job, QueryJob};
use super::super::{Engine, Monitor, Options};
use super::database::{Bug, Process, Shared};
use super::ledger::{Ledger, check, number_of};
use crate::commands::{
    AcknowledgeAlarms, AddArm, ChangeExperiment, CreateExperiment, Decide, Decided,
    DecisionRequest, Expire, OutcomeReport, Report, Reported,
};
use crate::events::Author;
use crate::queries::{ExperimentView, ReadExperiment, ReadTtls, Ttls};
use crate::refusal::Refusal;
use crate::state::{Declaration, State};
use crate::store::{Snapshot, Store};

/// Steps of a world before everything is mended.
const STEPS: [usize; 3] = [60, 120, 300];
const DAY: f64 = 86_400.0;

/// A request as it goes over the network: it may come twice, late, out of order or never.
#[derive(Debug, Clone)]
enum Request {
    Create(Declaration),
    Decide(Vec<DecisionRequest>),
    Report(Vec<OutcomeReport>),
    Change(Value),
    AddArm(String),
    Acknowledge,
    View,
    Ttls,
    Expire(Expire),
}

#[derive(Debug, Clone)]
struct Message {
    /// Place of the experiment.
    experiment: usize,
    request: Request,
    process: usize,
    due: Duration,
}

enum Answer {
    Decided(Vec<Result<Decided, Refusal>>),
    Reported(Vec<Result<Reported, Refusal>>),
    Changed(Vec<Result<ExperimentView, Refusal>>),
    View(Result<ExperimentView, Refusal>),
    Ttls(Result<Ttls, Refusal>),
    Expired(Vec<Result<(), Refusal>>),
}

/// A moment at which an answer left a process.
#[derive(Clone, Copy)]
pub struct Moment {
    /// Events in the log when the process began to serve the request.
    pub began: u64,
    /// Events in the log.
    pub last: u64,
    /// True time.
    pub time: Duration,
}

/// Answers that left a process, by the message's place among those served.
type Mailbox = Arc<Mutex<Vec<(usize, Moment, Answer)>>>;

/// An experiment as callers know it.
struct Plan {
    name: Arc<str>,
    declaration: Declaration,
    is_declared: bool,
    /// True if its outcomes break the guardrail.
    is_harmful: bool,
    /// Decisions on which contradictory things were said.
    contradicted: BTreeSet<String>,
    /// Ids under which different things were asked.
    contested: BTreeSet<String>,
    is_archived: bool,
}

#[derive(Default)]
struct Running {
    engine: Option<Engine>,
    /// True if the operator accepted the clock, which was right and has not moved since.
    is_accepted: bool,
}

/// Numbers of a world, or of many.
#[derive(Debug, Default, Clone)]
pub struct Numbers {
    pub events: u64,
    pub commits: u64,
    pub answers: u64,
    pub refusals: u64,
    pub restarts: u64,
    pub clock_sets: u64,
    pub alarms: u64,
    /// Decisions for another action than the safe one.
    pub explored: u64,
    pub expired: u64,
    pub faults: BTreeMap<&'static str, u64>,
}

struct Quiet;

impl Monitor for Quiet {
    fn committed(&self, _: usize, _: f64) {}
    fn follows(&self, _: u64, _: u64) {}
    fn clock(&self, _: f64) {}
    fn outage(&self, _: Option<&str>) {}
}

/// What may go wrong in a world.
struct Temper {
    rate: f64,
    kills: bool,
    clocks: bool,
    networks: bool,
    snapshots: bool,
    snapshot_every: u64,
}

pub struct World {
    rng: ChaCha12Rng,
    server: Shared,
    processes: Vec<Running>,
    plans: Vec<Plan>,
    inbox: Vec<Message>,
    mailbox: Mailbox,
    /// Requests for decisions that were sent, to be sent again.
    sent: Vec<Message>,
    ledger: Ledger,
    temper: Temper,
    is_over: bool,
    next_id: u64,
    numbers: Numbers,
}

/// Lives through a world; an error says what was not as it has to be.
pub fn run(seed: u64, bug: Option<Bug>, traced: bool) -> (Result<Numbers, String>, Vec<String>) {
    let mut world = World::new(seed, bug, traced);
    let lived = world.live();
    let mut server = world.server.lock();
    let mut numbers = world.numbers.clone();
    numbers.events = server.records.len() as u64;
    numbers.commits = server.commits;
    numbers.faults = server.faults.clone();
    (
        lived.map(|()| numbers),
        server.trace.take().unwrap_or_default(),
    )
}

impl World {
    fn new(seed: u64, bug: Option<Bug>, traced: bool) -> Self {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let count = *[1, 2, 2, 3].choose(&mut rng).unwrap_or(&1);
        let temper = Temper {
            rate: *[0.0, 0.01, 0.03, 0.1].choose(&mut rng).unwrap_or(&0.0),
            kills: rng.random(),
            clocks: rng.random_bool(0.4),
            networks: rng.random(),
            snapshots: rng.random(),
            snapshot_every: *[1, 5, 30, 20_000].choose(&mut rng).unwrap_or(&1),
        };
        let server = Shared::new(rng.random(), count, bug, traced);
        let plans = (0..rng.random_range(1..4))
            .map(|i| plan(i, &mut rng))
            .collect();
        Self {
            server,
            processes: (0..count).map(|_| Running::default()).collect(),
            plans,
            inbox: Vec::new(),
            mailbox: Mailbox::default(),
            sent: Vec::new(),
            ledger: Ledger::default(),
            temper,
            is_over: false,
            next_id: 0,
            numbers: Numbers::default(),
            rng,
        }
    }

    fn live(&mut self) -> Result<(), String> {
        for process in 0..self.processes.len() {
            self.start(process, false)?;
        }
        {
            let mut server = self.server.lock();
            server.rate = self.temper.rate;
            server.may_kill = self.temper.kills;
        }
        let steps = *STEPS.choose(&mut self.rng).unwrap_or(&1);
        for step in 0..steps {
            self.step()?;
            if step % 50 == 49 {
                let fold = self.ledger.audit(&self.server.lock())?;
                self.compare_running(&fold)?;
            }
        }
        self.finish()
    }

    fn step(&mut self) -> Result<(), String> {
        let process = self.rng.random_range(0..self.processes.len());
        match self.rng.random_range(0..100) {
            0..30 => self.ask(),
            30..68 => drop(self.deliver(process)?),
            68..76 => self.catch_up(process)?,
            76..84 => self.send(0, Request::Ttls),
            84..91 => {
                let most = *[0.1, 2.0, 20.0, 200.0]
                    .choose(&mut self.rng)
                    .unwrap_or(&1.0);
                let time = self.rng.random_range(0.0..most);
                self.server.lock().pass(Duration::from_secs_f64(time));
            }
            _ => self.disturb(process)?,
        }
        Ok(())
    }

    /// A caller asks for something.
    fn ask(&mut self) {
        let place = self.rng.random_range(0..self.plans.len());
        if !self.plans[place].is_declared {
            self.plans[place].is_declared = true;
            let declaration = self.plans[place].declaration.clone();
            return self.send(place, Request::Create(declaration));
        }
        match self.rng.random_range(0..100) {
            0..65 => {
                let named = self.rng.random_bool(0.8);
                let count = *[1, 1, 2, 4].choose(&mut self.rng).unwrap_or(&1);
                let requests = (0..count).map(|_| self.decision(place, named)).collect();
                self.send(place, Request::Decide(requests));
                if named {
                    let last = self.inbox.last().cloned();
                    self.sent.extend(last);
                }
            }
            65..75 => {
                let again = self.sent.choose(&mut self.rng).cloned();
                if let Some(Message {
                    experiment,
                    request,
                    ..
                }) = again
                {
                    self.send(experiment, request);
                }
            }
            75..78 => self.contest(),
            78..84 => self.send(place, Request::View),
            84..87 => {
                let name = format!("arm{}", self.next_id);
                self.next_id += 1;
                self.send(place, Request::AddArm(name));
            }
            87..89 => self.send(place, Request::Acknowledge),
            _ => self.change(place),
        }
    }

    fn change(&mut self, place: usize) {
        let has_ttl = self.plans[place].declaration.ttl_seconds.is_some();
        let ttl = self.rng.random_range(1.0..300.0_f64).round();
        let change = match self.rng.random_range(0..20) {
            0..6 => json!({"status": "paused"}),
            6..12 => json!({"status": "running"}),
            12..15 => json!({"shadow": self.rng.random_bool(0.4)}),
            15..18 if has_ttl => json!({"ttl_seconds": ttl}),
            18 => {
                self.plans[place].is_archived = true;
                json!({"status": "archived"})
            }
            _ => json!({"description": format!("since {}", self.next_id)}),
        };
        self.send(place, Request::Change(change));
    }

    /// A request under an id that belongs to another one.
    fn contest(&mut self) {
        let Some(message) = self.sent.choose(&mut self.rng).cloned() else {
            return;
        };
        let Request::Decide(mut requests) = message.request else {
            return;
        };
        for request in &mut requests {
            request.taken = Some("old".into());
            let contested = &mut self.plans[message.experiment].contested;
            contested.extend(request.id.clone());
        }
        self.send(message.experiment, Request::Decide(requests));
    }

    fn decision(&mut self, place: usize, named: bool) -> DecisionRequest {
        let id = format!("d{}", self.next_id);
        self.next_id += 1;
        let dimension = self.plans[place].declaration.dimension;
        let mut feature = || self.rng.random_range(-5..=5) as f64 / 10.0;
        let actions = dimension.map(|d| {
            let action = |_| json!((0..d).map(|_| feature()).collect::<Vec<f64>>());
            json!((0..2).map(action).collect::<Vec<Value>>())
        });
        let actions = actions.and_then(|actions| serde_json::from_value(actions).ok());
        if !named {
            let name = self.plans[place].name.to_string();
            *self.ledger.anonymous.entry(name).or_default() += 1;
        } else if self.rng.random_bool(0.1) {
            // Said before it is known that there is a decision.
            self.report(place, &id);
        }
        DecisionRequest {
            id: named.then_some(id),
            actions,
            ..DecisionRequest::default()
        }
    }

    /// Reports on a decision: whole or in parts, twice, contradictory, or never.
    fn report(&mut self, place: usize, id: &str) {
        // Whoever reports on it says the same, but for the contradictions.
        let truth = crate::events::digest(id.as_bytes());
        let reward = Some((truth % 5) as f64 / 4.0);
        let harm = if self.plans[place].is_harmful { 7 } else { 1 };
        let cost = Some(f64::from(u8::from(truth % 10 < harm)));
        let other = || reward.map(|x| 1.0 - x * 0.9);
        let parts = match self.rng.random_range(0..10) {
            0..4 => vec![(reward, cost)],
            4 => vec![(reward, cost), (reward, cost)],
            5..7 => vec![(reward, None), (None, cost)],
            7 => vec![(None, cost), (reward, cost)],
            8 => {
                self.plans[place].contradicted.insert(id.into());
                vec![(reward, None), (other(), cost), (reward, cost)]
            }
            _ => Vec::new(),
        };
        let taken = self.rng.random_bool(0.1).then(|| "old".to_string());
        let reports = parts.into_iter().map(|(reward, cost)| OutcomeReport {
            decision: id.into(),
            reward,
            costs: [("errors".to_string(), cost)].into(),
            taken: taken.clone(),
        });
        let reports: Vec<OutcomeReport> = reports.collect();
        if self.rng.random_bool(0.3) {
            self.send(place, Request::Report(reports));
        } else {
            for report in reports {
                self.send(place, Request::Report(vec![report]));
            }
        }
    }

    fn send(&mut self, experiment: usize, request: Request) {
        let delay = *[0.0, 0.1, 2.0, 40.0].choose(&mut self.rng).unwrap_or(&0.0);
        let delay = self.rng.random_range(0.0..=delay);
        let message = Message {
            experiment,
            request,
            process: self.rng.random_range(0..self.processes.len()),
            due: self.server.lock().time + Duration::from_secs_f64(delay),
        };
        if self.temper.networks && !self.is_over && self.rng.random_bool(0.1) {
            self.server.lock().fault("message twice");
            if let Request::Decide(requests) = &message.request
                && requests.iter().any(|request| request.id.is_none())
            {
                let name = self.plans[experiment].name.to_string();
                *self.ledger.anonymous.entry(name).or_default() += requests.len() as u64;
            }
            let process = self.rng.random_range(0..self.processes.len());
            self.inbox.push(Message {
                process,
                ..message.clone()
            });
        }
        self.inbox.push(message);
    }

    /// A process serves some of the messages that have come, in any order; returns false if there are none.
    fn deliver(&mut self, process: usize) -> Result<bool, String> {
        if self.processes[process].engine.is_none() {
            return Ok(false);
        }
        let now = self.server.lock().time;
        let mut waiting = Vec::new();
        let most = self.rng.random_range(1..8);
        while waiting.len() < most {
            let due: Vec<usize> = (self.inbox.iter().enumerate())
                .filter(|(_, m)| m.process == process && m.due <= now)
                .map(|(place, _)| place)
                .collect();
            let Some(place) = due.choose(&mut self.rng) else {
                break;
            };
            waiting.push(self.inbox.swap_remove(*place));
        }
        if waiting.is_empty() {
            return Ok(false);
        }
        let jobs = waiting.iter().enumerate();
        let jobs = jobs
            .map(|(number, message)| self.job(number, message))
            .collect();
        self.server.note(|| {
            let shown: Vec<_> = waiting.iter().map(|m| (m.experiment, &m.request)).collect();
            format!("process {process} serves {shown:?}")
        });
        self.act(process, |engine| engine.serve(jobs))?;
        let answers = std::mem::take(&mut *self.mailbox.lock().unwrap_or_else(|e| e.into_inner()));
        let mut answered = BTreeSet::new();
        for (number, moment, answer) in answers {
            let message = waiting[number].clone();
            let again = self.take(message, moment, answer)?;
            let is_lost = self.temper.networks && !self.is_over && self.rng.random_bool(0.1);
            if is_lost {
                self.server.lock().fault("answer lost");
            } else if !again {
                answered.insert(number);
            }
        }
        for (number, message) in waiting.into_iter().enumerate() {
            if !answered.contains(&number) {
                self.retry(message);
            }
        }
        Ok(true)
    }

    /// A caller who got no answer, or none that helps, asks again; but not where that could be a second
    /// decision.
    fn retry(&mut self, message: Message) {
        let is_repeatable = match &message.request {
            Request::Decide(requests) => requests.iter().all(|request| request.id.is_some()),
            Request::View | Request::Ttls | Request::Expire(_) => false,
            _ => true,
        };
        if is_repeatable {
            self.send(message.experiment, message.request);
            // Not at once.
            let wait = Duration::from_secs_f64(self.rng.random_range(0.1..5.0));
            self.inbox
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|m| m.due += wait);
        }
    }

    fn job(&self, number: usize, message: &Message) -> Box<dyn Job> {
        let name = self.plans[message.experiment].name.clone();
        let author = Author::new(Some("caller".into()));
        let post = Post {
            number,
            began: self.server.lock().records.len() as u64,
            process: message.process,
            server: self.server.clone(),
            mailbox: self.mailbox.clone(),
        };
        match message.request.clone() {
            Request::Create(declaration) => {
                let commands = vec![CreateExperiment(declaration)];
                Box::new(CommandJob::new(
                    author,
                    commands,
                    post.through(Answer::Changed),
                ))
            }
            Request::Decide(requests) => {
                let decide = |request| Decide {
                    experiment: name.clone(),
                    request,
                };
                let commands = requests.into_iter().map(decide).collect();
                Box::new(CommandJob::new(
                    author,
                    commands,
                    post.through(Answer::Decided),
                ))
            }
            Request::Report(reports) => {
                let report = |report| Report {
                    experiment: name.clone(),
                    report,
                };
                let commands = reports.into_iter().map(report).collect();
                Box::new(CommandJob::new(
                    author,
                    commands,
                    post.through(Answer::Reported),
                ))
            }
            Request::Change(change) => {
                let commands = vec![ChangeExperiment {
                    experiment: name,
                    change: serde_json::from_value(change).unwrap_or_default(),
                }];
                Box::new(CommandJob::new(
                    author,
                    commands,
                    post.through(Answer::Changed),
                ))
            }
            Request::AddArm(arm) => {
                let arm = serde_json::from_value(json!({ "name": arm })).expect("an arm");
                let commands = vec![AddArm {
                    experiment: name,
                    arm,
                }];
                Box::new(CommandJob::new(
                    author,
                    commands,
                    post.through(Answer::Changed),
                ))
            }
            Request::Acknowledge => {
                let commands = vec![AcknowledgeAlarms {
                    experiment: name,
                    note: String::new(),
                }];
                Box::new(CommandJob::new(
                    author,
                    commands,
                    post.through(Answer::Changed),
                ))
            }
            Request::Expire(expire) => {
                let author = Author::engine();
                Box::new(CommandJob::new(
                    author,
                    vec![expire],
                    post.through(Answer::Expired),
                ))
            }
            Request::View => Box::new(QueryJob::new(
                ReadExperiment(name),
                post.through(Answer::View),
            )),
            Request::Ttls => Box::new(QueryJob::new(ReadTtls, post.through(Answer::Ttls))),
        }
    }

    /// Takes an answer; returns true if the caller has to ask again.
    fn take(&mut self, message: Message, moment: Moment, answer: Answer) -> Result<bool, String> {
        let place = message.experiment;
        let name = self.plans[place].name.clone();
        let mut again = false;
        match answer {
            Answer::Decided(answers) => {
                let Request::Decide(requests) = message.request else {
                    return Err("another answer than was asked for".into());
                };
                for (request, answer) in requests.iter().zip(answers) {
                    match answer {
                        Ok(decided) => {
                            self.numbers.answers += 1;
                            let is_safe = decided.action == decided.published.safe;
                            self.numbers.explored += u64::from(!is_safe);
                            let (server, ledger) = (self.server.clone(), &mut self.ledger);
                            ledger.decided(&server.lock(), &name, &decided, moment.last)?;
                            if self.rng.random_bool(0.7) {
                                self.report(place, &decided.shown_id());
                            }
                        }
                        Err(refusal) => {
                            self.numbers.refusals += 1;
                            again |= self.judge(place, request.id.as_deref(), &refusal)?;
                        }
                    }
                }
            }
            Answer::Reported(answers) => {
                let Request::Report(reports) = message.request else {
                    return Err("another answer than was asked for".into());
                };
                for (report, answer) in reports.iter().zip(answers) {
                    match answer {
                        Ok(reported) => {
                            self.numbers.answers += 1;
                            let (server, ledger) = (self.server.clone(), &mut self.ledger);
                            ledger.reported(&server.lock(), &name, &reported)?;
                        }
                        Err(refusal) => {
                            self.numbers.refusals += 1;
                            again |=
                                self.judge_report(place, &report.decision, &refusal, moment)?;
                        }
                    }
                }
            }
            Answer::Changed(answers) => {
                for answer in answers {
                    match answer {
                        Ok(view) => self
                            .ledger
                            .viewed(&self.server.lock(), &view, moment.last)?,
                        Err(refusal) => again |= self.judge_change(&refusal)?,
                    }
                }
            }
            Answer::View(Ok(view)) => {
                self.ledger
                    .viewed(&self.server.lock(), &view, moment.last)?
            }
            Answer::Ttls(Ok(ttls)) => self.search(message.process, &ttls),
            Answer::Expired(answers) => self.numbers.expired += answers.len() as u64,
            Answer::View(Err(_)) | Answer::Ttls(Err(_)) => {}
        }
        Ok(again)
    }

    /// As the expiry thread does, beside the writer.
    fn search(&mut self, process: usize, ttls: &Ttls) {
        let Ok(mut reader) = self.server.connect(process) else {
            return;
        };
        for status in &ttls.experiments {
            if let Ok(Some(expire)) = overdue(&mut reader, ttls, status) {
                let due = self.server.lock().time;
                self.inbox.push(Message {
                    experiment: 0,
                    request: Request::Expire(expire),
                    process,
                    due,
                });
            }
        }
    }

    /// A refusal must have a reason; returns true if the caller has to ask again.
    fn judge(&self, place: usize, id: Option<&str>, refusal: &Refusal) -> Result<bool, String> {
        let plan = &self.plans[place];
        let is_contested = id.is_some_and(|id| plan.contested.contains(id));
        match refusal {
            Refusal::Unavailable { .. } => Ok(true),
            // The experiment may be created later than it is asked for.
            Refusal::Unknown { what, .. } if *what == "experiment" => Ok(true),
            Refusal::Conflict { .. } if is_contested || plan.is_archived => Ok(false),
            Refusal::Invalid { field, .. } if is_contested && field == "taken" => Ok(false),
            other => Err(format!(
                "a decision of `{}` was refused: {other}",
                plan.name
            )),
        }
    }

    fn judge_report(
        &self,
        place: usize,
        id: &str,
        refusal: &Refusal,
        moment: Moment,
    ) -> Result<bool, String> {
        let plan = &self.plans[place];
        let server = self.server.lock();
        match refusal {
            Refusal::Unavailable { .. } => Ok(true),
            Refusal::Unknown { what, .. } => {
                let known = number_of(&server, &plan.name, id).is_some_and(|n| n <= moment.began);
                check!(
                    !known || *what == "experiment",
                    "`{id}` is in the log and unknown"
                );
                Ok(false)
            }
            Refusal::Conflict { reason } => {
                if let Some((_, rest)) = reason.split_once("is over (") {
                    let ttl = rest.split(' ').next().and_then(|ttl| ttl.parse().ok());
                    self.ledger.refused_as_late(
                        &server,
                        &plan.name,
                        id,
                        ttl.unwrap_or(0.0),
                        moment.time,
                    )?;
                    return Ok(false);
                }
                let allowed = plan.is_archived
                    || plan.contradicted.contains(id)
                    || reason.contains("by default")
                    || reason.contains("before anybody said");
                check!(allowed, "a report on `{id}` was refused: {reason}");
                Ok(false)
            }
            // Shadow mode may have begun or ended in between.
            Refusal::Invalid { field, .. } if field == "taken" => Ok(false),
            other => Err(format!("a report on `{id}` was refused: {other}")),
        }
    }

    fn judge_change(&self, refusal: &Refusal) -> Result<bool, String> {
        match refusal {
            Refusal::Unavailable { .. } => Ok(true),
            Refusal::Unknown { what, .. } => Ok(*what == "experiment"),
            // It was archived, or done before and the answer lost.
            Refusal::Conflict { .. } => Ok(false),
            Refusal::Invalid { field, .. } if field == "name" => Ok(false),
            other => Err(format!("a change was refused: {other}")),
        }
    }

    /// Lets a process do something, and buries it if it dies.
    fn act(&mut self, process: usize, act: impl FnOnce(&mut Engine)) -> Result<(), String> {
        let running = &mut self.processes[process];
        let Some(engine) = &mut running.engine else {
            return Ok(());
        };
        act(engine);
        if let Some(reason) = &engine.outage {
            let never = [
                "defect",
                "cannot be read",
                "goes from",
                "is taken",
                "has an outcome",
            ];
            check!(
                !never.iter().any(|n| reason.contains(n)),
                "process {process}: {reason}"
            );
            check!(
                !(running.is_accepted && reason.contains("--accept-clock")),
                "process {process} was told to accept the clock: {reason}"
            );
        }
        if self.server.lock().dead[process] {
            running.engine = None;
        }
        Ok(())
    }

    fn catch_up(&mut self, process: usize) -> Result<(), String> {
        self.act(process, Engine::catch_up)?;
        let outage = self.processes[process]
            .engine
            .as_ref()
            .and_then(|e| e.outage.clone());
        let clock_is_right = self.server.lock().clock_error == 0.0;
        // The operator reads the reason, now and then.
        if outage.is_some_and(|reason| reason.contains("--accept-clock"))
            && self.rng.random_bool(if clock_is_right { 0.8 } else { 0.2 })
        {
            self.start(process, true)?;
        }
        Ok(())
    }

    /// Starts a process, or ends it and starts another in its place.
    fn start(&mut self, process: usize, accept_clock: bool) -> Result<(), String> {
        self.numbers.restarts += 1;
        self.server
            .note(|| format!("process {process} starts, accept_clock: {accept_clock}"));
        let outside = Process {
            server: self.server.clone(),
            number: process,
            up: Duration::from_secs(self.rng.random_range(0..1_000_000)),
            sets_known: Mutex::new(None),
        };
        let options = Options {
            snapshot_every: self.temper.snapshot_every,
            accept_clock,
            ..Options::default()
        };
        let mut server = self.server.lock();
        server.dead[process] = false;
        let is_accepted = accept_clock && server.clock_error == 0.0;
        drop(server);
        let rng = ChaCha12Rng::seed_from_u64(self.rng.random());
        self.processes[process] = Running {
            engine: Some(Engine::new(
                Box::new(outside),
                options,
                Box::new(Quiet),
                rng,
            )),
            is_accepted,
        };
        self.act(process, Engine::catch_up)
    }

    /// Something goes wrong outside of every operation, or is mended.
    fn disturb(&mut self, process: usize) -> Result<(), String> {
        if self.processes[process].engine.is_none() {
            return self.start(process, false);
        }
        let time = Duration::from_secs_f64(self.rng.random_range(0.0..10.0));
        if self.temper.clocks && self.rng.random_bool(0.4) {
            self.move_clock();
            return Ok(());
        }
        match self.rng.random_range(0..6) {
            0 if self.temper.kills => {
                self.server.lock().kill(process);
                self.processes[process].engine = None;
            }
            1 => {
                self.act(process, Engine::snapshot_all)?;
                self.start(process, false)?;
            }
            2 if self.temper.rate > 0.0 => self.server.lock().fill_disk(time),
            3 if self.temper.networks => {
                let mut server = self.server.lock();
                server.cut_off[process] = server.time + time;
                server.fault("cut off");
            }
            4 | 5 if self.temper.snapshots => self.spoil_snapshot(),
            _ => {}
        }
        Ok(())
    }

    fn move_clock(&mut self) {
        let jumps = [0.5, 30.0, 300.0, 3600.0, 30.0 * DAY, 3652.0 * DAY];
        let jump = *jumps.choose(&mut self.rng).unwrap_or(&0.5);
        let mut server = self.server.lock();
        server.clock_error = match self.rng.random_range(0..4) {
            0 => jump,
            1 => -jump,
            _ => 0.0,
        };
        server.fault("clock moved");
        let error = server.clock_error;
        server.note(|| format!("the clock is {error} s off"));
        self.ledger.jumps.push(server.time);
        self.processes
            .iter_mut()
            .for_each(|p| p.is_accepted = false);
    }

    fn spoil_snapshot(&mut self) {
        let mut server = self.server.lock();
        let keys: Vec<u64> = server.snapshots.keys().copied().collect();
        let Some(key) = keys.choose(&mut self.rng) else {
            return;
        };
        match self.rng.random_range(0..4) {
            0 => {
                server.fault("snapshots lost");
                server.snapshots.clear();
            }
            1 => {
                server.fault("a snapshot lost");
                server.snapshots.remove(key);
            }
            2 => {
                server.fault("snapshot damaged");
                if let Some(Snapshot { body, .. }) = server.snapshots.get_mut(key) {
                    let place = self.rng.random_range(0..body.len());
                    body[place] ^= 1 << self.rng.random_range(0..8);
                }
            }
            _ => {
                server.fault("older snapshot");
                let past = server
                    .past_snapshots
                    .iter()
                    .filter(|s| s.experiment == *key);
                let past: Vec<Snapshot> = past.cloned().collect();
                if let Some(older) = past.choose(&mut self.rng) {
                    server.snapshots.insert(*key, older.clone());
                }
            }
        }
    }

    /// Everything is mended: all become available, callers get their answers, times to live end, and all
    /// ways of folding the log agree.
    fn finish(&mut self) -> Result<(), String> {
        self.is_over = true;
        {
            let mut server = self.server.lock();
            server.mend();
            server.note(|| "everything is mended".into());
            if server.clock_error != 0.0 {
                server.clock_error = 0.0;
                self.ledger.jumps.push(server.time);
            }
        }
        for process in 0..self.processes.len() {
            self.recover(process)?;
        }
        for _ in 0..60 {
            self.server.lock().pass(Duration::from_secs(10));
            for process in 0..self.processes.len() {
                // Some ask again at once; not for ever.
                let mut turns = 0..100;
                while turns.next().is_some() && self.deliver(process)? {}
                self.recover(process)?;
            }
            for process in 0..self.processes.len() {
                self.act(process, Engine::catch_up)?;
                let due = self.server.lock().time;
                self.inbox.push(Message {
                    experiment: 0,
                    request: Request::Ttls,
                    process,
                    due,
                });
            }
        }
        self.compare()
    }

    /// The operator does what the process asks for.
    fn recover(&mut self, process: usize) -> Result<(), String> {
        if self.processes[process].engine.is_none() {
            self.start(process, false)?;
        }
        let mut reason = String::new();
        for accept in [false, false, true, false] {
            if accept {
                self.start(process, true)?;
            }
            self.act(process, Engine::catch_up)?;
            let engine = self.processes[process].engine.as_ref();
            match engine.and_then(|engine| engine.outage.clone()) {
                None => return Ok(()),
                Some(outage) => reason = outage,
            }
        }
        Err(format!(
            "process {process} does not become available: {reason}"
        ))
    }

    fn compare(&mut self) -> Result<(), String> {
        let fold = self.ledger.audit(&self.server.lock())?;
        let left = self
            .inbox
            .iter()
            .filter(|m| !matches!(m.request, Request::Ttls))
            .count();
        check!(
            left == 0,
            "{left} messages were never answered: {:?}",
            self.inbox
        );
        self.numbers.clock_sets += fold.clock_sets().count() as u64;
        for experiment in fold.experiments() {
            self.numbers.alarms += experiment.alarms.len() as u64;
            let is_over = experiment.status == crate::state::ExperimentStatus::Archived;
            if is_over || experiment.checked.declaration.ttl_seconds.is_none() {
                continue;
            }
            let open = self
                .server
                .connect(0)
                .and_then(|mut reader| reader.overdue(experiment.key, 0, fold.number, 10));
            let open = open.map_err(|e| e.to_string())?;
            check!(open.is_empty(), "{open:?} never expired");
        }
        for process in 0..self.processes.len() {
            self.agrees(process, "as it ran", &fold)?;
            // From whatever snapshots there are, and from those of a proper end.
            self.start(process, false)?;
            self.agrees(process, "from snapshots", &fold)?;
            self.act(process, Engine::snapshot_all)?;
            self.start(process, false)?;
            self.agrees(process, "after a proper end", &fold)?;
        }
        Ok(())
    }

    /// Processes that have folded the whole log agree with it.
    fn compare_running(&self, fold: &State) -> Result<(), String> {
        for (process, running) in self.processes.iter().enumerate() {
            let state = running.engine.as_ref().and_then(|e| e.state.as_ref());
            if let Some(state) = state.filter(|state| state.number == fold.number) {
                check_equal(&format!("process {process}, in between"), state, fold)?;
            }
        }
        Ok(())
    }

    /// A process has folded the whole log, and agrees with it.
    fn agrees(&mut self, process: usize, how: &str, fold: &State) -> Result<(), String> {
        self.act(process, Engine::catch_up)?;
        let engine = self.processes[process].engine.as_ref();
        let state = engine.and_then(|engine| engine.state.as_ref());
        let state = state.ok_or("a process has no state")?;
        check_equal(&format!("process {process}, {how}"), state, fold)
    }
}

fn check_equal(who: &str, state: &State, fold: &State) -> Result<(), String> {
    let differs = |what: &str| format!("{who}: another {what} than the log");
    check!(state.number == fold.number, "{}", differs("last event"));
    check!(state.time == fold.time, "{}", differs("time"));
    check!(
        state.clock_sets() == fold.clock_sets(),
        "{}",
        differs("clock")
    );
    let digests = |state: &State| -> Vec<String> {
        state
            .experiments()
            .map(|experiment| experiment.digest())
            .collect()
    };
    check!(
        digests(state) == digests(fold),
        "{}",
        differs("learned state")
    );
    Ok(())
}

/// Where the answers to a message go, unless the process dies first.
struct Post {
    number: usize,
    /// Events in the log before the message is served.
    began: u64,
    process: usize,
    server: Shared,
    mailbox: Mailbox,
}

impl Post {
    fn through<A: 'static>(self, wrap: fn(A) -> Answer) -> Box<dyn FnOnce(A) + Send> {
        Box::new(move |answer| {
            let server = self.server.lock();
            if !server.dead[self.process] {
                let moment = Moment {
                    began: self.began,
                    last: server.records.len() as u64,
                    time: server.time,
                };
                let mut mailbox = self.mailbox.lock().unwrap_or_else(|e| e.into_inner());
                mailbox.push((self.number, moment, wrap(answer)));
            }
        })
    }
}

/// An experiment of one of several kinds.
fn plan(place: usize, rng: &mut ChaCha12Rng) -> Plan {
    let name = format!("x{place}");
    let mut declaration = json!({
        "name": name,
        "arms": ["old", "new", "odd"],
        "safe": "old",
        "guardrails": [{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}],
    });
    let ttl = rng.random_range(1.0..300.0_f64).round();
    match rng.random_range(0..6) {
        0 => {}
        1 => declaration["shadow"] = json!(true),
        2 => declaration["ttl_seconds"] = json!(ttl),
        3 => {
            declaration["ttl_seconds"] = json!(ttl);
            declaration["default_outcome"] = json!({"reward": 0.0, "costs": {"errors": 1}});
        }
        _ => {
            let d = rng.random_range(2..4);
            let mut safe = vec![0.0; d];
            safe[0] = 1.0;
            declaration = json!({
                "name": name, "dimension": d, "safe_action": safe,
                "guardrails": [{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}],
                "agent": {"kind": "oplb", "parameter_norm": 1},
            });
        }
    }
    Plan {
        name: name.into(),
        declaration: serde_json::from_value(declaration).expect("a declaration"),
        is_declared: false,
        is_harmful: rng.random_bool(0.2),
        contradicted: BTreeSet::new(),
        contested: BTreeSet::new(),
        is_archived: false,
    }
}
