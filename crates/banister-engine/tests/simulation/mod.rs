//! Simulation of a whole cluster in one thread, as TigerBeetle and FoundationDB do it: real writers, a
//! simulated database, network, clock and operator, and faults everywhere. A seed decides everything, so that
//! a world that fails can be lived through again.
//!
//! ```text
//! cargo test -p banister-engine --lib simulation                             # thousands of worlds
//! FIRST=5000 SEEDS=50000 cargo test -p banister-engine --lib simulation      # others
//! SEED=123 cargo test -p banister-engine --lib simulation -- --nocapture     # one, with all that happens in it
//! ```
//!
//! Read `world.rs` (processes, operator and scheduler), `callers.rs` (what is asked), `network.rs` (messages and
//! answers), `database.rs` and `connection.rs` (the log that all share, and its faults), then `ledger.rs` (what
//! callers were told, and what must be true). `budget.rs` recomputes what was spent. Planted `Bug`s show that the simulation can fail.

mod budget;
mod callers;
mod connection;
mod database;
mod ledger;
mod network;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use database::Bug;
use world::{Numbers, run};

/// Worlds of one run.
const SEEDS: u64 = 2000;
/// Worlds within which a planted bug must show.
const SEEDS_TO_FIND: u64 = 500;

fn add(total: &mut Numbers, numbers: &Numbers) {
    total.events += numbers.events;
    total.commits += numbers.commits;
    total.answers += numbers.answers;
    total.refusals += numbers.refusals;
    total.restarts += numbers.restarts;
    total.clock_sets += numbers.clock_sets;
    total.alarms += numbers.alarms;
    total.explored += numbers.explored;
    total.expired += numbers.expired;
    total.exhausted += numbers.exhausted;
    for (kind, count) in &numbers.faults {
        *total.faults.entry(kind).or_default() += count;
    }
}

/// A number that the environment gives.
fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {value}")),
    )
}

#[test]
fn whatever_fails_callers_and_log_agree() {
    if let Some(seed) = number("SEED") {
        let (lived, trace) = run(seed, None, true);
        trace.iter().for_each(|line| println!("{line}"));
        println!("{:#?}", lived.expect("every invariant holds"));
        return;
    }
    let first = number("FIRST").unwrap_or(0);
    let end = first + number("SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(first);
    let total = Mutex::new(Numbers::default());
    let failed = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    match run(seed, None, false).0 {
                        Ok(numbers) => add(&mut total.lock().unwrap(), &numbers),
                        Err(reason) => failed.lock().unwrap().push((seed, reason)),
                    }
                }
            });
        }
    });
    println!("{} worlds: {:#?}", end - first, total.lock().unwrap());
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    assert!(
        failed.is_empty(),
        "{} worlds failed; SEED=<number> shows one: {:#?}",
        failed.len(),
        &failed[..failed.len().min(10)]
    );
}

#[test]
fn a_seed_decides_everything() {
    for seed in 0..20 {
        let (first, second) = (run(seed, None, true).1, run(seed, None, true).1);
        assert!(!first.is_empty() && first == second, "seed {seed}");
    }
}

#[test]
fn planted_bugs_are_found() {
    for bug in [
        Bug::Unsynced,
        Bug::FailedCommitIsFine,
        Bug::NoIds,
        Bug::NoParts,
        Bug::SnapshotsOutliveRollback,
        Bug::SnapshotsTooNew,
        Bug::NoUptime,
        Bug::BatchForgetsReservations,
        Bug::SnapshotForgetsReservations,
    ] {
        let found = (0..SEEDS_TO_FIND).find_map(|seed| {
            let reason = run(seed, Some(bug), false).0.err()?;
            Some((seed, reason))
        });
        let (seed, reason) = found.unwrap_or_else(|| panic!("{bug:?} was not found"));
        println!("{bug:?}: seed {seed}: {reason}");
    }
}
