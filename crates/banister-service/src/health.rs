//! How the log is, as the writer says.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use banister_engine::Monitor;

use crate::app::Readers;
use crate::metrics::Metrics;

/// Whether the log can be written.
pub struct Health {
    trouble: Mutex<Option<String>>,
    /// How often it could not.
    times: AtomicU64,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            trouble: Mutex::new(Some("the log is being opened".into())),
            times: AtomicU64::new(0),
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

    /// How often it was not.
    pub fn times(&self) -> u64 {
        self.times.load(Ordering::Acquire)
    }

    fn set(&self, trouble: Option<String>) {
        if trouble.is_some() {
            self.times.fetch_add(1, Ordering::AcqRel);
        }
        if let Ok(mut place) = self.trouble.lock() {
            *place = trouble;
        }
    }
}

/// Hears what the writer does.
pub struct Hears {
    /// For `/readyz`.
    pub health: Arc<Health>,
    /// Who must let go of a log in trouble.
    pub readers: Arc<Readers>,
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
}

impl Monitor for Hears {
    fn committed(&self, events: usize, seconds: f64) {
        self.metrics.committed(events, seconds);
    }

    fn follows(&self, folded: u64, last: u64) {
        self.metrics.follows(folded, last);
    }

    fn trouble(&self, reason: Option<&str>) {
        match reason {
            Some(reason) => {
                tracing::error!(reason, "the log is not available");
                self.metrics.trouble();
            }
            None => tracing::info!("the log is available"),
        }
        self.health.set(reason.map(str::to_string));
        if reason.is_some() {
            self.readers.clear();
        }
    }
}
