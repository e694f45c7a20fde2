//! How the log is, as the writer says.

use std::sync::{Arc, Mutex};

use banister_log::Monitor;

use crate::metrics::Metrics;

/// Whether the log can be written.
pub struct Health {
    trouble: Mutex<Option<String>>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            trouble: Mutex::new(Some("the log is being opened".into())),
        }
    }
}

impl Health {
    /// Why not, if not.
    pub fn trouble(&self) -> Option<String> {
        match self.trouble.lock() {
            Ok(trouble) => trouble.clone(),
            Err(_) => Some("unknown".into()),
        }
    }

    fn set(&self, trouble: Option<String>) {
        if let Ok(mut place) = self.trouble.lock() {
            *place = trouble;
        }
    }
}

/// Hears what the writer does.
pub struct Hears {
    /// For `/readyz`.
    pub health: Arc<Health>,
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
}

impl Monitor for Hears {
    fn committed(&self, events: usize, seconds: f64) {
        self.metrics.committed(events, seconds);
    }

    fn follows(&self, folded: u64, last: u64) {
        self.metrics.follows(folded, last);
        // It was folded up to the end: whatever was wrong at the start is over.
        if self.health.trouble().is_some() {
            self.health.set(None);
        }
    }

    fn trouble(&self, reason: Option<&str>) {
        match reason {
            Some(reason) => {
                tracing::error!(reason, "the log is not available");
                self.metrics.trouble();
            }
            None => tracing::info!("the log is available again"),
        }
        self.health.set(reason.map(str::to_string));
    }
}
