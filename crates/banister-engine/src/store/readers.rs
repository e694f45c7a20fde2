//! Connections that read the log beside the writer: a few, lent one by one.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Database, Store, StoreError};

/// Most idle connections kept.
const MOST_IDLE: usize = 4;
/// Longest wait for a connection.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Pool of connections, of which there are never more than the log allows.
pub struct Readers {
    database: Database,
    most: usize,
    pool: Mutex<Pool>,
    returned: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Box<dyn Store>>,
    /// Connections in use.
    lent: usize,
    /// Number of outages so far: a connection from before the last may lead to a file that is gone.
    outages: u64,
    /// True while the log can be used; in an outage, connections could keep the writer from opening it.
    is_available: bool,
    is_closed: bool,
}

impl Readers {
    pub(crate) fn new(database: Database) -> Self {
        Self {
            most: database.most_readers(),
            database,
            pool: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// Lends a connection, once one is free.
    pub fn with<T>(
        &self,
        read: impl FnOnce(&mut dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.lend(self.most.saturating_sub(1).max(1), read)
    }

    /// Reads with a connection that callers never use: for reads that must not wait.
    pub fn with_reserved<T>(
        &self,
        read: impl FnOnce(&mut dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.lend(self.most, read)
    }

    fn lend<T>(
        &self,
        most: usize,
        read: impl FnOnce(&mut dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut lent = self.acquire(most)?;
        let mut store = match lent.store.take() {
            Some(store) => store,
            None => self.database.open_reader()?,
        };
        let result = read(&mut *store);
        if result.is_ok() {
            lent.store = Some(store);
        }
        result
    }

    fn acquire(&self, most: usize) -> Result<Lent<'_>, StoreError> {
        let until = Instant::now() + LONGEST_WAIT;
        let mut pool = self.lock();
        loop {
            if pool.is_closed {
                return Err(StoreError::passing("the service is stopping"));
            }
            if pool.lent < most {
                pool.lent += 1;
                return Ok(Lent {
                    readers: self,
                    outages: pool.outages,
                    store: pool.idle.pop(),
                });
            }
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Err(StoreError::passing(format!(
                    "all {} connections that read the log are in use",
                    self.most
                )));
            }
            let waited = self.returned.wait_timeout(pool, rest);
            pool = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells that the log can be used, or that it cannot: then all connections are to be opened anew.
    pub(crate) fn set_available(&self, is_available: bool) {
        let mut pool = self.lock();
        pool.is_available = is_available;
        if !is_available {
            pool.outages += 1;
            pool.idle.clear();
        }
    }

    /// Returns true while the log can be used.
    pub(crate) fn is_available(&self) -> bool {
        self.lock().is_available
    }

    /// Closes all connections; those in use are waited for.
    pub(crate) fn close(&self) {
        let mut pool = self.lock();
        pool.is_closed = true;
        pool.idle.clear();
        self.returned.notify_all();
        // A read that takes longer is cut off by the end of the process.
        let closed = (self.returned).wait_timeout_while(pool, LONGEST_WAIT, |pool| pool.lent > 0);
        drop(closed);
    }
}

/// A place in the pool, given back when dropped, also in a panic.
struct Lent<'a> {
    readers: &'a Readers,
    outages: u64,
    store: Option<Box<dyn Store>>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut pool = self.readers.lock();
        let keeps = pool.is_available
            && !pool.is_closed
            && pool.outages == self.outages
            && pool.idle.len() < MOST_IDLE;
        if keeps {
            pool.idle.extend(self.store.take());
        } else if let Some(store) = self.store.take() {
            // Closed before its place is free.
            drop(pool);
            drop(store);
            pool = self.readers.lock();
        }
        pool.lent -= 1;
        drop(pool);
        self.readers.returned.notify_all();
    }
}
