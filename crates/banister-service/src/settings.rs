//! Settings: from flags, the environment and one TOML file, in this order of weight.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use banister_engine::{Database, PostgresLog};
use serde::Deserialize;

use crate::middleware::rate::Amounts;
use crate::tls::Files;
use crate::webhooks::{self, Hook};

/// Settings as given; absent ones are filled in by `check`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Address and port.
    pub listen: Option<String>,
    /// Folder of the SQLite file.
    pub data_dir: Option<PathBuf>,
    /// `postgres://…`, or the path of a SQLite file.
    pub database: Option<String>,
    /// Certificate chain (PEM): serve over TLS.
    pub tls_cert: Option<PathBuf>,
    /// Its private key (PEM).
    pub tls_key: Option<PathBuf>,
    /// File with the secret that signs leases, 64 hexadecimal digits: by default another one after every start.
    pub lease_key: Option<PathBuf>,
    /// Tokens are required even on loopback before one is made.
    pub require_token: Option<bool>,
    /// Longest body in bytes.
    pub max_body: Option<usize>,
    /// Longest body of an import in bytes.
    pub max_import: Option<usize>,
    /// Most decisions or outcomes of a batch.
    pub max_batch: Option<usize>,
    /// Most connections.
    pub max_connections: Option<usize>,
    /// Most connections from one address.
    pub max_address_connections: Option<usize>,
    /// Bytes of open decisions kept in memory.
    pub open_bytes: Option<usize>,
    /// Requests per second of one token, or of one address where there are no tokens; 0: any number.
    pub rate: Option<f64>,
    /// Bytes of bodies per second of one token or address; 0: any number.
    pub bytes_rate: Option<f64>,
    /// Seconds of work per second of one token or address; 0: any number.
    pub work: Option<f64>,
    /// Requests per second about one experiment; 0: any number.
    pub experiment_rate: Option<f64>,
    /// Bytes of bodies per second about one experiment; 0: any number.
    pub experiment_bytes_rate: Option<f64>,
    /// Seconds of work per second about one experiment; 0: any number.
    pub experiment_work: Option<f64>,
    /// Seconds after which a request is given up.
    pub timeout: Option<f64>,
    /// Events after which experiments are snapshotted anew.
    pub snapshot_every: Option<u64>,
    /// Tokens that decide repeat, and report on, their own decisions only.
    pub own_ids: Option<bool>,
    /// Seconds between the log's clock and its source beyond which nothing is written.
    pub max_clock_skew: Option<f64>,
    /// The clock is right at this start, whatever the log's last event says.
    pub accept_clock: Option<bool>,
    /// Seconds without a proof that the log answers, after which the service is not ready.
    pub ready_age: Option<f64>,
    /// Seconds after which tokens that could not be read again are not trusted any more.
    pub token_age: Option<f64>,
    /// Most connections to PostgreSQL.
    pub pg_connections: Option<usize>,
    /// Longest wait, in seconds, for another service that writes to PostgreSQL.
    pub pg_lock_timeout: Option<f64>,
    /// Longest time of a statement in seconds.
    pub pg_statement_timeout: Option<f64>,
    /// Seconds after which PostgreSQL takes the log from a service that froze with it.
    pub pg_idle_timeout: Option<f64>,
    /// TOML file of webhooks.
    pub webhooks: Option<PathBuf>,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub log: Option<String>,
    /// `text` or `json`.
    pub log_format: Option<String>,
}

