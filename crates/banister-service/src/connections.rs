//! Connections: how many there may be, in all and from one address, and which gives way to a new one.
//!
//! A caller who does not read keeps a descriptor and the memory of an answer. So an answer of which nothing leaves
//! within the time limit ends its connection; and where there are too many, the one whose caller has kept us waiting
//! longest gives way at once, so that a new caller is served however many others do not read.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv6Addr, TcpListener};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use axum_server::accept::Accept;
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::metrics::Metrics;

/// Memory of a connection whose caller neither reads nor stops sending: ours and the system's buffers.
const CONNECTION: usize = 256 << 10;
/// Bytes of answers that the system keeps for a connection; its default may grow to megabytes.
const SEND_BUFFER: usize = 64 << 10;
/// Descriptors where the system sets no limit.
const UNLIMITED: usize = 1 << 20;
/// Least silence, in milliseconds, of a connection that may be closed for a new one though its caller reads.
const IDLE: u64 = 1000;

/// Most connections that descriptors and memory allow: three in four descriptors, a quarter of the memory.
pub fn most(memory: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    let files = limit.map_or(UNLIMITED, |n| usize::try_from(n).unwrap_or(UNLIMITED));
    (files - files / 4).min(memory / 4 / CONNECTION).max(8)
}

/// Limits what the system keeps of answers, for all connections that a listener takes.
pub fn limit_buffers(listener: &TcpListener) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_send_buffer_size(
        listener,
        SEND_BUFFER,
    )?)
}

/// The open connections of a service; cheap to clone.
#[derive(Clone)]
pub struct Connections(Arc<Shared>);

struct Shared {
    most: usize,
    most_per_address: usize,
    /// Longest time that an answer may wait for its caller to read.
    patience: Duration,
    begun: Instant,
    metrics: Arc<Metrics>,
    /// By address and number.
    open: Mutex<HashMap<IpAddr, HashMap<u64, Arc<Entry>>>>,
    next: AtomicU64,
    /// Connections with a descriptor, ending ones too.
    live: AtomicUsize,
}

struct Entry {
    number: u64,
    address: IpAddr,
    /// Milliseconds from the start to the last byte in either direction.
    moved: AtomicU64,
    /// True while an answer waits for its caller to read.
    is_stalled: AtomicBool,
    has_ended: AtomicBool,
    task: Mutex<Option<Waker>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Callers whose addresses have this in common count as one: a host of IPv6 has a network of addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(own) => {
            let [a, b, c, d, ..] = own.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        own => own,
    }
}

impl Connections {
    pub fn new(
        most: usize,
        most_per_address: usize,
        patience: Duration,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self(Arc::new(Shared {
            most,
            most_per_address,
            patience,
            begun: Instant::now(),
            metrics,
            open: Mutex::default(),
            next: AtomicU64::new(0),
            live: AtomicUsize::new(0),
        }))
    }

    fn now(&self) -> u64 {
        self.0.begun.elapsed().as_millis() as u64
    }

    /// Accepts a connection, and closes another where there are too many.
    fn admit(&self, stream: TcpStream) -> io::Result<Connection> {
        let own = &*self.0;
        let address = network(stream.peer_addr()?.ip());
        let mut open = lock(&own.open);
        let has_too_many = open.get(&address).map_or(0, HashMap::len) >= own.most_per_address;
        let live = own.live.load(Relaxed);
        if has_too_many || live >= own.most {
            let others = (open.iter()).filter(|(other, _)| !has_too_many || **other == address);
            // Callers that do not read go first, then those that have been silent longest.
            let entries = others.flat_map(|(_, entries)| entries.values());
            let first = entries
                .min_by_key(|entry| (!entry.is_stalled.load(Relaxed), entry.moved.load(Relaxed)));
            let first = first.filter(|entry| {
                let silent = self.now().saturating_sub(entry.moved.load(Relaxed));
                entry.is_stalled.load(Relaxed) || silent >= IDLE
            });
            own.metrics.connections_cut.inc();
            // Ending connections keep their descriptors for a moment.
            let Some(first) = first.filter(|_| live < own.most + own.most / 8) else {
                return Err(io::ErrorKind::ConnectionRefused.into());
            };
            let first = first.clone();
            remove(&mut open, &first);
            first.end();
        }
        let number = own.next.fetch_add(1, Relaxed);
        let entry = Arc::new(Entry {
            number,
            address,
            moved: AtomicU64::new(self.now()),
            is_stalled: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            task: Mutex::default(),
        });
        (open.entry(address).or_default()).insert(number, entry.clone());
        own.live.fetch_add(1, Relaxed);
        Ok(Connection {
            stream,
            entry,
            all: self.clone(),
            timer: None,
        })
    }
}

fn remove(open: &mut HashMap<IpAddr, HashMap<u64, Arc<Entry>>>, entry: &Entry) {
    if let Some(same) = open.get_mut(&entry.address) {
        same.remove(&entry.number);
        if same.is_empty() {
            open.remove(&entry.address);
        }
    }
}

impl Entry {
    /// Tells the connection's task to end it.
    fn end(&self) {
        self.has_ended.store(true, Relaxed);
        if let Some(task) = lock(&self.task).take() {
            task.wake();
        }
    }

    fn check(&self) -> io::Result<()> {
        if self.has_ended.load(Relaxed) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

impl<S> Accept<TcpStream, S> for Connections {
    type Stream = Connection;
    type Service = S;
    type Future = std::future::Ready<io::Result<(Connection, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        std::future::ready(self.admit(stream).map(|connection| (connection, service)))
    }
}

/// A connection, counted until it is dropped.
pub struct Connection {
    stream: TcpStream,
    entry: Arc<Entry>,
    all: Connections,
    /// Runs while an answer waits for its caller to read.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        remove(&mut lock(&self.all.0.open), &self.entry);
        self.all.0.live.fetch_sub(1, Relaxed);
    }
}

impl Connection {
    /// Notes whether bytes moved; what waits ends when the connection is told to.
    fn seen<T>(&self, context: &Context, moved: &Poll<T>) {
        if moved.is_ready() {
            self.entry.moved.store(self.all.now(), Relaxed);
        } else {
            *lock(&self.entry.task) = Some(context.waker().clone());
        }
    }

    /// Result of writing; an error once nothing has left for too long.
    fn written(
        &mut self,
        context: &mut Context,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.seen(context, &written);
        self.entry.is_stalled.store(written.is_pending(), Relaxed);
        if written.is_ready() {
            self.timer = None;
            return written;
        }
        let patience = self.all.0.patience;
        let timer = (self.timer).get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(timer.as_mut().poll(context));
        self.all.0.metrics.connections_cut.inc();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context,
        buffer: &mut ReadBuf,
    ) -> Poll<io::Result<()>> {
        self.entry.check()?;
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.seen(context, &read);
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context,
        bytes: &[IoSlice],
    ) -> Poll<io::Result<usize>> {
        self.entry.check()?;
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
