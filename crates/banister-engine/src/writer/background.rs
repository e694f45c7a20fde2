//! Threads that search the log beside the writer, so that the writer never waits for a long search.

use std::sync::Arc;
use std::time::Duration;

use super::queue::WriterHandle;
use crate::commands::{Expire, RollOut};
use crate::queries::{ReadTtls, TtlStatus, Ttls};
use crate::store::{Readers, Span, Store, StoreError, verify_page};

const PAUSE: Duration = Duration::from_millis(500);
/// Decisions of one command.
const CHUNK: usize = 1000;

/// Starts the thread that finds decisions whose time to live is over; it ends with the writer.
///
/// Its finds go through the queue like every command, and are checked again there.
pub(super) fn start_expiry(readers: Arc<Readers>, handle: WriterHandle) -> std::io::Result<()> {
    let search = move || {
        loop {
            std::thread::sleep(PAUSE);
            if !handle.catch_up() {
                return;
            }
            let Ok(ttls) = handle.query_blocking(ReadTtls) else {
                continue;
            };
            if ttls.is_rollout_due {
                // If it cannot be written now, it is due again.
                let _ = handle.execute_blocking(RollOut);
            }
            for status in &ttls.experiments {
                let search = || readers.with_reserved(|reader| overdue(reader, &ttls, status));
                // The writer reports outages; here one means a new try later.
                while let Ok(Some(overdue)) = search() {
                    let more = overdue.decisions.len() == CHUNK;
                    let expired = handle.execute_blocking(overdue);
                    if !more || expired.is_err() {
                        break;
                    }
                }
            }
        }
    };
    std::thread::Builder::new()
        .name("banister-expiry".into())
        .spawn(search)
        .map(|_| ())
}

/// Finds the decisions of an experiment whose time to live is over.
pub(super) fn overdue(
    store: &mut dyn Store,
    ttls: &Ttls,
    status: &TtlStatus,
) -> Result<Option<Expire>, StoreError> {
    let upto = last_before(store, ttls, status)?;
    if upto <= status.settled {
        return Ok(None);
    }
    let decisions = store.overdue(&Span {
        before: upto.saturating_add(1),
        ..Span::after(status.experiment, status.settled, CHUNK)
    })?;
    Ok(Some(Expire {
        experiment: status.experiment,
        decisions,
        settled: upto,
    }))
}

/// Finds the last event that is as old as the time to live, by bisection: the log's times never go back.
fn last_before(store: &mut dyn Store, ttls: &Ttls, status: &TtlStatus) -> Result<u64, StoreError> {
    let cutoff = ttls.now.minus_seconds(status.ttl_seconds);
    let (mut low, mut high) = (status.settled, store.last()?);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let old = (store.get(middle)?)
            .is_some_and(|record| ttls.clock_sets.time_now(middle, record.time) <= cutoff);
        if old {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}

/// Pause between pages: others read the log, too.
const PAGE_PAUSE: Duration = Duration::from_millis(1);
/// Pause where the log cannot be read.
const OUTAGE: Duration = Duration::from_millis(500);

/// Starts the thread that reads the whole log once, after every start, and verifies its seals; it ends with the last
/// event that is there.
///
/// A start folds the events since the snapshots, and verifies those. The others are read here; damage that is found ends
/// the writing, in the words of `rebuild`.
pub(super) fn start_verification(
    readers: Arc<Readers>,
    handle: WriterHandle,
) -> std::io::Result<()> {
    let verify = move || {
        let mut number = 0;
        loop {
            // A start reports the damage that it finds.
            if !readers.is_available() {
                std::thread::sleep(OUTAGE / 10);
                if handle.catch_up() {
                    continue;
                }
                return;
            }
            match step(&readers, &mut number) {
                Ok(true) => return,
                Ok(false) => std::thread::sleep(PAGE_PAUSE),
                // Outages are the writer's to report; whatever passes is waited for.
                Err(error) if error.passing => std::thread::sleep(OUTAGE),
                Err(error) => return handle.damaged(error.reason),
            }
            if !handle.catch_up() {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("banister-verify".into())
        .spawn(verify)
        .map(|_| ())
}

/// Verifies a page after event `number`; true at the end.
fn step(readers: &Readers, number: &mut u64) -> Result<bool, StoreError> {
    if !readers.with_reserved(|store| verify_page(store, number))? {
        return Ok(false);
    }
    // Indexes, counters: what the database itself can tell.
    readers.with_reserved(|store| store.check()).map(|()| true)
}
