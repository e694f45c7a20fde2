//! Bounded queue to the writer, emptied in batches.

use std::collections::VecDeque;
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel,
};
use std::time::{Duration, Instant};

use super::job::{CommandJob, Commands, Job, Meter, question};
use crate::commands::Command;
use crate::events::Author;
use crate::queries::Query;
use crate::refusal::Refusal;

/// Most commands of one batch; more wait for the next.
const MOST_COMMANDS: usize = 4096;
/// Most commands of a job that shares a commit with others.
const SHARING: usize = 64;
/// Larger ones that wait outside the queue at most.
const MOST_LARGE: usize = 1024;
/// Time after which an idle writer looks for events of others.
pub(super) const IDLE: Duration = Duration::from_millis(250);
/// Longest time that a batch waits for more.
const LONGEST_GATHERING: Duration = Duration::from_micros(500);

enum Message {
    Job(Job),
    CatchUp,
    /// Damage was found in the log.
    Damaged(String),
    Stop,
}

/// Error of a full queue: the caller should retry later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// Sender's end of the writer's queue; cheap to clone.
#[derive(Clone)]
pub struct WriterHandle {
    sender: SyncSender<Message>,
    /// Author of the commands that it sends.
    author: Author,
    /// Takes the time that the writer spends for its caller.
    meter: Option<Meter>,
}

/// Makes a queue that holds `length` jobs.
pub(super) fn queue(length: usize) -> (WriterHandle, WriterQueue) {
    let (sender, receiver) = sync_channel(length);
    let queue = WriterQueue {
        receiver,
        large: VecDeque::new(),
        last: 0,
        is_closed: false,
        damage: None,
    };
    let author = Author::new(None);
    let handle = WriterHandle {
        sender,
        author,
        meter: None,
    };
    (handle, queue)
}

impl WriterHandle {
    /// Handle whose commands are written in an author's name.
    pub fn by(&self, author: Author) -> Self {
        Self {
            author,
            ..self.clone()
        }
    }

    /// Handle for whose commands and queries the writer's time is charged.
    pub fn metered(&self, meter: Meter) -> Self {
        Self {
            meter: Some(meter),
            ..self.clone()
        }
    }

    /// Queues commands that are executed in one commit. `reply` is called on the writer's thread, once
    /// everything that they wrote is durable; if the writer is gone it is dropped.
    pub fn execute<C: Command>(
        &self,
        commands: Vec<C>,
        reply: impl FnOnce(Vec<Result<C::Answer, Refusal>>) + Send + 'static,
    ) -> Result<(), Busy> {
        let mut job = CommandJob::new(self.author.clone(), commands, Box::new(reply));
        job.meter().clone_from(&self.meter);
        self.send(Job::Commands(Box::new(job)))
    }

    /// Queues a query; `reply` is called on the writer's thread, or on one that reads a copy beside it.
    pub fn query<Q: Query>(
        &self,
        query: Q,
        reply: impl FnOnce(Result<Q::Answer, Refusal>) + Send + 'static,
    ) -> Result<(), Busy> {
        self.send(Job::Query(question(query, self.meter.clone(), reply)))
    }

    fn send(&self, job: Job) -> Result<(), Busy> {
        match self.sender.try_send(Message::Job(job)) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
            Err(TrySendError::Full(_)) => Err(Busy),
        }
    }

    /// Executes a command and blocks until it is durable: for tests and tools.
    pub fn execute_blocking<C: Command>(&self, command: C) -> Result<C::Answer, Refusal> {
        let (sender, receiver) = channel();
        wait(receiver, || {
            self.execute(vec![command], move |mut answers| {
                // The caller may have gone.
                let _ = answers.pop().map(|answer| sender.send(answer));
            })
        })
    }

    /// Answers a query and blocks until then: for tests and tools.
    pub fn query_blocking<Q: Query>(&self, query: Q) -> Result<Q::Answer, Refusal> {
        let (sender, receiver) = channel();
        wait(receiver, || {
            self.query(query, move |answer| {
                // The caller may have gone.
                let _ = sender.send(answer);
            })
        })
    }

    /// Tells the writer that others may have written; `false` if it is gone.
    pub fn catch_up(&self) -> bool {
        !matches!(
            self.sender.try_send(Message::CatchUp),
            Err(TrySendError::Disconnected(_))
        )
    }

    /// Tells the writer of damage in the log.
    pub(super) fn damaged(&self, reason: String) {
        // If the writer is gone, nothing is written any more.
        let _ = self.sender.send(Message::Damaged(reason));
    }

    /// Sends the last message.
    pub(super) fn stop(&self) {
        // If the writer has ended already there is nothing to stop.
        let _ = self.sender.send(Message::Stop);
    }
}

