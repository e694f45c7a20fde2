//! From settings to a running service, and to its end.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum_server::tls_rustls::RustlsAcceptor;
use axum_server::{Handle, Server};
use banister::lease::LeaseSigner;
use banister_engine::{Database, Options, REVOKED, Writer};
use hyper_util::rt::TokioTimer;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, Semaphore};

use crate::app::{App, Shared};
use crate::connections::{self, Connections};
use crate::handlers::exchange::MOST_EXPORTS;
use crate::health::{Health, ServiceMonitor};
use crate::memory::MemoryBudget;
use crate::metrics::Metrics;
use crate::middleware::auth::{self, TokenStore};
use crate::middleware::rate::Limits;
use crate::openapi;
use crate::router::router;
use crate::settings::Settings;
use crate::webhooks;

/// Longest time that requests in flight may take to end.
const GRACE: Duration = Duration::from_secs(10);
/// Longest time that the address is held back until the log is open.
const PATIENCE: Duration = Duration::from_secs(3);

/// Bytes that a connection holds of what it reads, which are also the most of a request's head.
const BUFFER: usize = 64 << 10;

/// Error of a service that did not start, or broke off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A setting, a certificate or the log is invalid.
    #[error("{0}")]
    Setting(String),
    /// The operating system refused something.
    #[error("{what}: {source}")]
    System {
        what: String,
        source: std::io::Error,
    },
}

fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> ServeError {
    let what = what.into();
    move |source| ServeError::System { what, source }
}

/// Serves until the process gets a signal to stop. `started` gets the address, once connections are taken.
pub fn serve(
    settings: Settings,
    started: impl FnOnce(SocketAddr) + Send,
) -> Result<(), ServeError> {
    check_log(&settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("banister-http")
        .build()
        .map_err(system("starting threads"))?;
    runtime.block_on(run(settings, started))
}

/// Refuses at once what waiting cannot mend: a file that is no log, a password that is wrong. What may pass (a database
/// that is not up yet, a full disk) is waited for while serving.
fn check_log(settings: &Settings) -> Result<(), ServeError> {
    let database = &settings.database;
    let about = |reason: String| ServeError::Setting(format!("{}: {reason}", database.shown()));
    if let Database::Sqlite(path) = database {
        check_path(path).map_err(about)?;
    }
    let tokens = if database.exists() {
        database.open().and_then(|mut store| store.tokens())
    } else {
        Ok(Vec::new())
    };
    for file in database.exposed() {
        let file = file.display();
        tracing::warn!(%file, "other users may read this file of the log: chmod 600");
    }
    match tokens.map_err(|error| database.explain(error)) {
        Ok(tokens) => {
            let exposed = !settings.listen.ip().is_loopback();
            if exposed && tokens.iter().all(|token| token.role == REVOKED) {
                return Err(ServeError::Setting(format!(
                    "`listen` is {}, where others could reach it, but no token was made: make one with \
                     `banisterd token create --role admin NAME`, with the same database",
                    settings.listen
                )));
            }
            Ok(())
        }
        Err(error) if error.passing => {
            tracing::error!(reason = error.reason, "the log is not available yet");
            Ok(())
        }
        Err(error) => Err(about(error.reason)),
    }
}

/// Refuses a path at which waiting makes no file.
fn check_path(path: &Path) -> Result<(), String> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let folder = folder.display();
        return Err(format!(
            "the folder does not exist: make it with `mkdir -p {folder}`, or give another"
        ));
    }
    if path.exists() && !path.is_file() {
        return Err("it is not a file".into());
    }
    Ok(())
}

