//! All that the writer gets from outside: its log, the time, and sleep. The simulation has another.

use std::time::Duration;

use crate::store::{Database, Store, StoreError};
use crate::time::Timestamp;

pub(super) trait Outside: Send {
    /// Opens the log, and lays it out if it is new.
    fn open(&self) -> Result<Box<dyn Store>, StoreError>;
    /// Opens the log where it was before.
    fn open_again(&self) -> Result<Box<dyn Store>, StoreError>;
    /// The same error with a better reason, where there is one.
    fn explain(&self, error: StoreError) -> StoreError;
    /// Now, by the clock that the log follows.
    fn now(&self) -> Timestamp;
    /// Time since the machine started, asleep or not: nobody sets this clock.
    fn uptime(&self) -> Duration;
    fn sleep(&self, time: Duration);
}

/// The machine that the process runs on, and a database.
pub(super) struct Machine(pub Database);

impl Outside for Machine {
    fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        self.0.open()
    }

    fn open_again(&self) -> Result<Box<dyn Store>, StoreError> {
        self.0.open_again()
    }

    fn explain(&self, error: StoreError) -> StoreError {
        self.0.explain(error)
    }

    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn uptime(&self) -> Duration {
        #[cfg(target_os = "linux")]
        let id = rustix::time::ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let id = rustix::time::ClockId::Monotonic;
        let now = rustix::time::clock_gettime(id);
        Duration::try_from(now).unwrap_or_default()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}
