"""A PostgreSQL server for tests: a folder, a port of the loopback and a socket of its own, gone at the end."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

import pytest

from .server import banisterd

#: Whom the server runs as where the tests are run by root, whom it refuses.
USER = "postgres"
#: Where Debian keeps the versions.
DEBIAN = pathlib.Path("/usr/lib/postgresql")
#: Seconds that a program of PostgreSQL's may take.
PATIENCE = 120


def binaries():
    """The folder of PostgreSQL's programs, or None."""
    versions = sorted(DEBIAN.glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    places = [pathlib.Path(given) for given in [os.environ.get("BANISTER_POSTGRES_BIN")] if given]
    places += versions
    if found := shutil.which("initdb"):
        places.append(pathlib.Path(found).resolve().parent)
    programs = ["initdb", "pg_ctl", "postgres", "psql"]
    return next((p for p in places if all((p / name).exists() for name in programs)), None)


class Postgres:
    """A server, with a folder that is removed by `remove`."""

    def __init__(self, programs):
        self.programs, self.port, self.databases = programs, 0, 0
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="banister-postgres-"))
        self.data, self.logs = self.folder / "data", self.folder / "log"

    def make(self):
        if os.geteuid() == 0:
            shutil.chown(self.folder, USER, USER)
        self.run(
            "initdb",
            "--username=banister",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "-D",
            self.data,
        )
        # Everybody is trusted but `guarded`, who has a password.
        self.write(
            "pg_hba.conf",
            "host all guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\nlocal all all trust\n",
        )
        # Somebody else may take the port between our finding it free and the server's taking it.
        for _ in range(5):
            with socket.create_server(("127.0.0.1", 0)) as free:
                self.port = free.getsockname()[1]
            self.write(
                "postgresql.conf",
                f"listen_addresses = '127.0.0.1'\nport = {self.port}\n"
                f"unix_socket_directories = '{self.folder}'\nfsync = on\n"
                "max_connections = 100\nshared_buffers = 32MB\n",
            )
            if self.control("start", check=False).returncode == 0:
                return self
        raise AssertionError(f"PostgreSQL does not start: {self.logs.read_text(errors='replace')}")

    def write(self, name, text):
        path = self.data / name
        path.write_text(text)
        path.chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(path, USER, USER)

    def run(self, program, *args, check=True):
        command = [str(self.programs / program), *map(str, args)]
        if os.geteuid() == 0:
            command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command]
        done = subprocess.run(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0 or not check, f"{command}: {done.stdout}{done.stderr}"
        return done

    def control(self, action, *args, check=True):
        return self.run("pg_ctl", action, "-s", "-w", "-t", 60, "-D", self.data, "-l", self.logs, *args, check=check)

    def start(self):
        self.control("start")

    def stop(self, mode="fast"):
        self.control("stop", "-m", mode)

    def restart(self, mode):
        """`fast` ends the connections, `immediate` is a crash."""
        self.control("restart", "-m", mode)

    def remove(self):
        try:
            # It may be stopped already.
            self.control("stop", "-m", "immediate", check=False)
        finally:
            shutil.rmtree(self.folder)

    def sql(self, statement, database="postgres"):
        """Runs a statement as the administrator; gives its only value, or what it says."""
        options = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-p", self.port]
        return self.run("psql", *options, "-U", "banister", "-d", database, "-c", statement).stdout.strip()

    def database(self, owner="banister"):
        """A new one."""
        self.databases += 1
        name = f"log{self.databases}"
        self.sql(f"CREATE DATABASE {name} OWNER {owner}")
        return Database(self, name)


class Database:
    """A database for one log."""

    def __init__(self, server, name):
        self.server, self.name = server, name

    def url(self, user="banister"):
        """Its address; the user may have a password after a colon."""
        return f"postgres://{user}@127.0.0.1:{self.server.port}/{self.name}?sslmode=disable"

    def rows(self, query):
        """The rows of a query, as objects."""
        return json.loads(self.server.sql(f"SELECT coalesce(json_agg(r), '[]') FROM ({query}) r", self.name))

    def token(self, *args, **more):
        return banisterd("token", *args, "--database", self.url(), **more).stdout.strip()

    def rebuild(self):
        """Returns the answer of `banisterd rebuild` to the log; all is equal."""
        rebuilt = json.loads(banisterd("rebuild", "--json", "--quiet", "--database", self.url(), deadline=120).stdout)
        assert rebuilt["equal"] is True, rebuilt
        assert all(experiment["equal"] for experiment in rebuilt["experiments"])
        return rebuilt

    def check(self):
        """Events without a gap, no id and no outcome twice; gives the last number."""
        (found,) = self.rows("SELECT count(*), min(number), max(number), (SELECT last FROM counter) FROM events")
        counter = found["last"]
        assert found == {"count": counter, "min": 1, "max": counter, "last": counter}
        grouped = "SELECT count(*) FROM events WHERE {} GROUP BY {} HAVING count(*) > 1"
        assert self.rows(grouped.format("kind = 5", "decision")) == []
        assert self.rows(grouped.format("id IS NOT NULL", "experiment, id")) == []
        # Reports are on decisions, and come after them.
        assert (
            self.rows(
                "SELECT e.number FROM events e LEFT JOIN events d ON d.number = e.decision AND d.kind = 3"
                " AND d.experiment = e.experiment AND d.number < e.number"
                " WHERE e.kind IN (4, 5) AND d.number IS NULL"
            )
            == []
        )
        return counter


@contextlib.contextmanager
def temporary():
    """A server for a while; skips where PostgreSQL is not installed, and fails there in CI."""
    if os.environ.get("BANISTER_SKIP_POSTGRES") == "1":
        pytest.skip("tests with PostgreSQL are switched off")
    programs = binaries()
    if programs is None:
        reason = (
            "PostgreSQL is not installed: there is no initdb, neither where Debian keeps it nor on PATH; "
            "BANISTER_POSTGRES_BIN names the folder where it is elsewhere"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(f"this machine must have it: {reason}")
        pytest.skip(reason)
    server = Postgres(programs)
    try:
        yield server.make()
    finally:
        server.remove()
