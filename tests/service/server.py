"""A server under test: started on a port of its own, always stopped; its log as it lies on the disk."""

import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import sqlite3
import ssl
import subprocess
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("BANISTERD", str(ROOT / "target" / "debug" / "banisterd"))
LONG = os.environ.get("BANISTER_LONG") == "1"
#: Whatever is waited for comes within this many seconds, or the test fails.
DEADLINE = 30


def environment(**more):
    """The environment without settings that somebody may have for a service of their own."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("BANISTER")}
    return own | more


def banisterd(*args, program=PROGRAM, check=True, env=None, stdin="", deadline=DEADLINE):
    """Runs the program until its end."""
    command = [program, *map(str, args)]
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment(**(env or {})),
        timeout=deadline,
    )
    if check:
        assert done.returncode == 0, f"{command}: {done.stderr}"
    return done


def banister(*args, **more):
    """Runs the research program, which is beside the service's, until its end."""
    return banisterd(*args, program=str(pathlib.Path(PROGRAM).with_name("banister")), **more)


def wait_for(condition, what, deadline=DEADLINE):
    """Asks until the answer is true, and gives it; the test fails when that takes too long."""
    end = time.monotonic() + deadline
    while True:
        last = condition()
        if last:
            return last
        assert time.monotonic() < end, f"no {what} within {deadline} seconds"
        time.sleep(0.02)


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)

    @property
    def kind(self):
        return self.headers.get("content-type", "").split(";")[0]

    def ok(self, *statuses):
        assert self.status in (statuses or (200, 201)), f"{self.status}: {self.body[:600]!r}"
        return self.json()

    def problem(self, status, field=None):
        """Checks that this is a problem document, and gives it."""
        assert self.status == status, f"{self.status} instead of {status}: {self.body[:600]!r}"
        assert self.kind == "application/problem+json", self.headers
        problem = self.json()
        assert problem["status"] == status
        assert problem["title"] and problem["detail"] and problem["type"]
        assert problem["request_id"] == self.headers["x-request-id"]
        if field is not None:
            assert problem.get("field") == field, problem
        return problem


class Server:
    """`banisterd serve` in a process of its own, on a port that it keeps when it is started again."""

    def __init__(self, data_dir, logs, *flags, env=None, host="127.0.0.1", prefix=()):
        self.data_dir, self.logs, self.host = pathlib.Path(data_dir), pathlib.Path(logs), host
        self.flags = [*flags, "--data-dir", data_dir]
        #: Words before the command.
        self.prefix = [*prefix]
        self.env = environment(**(env or {}))
        #: Said with every request that says nothing else.
        self.token = None
        self.process, self.port, self.tls = None, 0, None

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def start(self):
        listen = ["--listen", f"{self.host}:{self.port}"]
        with self.logs.open("ab") as logs:
            self.process = subprocess.Popen(
                [*self.prefix, PROGRAM, "serve", *map(str, self.flags), *listen],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=logs,
                env=self.env,
            )
        lines = []

        def read():
            for line in self.process.stdout:
                lines.append(line.decode())

        self.reader = threading.Thread(target=read, daemon=True)
        self.reader.start()

        def address():
            said = re.search(r"the page is at (https?)://(.*):(\d+)/", "".join(lines))
            assert said or self.process.poll() is None, f"it ended: {self.log()}"
            return said

        said = wait_for(address, "line with the address")
        self.port = int(said[3])
        return self

    def ready(self):
        def is_ready():
            assert self.process.poll() is None, f"it ended: {self.log()}"
            return self.request("GET", "/readyz").status == 200

        wait_for(is_ready, "readiness")
        return self

    def log(self):
        return self.logs.read_text(errors="replace")

    def stop(self, number=signal.SIGTERM, deadline=DEADLINE):
        """Stops it, and gives its exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(deadline)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.reader.join(5)
            self.process.stdout.close()

    def connect(self, timeout=DEADLINE):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None, token=None, connection=None):
        """One request; objects are sent as JSON, bytes as they are. A header that is None is not sent."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            # As a browser writes it: some messages count columns.
            body = json.dumps(body, separators=(",", ":")).encode()
            headers.setdefault("content-type", "application/json")
        if body is None and method in ("POST", "PUT", "PATCH", "DELETE"):
            headers.setdefault("content-type", "application/json")
        headers = {name: value for name, value in headers.items() if value is not None}
        token = token or self.token
        if token:
            headers.setdefault("authorization", f"Bearer {token}")
        own = connection or self.connect()
        try:
            own.request(method, path, body=body, headers=headers)
            got = own.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            if connection is None:
                own.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, body, **more)

    def make_token(self, role, name):
        """Makes a token, and waits until the server knows of it: from then on it asks for one."""
        return self.make_tokens({name: role})[name]

    def make_tokens(self, roles):
        """The same for many: name -> role gives name -> token."""
        tokens = {name: make_token(self.data_dir, role, name) for name, role in roles.items()}

        def is_known(name):
            answer = self.get("/v1/whoami", token=tokens[name])
            return answer.status == 200 and answer.json()["token"] == name

        for name in tokens:
            wait_for(lambda: is_known(name), f"token {name}")
        return tokens

    def raw(self, data, timeout=DEADLINE, finish=False):
        """Sends bytes and gives everything that comes back until the server closes."""
        with self.socket(timeout) as plain:
            # It may have closed before everything was said.
            with contextlib.suppress(OSError):
                plain.sendall(data)
                if finish:
                    plain.shutdown(socket.SHUT_WR)
            return receive_all(plain)

    def socket(self, timeout=DEADLINE):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)


def receive_all(plain):
    parts = []
    with contextlib.suppress(ConnectionResetError, BrokenPipeError, ssl.SSLError):
        while part := plain.recv(65536):
            parts.append(part)
    return b"".join(parts)


def quoted(name):
    return urllib.parse.quote(name, safe="")


def make_token(data_dir, role, name, *flags):
    done = banisterd("token", "create", "--role", role, name, *flags, "--data-dir", data_dir)
    secret = done.stdout.strip()
    assert re.fullmatch(r"bnst_\S{32}", secret)
    assert secret not in done.stderr
    return secret


def rebuild(data_dir):
    """Returns the answer of `banisterd rebuild` to the log."""
    rebuilt = json.loads(banisterd("rebuild", "--json", "--quiet", "--data-dir", data_dir).stdout)
    assert rebuilt["equal"] is True, rebuilt
    assert all(experiment["equal"] for experiment in rebuilt["experiments"])
    return rebuilt


def check_file(data_dir):
    """Events without a gap, one outcome per decision; gives the last number."""
    with contextlib.closing(sqlite3.connect(data_dir / "banister.db")) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        count, first, last = file.execute("SELECT count(*), min(number), max(number) FROM events").fetchone()
        (counter,) = file.execute("SELECT last FROM counter").fetchone()
        assert (count, first, last) == (counter, 1, counter)
        twice = "SELECT decision FROM events WHERE kind = 5 GROUP BY decision HAVING count(*) > 1"
        assert file.execute(twice).fetchall() == []
        twice = "SELECT id FROM events WHERE id IS NOT NULL GROUP BY experiment, id HAVING count(*) > 1"
        assert file.execute(twice).fetchall() == []
    return counter
