//! The answers to callers, to hold the log against.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use banister_engine::{Database, EventKind, Refusal, rebuild};
use serde_json::{Value, json};

use super::engine::{Caller, Engine};
use super::{until, whole};

/// Acknowledged calls: decisions by id, and the ids whose outcomes are complete.
#[derive(Default)]
pub struct Ledger {
    pub decisions: Mutex<BTreeMap<String, u64>>,
    outcomes: Mutex<HashSet<String>>,
    acknowledged: AtomicU64,
    pub refused: AtomicU64,
}

impl Ledger {
    pub fn count(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// Asks until it is acknowledged: every answer is that, or that the log is not available.
    fn insist<T>(&self, mut ask: impl FnMut() -> Result<T, Refusal>) -> T {
        let mut last = None;
        for _ in 0..100_000 {
            match ask() {
                Ok(answer) => {
                    self.acknowledged.fetch_add(1, Ordering::SeqCst);
                    return answer;
                }
                Err(Refusal::Unavailable { reason }) => {
                    assert!(!reason.contains("postgres://"), "{reason}");
                    self.refused.fetch_add(1, Ordering::SeqCst);
                    last = Some(reason);
                    std::thread::yield_now();
                }
                Err(other) => panic!("refused: {other}"),
            }
        }
        panic!("never available again: {last:?}");
    }

    /// Decides, and reports in two parts. Callers are asked in turn, so that one that is gone does not
    /// matter.
    pub fn serve(&self, callers: &[&Caller], id: &str) {
        let mut turn = callers.iter().cycle();
        let mut next = || *turn.next().expect("somebody to ask");
        let decided = self.insist(|| next().decide("x", id));
        let number = decided.number;
        let known = self.decisions.lock().unwrap().insert(id.into(), number);
        assert!(known.is_none_or(|known| known == number), "{id} twice");
        self.insist(|| next().report("x", id, json!({"reward": value(id)})));
        let whole = json!({"reward": value(id), "costs": {"errors": 0}});
        let reported = self.insist(|| next().report("x", id, whole.clone()));
        assert!(reported.is_complete());
        self.outcomes.lock().unwrap().insert(id.into());
    }

    /// Holds the log against what was acknowledged.
    pub fn check(&self, database: &Database) {
        let mut store = database.open().expect("the log opens");
        let events = whole(&mut *store);
        let mut ids = BTreeMap::new();
        for record in &events {
            if let Some(id) = &record.id {
                assert_eq!(ids.insert(id.clone(), record.number), None, "{id} twice");
            }
        }
        assert_eq!(ids, *self.decisions.lock().unwrap());
        let outcomes = events.iter().filter(|r| r.kind == EventKind::Outcome);
        let settled: Vec<u64> = outcomes.filter_map(|record| record.decision).collect();
        let distinct: HashSet<u64> = settled.iter().copied().collect();
        assert_eq!(settled.len(), distinct.len(), "an outcome twice");
        let acknowledged = self.outcomes.lock().unwrap();
        assert_eq!(settled.len(), acknowledged.len());
        assert!(acknowledged.iter().all(|id| distinct.contains(&ids[id])));
    }
}

/// The reward that all reports on an id agree on.
fn value(id: &str) -> Value {
    json!(f64::from(id.bytes().last().unwrap_or(0) % 5) / 4.0)
}

/// All have folded the same, and so does whoever comes late or starts from nothing.
pub fn agree(database: &Database, engines: &[&Engine]) {
    let rebuilt = rebuild(database, |_, _| {}).expect("it can be rebuilt");
    assert!(rebuilt.is_equal());
    let digest = &rebuilt.experiments[0].digest;
    let late = Engine::start(database);
    for engine in engines.iter().copied().chain([&late]) {
        until("all events are folded", || {
            let folded = engine.digest("x");
            folded.is_ok_and(|(own, _)| own == *digest)
        });
    }
}