impl Given {
    /// Reads the settings of a TOML file.
    pub fn from_toml(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// These settings, completed by the other ones.
    pub fn or(self, other: Self) -> Self {
        // `data_dir` and `database` both locate the log: giving either overrides both of the other settings.
        let place = if self.data_dir.is_some() || self.database.is_some() {
            (self.data_dir, self.database)
        } else {
            (other.data_dir, other.database)
        };
        Self {
            listen: self.listen.or(other.listen),
            data_dir: place.0,
            database: place.1,
            tls_cert: self.tls_cert.or(other.tls_cert),
            tls_key: self.tls_key.or(other.tls_key),
            lease_key: self.lease_key.or(other.lease_key),
            require_token: self.require_token.or(other.require_token),
            max_body: self.max_body.or(other.max_body),
            max_import: self.max_import.or(other.max_import),
            max_batch: self.max_batch.or(other.max_batch),
            max_connections: self.max_connections.or(other.max_connections),
            max_address_connections: (self.max_address_connections)
                .or(other.max_address_connections),
            open_bytes: self.open_bytes.or(other.open_bytes),
            rate: self.rate.or(other.rate),
            bytes_rate: self.bytes_rate.or(other.bytes_rate),
            work: self.work.or(other.work),
            experiment_rate: self.experiment_rate.or(other.experiment_rate),
            experiment_bytes_rate: self.experiment_bytes_rate.or(other.experiment_bytes_rate),
            experiment_work: self.experiment_work.or(other.experiment_work),
            timeout: self.timeout.or(other.timeout),
            snapshot_every: self.snapshot_every.or(other.snapshot_every),
            own_ids: self.own_ids.or(other.own_ids),
            max_clock_skew: self.max_clock_skew.or(other.max_clock_skew),
            accept_clock: self.accept_clock.or(other.accept_clock),
            ready_age: self.ready_age.or(other.ready_age),
            token_age: self.token_age.or(other.token_age),
            pg_connections: self.pg_connections.or(other.pg_connections),
            pg_lock_timeout: self.pg_lock_timeout.or(other.pg_lock_timeout),
            pg_statement_timeout: self.pg_statement_timeout.or(other.pg_statement_timeout),
            pg_idle_timeout: self.pg_idle_timeout.or(other.pg_idle_timeout),
            webhooks: self.webhooks.or(other.webhooks),
            log: self.log.or(other.log),
            log_format: self.log_format.or(other.log_format),
        }
    }

    /// Location of the log.
    pub fn database(&self) -> Result<Database, String> {
        let folder = self.data_dir.clone().unwrap_or_else(|| PathBuf::from("."));
        match self.database.as_deref() {
            None => Ok(Database::Sqlite(folder.join("banister.db"))),
            Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                self.postgres(url).map(Database::Postgres)
            }
            Some(url) if url.contains("://") => Err(invalid(
                "database",
                url.split("://").next().unwrap_or(url),
                "must be postgres://… or the path of a SQLite file",
            )),
            Some(path) => Ok(Database::Sqlite(PathBuf::from(path))),
        }
    }

    /// A PostgreSQL database with its limits.
    fn postgres(&self, url: &str) -> Result<PostgresLog, String> {
        let defaults = PostgresLog::from(url);
        let connections = self.pg_connections.unwrap_or(defaults.connections);
        if !(3..=1000).contains(&connections) {
            let allowed = "must be 3 (one writes, one listens, the others read) to 1000";
            return Err(invalid("pg_connections", connections, allowed));
        }
        let idle_timeout = seconds(
            "pg_idle_timeout",
            self.pg_idle_timeout,
            defaults.idle_timeout,
        )?;
        let lock_timeout = seconds(
            "pg_lock_timeout",
            self.pg_lock_timeout,
            defaults.lock_timeout,
        )?;
        let statement_timeout = seconds(
            "pg_statement_timeout",
            self.pg_statement_timeout,
            defaults.statement_timeout,
        )?;
        // A service that waits for a frozen one gets the log once PostgreSQL has taken it away.
        if lock_timeout <= idle_timeout {
            let allowed = "must be longer than `pg_idle_timeout`";
            return Err(invalid(
                "pg_lock_timeout",
                lock_timeout.as_secs_f64(),
                allowed,
            ));
        }
        if statement_timeout <= lock_timeout {
            let allowed = "must be longer than `pg_lock_timeout`";
            return Err(invalid(
                "pg_statement_timeout",
                statement_timeout.as_secs_f64(),
                allowed,
            ));
        }
        Ok(PostgresLog {
            connections,
            lock_timeout,
            statement_timeout,
            idle_timeout,
            ..defaults
        })
    }

