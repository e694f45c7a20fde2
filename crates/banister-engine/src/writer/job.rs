//! Commands and queries in the queue, each with its reply channel: their types stay matched behind the box.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::commands::{Command, Reply, Transaction};
use crate::events::Author;
use crate::queries::Query;
use crate::refusal::Refusal;
use crate::state::EngineState;

/// Way to answer a caller; called on the writer's thread.
type Channel<A> = Box<dyn FnOnce(A) + Send>;

/// Work that was done for a caller.
#[derive(Debug, Clone, Copy, Default)]
pub struct Work {
    /// Time of computing, without that of the disk.
    pub time: Duration,
    /// Events that were read and written.
    pub events: usize,
}

/// Takes the work that was done for a caller.
pub type Meter = Arc<dyn Fn(Work) + Send + Sync>;

/// Commands or a query that are answered together.
pub(super) trait Job: Send {
    /// Number of commands.
    fn len(&self) -> usize {
        1
    }

    /// True if it needs nothing but the state in memory.
    fn is_query(&self) -> bool {
        false
    }

    /// True if it needs a commit of its own.
    fn is_alone(&self) -> bool {
        false
    }

    /// Announces the decisions that it reads.
    fn prepare(&self, _transaction: &mut Transaction) {}

    /// Executes its commands in the transaction.
    fn execute(&mut self, _transaction: &mut Transaction) {}

    /// Takes the work that is done for it.
    fn meter(&mut self) -> &mut Option<Meter>;

    /// Makes its answers, once what it wrote is folded.
    fn resolve(&mut self, state: &mut EngineState);

    /// Sends its answers.
    fn reply(self: Box<Self>);

    /// Sends a refusal in place of every answer.
    fn refuse(self: Box<Self>, reason: &Refusal);
}

/// A batch of commands of one type.
pub(super) struct CommandJob<C: Command> {
    author: Author,
    meter: Option<Meter>,
    count: usize,
    commands: Vec<C>,
    executed: Vec<Result<Reply<C::Answer>, Refusal>>,
    answers: Vec<Result<C::Answer, Refusal>>,
    send: Channel<Vec<Result<C::Answer, Refusal>>>,
}

impl<C: Command> CommandJob<C> {
    pub(super) fn new(
        author: Author,
        commands: Vec<C>,
        send: Channel<Vec<Result<C::Answer, Refusal>>>,
    ) -> Self {
        Self {
            author,
            meter: None,
            count: commands.len(),
            commands,
            executed: Vec::new(),
            answers: Vec::new(),
            send,
        }
    }
}

impl<C: Command> Job for CommandJob<C> {
    fn len(&self) -> usize {
        self.count
    }

    fn is_alone(&self) -> bool {
        !C::SHARES_COMMIT
    }

    fn prepare(&self, transaction: &mut Transaction) {
        self.commands
            .iter()
            .for_each(|command| command.prepare(transaction));
    }

    fn execute(&mut self, transaction: &mut Transaction) {
        transaction.author = self.author.clone();
        let commands = std::mem::take(&mut self.commands).into_iter();
        self.executed = commands
            .map(|command| command.execute(transaction))
            .collect();
    }

    fn meter(&mut self) -> &mut Option<Meter> {
        &mut self.meter
    }

    fn resolve(&mut self, state: &mut EngineState) {
        let executed = std::mem::take(&mut self.executed).into_iter();
        self.answers = executed
            .map(|reply| reply.and_then(|reply| reply.resolve(state)))
            .collect();
    }

    fn reply(self: Box<Self>) {
        (self.send)(self.answers);
    }

    fn refuse(self: Box<Self>, reason: &Refusal) {
        (self.send)((0..self.count).map(|_| Err(reason.clone())).collect());
    }
}

pub(super) struct QueryJob<Q: Query> {
    meter: Option<Meter>,
    query: Option<Q>,
    answer: Option<Result<Q::Answer, Refusal>>,
    /// What it is to be read from beside the writer.
    copy: Option<EngineState>,
    send: Channel<Result<Q::Answer, Refusal>>,
}

impl<Q: Query> QueryJob<Q> {
    pub(super) fn new(query: Q, send: Channel<Result<Q::Answer, Refusal>>) -> Self {
        Self {
            meter: None,
            query: Some(query),
            answer: None,
            copy: None,
            send,
        }
    }
}

impl<Q: Query> Job for QueryJob<Q> {
    fn is_query(&self) -> bool {
        true
    }

    fn meter(&mut self) -> &mut Option<Meter> {
        &mut self.meter
    }

    fn resolve(&mut self, state: &mut EngineState) {
        let name = self.query.as_ref().and_then(Query::reads);
        self.copy = name.and_then(|name| state.copy_of(name));
        if self.copy.is_none() {
            self.answer = self.query.take().map(|query| query.answer(state));
        }
    }

    fn reply(self: Box<Self>) {
        if let Some(answer) = self.answer {
            return (self.send)(answer);
        }
        // Callers bound their number: at a lower priority they would not be answered on a busy machine. Where there is no
        // thread, the caller hears nothing more.
        let _ = std::thread::Builder::new().spawn(move || {
            let begun = Instant::now();
            if let (Some(query), Some(mut copy)) = (self.query, self.copy) {
                (self.send)(query.answer(&mut copy));
            }
            let time = begun.elapsed();
            (self.meter.iter()).for_each(|meter| meter(Work { time, events: 0 }));
        });
    }

    fn refuse(self: Box<Self>, reason: &Refusal) {
        (self.send)(Err(reason.clone()));
    }
}
