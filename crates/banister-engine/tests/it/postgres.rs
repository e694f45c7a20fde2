//! Matters of the PostgreSQL store alone: servers, rights, settings, certificates.

use crate::common;

use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use banister_engine::{Database, PostgresLog, Store, StoreError};
use common::server::{Server, run, skipped};
use common::{Place, decision, whole, write};
use postgres::{Client, NoTls};

fn place() -> Option<(Place, Arc<Server>, String)> {
    let place = Place::postgres()?;
    let server = place.server.clone()?;
    match &place.database {
        Database::Postgres(PostgresLog { url, .. }) => {
            let url = url.clone();
            Some((place, server, url))
        }
        Database::Sqlite(_) => None,
    }
}

fn open(url: &str) -> Result<Box<dyn Store>, StoreError> {
    Database::Postgres(url.into()).open()
}

fn refused(url: &str) -> StoreError {
    open(url).err().expect("it is refused")
}

fn execute(url: &str, sql: &str) {
    let mut client = Client::connect(url, NoTls).unwrap();
    client.batch_execute(sql).unwrap();
}

#[test]
fn replicas_may_start_at_once_on_an_empty_database() {
    let Some((place, _, url)) = place() else {
        return;
    };
    let stores: Vec<_> = std::thread::scope(|scope| {
        let openers: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&url))).collect();
        openers.into_iter().map(|o| o.join().unwrap()).collect()
    });
    for (i, store) in (1..).zip(stores) {
        write(&mut *store.unwrap(), &[decision(i, &format!("d{i}"))]);
    }
    assert_eq!(whole(&mut *place.open()).len(), 8);
}

#[test]
fn a_foreign_or_newer_layout_is_refused_by_name() {
    let Some((place, _, url)) = place() else {
        return;
    };
    execute(&url, "CREATE TABLE events (what TEXT)");
    let error = refused(&url);
    assert!(
        error.reason.contains("`public` has a table `events`"),
        "{error}"
    );
    assert!(!error.passing);
    execute(&url, "DROP TABLE events; CREATE TABLE meta (what TEXT)");
    let error = refused(&url);
    assert!(
        error.reason.contains("`meta` of another program"),
        "{error}"
    );
    // A schema of its own is a place of its own.
    execute(&url, "CREATE SCHEMA log");
    let own = format!("{url}&options=-csearch_path%3Dlog");
    write(&mut *open(&own).unwrap(), &[decision(1, "a")]);
    assert_eq!(whole(&mut *open(&own).unwrap()).len(), 1);
    execute(&url, "UPDATE log.meta SET version = 5");
    let error = refused(&own);
    assert!(
        error
            .reason
            .contains("layout 5, this program knows layout 4"),
        "{error}"
    );
    assert!(
        Database::Postgres(own.as_str().into())
            .open_reader()
            .is_err()
    );
    execute(&url, "UPDATE log.meta SET application = 'other'");
    assert!(refused(&own).reason.contains("another program"));
    drop(place);
}

#[test]
fn a_server_that_says_nothing_is_left_in_time() {
    let Some((place, server, url)) = place() else {
        return;
    };
    drop(place.open());
    let hasty = Database::Postgres(PostgresLog {
        statement_timeout: Duration::from_millis(300),
        ..url.as_str().into()
    });
    let mut store = hasty.open().unwrap();
    write(&mut *store, &[decision(1, "a")]);
    // Only the process that serves this connection stops: the server takes others.
    let mut administrator = server.connect("postgres");
    let sql =
        "SELECT pid FROM pg_stat_activity WHERE datname = $1 AND application_name = 'banister'";
    let name = place.name();
    let pid: i32 = administrator.query_one(sql, &[&name]).unwrap().get(0);
    let signal = |what: &str| run(Command::new("kill").args([what, &pid.to_string()]));
    signal("-STOP");
    let error = store.begin().unwrap_err();
    let again = store.last().unwrap_err();
    signal("-CONT");
    assert!(
        error.passing && error.reason.contains("did not answer within"),
        "{error}"
    );
    assert!(again.passing && again.reason.contains("lost"), "{again}");
    store.rollback();
    write(&mut *hasty.open().unwrap(), &[decision(2, "b")]);
    // One that takes connections and greets nobody.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let error = refused(&format!(
        "postgres://ann@127.0.0.1:{port}/log?connect_timeout=1&sslmode=disable"
    ));
    assert!(
        error.passing && error.reason.contains("did not answer within"),
        "{error}"
    );
}

