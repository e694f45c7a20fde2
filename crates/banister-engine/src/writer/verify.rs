//! Thread that reads the whole log once, after every start, and verifies its seals.
//!
//! A start folds the events since the snapshots, and verifies those. The others are read beside the writer, so
//! that a long log does not keep anybody waiting; damage that is found ends the writing, in the words of
//! `rebuild`.

use std::sync::Arc;
use std::time::Duration;

use super::queue::WriterHandle;
use crate::store::{Readers, StoreError, verify_page};

/// Pause between pages: others read the log, too.
const PAUSE: Duration = Duration::from_millis(1);
/// Pause where the log cannot be read.
const OUTAGE: Duration = Duration::from_millis(500);

/// Starts the thread; it ends with the last event that is there.
pub(super) fn start(readers: Arc<Readers>, handle: WriterHandle) -> std::io::Result<()> {
    let verify = move || {
        let mut number = 0;
        loop {
            // What a start finds damaged by itself, it says itself.
            if !readers.is_available() {
                std::thread::sleep(OUTAGE / 10);
                if handle.is_served() {
                    continue;
                }
                return;
            }
            match step(&readers, &mut number) {
                Ok(true) => return,
                Ok(false) => std::thread::sleep(PAUSE),
                // Outages are the writer's to report; whatever passes is waited for.
                Err(error) if error.passing => std::thread::sleep(OUTAGE),
                Err(error) => return handle.damaged(error.reason),
            }
            if !handle.is_served() {
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
