//! A PostgreSQL server for tests: its own directory, its own port of the loopback, its own user.

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use postgres::{Client, NoTls};

/// The user that the server runs as where the tests are run by root, whom it refuses.
const USER: &str = "postgres";

/// Returns true if tests with PostgreSQL are to be skipped.
pub fn skipped() -> bool {
    std::env::var("BANISTER_SKIP_POSTGRES").is_ok_and(|value| value == "1")
}

/// A server, which ends with this value.
pub struct Server {
    binaries: PathBuf,
    directory: tempfile::TempDir,
    pub port: u16,
}

impl Server {
    /// Starts one.
    pub fn start() -> Self {
        Self::with(|_| String::new())
    }

    /// Starts one with more settings, which may need files of it.
    pub fn with(prepare: impl FnOnce(&Self) -> String) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut server = Self {
            binaries: binaries(),
            directory,
            port: 0,
        };
        if server.by_root() {
            let mut chown = Command::new("chown");
            run(chown.arg(format!("{USER}:")).arg(server.directory.path()));
        }
        let mut initdb = server.command("initdb");
        initdb.args(["--username=banister", "--auth=trust", "--encoding=UTF8"]);
        run(initdb
            .args(["--locale=C", "--no-sync", "-D"])
            .arg(server.data()));
        let settings = prepare(&server);
        // Somebody else may take the port between our finding it free and the server's taking it.
        for attempt in 1.. {
            server.port = free_port();
            server.configure(&settings);
            let mut start = server.control("start");
            if start.status().expect("pg_ctl runs").success() {
                break;
            }
            let log = std::fs::read_to_string(server.log()).unwrap_or_default();
            assert!(attempt < 5, "the server does not start:\n{log}");
        }
        server
    }

    fn configure(&self, settings: &str) {
        let socket = self.directory.path().display();
        let text = format!(
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = '{socket}'\n\
             fsync = on\nmax_connections = 200\nshared_buffers = 32MB\n{settings}\n",
            self.port
        );
        self.write("postgresql.conf", &text);
        // Everybody is trusted but `guarded`, who has a password.
        self.write(
            "pg_hba.conf",
            "host all guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n\
             local all all trust\n",
        );
    }

    /// Writes one of its files.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.data().join(name);
        std::fs::write(&path, text).expect("a file of the server's");
        if self.by_root() {
            run(Command::new("chown").arg(format!("{USER}:")).arg(&path));
            run(Command::new("chmod").arg("600").arg(&path));
        }
    }

    /// Stops it in this mode (`fast`, or `immediate`, which is a crash) and starts it again.
    pub fn restart(&self, mode: &str) {
        run(self.control("restart").args(["-m", mode]));
    }

    /// Stops it in this mode.
    pub fn stop(&self, mode: &str) {
        run(self.control("stop").args(["-m", mode]));
    }

    /// Starts it after a stop.
    pub fn start_again(&self) {
        run(&mut self.control("start"));
    }

    /// The address of a database.
    pub fn url(&self, database: &str) -> String {
        let port = self.port;
        format!("postgres://banister@127.0.0.1:{port}/{database}?sslmode=disable")
    }

    /// Connects as an administrator.
    pub fn connect(&self, database: &str) -> Client {
        Client::connect(&self.url(database), NoTls).expect("the server takes connections")
    }

    /// Does something as an administrator.
    pub fn execute(&self, database: &str, sql: &str) {
        let done = self.connect(database).batch_execute(sql);
        done.expect("the server does what it is told");
    }

    /// Where its files are; also the directory of its socket.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    fn by_root(&self) -> bool {
        // What we make is ours, so its owner is who we are.
        let own = tempfile::tempfile().and_then(|file| file.metadata());
        own.is_ok_and(|metadata| metadata.uid() == 0)
    }

    /// A program of PostgreSQL's, as a user that it accepts.
    fn command(&self, program: &str) -> Command {
        let program = self.binaries.join(program);
        let mut command = if self.by_root() {
            let mut command = Command::new("setpriv");
            command.arg(format!("--reuid={USER}"));
            command.arg(format!("--regid={USER}"));
            command.arg("--clear-groups").arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn control(&self, action: &str) -> Command {
        let mut command = self.command("pg_ctl");
        command.arg(action).args(["-s", "-w", "-t", "60", "-D"]);
        command.arg(self.data());
        if action != "stop" {
            command.arg("-l").arg(self.log());
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be stopped already.
        let mut stop = self.control("stop");
        let _ = stop
            .args(["-m", "immediate"])
            .stderr(Stdio::null())
            .status();
    }
}

/// Runs a program, which must succeed.
pub fn run(command: &mut Command) {
    let output = command.output();
    let output = output.unwrap_or_else(|e| panic!("{command:?} does not run: {e}"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
}

/// Where PostgreSQL's programs are.
fn binaries() -> PathBuf {
    let fits = |path: &PathBuf| path.join("initdb").exists() && path.join("postgres").exists();
    let given = std::env::var_os("BANISTER_POSTGRES_BIN").map(PathBuf::from);
    let debian = std::fs::read_dir("/usr/lib/postgresql");
    let mut installed: Vec<PathBuf> = (debian.into_iter().flatten().flatten())
        .map(|version| version.path().join("bin"))
        .collect();
    installed.sort();
    let mut places = given.into_iter().chain(installed.into_iter().rev());
    places.find(fits).expect(
        "these tests need PostgreSQL: install it (on Debian the package `postgresql`), name the \
         directory of initdb and postgres by BANISTER_POSTGRES_BIN, or set BANISTER_SKIP_POSTGRES=1",
    )
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of the loopback");
    listener.local_addr().expect("its address").port()
}
