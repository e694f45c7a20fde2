//! Connections: from an address to a session that is set up as the log needs it; hearing of what others wrote.
//!
//! Addresses are those of libpq, as a URL or as words (`host=… dbname=…`); several hosts may be given.
//! `sslmode` says how much a connection is protected:
//!
//! * `disable`: not at all;
//! * `prefer`, the default: encrypted if the server can, without asking who it is, as in libpq;
//! * `require`: always encrypted, and the server must prove its name with a certificate that the
//!   machine trusts. That is libpq's `verify-full` with `sslrootcert=system`, and `verify-ca` and
//!   `verify-full` mean the same here: a connection that somebody in between can take over would not
//!   be what one required. An authority of one's own is named by `SSL_CERT_FILE`.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::CHANNEL;
use super::session::Session;
use crate::store::{PostgresLog, StoreError};

/// Longest time to connect, unless the address says otherwise.
pub(super) const CONNECT: Duration = Duration::from_secs(5);
/// Silence after which a keep-alive probe is sent.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Defaults of the library where an address says nothing.
const LIBRARY_KEEPALIVE: Duration = Duration::from_secs(2 * 60 * 60);

/// Time that the server has to report that a statement took too long, before it counts as silent.
const GRACE: Duration = Duration::from_millis(500);

// Acknowledged events are on the disk, whatever the server's default. Every statement here is a few look-ups in
// indexes: the server must not guess otherwise from a table that was empty a minute ago.
const SESSION: &str = "
SET synchronous_commit = on;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET jit = off;
SET tcp_keepalives_idle = 10;
SET tcp_keepalives_interval = 5;
SET tcp_keepalives_count = 3;
";

/// Opens a session whose statements take at most `statement`.
pub(super) fn open(log: &PostgresLog, statement: Duration) -> Result<Session, StoreError> {
    let mut session = connect(log, statement)?;
    // A replica that froze or whose machine is gone loses the log: the server ends a transaction in which
    // nothing happens, and a connection that takes nothing.
    let limits = format!(
        "SET lock_timeout = {}; SET statement_timeout = {}; \
         SET idle_in_transaction_session_timeout = {idle}; SET tcp_user_timeout = {idle};",
        log.lock_timeout.as_millis(),
        statement.as_millis(),
        idle = log.idle_timeout.as_millis()
    );
    let sql = format!("{SESSION}{limits}");
    session.run(async |client| client.batch_execute(&sql).await)?;
    Ok(session)
}

pub(super) fn connect(log: &PostgresLog, statement: Duration) -> Result<Session, StoreError> {
    Session::connect(&config(&log.url)?, statement + GRACE)
}

fn config(url: &str) -> Result<Config, StoreError> {
    let known = url
        .replace("sslmode=verify-full", "sslmode=require")
        .replace("sslmode=verify-ca", "sslmode=require");
    // The exact error is not repeated: it may contain a piece of the password.
    let mut config: Config = known.parse().map_err(|_| {
        StoreError::new(
            "the database's address is not one of PostgreSQL: \
             postgres://user:password@host:5432/database?sslmode=require",
        )
    })?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(StoreError::new("the database's address names no host"));
    }
    if config.get_application_name().is_none() {
        config.application_name("banister");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(3 * KEEPALIVE);
    }
    if config.get_keepalives_idle() == LIBRARY_KEEPALIVE {
        config.keepalives_idle(KEEPALIVE);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(KEEPALIVE / 2);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(3);
    }
    Ok(config)
}

/// The host, the port and the database of an address.
pub(crate) fn shown(url: &str) -> String {
    match config(url) {
        Ok(config) => shown_config(&config),
        Err(_) => "a PostgreSQL database".into(),
    }
}

