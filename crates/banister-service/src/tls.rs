//! The service's certificate: read at the start, and again whenever its files change.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum_server::tls_rustls::RustlsConfig;
use rustls::ServerConfig;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::metrics::Metrics;

/// Time between two looks at the files.
const EVERY: Duration = Duration::from_secs(2);

/// Files of a certificate chain and its key.
#[derive(Debug, Clone)]
pub struct Files {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// Marks of a file that differ once it is written anew or replaced.
type Marks = Option<(Option<SystemTime>, u64, u64)>;

impl Files {
    /// Reads both into a configuration.
    async fn read(&self) -> std::io::Result<Arc<ServerConfig>> {
        // Chosen once per process; a second choice is the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = RustlsConfig::from_pem_file(&self.cert, &self.key).await?;
        let mut offered = (*config.get_inner()).clone();
        offered.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(offered))
    }

    fn marks(&self) -> [Marks; 2] {
        let of = |path: &Path| {
            let file = std::fs::metadata(path).ok()?;
            Some((file.modified().ok(), file.ino(), file.len()))
        };
        [of(&self.cert), of(&self.key)]
    }

    /// Reads the files, and keeps the configuration up to date with them while the task runs. A new pair that
    /// cannot be used changes nothing.
    pub async fn follow(
        self,
        metrics: Arc<Metrics>,
    ) -> std::io::Result<(RustlsConfig, JoinHandle<()>)> {
        // Marks are taken before reading: what changes meanwhile is noticed at the next look.
        let mut known = self.marks();
        let config = RustlsConfig::from_config(self.read().await?);
        let mut asked = signal(SignalKind::hangup())?;
        let followed = config.clone();
        let follower = tokio::spawn(async move {
            loop {
                let is_asked = tokio::select! {
                    _ = asked.recv() => true,
                    () = tokio::time::sleep(EVERY) => false,
                };
                let now = self.marks();
                if now == known && !is_asked {
                    continue;
                }
                known = now;
                match self.read().await {
                    Ok(new) => {
                        followed.reload_from_config(new);
                        tracing::info!("the certificate was read again");
                    }
                    Err(error) => {
                        metrics.tls_failures.inc();
                        let (reason, cert) = (error.to_string(), self.cert.display());
                        tracing::error!(reason, %cert, "the new certificate cannot be used: the old one stays");
                    }
                }
            }
        });
        Ok((config, follower))
    }
}