#[test]
fn what_cannot_pass_is_told_from_what_can() {
    let Some((place, server, _)) = place() else {
        return;
    };
    let port = server.port;
    drop(place.open());
    server.execute("postgres", "CREATE ROLE guarded LOGIN PASSWORD 's3cret'");
    let guarded = |password: &str, database: &str| {
        format!("postgres://guarded:{password}@127.0.0.1:{port}/{database}?sslmode=disable")
    };
    let wrong = refused(&guarded("wr0ng", "postgres"));
    assert!(
        !wrong.passing && wrong.reason.contains("password"),
        "{wrong}"
    );
    assert!(!wrong.reason.contains("wr0ng"), "{wrong}");
    let missing = refused(&server.url("nowhere"));
    assert!(
        !missing.passing && missing.reason.contains("nowhere"),
        "{missing}"
    );
    // Whoever may not make tables is told so; a server that is not there may come.
    let powerless = refused(&guarded("s3cret", "postgres"));
    assert!(
        !powerless.passing && powerless.reason.contains("permission"),
        "{powerless}"
    );
    let absent = refused("postgres://ann:s3cret@127.0.0.1:1/log");
    assert!(
        absent.passing && absent.reason.contains("127.0.0.1:1/log"),
        "{absent}"
    );
    assert!(!absent.reason.contains("s3cret"), "{absent}");
    assert!(!refused("postgres://ann:s3cret@host:none/log").passing);
    // A database that takes nothing now may again.
    let mut store = place.open();
    write(&mut *store, &[decision(1, "a")]);
    let name = place.name();
    let set = |value: &str| {
        let sql = format!("ALTER DATABASE {name} SET default_transaction_read_only = {value}");
        server.execute("postgres", &sql);
    };
    set("on");
    let mut late = place.open();
    let error = late.begin().unwrap_err();
    assert!(
        error.passing && error.reason.contains("read-only"),
        "{error}"
    );
    assert_eq!(late.last(), Ok(1), "the connection is as good as before");
    set("off");
    write(&mut *place.open(), &[decision(2, "b")]);
}

#[test]
fn the_server_s_defaults_do_not_matter() {
    let Some((place, server, url)) = place() else {
        return;
    };
    drop(place.open());
    let name = url
        .rsplit('/')
        .next()
        .and_then(|rest| rest.split('?').next());
    let name = name.unwrap_or_default();
    for setting in [
        "synchronous_commit = off",
        "default_transaction_isolation = 'serializable'",
    ] {
        server.execute("postgres", &format!("ALTER DATABASE {name} SET {setting}"));
    }
    // Only the writing session itself can say what it goes by.
    execute(
        &url,
        "CREATE TABLE seen (settings TEXT);
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           INSERT INTO seen VALUES (concat_ws(' ', current_setting('synchronous_commit'),
             current_setting('transaction_isolation'), current_setting('lock_timeout'),
             current_setting('idle_in_transaction_session_timeout')));
           RETURN NEW; END $$;
         CREATE TRIGGER note AFTER UPDATE ON counter FOR EACH ROW EXECUTE FUNCTION note();",
    );
    let (mut first, mut second) = (place.open(), place.open());
    assert_eq!(first.begin().unwrap().last, 0);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| second.begin());
        first.append(&[decision(1, "a")]).unwrap();
        first.commit().unwrap();
        // Another snapshot of the database would not hold what it waited for.
        assert_eq!(waiting.join().unwrap().unwrap().last, 1);
    });
    assert_eq!(second.read(0, 10).unwrap().len(), 1);
    second.append(&[decision(2, "b")]).unwrap();
    second.commit().unwrap();
    let mut client = Client::connect(&url, NoTls).unwrap();
    let rows = client.query("SELECT settings FROM seen", &[]).unwrap();
    let seen: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(seen, ["on read committed 4s 2500ms"; 2]);
}

