//! Log health, as the writer reports it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Availability of the log.
pub struct Health {
    /// Age of the last proof from which on the log counts as unavailable, whatever the writer said: it may
    /// be waiting for an answer that does not come.
    most_age: Duration,
    log: Mutex<LogHealth>,
}

struct LogHealth {
    outage: Option<String>,
    /// Moment at which the log last answered.
    proof: Instant,
}

impl Health {
    pub fn new(most_age: Duration) -> Self {
        let log = LogHealth {
            outage: Some("the log is being opened".into()),
            proof: Instant::now(),
        };
        Self {
            most_age,
            log: Mutex::new(log),
        }
    }

    /// Reason of the outage, if there is one.
    pub fn outage(&self) -> Option<String> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let age = log.proof.elapsed();
        let silent = || {
            (age > self.most_age).then(|| {
                format!(
                    "the database has not answered for {} seconds",
                    age.as_secs()
                )
            })
        };
        log.outage.clone().or_else(silent)
    }

    pub fn set(&self, outage: Option<String>) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.outage = outage;
    }

    /// The log has answered.
    pub fn prove(&self) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.proof = Instant::now();
    }
}
