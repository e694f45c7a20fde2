"""Attacks on memory, under a limit of 512 MB: what does not fit is refused, and nothing acknowledged is lost."""

import concurrent.futures
import http.client
import io
import json
import pathlib
import signal
import socket
import time

import pyarrow.parquet
import pytest

from .callers import many_files, never_reading, requests
from .experiments import ARMS
from .postgres import temporary
from .sandbox import limited
from .server import Server, wait_for

#: Decisions bring 2900 candidates with two features: 17 KB as JSON, 186 KB in memory, 52 KB in the log.
CANDIDATES = [[0, 1]] * 2900
ACTIONS = json.dumps(CANDIDATES, separators=(",", ":"))
BIG = {
    "name": "big",
    "dimension": 2,
    "safe_action": [1, 0],
    "guardrails": [{"name": "cost", "at_most": 0.6, "safe_cost": 0.1}],
    "agent": {"kind": "oplb", "parameter_norm": 2},
}
PATH = "/v1/experiments/big"
JSON = {"content-type": "application/json"}
OUTCOME = {"reward": 0.5, "costs": {"cost": 0.1}}


def batch(name, count=107):
    """A body of 1.86 MB, as bytes: many of them are sent."""
    decisions = ",".join(f'{{"id":"{name}-{i}","actions":{ACTIONS}}}' for i in range(count))
    return f'{{"decisions":[{decisions}]}}'.encode()


def fill(server, count, path=PATH):
    """Sends batches over a few connections, and gives the ids of what was acknowledged."""

    def send(name):
        while True:
            answer = server.post(f"{path}/decisions:batch", batch(name), headers=JSON)
            if answer.status == 200:
                return [result["decision"]["id"] for result in answer.json()["results"]]
            answer.problem(503)
            time.sleep(0.1)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return [id for ids in pool.map(send, range(count)) for id in ids]


def small_ones_are_answered(server):
    server.post("/v1/experiments/arms/decisions", {}).ok(200)
    assert server.process.poll() is None


def is_let_in(server):
    try:
        return server.get("/healthz").status == 200
    except ConnectionError:
        return False


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    """Servers that are started under one limit, killed at the end."""
    folder = tmp_path_factory.mktemp("memory")
    servers = []
    with limited(512) as prefix:

        def start(*flags, name="data"):
            (folder / name).mkdir(exist_ok=True)
            flags = ["--timeout", 60, *flags]
            servers.append(Server(folder / name, folder / f"{name}.log", *flags, prefix=prefix))
            return servers[-1].start().ready()

        yield start
        for server in servers:
            server.stop(signal.SIGKILL)


@pytest.fixture(scope="module")
def filled(memory):
    """A server with more large decisions than its memory holds."""
    server = memory()
    server.post("/v1/experiments", ARMS).ok(201)
    server.post("/v1/experiments", BIG).ok(201)
    return server, fill(server, 16)


def test_open_decisions_and_restarts(filled):
    server, ids = filled
    assert len(ids) == 16 * 107
    for _ in range(3):
        server.stop(signal.SIGKILL)
        server.start().ready()
    assert server.get(PATH).ok(200)["counts"]["decisions"] == len(ids)
    for id in ids[::100]:
        server.post(f"{PATH}/outcomes", {"decision": id, **OUTCOME}).ok(200)
    reports = [{"decision": id, **OUTCOME} for id in ids[1:480:2]]
    results = server.post(f"{PATH}/outcomes:batch", {"outcomes": reports}).ok(200)["results"]
    assert all(result["status"] == 200 for result in results)
    # The same request gets the same answer, which is read from the log.
    again = server.post(f"{PATH}/decisions", {"id": ids[7], "actions": CANDIDATES}).ok(200)
    assert again["id"] == ids[7]
    assert len(server.get(f"{PATH}/decisions?limit=480").ok(200)["decisions"]) == 480


