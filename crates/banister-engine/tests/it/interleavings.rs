//! Whatever order things happen in, and wherever it is interrupted: the log says it all.

use crate::common;

use std::collections::{BTreeMap, HashSet};

use banister_engine::{
    Database, Decide, DecisionRequest, EventKind, Options, OutcomeReport, PostgresLog, Refusal,
    Report, rebuild,
};
use common::engine::{Either, EitherAnswer, Engine, check, plain};
use common::{Place, whole, write};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

/// An event of a history.
#[derive(Debug, Clone)]
enum Step {
    /// Commands of one commit.
    Ask(Vec<Ask>),
    /// The writer stops, and another starts.
    Restart,
    /// The same without its having time for snapshots.
    Crash,
}

#[derive(Debug, Clone)]
enum Ask {
    Decide(u8),
    /// A report of a reward, a cost or both: each of them one of two values.
    Report(u8, Option<bool>, Option<bool>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let value = || proptest::option::of(proptest::bool::weighted(0.8));
    let ask = prop_oneof![
        (0u8..12).prop_map(Ask::Decide),
        (0u8..12, value(), value()).prop_map(|(id, reward, cost)| Ask::Report(id, reward, cost)),
    ];
    let step = prop_oneof![
        8 => proptest::collection::vec(ask, 1..6).prop_map(Step::Ask),
        1 => Just(Step::Restart),
        1 => Just(Step::Crash),
    ];
    proptest::collection::vec(step, 1..25)
}

/// Expected state: of every decision, its number, reward and cost.
#[derive(Default)]
struct Model(BTreeMap<u8, (u64, Option<bool>, Option<bool>)>);

/// Every other decision belongs to another experiment: their snapshots are of different ages.
const EXPERIMENTS: [&str; 2] = ["x", "y"];

fn experiment(id: u8) -> &'static str {
    EXPERIMENTS[usize::from(id % 2)]
}

fn number(value: bool) -> f64 {
    if value { 0.75 } else { 0.25 }
}

fn command(ask: &Ask) -> Either {
    match *ask {
        Ask::Decide(id) => Either::Decide(Decide::new(
            experiment(id).into(),
            DecisionRequest {
                id: Some(format!("d{id}")),
                ..DecisionRequest::default()
            },
        )),
        Ask::Report(id, reward, cost) => Either::Report(Report {
            experiment: experiment(id).into(),
            report: OutcomeReport {
                decision: format!("d{id}"),
                reward: reward.map(number),
                costs: [("errors".to_string(), cost.map(number))].into(),
                ..OutcomeReport::default()
            },
        }),
    }
}

impl Model {
    /// Holds an answer against what is known, and learns from it.
    fn observe(
        &mut self,
        ask: &Ask,
        answer: Result<EitherAnswer, Refusal>,
    ) -> Result<(), TestCaseError> {
        match (ask, answer) {
            (Ask::Decide(id), Ok(EitherAnswer::Decision(decided))) => {
                check(&decided);
                let known = self.0.entry(*id).or_insert((decided.number, None, None));
                prop_assert_eq!(known.0, decided.number);
            }
            (Ask::Report(id, ..), Err(Refusal::Unknown { .. })) => {
                prop_assert!(!self.0.contains_key(id));
            }
            (Ask::Report(id, reward, cost), Err(Refusal::Invalid { .. })) => {
                prop_assert!(self.0.contains_key(id) && reward.is_none() && cost.is_none());
            }
            (Ask::Report(id, reward, cost), Err(Refusal::Conflict { .. })) => {
                let known = &self.0[id];
                let other =
                    |a: Option<bool>, b: Option<bool>| a.zip(b).is_some_and(|(a, b)| a != b);
                prop_assert!(other(known.1, *reward) || other(known.2, *cost));
            }
            (Ask::Report(id, reward, cost), Ok(EitherAnswer::Outcome(reported))) => {
                let known = self.0.get_mut(id);
                let known = known.ok_or_else(|| TestCaseError::fail("never decided"))?;
                let merge = |known: &mut Option<bool>, news: Option<bool>| {
                    let same = known.is_none() || news.is_none() || *known == news;
                    *known = known.or(news);
                    same
                };
                prop_assert!(merge(&mut known.1, *reward) && merge(&mut known.2, *cost));
                prop_assert_eq!(
                    reported.is_complete(),
                    known.1.is_some() && known.2.is_some()
                );
                prop_assert_eq!(reported.reward, known.1.map(number));
                prop_assert_eq!(reported.costs["errors"], known.2.map(number));
            }
            (ask, answer) => prop_assert!(false, "{ask:?}: {answer:?}"),
        }
        Ok(())
    }