    /// Checks everything and fills in the defaults.
    pub fn check(&self) -> Result<Settings, String> {
        let listen = self.listen.as_deref().unwrap_or("127.0.0.1:8787");
        let listen: SocketAddr = listen.parse().map_err(|_| {
            invalid(
                "listen",
                listen,
                "must be an address and a port, such as 127.0.0.1:8787 or [::]:8787",
            )
        })?;
        let tls = match (&self.tls_cert, &self.tls_key) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some(Files {
                cert: cert.clone(),
                key: key.clone(),
            }),
            (Some(_), None) => return Err(invalid("tls_key", "absent", "`tls_cert` needs it")),
            (None, Some(_)) => return Err(invalid("tls_cert", "absent", "`tls_key` needs it")),
        };
        let lease_secret = match &self.lease_key {
            None => rand::random(),
            Some(path) => {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                banister::lease::from_hex(text.trim()).ok_or_else(|| {
                    let allowed = "must be a file that can be read, with 64 hexadecimal digits \
                                   (`openssl rand -hex 32`)";
                    invalid("lease_key", path.display(), allowed)
                })?
            }
        };
        let limit = |field: &str, given: Option<f64>| {
            let rate = given.unwrap_or(0.0);
            if (0.0..=1e9).contains(&rate) {
                return Ok(rate);
            }
            Err(invalid(field, rate, "must be 0 (any) to 1e9 a second"))
        };
        let timeout = self.timeout.unwrap_or(10.0);
        if !(0.001..=3600.0).contains(&timeout) {
            return Err(invalid("timeout", timeout, "must be 0.001 to 3600 seconds"));
        }
        let within = |field: &str, given: Option<usize>, default: usize, most: usize| {
            let value = given.unwrap_or(default);
            if (1..=most).contains(&value) {
                return Ok(value);
            }
            Err(invalid(field, value, &format!("must be 1 to {most}")))
        };
        let memory = crate::memory::limit();
        // More than there are descriptors or memory for would only be promised.
        let most = crate::connections::most(memory);
        let max_connections = within("max_connections", self.max_connections, most, most)?;
        let snapshot_every = self.snapshot_every.unwrap_or(20_000);
        if snapshot_every == 0 {
            return Err(invalid("snapshot_every", 0, "must be at least 1"));
        }
        let skew = self.max_clock_skew.unwrap_or(60.0);
        if !(1.0..=86_400.0).contains(&skew) {
            return Err(invalid(
                "max_clock_skew",
                skew,
                "must be 1 to 86400 seconds",
            ));
        }
        let level = self.log.clone().unwrap_or_else(|| "info".into());
        let level = (level.parse())
            .map_err(|_| invalid("log", &level, "must be error, warn, info, debug or trace"))?;
        let json_logs = match self.log_format.as_deref() {
            None | Some("text") => false,
            Some("json") => true,
            Some(other) => return Err(invalid("log_format", other, "must be text or json")),
        };
        Ok(Settings {
            lease_secret,
            listen,
            database: self.database()?,
            tls,
            require_token: self.require_token.unwrap_or(false),
            max_body: within("max_body", self.max_body, 2 << 20, 1 << 30)?,
            max_import: within("max_import", self.max_import, 128 << 20, 1 << 32)?,
            max_batch: within("max_batch", self.max_batch, 1000, 4096)?,
            max_connections,
            max_address_connections: within(
                "max_address_connections",
                self.max_address_connections,
                max_connections.div_ceil(2),
                max_connections,
            )?,
            open_bytes: self.open_bytes.unwrap_or(memory / 4),
            memory,
            limits: Amounts {
                requests: limit("rate", self.rate)?,
                bytes: limit("bytes_rate", self.bytes_rate)?,
                work: limit("work", self.work)?,
            },
            experiment_limits: Amounts {
                requests: limit("experiment_rate", self.experiment_rate)?,
                bytes: limit("experiment_bytes_rate", self.experiment_bytes_rate)?,
                work: limit("experiment_work", self.experiment_work)?,
            },
            timeout: Duration::from_secs_f64(timeout),
            snapshot_every,
            own_ids: self.own_ids.unwrap_or(false),
            max_clock_skew: Duration::from_secs_f64(skew),
            accept_clock: self.accept_clock.unwrap_or(false),
            ready_age: seconds("ready_age", self.ready_age, Duration::from_secs(3))?,
            token_age: seconds("token_age", self.token_age, Duration::from_secs(30))?,
            webhooks: (self.webhooks.as_deref()).map_or(Ok(Vec::new()), webhooks::read)?,
            level,
            json_logs,
        })
    }
}

/// Settings after the check, with defaults.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Secret that signs leases.
    pub lease_secret: [u8; 32],
    /// Address and port.
    pub listen: SocketAddr,
    /// Location of the log.
    pub database: Database,
    /// Certificate chain and key.
    pub tls: Option<Files>,
    /// True if a token is needed although none was made.
    pub require_token: bool,
    pub max_body: usize,
    /// Longest body of an import.
    pub max_import: usize,
    /// Most entries of a batch.
    pub max_batch: usize,
    pub max_connections: usize,
    /// Most connections from one address.
    pub max_address_connections: usize,
    /// Bytes of open decisions kept in memory.
    pub open_bytes: usize,
    /// Bytes of memory that the process may use.
    pub memory: usize,
    /// Limits per second of one token or address.
    pub limits: Amounts,
    /// Limits per second of one experiment.
    pub experiment_limits: Amounts,
    pub timeout: Duration,
    /// Events after which experiments are snapshotted anew.
    pub snapshot_every: u64,
    /// True if tokens that decide repeat, and report on, their own decisions only.
    pub own_ids: bool,
    pub max_clock_skew: Duration,
    pub accept_clock: bool,
    /// Age of the last proof that the log answers, from which on the service is not ready.
    pub ready_age: Duration,
    /// Age of the tokens from which on they are not trusted.
    pub token_age: Duration,
    /// Receivers of notices.
    pub webhooks: Vec<Hook>,
    pub level: tracing::Level,
    pub json_logs: bool,
}

fn seconds(field: &str, given: Option<f64>, default: Duration) -> Result<Duration, String> {
    let seconds = given.unwrap_or(default.as_secs_f64());
    if (0.1..=3600.0).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(invalid(field, seconds, "must be 0.1 to 3600 seconds"))
}

fn invalid(field: &str, value: impl std::fmt::Display, allowed: &str) -> String {
    format!("`{field}` is {value}: {allowed}")
}
