//! Decisions whose time to live is over get their default outcome.
//!
//! A thread of its own looks for them, so that the writer never waits for a long search; what it finds
//! goes through the queue like anybody's request, and is checked again there.

use std::time::Duration;

use crate::queue::Asker;
use crate::request::{Answer, Life, Overdue, Request};
use crate::store::{Database, Store, StoreError};
use crate::time::Timestamp;

const PAUSE: Duration = Duration::from_millis(500);
/// Decisions of one request.
const CHUNK: usize = 1000;

/// Starts the thread; it ends with the writer.
pub(crate) fn start(database: Database, asker: Asker) -> std::io::Result<()> {
    let search = move || {
        loop {
            std::thread::sleep(PAUSE);
            if !asker.catch_up() {
                return;
            }
            let Ok(Answer::Lives(lives)) = asker.wait(Request::Lives) else {
                continue;
            };
            if lives.is_empty() {
                continue;
            }
            // Opened anew each time: a connection that is kept would keep a file that was replaced.
            let Ok(mut reader) = database.open_reader() else {
                continue;
            };
            for life in lives {
                // Trouble with the log is the writer's to report; here it means a new try later.
                while let Ok(Some(overdue)) = overdue(&mut *reader, &life) {
                    let more = overdue.decisions.len() == CHUNK;
                    let expired = asker.wait(Request::Expire(overdue));
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

/// The decisions of an experiment whose time is over.
fn overdue(store: &mut dyn Store, life: &Life) -> Result<Option<Overdue>, StoreError> {
    let cutoff = Timestamp::now().minus_seconds(life.ttl_seconds);
    let upto = last_before(store, life.settled, cutoff)?;
    if upto <= life.settled {
        return Ok(None);
    }
    let decisions = store.overdue(life.experiment, life.settled, upto, CHUNK)?;
    Ok(Some(Overdue {
        experiment: life.experiment,
        decisions,
        settled: upto,
    }))
}

/// The last event that is not younger than `cutoff`, by bisection: the log's times never go back.
fn last_before(store: &mut dyn Store, after: u64, cutoff: Timestamp) -> Result<u64, StoreError> {
    let (mut low, mut high) = (after, store.last()?);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let old = (store.get(middle)?).is_some_and(|record| record.time <= cutoff);
        match old {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    Ok(low)
}
