//! A writer to ask, as callers do.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use banister_engine::{
    Answer, Asker, Change, Database, Decided, DecisionRequest, Declaration, ExperimentView,
    Monitor, Options, OutcomeReport, Refusal, Reported, Request, StateView, Stats, Writer,
};
use serde_json::{Value, json};

/// Does not listen.
struct Quiet;

impl Monitor for Quiet {
    fn committed(&self, _: usize, _: f64) {}
    fn follows(&self, _: u64, _: u64) {}
    fn trouble(&self, _: Option<&str>) {}
}

/// A writer.
pub struct Desk {
    writer: Option<Writer>,
    pub caller: Caller,
}

/// Somebody who asks it; has every method of a desk.
#[derive(Clone)]
pub struct Caller(pub Asker);

impl std::ops::Deref for Desk {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl Desk {
    pub fn start(database: &Database) -> Self {
        Self::with(database, Options::default())
    }

    pub fn with(database: &Database, options: Options) -> Self {
        let writer = Writer::start(database.clone(), options, Box::new(Quiet)).expect("a thread");
        Self {
            caller: Caller(writer.asker()),
            writer: Some(writer),
        }
    }

    pub fn stop(mut self) {
        if let Some(writer) = self.writer.take() {
            writer.stop();
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
    /// Asks, and waits for the answer, which must come.
    pub fn ask(&self, request: Request) -> Result<Answer, Refusal> {
        let mut answers = self.ask_all(vec![request])?;
        assert_eq!(answers.len(), 1);
        answers.remove(0)
    }

    /// Asks many at once.
    pub fn ask_all(&self, requests: Vec<Request>) -> Result<Vec<Result<Answer, Refusal>>, Refusal> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let asked = self.0.ask(requests, move |answers| {
            // A caller may have given up.
            let _ = sender.send(answers);
        });
        asked.map_err(|_| Refusal::unavailable("the queue is full"))?;
        match receiver.recv_timeout(Duration::from_secs(60)) {
            Ok(answers) => Ok(answers),
            Err(RecvTimeoutError::Disconnected) => Err(Refusal::unavailable("it has stopped")),
            Err(RecvTimeoutError::Timeout) => panic!("no answer within a minute"),
        }
    }

    pub fn create(&self, declaration: Value) -> Result<ExperimentView, Refusal> {
        let declaration: Declaration = serde_json::from_value(declaration).expect("a declaration");
        self.experiment(Request::Create(Box::new(declaration)))
    }

    pub fn change(&self, name: &str, change: Value) -> Result<ExperimentView, Refusal> {
        let change: Change = serde_json::from_value(change).expect("a change");
        self.experiment(Request::Change(name.into(), Box::new(change)))
    }

    pub fn add_arm(&self, name: &str, arm: Value) -> Result<ExperimentView, Refusal> {
        let arm = serde_json::from_value(arm).expect("an arm");
        self.experiment(Request::AddArm(name.into(), arm))
    }

    pub fn retire_arm(&self, name: &str, arm: &str) -> Result<ExperimentView, Refusal> {
        self.experiment(Request::RetireArm(name.into(), arm.into()))
    }

    pub fn show(&self, name: &str) -> Result<ExperimentView, Refusal> {
        self.experiment(Request::Show(name.into()))
    }

    pub fn experiment(&self, request: Request) -> Result<ExperimentView, Refusal> {
        match self.ask(request)? {
            Answer::Experiment(view) => Ok(*view),
            other => panic!("not an experiment: {other:?}"),
        }
    }

    /// A decision as requested by JSON.
    pub fn decide_with(&self, name: &str, request: Value) -> Result<Decided, Refusal> {
        let request: DecisionRequest = serde_json::from_value(request).expect("a request");
        match self.ask(Request::Decide(name.into(), Box::new(request)))? {
            Answer::Decision(decided) => Ok(*decided),
            other => panic!("not a decision: {other:?}"),
        }
    }

    pub fn decide(&self, name: &str, id: &str) -> Result<Decided, Refusal> {
        self.decide_with(name, json!({ "id": id }))
    }

    /// Reports on a decision.
    pub fn report(&self, name: &str, id: &str, report: Value) -> Result<Reported, Refusal> {
        let mut report = said(report);
        report.decision = id.into();
        match self.ask(Request::Report(name.into(), Box::new(report)))? {
            Answer::Outcome(reported) => Ok(reported),
            other => panic!("not an outcome: {other:?}"),
        }
    }

    /// The live picture of an experiment.
    pub fn look(&self, name: &str) -> StateView {
        match self.ask(Request::Look(name.into())) {
            Ok(Answer::State(view)) => *view,
            other => panic!("not a state: {other:?}"),
        }
    }

    /// The digest of what is learned, and the experiment's last event.
    pub fn digest(&self, name: &str) -> Result<(String, u64), Refusal> {
        match self.ask(Request::Digest(name.into()))? {
            Answer::Digest(digest, number) => Ok((digest, number)),
            other => panic!("not a digest: {other:?}"),
        }
    }

    pub fn stats(&self) -> Stats {
        match self.ask(Request::Stats) {
            Ok(Answer::Stats(stats)) => stats,
            other => panic!("not stats: {other:?}"),
        }
    }
}

/// The field that a refusal names.
pub fn field<T: std::fmt::Debug>(answer: Result<T, Refusal>) -> String {
    match answer {
        Err(Refusal::Invalid { field, .. }) => field,
        other => panic!("not refused for a field: {other:?}"),
    }
}

/// Whether it is refused as a contradiction; the reason.
pub fn conflict<T: std::fmt::Debug>(answer: Result<T, Refusal>) -> String {
    match answer {
        Err(Refusal::Conflict { reason }) => reason,
        other => panic!("not a conflict: {other:?}"),
    }
}

/// What there is none of.
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
    assert_eq!(published.probability(decided.action), decided.probability);
}
