//! Connections that read the log beside the writer.

use std::sync::{Arc, Mutex};

use banister_engine::{Database, Store, StoreError};

use crate::health::Health;

/// Most idle connections kept.
const MOST_IDLE: usize = 4;

/// Pool of connections.
pub struct Readers {
    database: Database,
    health: Arc<Health>,
    /// With the number of outages before each was opened.
    idle: Mutex<Vec<(u64, Box<dyn Store>)>>,
}

impl Readers {
    pub fn new(database: Database, health: Arc<Health>) -> Self {
        Self {
            database,
            health,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Lends a connection. It is kept for the next only while the log is available: otherwise it may lead
    /// to a file that is gone, or keep a writer from opening it anew.
    pub fn with<T>(
        &self,
        read: impl FnOnce(&mut dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let outages = self.health.outages();
        let idle = match self.idle.lock() {
            Ok(mut idle) => {
                idle.retain(|(since, _)| *since == outages);
                idle.pop()
            }
            Err(_) => None,
        };
        let mut store = match idle {
            Some((_, store)) => store,
            None => self.database.open_reader()?,
        };
        let result = read(&mut *store);
        if result.is_ok()
            && self.health.outage().is_none()
            && let Ok(mut idle) = self.idle.lock()
            && idle.len() < MOST_IDLE
        {
            idle.push((outages, store));
        }
        result
    }

    /// Closes the idle connections.
    pub fn clear(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.clear();
        }
    }
}