pub(super) fn shown_config(config: &Config) -> String {
    let ports = config.get_ports();
    let with_port = |(place, host): (usize, String)| {
        let port = ports.get(place).or(ports.first()).copied();
        format!("{host}:{}", port.unwrap_or(5432))
    };
    let mut hosts: Vec<String> = (config.get_hosts().iter())
        .map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    if hosts.is_empty() {
        let addresses = config.get_hostaddrs().iter();
        hosts = addresses.map(ToString::to_string).collect();
    }
    let hosts: Vec<String> = hosts.into_iter().enumerate().map(with_port).collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or("");
    format!("{}/{database}", hosts.join(","))
}

/// Longest time between calls of `wake`, whose answer ends the thread.
const PAUSE: Duration = Duration::from_secs(1);
/// The first wait before connecting again; each next one is twice as long, up to [`PAUSE`].
const FIRST: Duration = Duration::from_millis(100);

/// Calls `wake` on every notification, and about every second, until it says no.
pub(crate) fn listen(log: PostgresLog, wake: Box<dyn Fn() -> bool + Send>) {
    let thread = std::thread::Builder::new().name("banister-listen".into());
    // Without the thread others' events are found a little later, by looking.
    let _ = thread.spawn(move || {
        let mut wait = FIRST;
        while wake() {
            match wait_for_commits(&log, &*wake, || wait = FIRST) {
                Ok(()) => return,
                // Trouble with the log is the writer's to report.
                Err(_) => {
                    std::thread::sleep(wait);
                    wait = (2 * wait).min(PAUSE);
                }
            }
        }
    });
}

/// Listens until `wake` says no, or until the connection breaks.
fn wait_for_commits(
    log: &PostgresLog,
    wake: &dyn Fn() -> bool,
    connected: impl FnOnce(),
) -> Result<(), StoreError> {
    let mut session = connect(log, log.statement_timeout)?;
    let listen = format!("LISTEN {CHANNEL}");
    session.run(async |client| client.batch_execute(&listen).await)?;
    connected();
    // Finds what was written before listening began.
    while wake() {
        session.wait(PAUSE)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::SslMode;

    use super::{Duration, KEEPALIVE, config, shown};

    #[test]
    fn addresses_are_shown_without_secrets() {
        let url = "postgres://ann:s3cret@db.example:6432/log?sslmode=disable";
        assert_eq!(shown(url), "db.example:6432/log");
        assert_eq!(shown("postgres://ann:s3cret@a,b/log"), "a:5432,b:5432/log");
        let words = "host=/run/pg user=ann password=s3cret";
        assert_eq!(shown(words), "/run/pg:5432/ann");
        assert_eq!(
            shown("postgres://ann:s3cret@db:port/log"),
            "a PostgreSQL database"
        );
    }

    #[test]
    fn a_bad_address_is_refused_without_repeating_it() {
        for url in [
            "postgres://ann:s3cret@db:port/log",
            "s3cret",
            "dbname=log s3cret=1",
        ] {
            let error = config(url).unwrap_err();
            assert!(
                !error.passing && !error.reason.contains("s3cret"),
                "{error}"
            );
        }
        assert!(config("dbname=log").unwrap_err().reason.contains("host"));
    }

    #[test]
    fn an_address_has_the_last_word_on_timeouts() {
        let plain = config("postgres://db/log").unwrap();
        assert_eq!(plain.get_keepalives_idle(), KEEPALIVE);
        assert_eq!(plain.get_connect_timeout(), Some(&Duration::from_secs(5)));
        let said = config("postgres://db/log?connect_timeout=1&keepalives_idle=77").unwrap();
        assert_eq!(said.get_connect_timeout(), Some(&Duration::from_secs(1)));
        assert_eq!(said.get_keepalives_idle(), Duration::from_secs(77));
    }

    #[test]
    fn to_verify_is_to_require() {
        let mode = |url: &str| config(url).unwrap().get_ssl_mode();
        assert_eq!(mode("postgres://db/log"), SslMode::Prefer);
        assert_eq!(mode("postgres://db/log?sslmode=disable"), SslMode::Disable);
        for name in ["require", "verify-ca", "verify-full"] {
            assert_eq!(
                mode(&format!("postgres://db/log?sslmode={name}")),
                SslMode::Require
            );
        }
    }
}
