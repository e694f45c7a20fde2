"""Replicas over one PostgreSQL: killed, cut off, frozen, started before it; what they acknowledged is there, once."""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import re
import signal
import threading
import time
import urllib.parse

import pytest

from .callers import COSTS, PATIENCE, Book, eventually, under_load
from .experiments import ARMS, CONTEXT, TWO, get
from .postgres import temporary
from .server import DEADLINE, LONG, banisterd, wait_for
from .test_kill import check_book

KILLS = 30 if LONG else 4
RESTARTS = ["fast", "immediate"] * (10 if LONG else 1)
#: Snapshots often, so that kills meet them too.
FLAGS = ["--snapshot-every", "40"]
PASSWORD = "pa:ss/w%rd-of-its-own"


@pytest.fixture(scope="module")
def postgres():
    with temporary() as server:
        yield server


@pytest.fixture
def database(postgres):
    return postgres.database()


@pytest.fixture
def replicas(serve, database):
    return [serve(*FLAGS, "--database", database.url()) for _ in range(2)]


def declare(replica):
    for declaration in [ARMS, TWO, CONTEXT]:
        replica.post("/v1/experiments", declaration).ok(201)


def state(replica, name):
    """Returns the state, without the time of the request."""
    return {key: value for key, value in get(replica, name, "/state").items() if key != "time"}


def check_all(database, replicas, book):
    """The log holds what was acknowledged, once, and all replicas say so."""
    last = database.check()
    for replica in replicas:
        check_book(replica, book, list(book.decisions))
    # Nothing of that was new.
    assert database.check() == last
    rebuilt = database.rebuild()
    assert rebuilt["events"] == last

    own = {key for key, (request, _) in book.decisions.items() if request is not None}
    ids = [row["id"] for row in database.rows("SELECT id FROM events WHERE id IS NOT NULL")]
    # Callers ask until they have an answer, so every id is known.
    assert sorted(ids) == sorted(id for _, id in own)
    (decisions,) = database.rows("SELECT count(*) FROM events WHERE kind = 3")
    assert len(book.decisions) <= decisions["count"] <= len(book.decisions) + book.unknown
    complete = {key for key, outcome in book.outcomes.items() if outcome["status"] == "complete"}
    for experiment in rebuilt["experiments"]:
        name = experiment["name"]
        assert experiment["outcomes"] == sum(key[0] == name for key in complete)

        def is_known(replica):
            return get(replica, name)["counts"]["outcomes"] == experiment["outcomes"]

        for replica in replicas:
            eventually(lambda: is_known(replica), "all outcomes")
        eventually(lambda: get(replicas[0], name) == get(replicas[1], name), "the same counts")
        eventually(lambda: state(replicas[0], name) == state(replicas[1], name), "the same state")
        assert state(replicas[0], name)["outcomes"] == experiment["outcomes"]
    shown = sum(get(replicas[0], name)["counts"]["decisions"] for name in COSTS)
    assert shown == decisions["count"]


def test_one_replica_is_killed_and_the_other_goes_on(database, replicas):
    chance, book = random.Random(20240301), Book()
    declare(replicas[0])
    for kill in range(KILLS):
        killed, other = replicas[kill % 2], replicas[1 - kill % 2]
        with under_load(replicas, book, f"kill {kill}", breaks=True) as more:
            more(chance.randrange(20, 80))
            time.sleep(chance.random() * 0.02)
            assert killed.stop(signal.SIGKILL) == -signal.SIGKILL
            more(20)
            assert other.get("/readyz").status == 200
            killed.start().ready()
            more(20)
    assert book.unanswered > 0
    check_all(database, replicas, book)
    for replica in replicas:
        assert replica.stop() == 0
    database.rebuild()


def test_the_database_restarts_under_load(postgres, database, replicas):
    chance, book = random.Random(20240302), Book()
    declare(replicas[1])
    for turn, mode in enumerate(RESTARTS):
        with under_load(replicas, book, f"restart {turn}", breaks=False) as more:
            more(chance.randrange(20, 80))
            postgres.restart(mode)
            more(40)
    with under_load(replicas, book, "stop", breaks=False) as more:
        more(20)
        postgres.stop("immediate")
        try:
            for replica in replicas:
                eventually(lambda: replica.get("/readyz").status == 503, "notice")
                replica.get("/readyz").problem(503)
                # What is in memory is still shown.
                assert replica.get("/healthz").status == 200 and get(replica, "arms")
        finally:
            postgres.start()
        for replica in replicas:
            eventually(lambda: replica.get("/readyz").status == 200, "readiness")
        more(40)
    assert book.unanswered == 0
    check_all(database, replicas, book)


