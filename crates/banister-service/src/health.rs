//! Log health, as the writer reports it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Availability of the log.
pub struct Health {
    outage: Mutex<Option<String>>,
    /// Number of outages so far.
    count: AtomicU64,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            outage: Mutex::new(Some("the log is being opened".into())),
            count: AtomicU64::new(0),
        }
    }
}

impl Health {
    /// Reason of the outage, if there is one.
    pub fn outage(&self) -> Option<String> {
        match self.outage.lock() {
            Ok(outage) => outage.clone(),
            Err(_) => Some("unknown".into()),
        }
    }

    /// Number of outages so far.
    pub fn outages(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    pub fn set(&self, outage: Option<String>) {
        if outage.is_some() {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
        if let Ok(mut place) = self.outage.lock() {
            *place = outage;
        }
    }
}
