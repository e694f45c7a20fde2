//! The service's observer of the writer: log health and metrics.

use std::sync::Arc;

use banister_engine::{AlarmRaised, Monitor};

use crate::health::Health;
use crate::metrics::Metrics;

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
        self.metrics.clock(skew);
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
                self.metrics.outage();
            }
            None => tracing::info!("the log is available"),
        }
        self.health.set(reason.map(str::to_string));
    }
}