def test_the_database_is_not_there_at_the_start(postgres, serve):
    postgres.sql(f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'")
    database = postgres.database(owner="guarded")
    secrets = [PASSWORD, urllib.parse.quote(PASSWORD, safe="")]
    url = database.url(f"guarded:{secrets[1]}")
    postgres.stop()
    said = []
    try:
        servers = [serve("--log", "trace", "--database", url, wait=False) for _ in range(2)]
        for server in servers:
            assert server.get("/healthz").status == 200
            for answer in [
                server.get("/readyz"),
                server.post("/v1/experiments", ARMS),
                server.post("/v1/experiments/arms/decisions", {"id": "early"}),
            ]:
                # The reason is for those who may read, and nobody can show that yet.
                assert "PostgreSQL" not in answer.problem(503)["detail"]
                said.append(answer.body.decode())
            assert "PostgreSQL" in server.log()
        done = banisterd("token", "list", env={"BANISTER_DATABASE": url}, check=False, deadline=PATIENCE)
        assert done.returncode != 0 and "PostgreSQL" in done.stderr
        said.append(done.stdout + done.stderr)
    finally:
        postgres.start()
    for server in servers:
        eventually(lambda: server.get("/readyz").status == 200, "readiness")
    servers[0].post("/v1/experiments", ARMS).ok(201)
    first, second = (s.post("/v1/experiments/arms/decisions", {"id": "early"}) for s in servers)
    assert first.ok(200) and first.body == second.body
    done = banisterd(
        "serve",
        "--listen",
        "127.0.0.1:0",
        env={"BANISTER_DATABASE": url.replace(":pa", ":no")},
        check=False,
        deadline=PATIENCE,
    )
    assert done.returncode == 2 and "password" in done.stderr, done
    for server in servers:
        assert server.stop() == 0
        said.append(server.log())
    for text in [*said, done.stdout + done.stderr]:
        assert not any(secret[2:] in text for secret in secrets)
    assert database.check() == 3


def test_tokens_hold_on_all_replicas(serve, database, replicas):
    declare(replicas[0])
    assert all(replica.get("/v1/experiments").status == 200 for replica in replicas)
    tokens = {role: database.token("create", "--role", role, f"the-{role}") for role in ["read", "decide", "admin"]}
    replicas.append(serve(*FLAGS, "--database", database.url()))

    def status(replica, token):
        return replica.get("/v1/whoami", token=token).status

    for replica in replicas:
        eventually(lambda: status(replica, None) == 401, "request for a token")
        for role, token in tokens.items():
            eventually(lambda: status(replica, token) == 200, "token")
            known = replica.get("/v1/whoami", token=token).ok(200)
            assert (known["token"], known["role"]) == (f"the-{role}", role)
            decided = replica.post("/v1/experiments/arms/decisions", {}, token=token)
            assert decided.status == (403 if role == "read" else 200)
    database.token("revoke", "the-decide")
    for replica in replicas:
        eventually(lambda: status(replica, tokens["decide"]) == 401, "notice of the revocation")
        replica.post("/v1/experiments/arms/decisions", {}, token=tokens["decide"]).problem(401)
        assert status(replica, tokens["admin"]) == status(replica, tokens["read"]) == 200


def test_a_default_counts_once(database, replicas):
    brief = ARMS | {"name": "brief", "ttl_seconds": 0.5, "default_outcome": {"reward": 0, "costs": {"complaints": 0.5}}}
    path, chance, made, answers = "/v1/experiments/brief", random.Random(3), [], {}
    replicas[0].post("/v1/experiments", brief).ok(201)
    for turn in range(KILLS // 2):
        for i in range(40):
            id = replicas[i % 2].post(f"{path}/decisions", {"id": f"{turn}-{i}"}).ok(200)["id"]
            made.append(id)
            # Some are reported in time or too late, which is not known before.
            if i % 4 == 0 and len(made) > 8:
                late = chance.choice(made[-8:])
                report = {"decision": late, "reward": 1, "costs": {"complaints": 0.25}}
                answer = replicas[chance.randrange(2)].post(f"{path}/outcomes", report)
                assert answer.status == 200 or answer.problem(409)
                assert answers.setdefault(late, answer.status) == answer.status
        killed = replicas[turn % 2]
        assert killed.stop(signal.SIGKILL) == -signal.SIGKILL
        killed.start().ready()

    def settled(replica):
        return get(replica, "brief")["counts"]["outcomes"] == len(made)

    for replica in replicas:
        eventually(lambda: settled(replica), "all outcomes")
        for id in made:
            audit = replica.get(f"{path}/decisions/{id}").ok(200)
            # A report waits for the time to live as a part, and is learned then.
            end = ["part", "outcome"] if answers.get(id) == 200 else ["default"]
            assert [event["kind"] for event in audit["events"]] == ["decision", *end]
    complete = sum(status == 200 for status in answers.values())
    for replica in replicas:
        assert get(replica, "brief")["counts"]["expired"] == len(made) - complete
    assert state(replicas[0], "brief") == state(replicas[1], "brief")
    database.check()
    assert database.rebuild()["experiments"][0]["outcomes"] == len(made)


PATH = "/v1/experiments/arms"


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
        # The store's patience ends, or the request's own.
        assert re.search("did not answer|no answer within", refused["detail"])
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
