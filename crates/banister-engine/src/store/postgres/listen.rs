//! Hearing of what others wrote.

use std::time::Duration;

use super::{CHANNEL, connection};
use crate::store::{PostgresLog, StoreError};

/// Longest time between calls of `wake`, whose answer ends the thread.
const PAUSE: Duration = Duration::from_secs(1);
/// The first wait before connecting again; each next one is twice as long, up to [`PAUSE`].
const FIRST: Duration = Duration::from_millis(100);

/// Calls `wake` on every notification, and about every second, until it says no.
pub(crate) fn listen(log: PostgresLog, wake: Box<dyn Fn() -> bool + Send>) {
    let thread = std::thread::Builder::new().name("banister-listen".into());
    // Without the thread others' events are found a little later, by looking.
    let _ = thread.spawn(move || {
        let mut wait = FIRST;
        while wake() {
            match wait_for_commits(&log, &*wake, || wait = FIRST) {
                Ok(()) => return,
                // Trouble with the log is the writer's to report.
                Err(_) => {
                    std::thread::sleep(wait);
                    wait = (2 * wait).min(PAUSE);
                }
            }
        }
    });
}

/// Listens until `wake` says no, or until the connection breaks.
fn wait_for_commits(
    log: &PostgresLog,
    wake: &dyn Fn() -> bool,
    connected: impl FnOnce(),
) -> Result<(), StoreError> {
    let mut session = connection::connect(log, log.statement_timeout)?;
    let listen = format!("LISTEN {CHANNEL}");
    session.run(async |client| client.batch_execute(&listen).await)?;
    connected();
    // What was written before anybody listened is to be found now.
    while wake() {
        session.wait(PAUSE)?;
    }
    Ok(())
}
