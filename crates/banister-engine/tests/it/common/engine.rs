//! An engine to call, as the service does.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use banister_engine::{
    Cancel, Cancelled, Command, CreateExperiment, Database, Decide, Decided, Edit, EditExperiment,
    ExperimentState, ExperimentView, Monitor, Options, OutcomeReport, Query, ReadDigest,
    ReadExperiment, ReadState, ReadStats, Refusal, Reply, Report, Reported, Stats, Transaction,
    Writer, WriterHandle,
};
use serde_json::{Value, json};

/// Does not listen.
struct Quiet;

impl Monitor for Quiet {
    fn committed(&self, _: usize, _: f64) {}
    fn clock(&self, _: f64) {}

    fn follows(&self, _: u64, _: u64) {}
    fn outage(&self, _: Option<&str>) {}
}

/// A running writer.
pub struct Engine {
    writer: Option<Writer>,
    pub caller: Caller,
}

/// Somebody who asks it; has every method of an engine.
#[derive(Clone)]
pub struct Caller(pub WriterHandle);

impl std::ops::Deref for Engine {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl Engine {
    pub fn start(database: &Database) -> Self {
        Self::with(database, Options::default())
    }

    pub fn with(database: &Database, options: Options) -> Self {
        let writer = Writer::start(database.clone(), options, Box::new(Quiet)).expect("a thread");
        Self {
            caller: Caller(writer.handle()),
            writer: Some(writer),
        }
    }

    pub fn stop(mut self) {
        if let Some(writer) = self.writer.take() {
            writer.stop().expect("a clean end");
        }
    }
}

/// Two arms and one guardrail: the plainest experiment.
pub fn plain(name: &str) -> Value {
    json!({
        "name": name,
        "arms": ["old", "new", "odd"],
        "safe": "old",
        "guardrails": [{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}],
    })
}

/// A report as JSON spells it, but for the decision.
pub fn said(value: Value) -> OutcomeReport {
    let mut value = value;
    value["decision"] = value.get("decision").cloned().unwrap_or(json!(""));
    serde_json::from_value(value).expect("a report")
}

impl Caller {
    /// Executes a command, and waits for the answer, which must come.
    pub fn execute<C: Command>(&self, command: C) -> Result<C::Answer, Refusal> {
        let mut answers = self.execute_all(vec![command])?;
        assert_eq!(answers.len(), 1);
        answers.remove(0)
    }

    /// Executes commands in one commit.
    pub fn execute_all<C: Command>(
        &self,
        commands: Vec<C>,
    ) -> Result<Vec<Result<C::Answer, Refusal>>, Refusal> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let sent = self.0.execute(commands, move |answers| {
            // A caller may have given up.
            let _ = sender.send(answers);
        });
        sent.map_err(|_| Refusal::unavailable("the queue is full"))?;
        match receiver.recv_timeout(Duration::from_secs(60)) {
            Ok(answers) => Ok(answers),
            Err(RecvTimeoutError::Disconnected) => Err(Refusal::unavailable("it has stopped")),
            Err(RecvTimeoutError::Timeout) => panic!("no answer within a minute"),
        }
    }

    pub fn query<Q: Query>(&self, query: Q) -> Result<Q::Answer, Refusal> {
        self.0.query_blocking(query)
    }

    pub fn create(&self, declaration: Value) -> Result<ExperimentView, Refusal> {
        let declaration = serde_json::from_value(declaration).expect("a declaration");
        self.execute(CreateExperiment(declaration))
    }

    pub fn edit(&self, name: &str, edit: Edit) -> Result<ExperimentView, Refusal> {
        let experiment = name.into();
        self.execute(EditExperiment { experiment, edit })
    }

    pub fn change(&self, name: &str, change: Value) -> Result<ExperimentView, Refusal> {
        let change = serde_json::from_value(change).expect("a change");
        self.edit(name, Edit::Change(change))
    }

    pub fn add_arm(&self, name: &str, arm: Value) -> Result<ExperimentView, Refusal> {
        let arm = serde_json::from_value(arm).expect("an arm");
        self.edit(name, Edit::AddArm(arm))
    }

