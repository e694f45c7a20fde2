//! The application state that all handlers share.

use std::sync::Arc;
use std::time::Instant;

use banister::lease::LeaseSigner;
use banister_engine::{
    Author, Busy, Command, Query, Readers, Refusal, Stats, Store, StoreError, Work, WriterHandle,
};
use bytes::Bytes;
use tokio::sync::{Mutex, Semaphore, oneshot};

use crate::health::Health;
use crate::memory::{Held, MemoryBudget};
use crate::metrics::Metrics;
use crate::middleware::auth::TokenStore;
use crate::middleware::rate::Limits;
use crate::problem::Problem;
use crate::settings::Settings;

/// Memory of reading the log: a page of it, decoded.
const READ: usize = 8 << 20;

/// Handle to the parts of a service; cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Shared>);

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// Parts of a service, made by [`crate::assemble`].
pub struct Shared {
    pub settings: Settings,
    pub writer: WriterHandle,
    pub tokens: Arc<TokenStore>,
    pub limits: Limits,
    pub metrics: Arc<Metrics>,
    pub health: Arc<Health>,
    pub readers: Arc<Readers>,
    /// Memory that requests share.
    pub memory: MemoryBudget,
    /// Permits of exports that run at once.
    pub exports: Arc<Semaphore>,
    /// Permits of lists of experiments, and of reads of whole ones, that are made at once.
    pub lists: Arc<Semaphore>,
    /// Numbers for monitoring, and the time at which they were read.
    pub stats: Mutex<Option<(Instant, Arc<Stats>)>>,
    /// Signs leases.
    pub signer: LeaseSigner,
    /// OpenAPI document, made once.
    pub openapi: Bytes,
}

impl App {
    pub fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// Returns true if the log can be written and the tokens are known.
    pub fn is_ready(&self) -> bool {
        self.health.outage().is_none() && self.tokens.is_fresh()
    }

    /// The writer, whose time is charged to the caller of a request, also of one that gave up.
    fn metered(&self, held: &Held) -> WriterHandle {
        let (app, charged) = (self.clone(), held.charged.clone());
        let charge = move |work: Work| app.limits.worked(&charged, work.time.as_secs_f64());
        self.writer.metered(Arc::new(charge))
    }

    /// Executes an author's commands in one commit, and waits until they are durable.
    pub async fn execute_all<C: Command>(
        &self,
        author: Author,
        commands: Vec<C>,
    ) -> Result<Vec<Result<C::Answer, Refusal>>, Problem> {
        let (sender, receiver) = oneshot::channel();
        let held = Held::current();
        let writer = self.metered(&held).by(author);
        let sent = writer.execute(commands, move |answers| {
            // A caller that gave up waiting leaves its commands in the queue.
            drop(held);
            // The caller may have gone.
            let _ = sender.send(answers);
        });
        let answers = answered(sent, receiver).await?;
        for answer in &answers {
            if let Err(Refusal::Exhausted {
                experiment,
                guardrail,
                ..
            }) = answer
            {
                self.metrics.refused(experiment, guardrail.clone());
            }
        }
        Ok(answers)
    }

    /// Executes one command.
    pub async fn execute<C: Command>(
        &self,
        author: Author,
        command: C,
    ) -> Result<C::Answer, Problem> {
        let answer = self.execute_all(author, vec![command]).await?.pop();
        answer
            .unwrap_or_else(|| Err(Refusal::unavailable("no answer")))
            .map_err(Problem::from)
    }

    /// Answers a query from the writer's memory.
    pub async fn query<Q: Query>(&self, query: Q) -> Result<Q::Answer, Problem> {
        // What is read of a whole experiment may take long: some at a time leave the others their part of the machine.
        let turn = match query.reads() {
            Some(_) => self.lists.clone().acquire_owned().await.ok(),
            None => None,
        };
        let (sender, receiver) = oneshot::channel();
        let writer = self.metered(&Held::current());
        let sent = writer.query(query, move |answer| {
            // Not before, also where the caller gave up.
            drop(turn);
            // The caller may have gone.
            let _ = sender.send(answer);
        });
        answered(sent, receiver).await?.map_err(Problem::from)
    }

    /// Reads the log beside the writer, on a thread that may block.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let readers = self.readers.clone();
        let held = Held::current();
        held.add(self.memory.reserve(READ).await?);
        let read = tokio::task::spawn_blocking(move || {
            let _held = held;
            readers.with(read)
        });
        match read.await {
            Ok(result) => result.map_err(Problem::from),
            Err(_) => Err(Problem::unavailable("reading the log failed")),
        }
    }
}

async fn answered<T>(sent: Result<(), Busy>, receiver: oneshot::Receiver<T>) -> Result<T, Problem> {
    if sent.is_err() {
        return Err(Problem::unavailable(
            "too many requests are waiting: come again in a moment",
        ));
    }
    (receiver.await)
        .map_err(|_| Problem::unavailable("the service is stopping, or has too much to do"))
}