#[test]
fn a_commit_in_a_transaction_that_failed_is_an_error() {
    let Some((place, _, _)) = place() else {
        return;
    };
    let mut store = place.open();
    write(&mut *store, &[decision(1, "a")]);
    store.begin().unwrap();
    assert!(store.append(&[decision(2, "a")]).is_err());
    // The server itself would call this a success.
    assert!(store.commit().is_err());
    store.rollback();
    write(&mut *store, &[decision(2, "b")]);
    // A transaction in a transaction is a defect of the caller's.
    store.begin().unwrap();
    assert!(store.begin().is_err());
    store.rollback();
    assert_eq!(whole(&mut *store).len(), 2);
}

#[test]
fn sockets_of_the_file_system_work() {
    let Some((place, server, url)) = place() else {
        return;
    };
    let name = url
        .rsplit('/')
        .next()
        .and_then(|rest| rest.split('?').next());
    let words = format!(
        "host={} port={} user=banister dbname={}",
        server.directory().display(),
        server.port,
        name.unwrap_or_default()
    );
    write(&mut *open(&words).unwrap(), &[decision(1, "a")]);
    assert_eq!(place.open().last(), Ok(1));
}

/// A certificate for `localhost` by an authority of its own, and the settings to use it.
fn certificates(server: &Server) -> String {
    let at = |name: &str| server.directory().join(name);
    let openssl = |arguments: &[&str]| {
        run(Command::new("openssl")
            .args(arguments)
            .current_dir(server.directory()));
    };
    let key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ];
    let ca = ["req", "-x509", "-days", "2", "-subj", "/CN=authority"];
    let files = ["-keyout", "ca.key", "-out", "ca.pem"];
    openssl(&[&ca[..], &key[..], &files[..]].concat());
    let files = ["-keyout", "server.key", "-out", "server.csr"];
    openssl(&[&["req", "-subj", "/CN=localhost"], &key[..], &files[..]].concat());
    std::fs::write(at("names"), "subjectAltName = DNS:localhost\n").unwrap();
    openssl(&[
        "x509",
        "-req",
        "-days",
        "2",
        "-in",
        "server.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-extfile",
        "names",
        "-out",
        "server.pem",
    ]);
    for name in ["server.key", "server.pem"] {
        server.write(name, &std::fs::read_to_string(at(name)).unwrap());
    }
    "ssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'".into()
}

/// Variable by which the child of the next test finds its server.
const TRUSTING: &str = "BANISTER_TEST_TRUSTING";

#[test]
fn certificates_count_where_encryption_is_required() {
    if skipped() {
        return;
    }
    let url = |host: &str, port: &str, mode: &str| {
        format!("postgres://banister@{host}:{port}/postgres?sslmode={mode}")
    };
    // The part that trusts the authority: a process has one set of those for good.
    if let Ok(port) = std::env::var(TRUSTING) {
        for mode in ["require", "verify-full"] {
            open(&url("localhost", &port, mode)).unwrap();
        }
        let error = refused(&url("127.0.0.1", &port, "require"));
        assert!(
            !error.passing && error.reason.contains("certificate"),
            "{error}"
        );
        return;
    }
    let server = Server::with(certificates);
    let port = server.port.to_string();
    let error = refused(&url("localhost", &port, "require"));
    assert!(
        !error.passing && error.reason.contains("certificate"),
        "{error}"
    );
    for (mode, encrypted) in [("prefer", true), ("disable", false)] {
        let store = open(&url("localhost", &port, mode)).unwrap();
        let sql = "SELECT s.ssl FROM pg_stat_ssl AS s JOIN pg_stat_activity AS a USING (pid) \
             WHERE a.application_name = 'banister'";
        let rows = server.connect("postgres").query(sql, &[]).unwrap();
        let seen: Vec<bool> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(seen.last(), Some(&encrypted), "{mode}");
        drop(store);
        common::until("it is gone", || {
            (server.connect("postgres").query(sql, &[]).unwrap()).is_empty()
        });
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let name = "postgres::certificates_count_where_encryption_is_required";
    child.args(["--exact", name]);
    child.env(TRUSTING, &port);
    child.env("SSL_CERT_FILE", server.directory().join("ca.pem"));
    let output = String::from_utf8(child.output().unwrap().stdout).unwrap();
    assert!(output.contains("1 passed"), "{output}");
    // Without certificates there is nothing to encrypt with.
    let plain = Server::start();
    let error = refused(&url("localhost", &plain.port.to_string(), "require"));
    assert!(error.reason.contains("TLS"), "{error}");
    open(&url("localhost", &plain.port.to_string(), "prefer")).unwrap();
}
