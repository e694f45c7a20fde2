//! Platform of the writer: its log, the time, and sleep. The simulation has another.

use std::sync::Arc;
use std::time::Duration;

use crate::store::{Database, Readers, Store, StoreError};

/// Input and output of the writer.
pub(super) trait Platform: Send {
    /// Opens the log, and lays it out if it is new.
    fn open(&self) -> Result<Box<dyn Store>, StoreError>;
    /// Reopens a log that was open before.
    fn open_again(&self) -> Result<Box<dyn Store>, StoreError>;
    /// Finds the reason behind an error, where the error does not say it.
    fn explain(&self, error: StoreError) -> StoreError;
    /// Opens or closes the log to the readers.
    fn set_available(&self, is_available: bool);
    /// Closes the connections of the readers.
    fn close(&self);
    /// Time since the machine started, asleep or not: this clock cannot be set.
    fn uptime(&self) -> Duration;
    fn sleep(&self, time: Duration);
}

/// The machine that the process runs on, and a database.
pub(super) struct Machine {
    pub database: Database,
    pub readers: Arc<Readers>,
}

impl Platform for Machine {
    fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        self.database.open()
    }

    fn open_again(&self) -> Result<Box<dyn Store>, StoreError> {
        self.database.open_again()
    }

    fn explain(&self, error: StoreError) -> StoreError {
        self.database.explain(error)
    }

    fn set_available(&self, is_available: bool) {
        self.readers.set_available(is_available);
    }

    fn close(&self) {
        self.readers.close();
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
