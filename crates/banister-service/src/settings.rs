//! Settings: from flags, the environment and one TOML file, in this order of weight.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use banister_engine::{Database, PostgresLog};
use clap::ValueHint;
use serde::Deserialize;

use crate::middleware::rate::Amounts;
use crate::tls::Files;
use crate::webhooks::{self, Hook};

/// Settings as given; absent ones are filled in by `check`. The flags of `banisterd serve` and the keys of its file: a
/// field's documentation is its help.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Address and port [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDRESS", env = "BANISTER_LISTEN")]
    pub listen: Option<String>,
    /// Folder of the SQLite file.
    #[arg(skip)]
    pub data_dir: Option<PathBuf>,
    /// `postgres://…`, or the path of a SQLite file.
    #[arg(skip)]
    pub database: Option<String>,
    /// Certificate chain (PEM), to serve over TLS
    #[arg(long, value_name = "FILE", env = "BANISTER_TLS_CERT", value_hint = ValueHint::FilePath)]
    pub tls_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", env = "BANISTER_TLS_KEY", value_hint = ValueHint::FilePath)]
    pub tls_key: Option<PathBuf>,
    /// Secret that signs leases, 64 hexadecimal digits; replicas need the same [default: a new random one at every start]
    #[arg(long, value_name = "FILE", env = "BANISTER_LEASE_KEY", value_hint = ValueHint::FilePath)]
    pub lease_key: Option<PathBuf>,
    /// Require tokens even on loopback before the first one is created
    #[arg(long, env = "BANISTER_REQUIRE_TOKEN", num_args = 0..=1, default_missing_value = "true")]
    pub require_token: Option<bool>,
    /// Largest body of a request [default: 2097152]
    #[arg(long, value_name = "BYTES", env = "BANISTER_MAX_BODY")]
    pub max_body: Option<usize>,
    /// Largest file to import [default: 134217728]
    #[arg(long, value_name = "BYTES", env = "BANISTER_MAX_IMPORT")]
    pub max_import: Option<usize>,
    /// Largest batch of decisions or outcomes [default: 1000]
    #[arg(long, value_name = "N", env = "BANISTER_MAX_BATCH")]
    pub max_batch: Option<usize>,
    /// Most connections [default: as many as descriptors and memory allow]
    #[arg(long, value_name = "N", env = "BANISTER_MAX_CONNECTIONS")]
    pub max_connections: Option<usize>,
    /// Most connections from one address [default: half of all]
    #[arg(long, value_name = "N", env = "BANISTER_MAX_ADDRESS_CONNECTIONS")]
    pub max_address_connections: Option<usize>,
    /// Open decisions kept in memory, in bytes [default: a quarter of the memory limit]
    #[arg(long, value_name = "BYTES", env = "BANISTER_OPEN_BYTES")]
    pub open_bytes: Option<usize>,
    /// Requests per second of one token, or of one address without tokens, each entry of a batch being one;
    /// 0: unlimited [default: 0]
    #[arg(long, value_name = "N", env = "BANISTER_RATE")]
    pub rate: Option<f64>,
    /// Bytes of bodies per second of one token or address; 0: unlimited [default: 0]
    #[arg(long, value_name = "BYTES", env = "BANISTER_BYTES_RATE")]
    pub bytes_rate: Option<f64>,
    /// Seconds of computation per second of one token or address; 0: unlimited [default: 0]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_WORK")]
    pub work: Option<f64>,
    /// Requests per second about one experiment; 0: unlimited [default: 0]
    #[arg(long, value_name = "N", env = "BANISTER_EXPERIMENT_RATE")]
    pub experiment_rate: Option<f64>,
    /// Bytes of bodies per second about one experiment; 0: unlimited [default: 0]
    #[arg(long, value_name = "BYTES", env = "BANISTER_EXPERIMENT_BYTES_RATE")]
    pub experiment_bytes_rate: Option<f64>,
    /// Seconds of computation per second about one experiment; 0: unlimited [default: 0]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_EXPERIMENT_WORK")]
    pub experiment_work: Option<f64>,
    /// Time limit of a request [default: 10]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_TIMEOUT")]
    pub timeout: Option<f64>,
    /// Time that a connection waits for the whole head of its next request; longer than a proxy keeps it [default: 75]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_IDLE_TIMEOUT")]
    pub idle_timeout: Option<f64>,
    /// Events between snapshots of experiments [default: 20000]
    #[arg(long, value_name = "N", env = "BANISTER_SNAPSHOT_EVERY")]
    pub snapshot_every: Option<u64>,
    /// Tokens that decide repeat, and report on, their own decisions only
    #[arg(long, env = "BANISTER_OWN_IDS", num_args = 0..=1, default_missing_value = "true")]
    pub own_ids: Option<bool>,
    /// Largest difference between clock and log time, in seconds, at which the service still writes [default: 60]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_MAX_CLOCK_SKEW")]
    pub max_clock_skew: Option<f64>,
    /// Trust the current clock even if it contradicts the log's last event
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub accept_clock: Option<bool>,
    /// Seconds without a proof that the log answers, after which the service is not ready [default: 3]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_READY_AGE")]
    pub ready_age: Option<f64>,
    /// Seconds after which tokens that could not be read again are not trusted [default: 30]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_TOKEN_AGE")]
    pub token_age: Option<f64>,
    /// Most connections to PostgreSQL [default: 8]
    #[arg(long, value_name = "N", env = "BANISTER_PG_CONNECTIONS")]
    pub pg_connections: Option<usize>,
    /// Longest wait for another service that writes to PostgreSQL [default: 4]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_PG_LOCK_TIMEOUT")]
    pub pg_lock_timeout: Option<f64>,
    /// Longest time of a statement in PostgreSQL [default: 5]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_PG_STATEMENT_TIMEOUT")]
    pub pg_statement_timeout: Option<f64>,
    /// Time after which PostgreSQL takes the log from a service that froze with it [default: 2.5]
    #[arg(long, value_name = "SECONDS", env = "BANISTER_PG_IDLE_TIMEOUT")]
    pub pg_idle_timeout: Option<f64>,
    /// TOML file of receivers of alarms and other notices
    #[arg(long, value_name = "FILE", env = "BANISTER_WEBHOOKS", value_hint = ValueHint::FilePath)]
    pub webhooks: Option<PathBuf>,
    /// Log level: error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL", env = "BANISTER_LOG")]
    pub log: Option<String>,
    /// Log format: text or json [default: text]
    #[arg(long, value_name = "FORMAT", env = "BANISTER_LOG_FORMAT")]
    pub log_format: Option<String>,
}

