//! The network between callers and processes, and the answers that come back through it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use banister::Fallback;
use rand::RngExt;
use rand::seq::IndexedRandom;

use super::super::background::overdue;
use super::super::job::{CommandJob, Commands, Job, question};
use super::connection::{Connection, SetsKnown};
use super::database::Shared;
use super::world::World;
use crate::commands::{
    CreateExperiment, Decide, Decided, DecisionRequest, EditExperiment, Expire, OutcomeReport,
    Report, Reported,
};
use crate::events::Author;
use crate::queries::{ExperimentView, ReadExperiment, ReadTtls, RenderedView, Ttls};
use crate::refusal::Refusal;
use crate::state::Edit;

/// A request as it goes over the network: it may come twice, late, out of order or never.
#[derive(Debug, Clone)]
pub enum Request {
    Create,
    Decide(Vec<DecisionRequest>),
    Report(Vec<OutcomeReport>),
    Edit(Box<Edit>),
    View,
    Ttls,
    Expire(Expire),
}

#[derive(Debug, Clone)]
pub struct Message {
    /// Place of the experiment.
    pub experiment: usize,
    pub request: Request,
    pub process: usize,
    pub due: Duration,
}

pub enum Answer {
    Decided(Vec<Result<Decided, Refusal>>),
    Reported(Vec<Result<Reported, Refusal>>),
    Changed(Vec<Result<ExperimentView, Refusal>>),
    View(Option<Arc<RenderedView<ExperimentView>>>),
    Ttls(Option<Ttls>),
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
pub type Mailbox = Arc<Mutex<Vec<(usize, Moment, Answer)>>>;

impl World {
    pub fn send(&mut self, experiment: usize, request: Request) {
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
    pub fn deliver(&mut self, process: usize) -> Result<bool, String> {
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
            let again = self.receive(message, moment, answer)?;
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
    pub fn retry(&mut self, message: Message) {
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

    pub fn job(&self, number: usize, message: &Message) -> Job {
        let name = self.plans[message.experiment].name.clone();
        let author = Author::new(Some("caller".into()));
        let post = Post {
            number,
            began: self.server.lock().records.len() as u64,
            process: message.process,
            server: self.server.clone(),
            mailbox: self.mailbox.clone(),
        };
        let commands: Box<dyn Commands> = match message.request.clone() {
            Request::Create => {
                let declaration = self.plans[message.experiment].declaration.clone();
                let commands = vec![CreateExperiment(declaration)];
                Box::new(CommandJob::new(
                    author,
                    commands,
                    post.through(Answer::Changed),
                ))
            }
            Request::Decide(requests) => {
                let decide = |request| Decide::new(name.clone(), request);
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
            Request::Edit(edit) => {
                let commands = vec![EditExperiment {
                    experiment: name,
                    edit: *edit,
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
            Request::View => {
                let view = |view: Result<_, _>| Answer::View(view.ok());
                return Job::Query(question(ReadExperiment(name), None, post.through(view)));
            }
            Request::Ttls => {
                let ttls = |ttls: Result<_, _>| Answer::Ttls(ttls.ok());
                return Job::Query(question(ReadTtls, None, post.through(ttls)));
            }
        };
        Job::Commands(commands)
    }

    /// Checks an answer against the ledger; returns true if the caller has to ask again.
    pub fn receive(
        &mut self,
        message: Message,
        moment: Moment,
        answer: Answer,
    ) -> Result<bool, String> {
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
                            let is_safe = decided.index == decided.published.safe;
                            self.numbers.explored += u64::from(!is_safe);
                            let fallback = decided.published.fallback;
                            let is_exhausted = fallback == Some(Fallback::BudgetExhausted);
                            self.numbers.exhausted += u64::from(is_exhausted);
                            let (server, ledger) = (self.server.clone(), &mut self.ledger);
                            ledger.decided(&server.lock(), &name, &decided, moment.last)?;
                            if self.rng.random_bool(0.7) {
                                self.report(place, &decided.id);
                            }
                        }
                        Err(refusal) => {
                            self.numbers.refusals += 1;
                            let is_exhausted = matches!(refusal, Refusal::Exhausted { .. });
                            self.numbers.exhausted += u64::from(is_exhausted);
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
            Answer::View(Some(view)) => {
                self.plans[place].is_created = true;
                self.ledger
                    .viewed(&self.server.lock(), &view, moment.last)?
            }
            Answer::Ttls(Some(ttls)) => self.search(message.process, &ttls),
            Answer::Expired(answers) => self.numbers.expired += answers.len() as u64,
            Answer::View(None) | Answer::Ttls(None) => {}
        }
        Ok(again)
    }

    /// As the expiry thread does, beside the writer.
    pub fn search(&mut self, process: usize, ttls: &Ttls) {
        // What it reads of the clock is not believed.
        let Ok(mut reader) = Connection::open(&self.server, process, SetsKnown::default()) else {
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
}

/// Destination of the answers to a message, unless the process dies first.
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
