//! Sessions: connections on which every statement ends in time.
//!
//! A server may be there and yet not answer: frozen, or cut off without a word. It answers no request to
//! cancel either then, so the end is on our side: the connection is closed.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Config, Error, NoTls, Socket};

use super::connection::{CONNECT, shown_config};
use super::error::{lost, of, silent, unreachable};
use super::tls;
use crate::store::StoreError;

pub(super) struct Session {
    /// `None`: it broke, and its owner has to open another.
    open: Option<Open>,
    /// Longest time of a statement.
    limit: Duration,
}

struct Open {
    client: Client,
    /// Rung by notifications.
    bell: Arc<Notify>,
    /// Error by which the connection ended.
    end: Arc<Mutex<Option<Error>>>,
    runtime: Runtime,
}

impl Session {
    /// Connects; every statement ends within `limit`.
    pub(super) fn connect(config: &Config, limit: Duration) -> Result<Self, StoreError> {
        let open = match config.get_ssl_mode() {
            SslMode::Disable => connect(config, NoTls),
            SslMode::Prefer => connect(config, tls::unverified()?),
            _ => connect(config, tls::verified()?),
        };
        Ok(Self {
            open: Some(open?),
            limit,
        })
    }

    /// Runs statements; closes the connection if they do not end in time.
    pub(super) fn run<T>(
        &mut self,
        act: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        self.run_within(self.limit, act)
    }

    /// Runs statements with a limit of their own.
    pub(super) fn run_within<T>(
        &mut self,
        limit: Duration,
        act: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let open = self.open.as_ref().ok_or_else(lost)?;
        // The timer is made on the runtime that drives it.
        let ran = (open.runtime).block_on(async { timeout(limit, act(&open.client)).await });
        match ran {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                // The reason came before the end, which is all that the statement learned.
                let end = open.end.lock().ok().and_then(|mut end| end.take());
                let end = end.filter(|_| error.is_closed());
                Err(of(end.unwrap_or(error)))
            }
            Err(_) => {
                self.close();
                Err(silent(limit))
            }
        }
    }

    /// Waits for a notification; all that have come are one.
    pub(super) fn wait(&mut self, most: Duration) -> Result<(), StoreError> {
        let open = self.open.as_ref().ok_or_else(lost)?;
        let heard = async { timeout(most, open.bell.notified()).await };
        if (open.runtime.block_on(heard)).is_err() && open.client.is_closed() {
            return Err(lost());
        }
        Ok(())
    }

    /// Closes the connection; the server undoes what was begun on it.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.open.take() {
            // Without waiting for anything: the connection goes with the runtime.
            open.runtime.shutdown_background();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}

fn connect<T>(config: &Config, tls: T) -> Result<Open, StoreError>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| StoreError::passing(error.to_string()))?;
    // The library's own limit ends with the socket's connection, and a frozen server still has sockets.
    let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
    let limit = *config.get_connect_timeout().unwrap_or(&CONNECT) * hosts.max(1) as u32;
    let connected = runtime.block_on(async { timeout(limit, config.connect(tls)).await });
    let connected = match connected {
        Ok(connected) => connected.map_err(|error| unreachable(&shown_config(config), error)),
        Err(_) => Err(silent(limit)),
    };
    let (client, mut connection) = match connected {
        Ok(connected) => connected,
        Err(error) => {
            // A name that is still being looked up would be waited for.
            runtime.shutdown_background();
            return Err(error);
        }
    };
    let (bell, end) = (Arc::new(Notify::new()), Arc::new(Mutex::new(None)));
    let (ring, ended) = (bell.clone(), end.clone());
    runtime.spawn(async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            match message {
                Ok(AsyncMessage::Notification(_)) => ring.notify_one(),
                Ok(_) => {}
                Err(error) => {
                    if let Ok(mut end) = ended.lock() {
                        *end = Some(error);
                    }
                    return;
                }
            }
        }
    });
    Ok(Open {
        client,
        bell,
        end,
        runtime,
    })
}
