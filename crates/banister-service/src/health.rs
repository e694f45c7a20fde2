//! Log health, as the writer reports it, and the service's observer of the writer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use banister_engine::{AlarmRaised, Monitor};

use crate::metrics::Metrics;

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

pub struct ServiceMonitor {
    pub health: Arc<Health>,
    pub metrics: Arc<Metrics>,
}

impl Monitor for ServiceMonitor {
    fn committed(&self, events: usize, seconds: f64) {
        self.metrics.committed(events, seconds);
    }

    fn follows(&self, folded: u64, last: u64) {
        self.metrics.follows(folded, last);
        self.health.prove();
    }

    fn clock(&self, skew: f64) {
        self.metrics.clock_skew.set(skew);
    }

    fn alarm(&self, experiment: &str, alarm: &AlarmRaised) {
        let (kind, reason, forces_safe) = (alarm.kind, &alarm.message, alarm.forces_safe);
        if kind.is_warning() {
            tracing::warn!(experiment, ?kind, reason, "warning");
        } else {
            tracing::error!(experiment, ?kind, reason, forces_safe, "alarm");
        }
    }

    fn notice(&self, text: &str) {
        tracing::warn!("{text}");
    }

    fn outage(&self, reason: Option<&str>) {
        match reason {
            Some(reason) => {
                tracing::error!(reason, "the log is not available");
                self.metrics.outages.inc();
            }
            None => tracing::info!("the log is available"),
        }
        self.health.set(reason.map(str::to_string));
    }
}
