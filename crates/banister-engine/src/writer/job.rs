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

/// Work in the queue.
pub(super) enum Job {
    Commands(Box<dyn Commands>),
    /// A query: it needs nothing but the state in memory.
    Query(Question),
}

/// Answers a query from the state, or with the reason for which there is none.
pub(super) type Question = Box<dyn FnOnce(Result<&mut EngineState, Refusal>) + Send>;

/// Makes a query something to be answered; `reply` is called on the writer's thread, or on one that reads a copy.
pub(super) fn question<Q: Query>(
    query: Q,
    meter: Option<Meter>,
    reply: impl FnOnce(Result<Q::Answer, Refusal>) + Send + 'static,
) -> Question {
    Box::new(move |state| {
        let state = match state {
            Ok(state) => state,
            Err(reason) => return reply(Err(reason)),
        };
        let copy = query.reads().and_then(|name| state.copy_of(name));
        let answer = move |state: &mut EngineState| {
            let begun = Instant::now();
            let answer = query.answer(state);
            let time = begun.elapsed();
            (meter.iter()).for_each(|meter| meter(Work { time, events: 0 }));
            reply(answer);
        };
        match copy {
            None => answer(state),
            // Callers bound their number: at a lower priority they would not be answered on a busy machine. Where there
            // is no thread, the caller hears nothing more.
            Some(mut copy) => drop(std::thread::Builder::new().spawn(move || answer(&mut copy))),
        }
    })
}

/// Commands that are answered together.
pub(super) trait Commands: Send {
    /// Number of commands.
    fn len(&self) -> usize;

    /// True if they need a commit of their own.
    fn is_alone(&self) -> bool;

    /// Announces the decisions that they read.
    fn prepare(&self, transaction: &mut Transaction);

    /// Executes them in the transaction.
    fn execute(&mut self, transaction: &mut Transaction);

    /// Takes the work that is done for them.
    fn meter(&mut self) -> &mut Option<Meter>;

    /// Makes the answers, once what they wrote is folded.
    fn resolve(&mut self, state: &mut EngineState);

    /// Sends the answers.
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

impl<C: Command> Commands for CommandJob<C> {
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
