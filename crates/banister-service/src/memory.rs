//! Memory: how much the process may use, and a budget that requests share.
//!
//! A request takes its share of the budget before its body is read, and gives it back once it is answered:
//! what would not fit is refused with a reason, instead of ending the process.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::middleware::rate::Charged;
use crate::problem::Problem;

/// Limit where none can be found out.
const UNKNOWN: usize = 2 << 30;
/// Bytes of a permit.
const UNIT: usize = 1024;
/// Shares up to this many bytes have a part of the budget to themselves, so that large requests do not
/// keep out small ones.
const SMALL: usize = 256 << 10;
/// Small shares get one part in this many of the budget.
const SMALL_PART: usize = 8;
/// Longest time that a request waits for its share.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes that the process may use: the least of the machine's memory and the limits of its control groups (both
/// versions). A limit on the address space says nothing about memory: threads reserve far more than they use.
pub fn limit() -> usize {
    limit_in(Path::new("/"))
}

/// Memory limit by the system's files under `root`.
pub fn limit_in(root: &Path) -> usize {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    // `MemTotal:  16384 kB`
    let after = |text: &str, name: &str| -> Option<usize> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let machine = after(&read("proc/meminfo"), "MemTotal:").map(|kb| kb.saturating_mul(1024));
    let groups = read("proc/self/cgroup");
    // `0::/path` in version 2, `4:memory:/path` in version 1. Limits hold for all below; inside a container
    // the path may start above what is mounted.
    let group = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let path = Path::new(path.trim_start_matches('/'));
        let limits = path.ancestors().filter_map(|above| {
            let place = root.join(mount).join(above).join(file);
            std::fs::read_to_string(place).ok()?.trim().parse().ok()
        });
        limits.min()
    });
    group.chain(machine).min().unwrap_or(UNKNOWN)
}

/// Memory that requests share.
pub struct MemoryBudget {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// Bytes for large shares.
    most: usize,
}

impl MemoryBudget {
    pub fn new(bytes: usize) -> Self {
        let small = (bytes / SMALL_PART).max(SMALL);
        let most = bytes.saturating_sub(small).max(SMALL);
        let semaphore = |bytes: usize| {
            let permits = (bytes / UNIT).min(u32::MAX as usize);
            Arc::new(Semaphore::new(permits))
        };
        Self {
            small: semaphore(small),
            large: semaphore(most),
            most,
        }
    }

    /// Most bytes that a request can have.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Reserves memory for a request; the refusal of a request that can never fit differs from that of one that can wait.
    pub async fn reserve(&self, bytes: usize) -> Result<Share, Problem> {
        if bytes > self.most {
            let detail = format!(
                "the request would take about {bytes} bytes of memory, and {} are allowed: send less at once",
                self.most
            );
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
        }
        let semaphore = if bytes <= SMALL {
            &self.small
        } else {
            &self.large
        };
        let permits = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        if let Ok(permit) = semaphore.clone().try_acquire_many_owned(permits) {
            return Ok(Share(permit));
        }
        let wait = semaphore.clone().acquire_many_owned(permits);
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(Ok(permit)) => Ok(Share(permit)),
            _ => Err(Problem::unavailable(
                "requests in flight take all memory: come again in a moment",
            )),
        }
    }
}

/// Share of the budget, given back when it is dropped.
pub struct Share(OwnedSemaphorePermit);

impl Share {
    /// Keeps the share until the last of the bytes is dropped.
    pub fn keep_with(self, content: Bytes) -> Bytes {
        struct Accounted(
            Bytes,
            #[expect(dead_code, reason = "given back by its drop")] OwnedSemaphorePermit,
        );
        impl AsRef<[u8]> for Accounted {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
        Bytes::from_owner(Accounted(content, self.0))
    }
}

/// Marks an answer that is in memory anyway, once for all callers.
#[derive(Clone)]
pub struct Fixed;

tokio::task_local! {
    /// Shares of the request that a task answers.
    static HELD: Held;
}

/// What a request holds: shares, which are given back when it is answered and nothing of it waits in the writer's queue,
/// and the accounts that its work is charged to.
#[derive(Clone, Default)]
pub struct Held {
    shares: Arc<Mutex<Vec<Share>>>,
    pub charged: Charged,
}

impl Held {
    /// Those of the request that this task answers.
    pub fn current() -> Self {
        HELD.try_with(Self::clone).unwrap_or_default()
    }

    /// Answers a request whose shares these are.
    pub async fn scope<T>(self, answer: impl Future<Output = T>) -> T {
        HELD.scope(self, answer).await
    }

    /// Splits off the part of a share that covers an answer of `bytes`, so that the rest can be given back.
    pub fn part(&self, bytes: usize) -> Option<Share> {
        let mut shares = self.shares.lock().ok()?;
        let permits = bytes.div_ceil(UNIT);
        shares
            .iter_mut()
            .find_map(|share| share.0.split(permits).map(Share))
    }

    pub fn add(&self, share: Share) {
        if let Ok(mut shares) = self.shares.lock() {
            shares.push(share);
        }
    }
}

/// Bytes of a JSON text once it is parsed, decided upon and answered. A number has 8 and a list 72, and both
/// may be there twice, as parsed and as encoded for the log; an object is at most a decision with its answer.
pub fn parsed_bytes(json: &[u8]) -> usize {
    let (mut numbers, mut lists, mut objects) = (0, 0, 0);
    for byte in json {
        numbers += usize::from(*byte == b',');
        lists += usize::from(*byte == b'[');
        objects += usize::from(*byte == b'{');
    }
    json.len() + 24 * numbers + 160 * lists + 2048 * objects
}
