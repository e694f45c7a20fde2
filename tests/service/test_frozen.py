"""A database or a replica that freezes: said in time, and over as soon as it is over."""

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import threading
import time

import pytest

from .experiments import ARMS
from .postgres import temporary
from .server import DEADLINE, wait_for

PATH = "/v1/experiments/arms"


@pytest.fixture(scope="module")
def postgres():
    with temporary() as server:
        yield server


@pytest.fixture
def database(postgres):
    return postgres.database()


def processes(postgres):
    """The server's processes, its first one too."""
    first = int((postgres.data / "postmaster.pid").read_text().split()[0])
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    return [first, *(pid for pid, parent in parents.items() if parent == first)]


@contextlib.contextmanager
def frozen(pids):
    """Processes that do nothing for a while."""
    stopped = []
    try:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)
        yield
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_a_frozen_database_is_noticed_and_waited_for_by_nobody(postgres, database, serve):
    server = serve("--database", database.url(), "--token-age", "6")
    server.post("/v1/experiments", ARMS).ok(201)
    server.token = database.token("create", "--role", "decide", "x")
    wait_for(lambda: server.get("/v1/whoami").ok(200)["token"] == "x", "the token")
    with frozen(processes(postgres)), concurrent.futures.ThreadPoolExecutor(2) as pool:
        # Somebody keeps the writer waiting.
        waiting = pool.submit(server.post, f"{PATH}/decisions", {"id": "a"})
        wait_for(lambda: server.get("/readyz").status == 503, "notice")
        # Whoever looks from now on sees that it is not ready, and gets an answer though the writer waits.
        quick = server.connect(timeout=3)
        assert server.request("GET", "/metrics", connection=quick).status == 200
        assert "not answer" in server.request("GET", "/readyz", connection=quick).problem(503)["detail"]
        refused = waiting.result(DEADLINE).problem(503)
        assert "did not answer" in refused["detail"]
        server.get("/readyz").problem(503)
        # A token that may be revoked by now is not trusted for ever.
        wait_for(lambda: server.get("/v1/whoami").status == 503, "distrust")
        assert "tokens" in server.get("/v1/whoami").problem(503)["detail"]
        assert server.get("/healthz").status == 200
        # What is wrong can still be seen, by those whose token was known.
        assert "banister_log_failures_total" in server.get("/metrics").body.decode()
        assert server.get("/metrics", token="bnst_" + 32 * "x").status == 401
    server.ready()
    server.post(f"{PATH}/decisions", {"id": "a"}).ok(200)
    assert server.stop() == 0
    database.check()
    database.rebuild()


def holders(database):
    """Processes of the database that hold the log's counter while nothing happens."""
    return database.server.sql(
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
        f" AND datname = '{database.name}' AND application_name = 'banister'"
    )


def test_a_replica_that_freezes_with_the_log_loses_it(database, serve):
    replicas = [serve("--database", database.url()) for _ in range(2)]
    replicas[0].post("/v1/experiments", ARMS).ok(201)
    stop = threading.Event()

    def decide():
        # It is stopped in the middle of what it does.
        with contextlib.suppress(OSError):
            connection = replicas[0].connect()
            while not stop.is_set():
                batch = {"decisions": [{}] * 200}
                replicas[0].request("POST", f"{PATH}/decisions:batch", batch, connection=connection)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        callers = [pool.submit(decide) for _ in range(3)]
        try:
            for turn in range(3):

                def holds_the_log():
                    os.kill(replicas[0].process.pid, signal.SIGSTOP)
                    # Long enough for the database to have done what it was told.
                    time.sleep(0.05)
                    if holders(database) == "1":
                        return True
                    os.kill(replicas[0].process.pid, signal.SIGCONT)
                    return False

                wait_for(holds_the_log, "replica that holds the log")
                # The other waits a little, and then is served: nobody gets an error.
                for i in range(3):
                    replicas[1].post(f"{PATH}/decisions", {"id": f"{turn}-{i}"}).ok(200)
                assert replicas[1].get("/readyz").status == 200
                os.kill(replicas[0].process.pid, signal.SIGCONT)
                replicas[0].ready()
        finally:
            os.kill(replicas[0].process.pid, signal.SIGCONT)
            stop.set()
        for caller in callers:
            caller.result(DEADLINE)
    for replica in replicas:
        assert replica.stop() == 0
    database.check()
    database.rebuild()


def connections(database):
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'banister'"
    return int(database.server.sql(f"{count} AND datname = '{database.name}'"))


def test_connections_are_few_whatever_is_asked(database, serve):
    most = 5
    server = serve("--database", database.url(), "--pg-connections", str(most))
    server.post("/v1/experiments", ARMS | {"ttl_seconds": 3600}).ok(201)
    for _ in range(20):
        server.post(f"{PATH}/decisions:batch", {"decisions": [{}] * 1000}).ok(200)
    with contextlib.ExitStack() as closing:
        pool = closing.enter_context(concurrent.futures.ThreadPoolExecutor(8))
        # Whoever does not read on keeps an export from its end, and nobody from the log.
        slow = [closing.enter_context(server.socket()) for _ in range(40)]
        for plain in slow:
            plain.sendall(f"GET {PATH}/decisions?limit=1000 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
            plain.sendall(f"GET {PATH}/export HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
        reading = [pool.submit(server.get, f"{PATH}/decisions?limit=1000") for _ in range(40)]
        seen = [connections(database)]
        while not all(one.done() for one in reading):
            seen.append(connections(database))
        assert max(seen) <= most
        assert {one.result().status for one in reading} <= {200, 503}
        assert server.post(f"{PATH}/decisions", {}).status == 200
        # A token that is made now is known soon: not all connections are lent.
        server.token = database.token("create", "--role", "read", "x")
        wait_for(lambda: server.get("/v1/whoami").status == 200, "the token")
        assert connections(database) <= most
    assert server.stop() == 0
