//! What all handlers share.

use std::sync::Arc;

use banister_engine::{Answer, Asker, Database, Refusal, Request, Store, StoreError};
use std::sync::Mutex;
use tokio::sync::Semaphore;

use crate::auth::Guests;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::rate::Rates;
use crate::settings::Settings;

/// What all handlers share; cheap to copy.
#[derive(Clone)]
pub struct App(Arc<Shared>);

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// What all handlers share.
pub struct Shared {
    /// The settings.
    pub settings: Settings,
    /// The writer's queue.
    pub asker: Asker,
    /// Who may come in.
    pub guests: Arc<Guests>,
    /// How often.
    pub rates: Rates,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// How the log is.
    pub health: Arc<Health>,
    /// Connections for reading.
    pub readers: Arc<Readers>,
    /// Turns of exports.
    pub exports: Arc<Semaphore>,
    /// The OpenAPI document, made once.
    pub openapi: String,
}

impl App {
    /// Puts it together.
    pub fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// Whether the log can be written and the tokens are known.
    pub fn is_ready(&self) -> bool {
        self.health.trouble().is_none() && self.guests.is_read()
    }

    /// Asks the writer, and waits for its answers.
    pub async fn ask_all(
        &self,
        requests: Vec<Request>,
    ) -> Result<Vec<Result<Answer, Refusal>>, Problem> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let asked = self.asker.ask(requests, move |answers| {
            // The caller may have gone.
            let _ = sender.send(answers);
        });
        if asked.is_err() {
            return Err(Problem::unavailable(
                "too many requests are waiting: come again in a moment",
            ));
        }
        receiver
            .await
            .map_err(|_| Problem::unavailable("the service is stopping"))
    }

    /// Asks the writer one thing.
    pub async fn ask(&self, request: Request) -> Result<Answer, Problem> {
        let answer = self.ask_all(vec![request]).await?.pop();
        answer
            .unwrap_or_else(|| Err(Refusal::unavailable("no answer")))
            .map_err(Problem::from)
    }

    /// Reads the log beside the writer, on a thread that may block.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let readers = self.readers.clone();
        let read = tokio::task::spawn_blocking(move || readers.with(read));
        match read.await {
            Ok(result) => result.map_err(Problem::from),
            Err(_) => Err(Problem::unavailable("reading the log failed")),
        }
    }
}

/// Connections for reading, reused.
pub struct Readers {
    database: Database,
    health: Arc<Health>,
    /// With the number of troubles that were before.
    idle: Mutex<Vec<(u64, Box<dyn Store>)>>,
}

/// Connections kept.
const MOST_IDLE: usize = 4;

impl Readers {
    /// For a log.
    pub fn new(database: Database, health: Arc<Health>) -> Self {
        Self {
            database,
            health,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Lends a connection. It is kept for the next only while the log is well: otherwise it may lead to
    /// a file that is gone, or keep a writer from opening it anew.
    pub fn with<T>(
        &self,
        read: impl FnOnce(&mut dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let times = self.health.times();
        let idle = match self.idle.lock() {
            Ok(mut idle) => {
                idle.retain(|(since, _)| *since == times);
                idle.pop()
            }
            Err(_) => None,
        };
        let mut store = match idle {
            Some((_, store)) => store,
            None => self.database.open_reader()?,
        };
        let result = read(&mut *store);
        let well = result.is_ok() && self.health.trouble().is_none();
        if let (true, Ok(mut idle)) = (well, self.idle.lock())
            && idle.len() < MOST_IDLE
        {
            idle.push((times, store));
        }
        result
    }

    /// Closes what is kept.
    pub fn clear(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.clear();
        }
    }
}