    pub fn retire_arm(&self, name: &str, arm: &str) -> Result<ExperimentView, Refusal> {
        self.edit(name, Edit::RetireArm { name: arm.into() })
    }

    pub fn show(&self, name: &str) -> Result<ExperimentView, Refusal> {
        self.query(ReadExperiment(name.into()))
            .map(|picture| ExperimentView::clone(&picture))
    }

    /// A decision as requested by JSON.
    pub fn decide_with(&self, name: &str, request: Value) -> Result<Decided, Refusal> {
        self.execute(Decide::new(
            name.into(),
            serde_json::from_value(request).expect("a request"),
        ))
    }

    pub fn decide(&self, name: &str, id: &str) -> Result<Decided, Refusal> {
        self.decide_with(name, json!({ "id": id }))
    }

    /// Reports on a decision.
    pub fn report(&self, name: &str, id: &str, report: Value) -> Result<Reported, Refusal> {
        let mut report = said(report);
        report.decision = id.into();
        let experiment = name.into();
        self.execute(Report { experiment, report })
    }

    /// Says that a decision was never carried out.
    pub fn cancel(&self, name: &str, id: &str) -> Result<Cancelled, Refusal> {
        let (experiment, decision) = (name.into(), id.into());
        self.execute(Cancel {
            experiment,
            decision,
        })
    }

    pub fn live_state(&self, name: &str) -> ExperimentState {
        self.query(ReadState(name.into())).expect("a state")
    }

    /// Digest of what is learned, and the experiment's last event.
    pub fn digest(&self, name: &str) -> Result<(String, u64), Refusal> {
        self.query(ReadDigest(name.into()))
    }

    pub fn stats(&self) -> Stats {
        self.query(ReadStats).expect("stats")
    }
}

/// A decision or a report: commands of both types in one commit.
pub enum Either {
    Decide(Decide),
    Report(Report),
}

#[derive(Debug)]
pub enum EitherAnswer {
    Decision(Decided),
    Outcome(Reported),
}

impl Command for Either {
    type Answer = EitherAnswer;
    const SHARES_COMMIT: bool = true;

    fn prepare(&self, transaction: &mut Transaction) {
        match self {
            Self::Decide(decide) => decide.prepare(transaction),
            Self::Report(report) => report.prepare(transaction),
        }
    }

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<EitherAnswer>, Refusal> {
        let answer = match self {
            Self::Decide(decide) => EitherAnswer::Decision(ready(decide.execute(transaction)?)),
            Self::Report(report) => EitherAnswer::Outcome(ready(report.execute(transaction)?)),
        };
        Ok(Reply::Ready(answer))
    }
}

fn ready<A>(reply: Reply<A>) -> A {
    match reply {
        Reply::Ready(answer) => answer,
        Reply::AfterFold(_) => panic!("decisions and reports are answered from the transaction"),
    }
}

/// The field that a refusal names.
pub fn field<T: std::fmt::Debug>(answer: Result<T, Refusal>) -> String {
    match answer {
        Err(Refusal::Invalid { field, .. }) => field.to_string(),
        other => panic!("not refused for a field: {other:?}"),
    }
}

/// Expects a refusal as a contradiction; returns the reason.
pub fn conflict<T: std::fmt::Debug>(answer: Result<T, Refusal>) -> String {
    match answer {
        Err(Refusal::Conflict { reason }) => reason,
        other => panic!("not a conflict: {other:?}"),
    }
}

/// Expects a refusal because something is unknown; returns its kind.
pub fn unknown<T: std::fmt::Debug>(answer: Result<T, Refusal>) -> &'static str {
    match answer {
        Err(Refusal::Unknown { what, .. }) => what,
        other => panic!("not unknown: {other:?}"),
    }
}

/// Checks what every decision promises.
pub fn check(decided: &Decided) {
    let published = &decided.published;
    let total: f64 = published.policy.iter().map(|entry| entry.1).sum();
    assert!((total - 1.0).abs() < 1e-9, "the policy sums to {total}");
    assert!(published.policy.iter().all(|entry| entry.1 > 0.0));
    assert!(published.guardrails.iter().all(|g| g.slack >= 0.0));
    assert_eq!(published.probability(decided.index), decided.probability);
}