def test_exports_at_once(filled):
    server, _ = filled
    server.post("/v1/experiments", BIG | {"name": "exported"}).ok(201)
    path = "/v1/experiments/exported"
    ids = fill(server, 3, path)

    def export(number):
        format = ["csv", "parquet"][number % 2]
        connection = server.connect(timeout=120)
        try:
            connection.request("GET", f"{path}/export?format={format}")
            answer = connection.getresponse()
            if answer.status == 503:
                return answer.status
            assert answer.status == 200
            content = b""
            while part := answer.read(1 << 14):
                # A slow reader.
                time.sleep(0.001)
                content += part
        finally:
            connection.close()
        if format == "csv":
            assert content.count(b"\n") == 1 + len(ids)
        else:
            assert pyarrow.parquet.read_table(io.BytesIO(content)).num_rows == len(ids)
        return 200

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert 200 in set(pool.map(export, range(16)))
    small_ones_are_answered(server)


def test_bombs(filled):
    server, _ = filled
    path = "/v1/experiments/arms/import"

    cells = b"action,reward,complaints\n" + b"bold,1,0\n" * 900_000
    wide = cells.replace(b"complaints\n", b"complaints" + b",x" * 50 + b"\n").replace(b"0\n", b"0" + b"," * 50 + b"\n")
    detail = server.post(path, wide, headers={"content-type": "text/csv"}).problem(413)["detail"]
    assert "the table takes more than" in detail and "in parts" in detail
    small_ones_are_answered(server)


def test_many_large_bodies_at_once(filled):
    server, _ = filled
    path = f"{PATH}/decisions:batch"
    # Lists within lists take far more memory than their text.
    hostile = b'{"decisions":[' + b",".join([b'{"actions":[' + b"[]," * 9999 + b"[]]}"] * 65) + b"]}"
    empty = b'{"decisions":[' + b"{}," * 650_000 + b"{}]}"
    assert all(1_800_000 < len(body) < 2 << 20 for body in [hostile, empty])

    def send(number):
        body = [hostile, empty, batch(f"many-{number}")][number % 3]
        headers = dict(JSON)
        if number % 2:
            # In chunks, without a length.
            body, chunks = None, [body[i : i + 65_536] for i in range(0, len(body), 65_536)]
            body = iter(chunks)
        connection = server.connect(timeout=120)
        try:
            connection.request("POST", path, body=body, headers=headers, encode_chunked=number % 2 == 1)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected):
            # Refused before all of it was sent.
            return None
        finally:
            connection.close()

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        statuses = set(pool.map(send, range(36)))
    assert statuses <= {200, 413, 422, 429, 503, None}, statuses
    assert 200 in statuses and 413 in statuses
    small_ones_are_answered(server)


def test_bodies_that_do_not_come(filled):
    server, _ = filled
    head = f"POST {PATH}/decisions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    # Announced, but never sent: nothing is taken from others.
    sockets = []
    try:
        for _ in range(200):
            plain = socket.create_connection(("127.0.0.1", server.port))
            plain.sendall(head.encode() + b"content-length: 2000000\r\n\r\n{")
            sockets.append(plain)
        answer = server.post(f"{PATH}/decisions", {"actions": CANDIDATES})
        assert answer.status == 200
        small_ones_are_answered(server)
    finally:
        for plain in sockets:
            plain.close()


