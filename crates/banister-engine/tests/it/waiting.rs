//! Who waits for whom: small jobs for one batch at most, and nobody for what is read of large experiments.

use crate::common;

use std::sync::mpsc::{Receiver, channel};

use banister_engine::{
    Command, Decide, DecisionRequest, EngineState, Query, ReadLifts, Refusal, Reply, Transaction,
};
use common::Place;
use common::engine::{Engine, plain};
use serde_json::json;

/// Holds the writer until somebody lets it go on.
struct Gate(Receiver<()>);

impl Command for Gate {
    type Answer = ();

    fn execute(self, _: &mut Transaction) -> Result<Reply<()>, Refusal> {
        // Whoever drops the other end lets it go on, too.
        let _ = self.0.recv();
        Ok(Reply::Ready(()))
    }
}

#[test]
fn one_decision_waits_for_no_row_of_batches() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    engine.create(plain("x")).unwrap();
    let (open, gate) = channel();
    engine.0.execute(vec![Gate(gate)], |_| ()).unwrap();
    let (sender, answered) = channel();
    let ask = |name: &'static str, count: usize| {
        let commands = (0..count).map(|_| Decide::new("x".into(), DecisionRequest::default()));
        let sender = sender.clone();
        let reply = move |_| sender.send(name).unwrap();
        engine.0.execute(commands.collect(), reply).unwrap();
    };
    for name in ["first batch", "second batch", "third batch"] {
        ask(name, 200);
    }
    ask("one", 1);
    drop((open, sender));
    let order: Vec<&str> = answered.iter().collect();
    assert_eq!(order, ["one", "first batch", "second batch", "third batch"]);
    engine.stop();
}

/// Says on which thread it is answered.
struct Where(&'static str);

impl Query for Where {
    type Answer = Option<String>;

    fn reads(&self) -> Option<&str> {
        Some(self.0)
    }

    fn answer(self, state: &mut EngineState) -> Result<Option<String>, Refusal> {
        state.experiment(self.0)?;
        Ok(std::thread::current().name().map(str::to_string))
    }
}

#[test]
fn experiments_of_many_arms_are_read_beside_the_writer() {
    let place = Place::sqlite();
    let engine = Engine::start(&place.database);
    let mut many = plain("many");
    many["arms"] = (0..100).map(|arm| format!("a{arm}")).collect();
    many["safe"] = json!("a0");
    engine.create(many).unwrap();
    engine.create(plain("few")).unwrap();
    let writer = Some("banister-engine".to_string());
    assert_eq!(engine.query(Where("few")).unwrap(), writer);
    assert_ne!(engine.query(Where("many")).unwrap(), writer);
    // What is read there is what the writer knows.
    for i in 0..60 {
        let decided = engine.decide("many", &format!("d{i}")).unwrap();
        let whole = json!({"reward": 1, "costs": {"errors": 0}});
        engine.report("many", &decided.id, whole).unwrap();
    }
    let number = engine.show("many").unwrap().number;
    let lifts = engine.query(ReadLifts("many".into())).unwrap();
    assert_eq!(lifts.number, number);
    assert_eq!(engine.live_state("many").outcomes, 60);
    engine.stop();
}
