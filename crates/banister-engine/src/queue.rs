//! The way to the writer: a bounded queue, emptied in batches.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use crate::refusal::Refusal;
use crate::request::{Answer, Request};

/// Requests of one batch at most; more wait for the next.
const MOST_REQUESTS: usize = 4096;
/// How long the writer waits for requests before it looks for what others wrote.
const IDLE: Duration = Duration::from_millis(250);
/// How long a batch waits for more at most.
const LONGEST_GATHERING: Duration = Duration::from_micros(500);

type Reply = Box<dyn FnOnce(Vec<Result<Answer, Refusal>>) + Send>;

enum Message {
    Ask(Job),
    CatchUp,
    Stop,
}

/// Requests that are answered together.
pub(crate) struct Job {
    pub requests: Vec<Request>,
    pub reply: Reply,
}

/// The queue is full: come again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// Asks the writer; cheap to copy.
#[derive(Clone)]
pub struct Asker {
    sender: SyncSender<Message>,
}

/// A queue that holds so many jobs.
pub(crate) fn queue(length: usize) -> (Asker, Intake) {
    let (sender, receiver) = sync_channel(length);
    let intake = Intake {
        receiver,
        last: 0,
        is_closed: false,
    };
    (Asker { sender }, intake)
}

impl Asker {
    /// Puts requests into the queue. `reply` is called on the writer's thread, once everything that
    /// they wrote is durable; if the writer is gone it is dropped.
    pub fn ask(
        &self,
        requests: Vec<Request>,
        reply: impl FnOnce(Vec<Result<Answer, Refusal>>) + Send + 'static,
    ) -> Result<(), Busy> {
        let reply = Box::new(reply);
        match self.sender.try_send(Message::Ask(Job { requests, reply })) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
            Err(TrySendError::Full(_)) => Err(Busy),
        }
    }

    /// Says that others may have written; `false` if the writer is gone.
    pub fn catch_up(&self) -> bool {
        !matches!(
            self.sender.try_send(Message::CatchUp),
            Err(TrySendError::Disconnected(_))
        )
    }

    /// Asks and waits: for tests and tools.
    pub fn wait(&self, request: Request) -> Result<Answer, Refusal> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let asked = self.ask(vec![request], move |mut answers| {
            // Nobody may wait any more.
            let _ = sender.send(answers.pop());
        });
        if asked.is_err() {
            return Err(Refusal::unavailable("too many requests are waiting"));
        }
        match receiver.recv() {
            Ok(Some(answer)) => answer,
            _ => Err(Refusal::unavailable("the writer has stopped")),
        }
    }

    /// The last message.
    pub(crate) fn stop(&self) {
        // If the writer has ended already there is nothing to stop.
        let _ = self.sender.send(Message::Stop);
    }
}

/// The writer's end of the queue.
pub(crate) struct Intake {
    receiver: Receiver<Message>,
    /// Jobs of the last batch.
    last: usize,
    is_closed: bool,
}

impl Intake {
    /// Whether the last message has come.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The jobs of the next commit; none if it is time to look for what others wrote.
    ///
    /// Where many ask at once, waiting a moment makes one commit of what would be several: at most half
    /// as long as a commit takes, so that nobody waits much longer, and not at all where one asks alone.
    pub(crate) fn next(&mut self, commit_time: Duration) -> Vec<Job> {
        let mut jobs = Vec::new();
        let mut count = self.receive(IDLE, &mut jobs);
        let many = self.last > 1;
        let until = Instant::now() + (commit_time / 2).min(LONGEST_GATHERING);
        while count > 0 && count < MOST_REQUESTS && !self.is_closed {
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

    /// Takes up one message if one comes in time; says how many requests it brought.
    fn receive(&mut self, wait: Duration, jobs: &mut Vec<Job>) -> usize {
        let message = match wait.is_zero() {
            true => self.receiver.try_recv().ok(),
            false => match self.receiver.recv_timeout(wait) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Message::Stop),
            },
        };
        match message {
            Some(Message::Ask(job)) => {
                let count = job.requests.len();
                jobs.push(job);
                count
            }
            Some(Message::CatchUp) | None => 0,
            Some(Message::Stop) => {
                self.is_closed = true;
                0
            }
        }
    }
}
