//! Hearing of what others wrote.

use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator;

use super::error::{lost, of};
use super::{CHANNEL, connection};
use crate::store::StoreError;

/// Longest time between calls of `wake`, whose answer ends the thread.
const PAUSE: Duration = Duration::from_secs(1);
/// The first wait before connecting again; each next one is twice as long, up to [`PAUSE`].
const FIRST: Duration = Duration::from_millis(100);

/// Calls `wake` on every notification, and about every second, until it says no.
pub(crate) fn listen(url: String, wake: Box<dyn Fn() -> bool + Send>) {
    let thread = std::thread::Builder::new().name("banister-listen".into());
    // Without the thread others' events are found a little later, by looking.
    let _ = thread.spawn(move || {
        let mut wait = FIRST;
        while wake() {
            match wait_for_commits(&url, &*wake, || wait = FIRST) {
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
    url: &str,
    wake: &dyn Fn() -> bool,
    connected: impl FnOnce(),
) -> Result<(), StoreError> {
    let mut client = connection::connect(url)?;
    client
        .batch_execute(&format!("LISTEN {CHANNEL}"))
        .map_err(of)?;
    connected();
    // What was written before anybody listened is to be found now.
    while wake() {
        // Many commits, one call.
        let heard = (client.notifications().timeout_iter(PAUSE))
            .next()
            .map_err(of)?;
        while (client.notifications().iter().next().map_err(of)?).is_some() {}
        if heard.is_none() && client.is_closed() {
            return Err(lost());
        }
    }
    Ok(())
}
