//! Log health, as the writer reports it.

use std::sync::Mutex;

/// Availability of the log.
pub struct Health {
    outage: Mutex<Option<String>>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            outage: Mutex::new(Some("the log is being opened".into())),
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

    pub fn set(&self, outage: Option<String>) {
        if let Ok(mut place) = self.outage.lock() {
            *place = outage;
        }
    }
}