async fn run(
    settings: Settings,
    started: impl FnOnce(SocketAddr) + Send,
) -> Result<(), ServeError> {
    let (app, writer) = assemble(settings)?;
    let settings = &app.settings;
    let listen = settings.listen;
    let listener = TcpListener::bind(listen)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(system(format!("listening on {listen}")))?;
    connections::limit_buffers(&listener).map_err(system("listening"))?;
    let address = listener.local_addr().map_err(system("listening"))?;
    let connections = Connections::new(
        settings.max_connections,
        settings.max_address_connections,
        settings.timeout,
        app.metrics.clone(),
    );
    let service = router(&app).into_make_service_with_connect_info::<SocketAddr>();
    let handle = Handle::new();
    let tls = match settings.tls.clone() {
        None => None,
        Some(files) => {
            let shown = format!("{} and {}", files.cert.display(), files.key.display());
            let tls = files.follow(app.metrics.clone()).await.map_err(|error| {
                ServeError::Setting(format!("the certificate cannot be used ({shown}): {error}"))
            })?;
            Some(tls)
        }
    };
    // A caller that reads the address may stop the process at once.
    let on = |kind| signal(kind).map_err(system("listening to signals"));
    let mut terminate = on(SignalKind::terminate())?;
    let mut interrupt = on(SignalKind::interrupt())?;
    // It may also send requests at once; but an outage of the log does not hold the address back for long.
    let begun = Instant::now();
    while !app.is_ready() && begun.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    started(address);
    let stopper = {
        let handle = handle.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!("stopping: requests in flight are answered first");
            handle.graceful_shutdown(Some(GRACE));
        })
    };
    let idle = settings.idle_timeout;
    let served = match tls {
        None => {
            let server = http(listener, connections, idle).map_err(system("listening"))?;
            server.handle(handle).serve(service).await
        }
        Some((config, follower)) => {
            let acceptor = RustlsAcceptor::new(config).acceptor(connections);
            let server = http(listener, acceptor, idle).map_err(system("listening"))?;
            let served = server.handle(handle).serve(service).await;
            follower.abort();
            served
        }
    };
    stopper.abort();
    drop(app);
    // Answers what is still in the queue, and leaves snapshots for the next start.
    match tokio::task::spawn_blocking(move || writer.stop()).await {
        Ok(Ok(())) => tracing::info!("stopped"),
        Ok(Err(error)) => tracing::warn!(reason = error.reason, "stopped"),
        Err(_) => tracing::error!("the log was not closed"),
    }
    served.map_err(system("serving"))
}

/// A server that closes connections once a request's head is not there, whole, within `idle`, and bounds their memory.
/// HTTP/1.1 alone: its limit on heads holds from the first byte on, and telling versions apart has none.
pub fn http<A>(
    listener: TcpListener,
    acceptor: A,
    idle: Duration,
) -> std::io::Result<Server<SocketAddr, A>> {
    let server = axum_server::from_tcp(listener)?;
    let mut server = server.acceptor(acceptor).http1_only();
    (server.http_builder().http1())
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .max_buf_size(BUFFER);
    Ok(server)
}

/// The parts of a service, put together, with the writer that it stands on.
pub fn assemble(settings: Settings) -> Result<(App, Writer), ServeError> {
    let metrics = Arc::new(Metrics::default());
    let health = Arc::new(Health::new(settings.ready_age));
    let database = settings.database.clone();
    let monitor = ServiceMonitor {
        health: health.clone(),
        metrics: metrics.clone(),
    };
    let options = Options {
        snapshot_every: settings.snapshot_every,
        open_bytes: settings.open_bytes,
        most_skew: settings.max_clock_skew,
        accept_clock: settings.accept_clock,
        ..Options::default()
    };
    let writer = Writer::start(database, options, Box::new(monitor))
        .map_err(system("starting the log's thread"))?;
    let readers = writer.readers();
    // Without tokens only this machine is served, whatever becomes of them while we run.
    let exposed = !settings.listen.ip().is_loopback();
    let required = settings.require_token || exposed;
    let tokens = Arc::new(TokenStore::new(required, settings.token_age));
    auth::start_refreshing(&tokens, &readers).map_err(system("starting a thread"))?;
    webhooks::start(&settings.webhooks, &writer.handle(), &metrics)
        .map_err(system("starting a thread"))?;
    let app = App::new(Shared {
        writer: writer.handle(),
        limits: Limits::new(settings.limits, settings.experiment_limits),
        tokens,
        metrics,
        health,
        readers,
        memory: MemoryBudget::new(settings.memory / 2),
        exports: Arc::new(Semaphore::new(MOST_EXPORTS)),
        // They leave half of the cores to others.
        lists: Arc::new(Semaphore::new(cores().div_ceil(2))),
        stats: Mutex::default(),
        signer: LeaseSigner::new(&settings.lease_secret),
        openapi: openapi::document(settings.max_batch).to_string().into(),
        settings,
    });
    Ok((app, writer))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