    /// Counts the decisions of an experiment, and those that are complete.
    fn counts(&self, name: &str) -> (u64, u64) {
        let own = || self.0.iter().filter(|(id, _)| experiment(**id) == name);
        let complete = own().filter(|(_, known)| known.1.is_some() && known.2.is_some());
        (own().count() as u64, complete.count() as u64)
    }
}

fn start(place: &Place) -> Engine {
    let options = Options {
        // A snapshot with almost every commit.
        snapshot_every: 3,
        ..Options::default()
    };
    Engine::with(&place.database, options)
}

/// Ends a writer without its last snapshots.
fn crash(place: &Place, engine: Engine) -> Option<Place> {
    match &place.database {
        Database::Sqlite(path) => {
            // The file as it is now, however the writer ends.
            let copy = Place::sqlite();
            let Database::Sqlite(to) = &copy.database else {
                return None;
            };
            let file = rusqlite::Connection::open(path).expect("the file opens");
            let to = to.display().to_string();
            file.execute("VACUUM INTO ?1", [to]).expect("a copy");
            engine.stop();
            Some(copy)
        }
        Database::Postgres(PostgresLog { url, .. }) => {
            let mut client = postgres::Client::connect(url, postgres::NoTls).expect("a connection");
            let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()";
            client.batch_execute(sql).expect("the connections end");
            engine.stop();
            None
        }
    }
}

fn run(mut place: Place, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut engine = start(&place);
    for name in EXPERIMENTS {
        engine.create(plain(name)).expect("it is created");
    }
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Ask(asks) => {
                let answers = engine.execute_all(asks.iter().map(command).collect());
                let answers = answers.expect("the writer is there");
                for (ask, answer) in asks.iter().zip(answers) {
                    model.observe(ask, answer)?;
                }
            }
            Step::Restart => {
                engine.stop();
                engine = start(&place);
            }
            Step::Crash => {
                place = crash(&place, engine).unwrap_or(place);
                engine = start(&place);
            }
        }
    }
    // What is asked of memory is not asked of the log: something must have opened it.
    common::until("the log is open", || engine.show("x").is_ok());
    let mut live = Vec::new();
    let mut complete = 0;
    for name in EXPERIMENTS {
        let counts = engine.show(name).expect("it is there").counts;
        prop_assert_eq!((counts.decisions, counts.outcomes), model.counts(name));
        complete += model.counts(name).1 as usize;
        live.push(engine.digest(name).expect("it has a digest"));
    }
    engine.stop();

    // The log: every decision once, every outcome once.
    let events = whole(&mut *place.open());
    let ids: Vec<&String> = events.iter().filter_map(|r| r.id.as_ref()).collect();
    prop_assert_eq!(ids.iter().collect::<HashSet<_>>().len(), model.0.len());
    prop_assert_eq!(ids.len(), model.0.len());
    let of = |kind| events.iter().filter(move |r| r.kind == kind);
    let settled: Vec<Option<u64>> = of(EventKind::Outcome).map(|r| r.decision).collect();
    prop_assert_eq!(settled.len(), complete);
    prop_assert_eq!(settled.iter().collect::<HashSet<_>>().len(), settled.len());

    // The fold: from nothing, from the snapshots, and without interruption from the same events.
    let rebuilt = rebuild(&place.database, |_, _| {}).expect("it can be rebuilt");
    prop_assert!(rebuilt.is_equal());
    prop_assert_eq!(rebuilt.events, events.len() as u64);
    for ((name, live), rebuilt) in EXPERIMENTS.iter().zip(&live).zip(&rebuilt.experiments) {
        prop_assert_eq!(&rebuilt.digest, &live.0);
        prop_assert_eq!(rebuilt.outcomes, model.counts(name).1);
    }
    let fresh = Place::sqlite();
    write(&mut *fresh.open(), &events);
    let engine = start(&fresh);
    common::until("the copy is folded", || engine.digest("x").is_ok());
    for (name, live) in EXPERIMENTS.iter().zip(live) {
        prop_assert_eq!(engine.digest(name).expect("it has a digest"), live);
    }
    Ok(())
}

fn cases(count: u32) -> TestRunner {
    TestRunner::new(ProptestConfig {
        cases: count,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    })
}

#[test]
fn sqlite_says_it_all() {
    let result = cases(60).run(&steps(), |steps| run(Place::sqlite(), &steps));
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn postgres_says_it_all() {
    // One server for all cases.
    let _server = Place::postgres();
    let result = cases(12).run(&steps(), |steps| match Place::postgres() {
        Some(place) => run(place, &steps),
        None => Ok(()),
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}