def unsent(server):
    """Bytes that the system holds for each connection, on the server's side."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return [int(f[4].split(":")[0], 16) for f in fields if f[1].endswith(f":{server.port:04X}") and f[3] == "01"]


def descriptors(server):
    return list(pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir())


def test_answers_that_nobody_reads(filled):
    """Answers wait in our memory and in the system's: both count, and both are bounded."""
    server, _ = filled
    server.post("/v1/experiments/arms/decisions:batch", {"decisions": [{}] * 1000}).ok(200)
    with many_files(2000):
        for path in ["/openapi.json", "/v1/experiments/arms/decisions?limit=1000"]:
            # On a busy machine it takes a while until connections that others closed no longer count.
            wait_for(lambda: len(descriptors(server)) < 100, "end of earlier connections")
            stalled = never_reading(server, requests(path), 700)
            try:
                # Whether the system's buffers count depends on the version of control groups.
                assert max(unsent(server)) <= 256 << 10
                # While answers are still being written to all of them, it is not known yet who does not read.
                wait_for(lambda: is_let_in(server), "somebody to give way")
                for _ in range(5):
                    small_ones_are_answered(server)
            finally:
                [plain.close() for plain in stalled]


def test_open_decisions_and_a_restart_on_postgresql(memory):
    with temporary() as postgres:
        server = memory("--database", postgres.database().url(), name="postgres")
        fill_and_report(server)
        server.stop(signal.SIGKILL)


def fill_and_report(server):
    server.post("/v1/experiments", BIG).ok(201)
    ids = fill(server, 3)
    server.stop(signal.SIGKILL)
    server.start().ready()
    reports = [{"decision": id, **OUTCOME} for id in ids]
    results = server.post(f"{PATH}/outcomes:batch", {"outcomes": reports}).ok(200)["results"]
    assert all(result["status"] == 200 for result in results)
    assert server.get(f"{PATH}/export").body.count(b"\n") == 1 + len(ids)


ARMS_OF_MANY = [f"a{i}" for i in range(10_000)]
MANY = ARMS | {"name": "many", "arms": ARMS_OF_MANY, "safe": "a0"}
UNITS = {
    "arms": ["old", "new"],
    "safe": "old",
    "unit": {"name": "user", "period": "30d"},
    "reward": {"range": [0, 10]},
    "flag": {"values": {"old": False, "new": True}, "events": {"buy": {"signal": "reward", "value": 1}}},
    "guardrails": [{"name": "errors", "at_most": 4, "safe_cost": 0.5, "range": [0, 10]}],
}
FLAGS = 300
EVENTS = [{"event": "buy", "targetingKey": "a", "id": str(i)} for i in range(1000)]
REPEATS = [{"unit": "a", "report": str(i), "reward": 0.001} for i in range(1000)]


@pytest.fixture(scope="module")
def crowded(memory):
    """A server with an experiment of the most arms, and many flags."""
    server = memory(name="crowded")
    server.post("/v1/experiments", ARMS).ok(201)
    server.post("/v1/experiments", MANY).ok(201)
    for flag in range(FLAGS):
        server.post("/v1/experiments", UNITS | {"name": f"flag-{flag}"}).ok(201)
    server.post("/ofrep/v1/evaluate/flags", {"context": {"targetingKey": "a"}}).ok(200)
    return server


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/experiments/many/decisions", {}),
        ("POST", "/v1/experiments/many/decisions:batch", {"decisions": [{}] * 1000}),
        ("GET", "/v1/experiments/many", None),
        ("GET", "/v1/experiments/many/state", None),
        ("GET", "/v1/experiments/many/lift", None),
        ("GET", "/v1/experiments/many/health", None),
        ("GET", "/v1/experiments/many/report", None),
        ("GET", "/v1/experiments?limit=1000", None),
        ("POST", "/v1/experiments/many/leases", {}),
        ("POST", "/ofrep/v1/evaluate/flags", {"context": {"targetingKey": "b"}}),
        ("POST", "/v1/track", {"events": EVENTS}),
        ("POST", "/v1/experiments/flag-0/outcomes:batch", {"outcomes": REPEATS}),
    ],
)
def test_small_requests_with_large_answers(crowded, method, path, body):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: crowded.request(method, path, body), range(8)))
    statuses = {answer.status for answer in answers}
    assert statuses <= {200, 413, 503} and statuses != {503}, statuses
    small_ones_are_answered(crowded)