impl Given {
    /// Reads the settings of a TOML file.
    pub fn from_toml(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// These settings, completed by the other ones.
    pub fn or(self, mut other: Self) -> Self {
        // `data_dir` and `database` both locate the log: giving either overrides both of the other settings.
        if self.data_dir.is_some() || self.database.is_some() {
            (other.data_dir, other.database) = (None, None);
        }
        macro_rules! first {
            ($($field:ident)*) => { Self { $($field: self.$field.or(other.$field)),* } };
        }
        first! {
            listen data_dir database tls_cert tls_key lease_key require_token max_body max_import
            max_batch max_connections max_address_connections open_bytes rate bytes_rate work
            experiment_rate experiment_bytes_rate experiment_work timeout idle_timeout
            snapshot_every own_ids max_clock_skew accept_clock ready_age token_age pg_connections
            pg_lock_timeout pg_statement_timeout pg_idle_timeout webhooks log log_format
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
        let (idle, lock) = (self.pg_idle_timeout, self.pg_lock_timeout);
        let statement = self.pg_statement_timeout;
        let idle_timeout = seconds("pg_idle_timeout", idle, defaults.idle_timeout)?;
        let lock_timeout = seconds("pg_lock_timeout", lock, defaults.lock_timeout)?;
        let longest = defaults.statement_timeout;
        let statement_timeout = seconds("pg_statement_timeout", statement, longest)?;
        // A service that waits for a frozen one gets the log once PostgreSQL has taken it away.
        let rising = [
            ("pg_idle_timeout", idle_timeout),
            ("pg_lock_timeout", lock_timeout),
            ("pg_statement_timeout", statement_timeout),
        ];
        for pair in rising.windows(2) {
            let ((shorter, least), (field, own)) = (pair[0], pair[1]);
            if own <= least {
                let allowed = format!("must be longer than `{shorter}`");
                return Err(invalid(field, own.as_secs_f64(), &allowed));
            }
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
        let limit = |field: &str, given| checked_rate(field, given).map(Option::unwrap_or_default);
        let timeout = within("timeout", self.timeout, 10.0, 0.001..=3600.0, " seconds")?;
        let count = |field: &str, given: Option<usize>, default: usize, most: usize| {
            within(field, given, default, 1..=most, "")
        };
        let memory = crate::memory::limit();
        // More than there are descriptors or memory for would only be promised.
        let most = crate::connections::most(memory);
        let max_connections = count("max_connections", self.max_connections, most, most)?;
        let snapshot_every = self.snapshot_every.unwrap_or(20_000);
        if snapshot_every == 0 {
            return Err(invalid("snapshot_every", 0, "must be at least 1"));
        }
        let skew = self.max_clock_skew;
        let skew = within("max_clock_skew", skew, 60.0, 1.0..=86_400.0, " seconds")?;
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
            max_body: count("max_body", self.max_body, 2 << 20, 1 << 30)?,
            max_import: count("max_import", self.max_import, 128 << 20, 1 << 32)?,
            max_batch: count("max_batch", self.max_batch, 1000, 4096)?,
            max_connections,
            max_address_connections: count(
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
            idle_timeout: seconds("idle_timeout", self.idle_timeout, Duration::from_secs(75))?,
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
    pub idle_timeout: Duration,
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
    let default = default.as_secs_f64();
    within(field, given, default, 0.1..=3600.0, " seconds").map(Duration::from_secs_f64)
}

/// Checks a limit per second.
pub fn checked_rate(field: &str, given: Option<f64>) -> Result<Option<f64>, String> {
    match given {
        Some(rate) if !(0.0..=1e9).contains(&rate) => {
            Err(invalid(field, rate, "must be 0 (any) to 1e9 a second"))
        }
        given => Ok(given),
    }
}

fn within<T: PartialOrd + Display>(
    field: &str,
    given: Option<T>,
    default: T,
    allowed: RangeInclusive<T>,
    unit: &str,
) -> Result<T, String> {
    let value = given.unwrap_or(default);
    if allowed.contains(&value) {
        return Ok(value);
    }
    let (least, most) = allowed.into_inner();
    let allowed = format!("must be {least} to {most}{unit}");
    Err(invalid(field, value, &allowed))
}

fn invalid(field: &str, value: impl Display, allowed: &str) -> String {
    format!("`{field}` is {value}: {allowed}")
}