fn wait<A>(
    receiver: Receiver<Result<A, Refusal>>,
    send: impl FnOnce() -> Result<(), Busy>,
) -> Result<A, Refusal> {
    if send().is_err() {
        return Err(Refusal::unavailable("too many requests are waiting"));
    }
    match receiver.recv() {
        Ok(answer) => answer,
        Err(_) => Err(Refusal::unavailable("the writer has stopped")),
    }
}

/// Writer's end of the queue.
pub(super) struct WriterQueue {
    receiver: Receiver<Message>,
    /// Jobs of very many commands, one a commit.
    large: VecDeque<Box<dyn Commands>>,
    /// Jobs of the last batch.
    last: usize,
    is_closed: bool,
    /// Damage that was found in the log.
    damage: Option<String>,
}

impl WriterQueue {
    /// Takes the damage that somebody found.
    pub(super) fn take_damage(&mut self) -> Option<String> {
        self.damage.take()
    }

    /// True once the last message has come, and nothing waits.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed && self.large.is_empty()
    }

    /// Receives the jobs of the next batch; none if it is time to look for events of others.
    ///
    /// Where many ask at once, waiting a moment makes one commit of what would be several: at most half as long as a
    /// commit takes, so that no caller waits much longer, and not at all where one asks alone.
    pub(super) fn next(&mut self, commit_time: Duration) -> Vec<Job> {
        let mut jobs = Vec::new();
        let has_time = self.large.is_empty();
        let mut count = self.receive(if has_time { IDLE } else { Duration::ZERO }, &mut jobs);
        let many = self.last > 1;
        let until = Instant::now() + (commit_time / 2).min(LONGEST_GATHERING);
        while count > 0 && count < MOST_COMMANDS && self.large.len() < MOST_LARGE && !self.is_closed
        {
            let more = self.receive(Duration::ZERO, &mut jobs);
            if more > 0 {
                count += more;
                continue;
            }
            let rest = until.saturating_duration_since(Instant::now());
            if !many || rest.is_zero() || jobs.len() >= self.last.saturating_mul(2) {
                break;
            }
            match self.receive(rest, &mut jobs) {
                0 => break,
                more => count += more,
            }
        }
        self.last = jobs.len();
        jobs
    }

    /// The next large job: it has its turn after others, who wait for no more than one.
    pub(super) fn next_large(&mut self) -> Option<Box<dyn Commands>> {
        self.large.pop_front()
    }

    /// Receives one message if one comes in time; returns the number of commands that it brought.
    fn receive(&mut self, wait: Duration, jobs: &mut Vec<Job>) -> usize {
        let message = if wait.is_zero() {
            self.receiver.try_recv().ok()
        } else {
            match self.receiver.recv_timeout(wait) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Message::Stop),
            }
        };
        match message {
            Some(Message::Job(Job::Commands(job))) => {
                let count = job.len();
                if count > SHARING {
                    self.large.push_back(job);
                } else {
                    jobs.push(Job::Commands(job));
                }
                count
            }
            Some(Message::Job(query)) => {
                jobs.push(query);
                1
            }
            Some(Message::CatchUp) | None => 0,
            Some(Message::Damaged(reason)) => {
                self.damage = Some(reason);
                0
            }
            Some(Message::Stop) => {
                self.is_closed = true;
                0
            }
        }
    }
}
