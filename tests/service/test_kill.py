"""SIGKILL in the middle of load: what was acknowledged is there, once, with the same answer."""

import http.client
import json
import random
import shutil
import signal
import threading

from .experiments import ARMS, CONTEXT, TWO, get
from .server import LONG, check_file, quoted, rebuild, wait_for

KILLS = 50 if LONG else 8
THREADS = 4
#: Snapshots often, so that kills meet them too.
FLAGS = ["--snapshot-every", "40"]


class Book:
    """The server's acknowledgements, over all its lives."""

    def __init__(self):
        self.lock = threading.Lock()
        #: (experiment, shown id) -> (request or None if it had no id of its own, bytes of the answer)
        self.decisions = {}
        #: (experiment, shown id) -> the latest acknowledged answer, as JSON
        self.outcomes = {}
        #: Requests that were sent, and whose answer never came.
        self.unanswered = 0
        self.answered = 0

    def decided(self, experiment, request, answer):
        with self.lock:
            key = (experiment, answer.json()["id"])
            own = request if "id" in request else None
            if key in self.decisions:
                # Repeated: byte by byte the same.
                assert own is not None and self.decisions[key][1] == answer.body
            self.decisions[key] = (own, answer.body)
            self.answered += 1
            return key[1]

    def reported(self, experiment, answer):
        with self.lock:
            known = answer.json()
            self.outcomes[experiment, known["decision"]] = known
            self.answered += 1


def request_for(experiment, chance):
    return {"context": [chance.random() for _ in range(3)]} if experiment == "context" else {}


def reports_for(experiment, id, chance):
    """Reports that complete an outcome: whole, or in parts, or repeated, or never completed."""
    reward = round(chance.random(), 3)
    names = {"arms": ["complaints"], "two": ["complaints", "conversion"], "context": ["cost"]}
    costs = {name: round(chance.random(), 3) for name in names[experiment]}
    whole = {"decision": id, "reward": reward, "costs": costs}
    parts = [{"decision": id, "reward": reward}, *({"decision": id, "costs": {k: v}} for k, v in costs.items())]
    chance.shuffle(parts)
    return chance.choice([[whole], [whole, whole], parts, [*parts, whole], parts[:1], parts[:1] * 2])


def load(server, book, seed, stop, faults):
    """One caller until the server is gone."""
    chance = random.Random(seed)
    connection = server.connect(timeout=10)
    try:
        for i in range(100_000):
            if stop.is_set():
                return
            experiment = chance.choice(["arms", "two", "context"])
            path = f"/v1/experiments/{experiment}"
            request = request_for(experiment, chance)
            if i % 2 == 0:
                request |= {"id": f"{seed}/{i} ü"}
            answer = server.post(f"{path}/decisions", request, connection=connection)
            answer.ok(200)
            id = book.decided(experiment, request, answer)
            if chance.random() < 0.2 and "id" in request:
                again = server.post(f"{path}/decisions", request, connection=connection)
                again.ok(200)
                book.decided(experiment, request, again)
            if chance.random() < 0.8:
                for report in reports_for(experiment, id, chance):
                    answer = server.post(f"{path}/outcomes", report, connection=connection)
                    answer.ok(200)
                    book.reported(experiment, answer)
    except (OSError, http.client.HTTPException):
        with book.lock:
            book.unanswered += 1
    except BaseException as fault:
        faults.append(fault)
    finally:
        connection.close()


def copy_of(data_dir, place):
    """The files as the kill left them."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(data_dir, place)
    return place


def digests(rebuilt):
    return {e["name"]: (e["digest"], e["outcomes"]) for e in rebuilt["experiments"]}


def check_book(server, book, keys):
    """Everything acknowledged is there, once, and repeating it changes nothing."""
    connection = server.connect()
    try:
        for experiment, id in keys:
            path = f"/v1/experiments/{experiment}"
            request, body = book.decisions[experiment, id]
            audit = server.get(f"{path}/decisions/{quoted(id)}", connection=connection).ok(200)
            decision = json.loads(body)
            assert {k: audit[k] for k in decision} == decision
            if request is not None:
                again = server.post(f"{path}/decisions", request, connection=connection)
                assert (again.status, again.body) == (200, body)
            known = book.outcomes.get((experiment, id))
            kinds = [event["kind"] for event in audit["events"]]
            assert kinds.count("decision") == 1 and kinds.count("outcome") <= 1
            if known is None:
                continue
            report = {"decision": id, "costs": {k: v for k, v in known["costs"].items() if v is not None}}
            if known["reward"] is not None:
                report["reward"] = known["reward"]
            # What was not acknowledged may have come further than what was, never less far.
            for name, cost in known["costs"].items():
                assert cost is None or audit["outcome"]["costs"][name] == cost
            assert known["reward"] is None or audit["outcome"]["reward"] == known["reward"]
            if known["status"] == "complete":
                assert audit["status"] == "complete"
                again = server.post(f"{path}/outcomes", report, connection=connection)
                assert again.ok(200) == known
    finally:
        connection.close()


def test_nothing_acknowledged_is_lost(serve, tmp_path):
    chance = random.Random(20240229)
    book, data_dir, checked = Book(), tmp_path / "data", 0
    data_dir.mkdir()
    server = serve(*FLAGS, data_dir=data_dir)
    for declaration in [ARMS, TWO, CONTEXT]:
        server.post("/v1/experiments", declaration).ok(201)
    before = None
    for kill in range(KILLS):
        stop, faults = threading.Event(), []
        callers = [
            threading.Thread(target=load, args=(server, book, f"{kill}-{n}", stop, faults)) for n in range(THREADS)
        ]
        for caller in callers:
            caller.start()
        # A moment that depends on how far they are, not on the clock.
        enough = book.answered + chance.randrange(40, 400)
        wait_for(lambda: book.answered >= enough or faults, "load")
        stop.wait(chance.random() * 0.02)
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        stop.set()
        for caller in callers:
            caller.join(30)
            assert not caller.is_alive()
        assert faults == []

        down = rebuild(copy_of(data_dir, tmp_path / "copy"))
        assert before is None or down["events"] > before
        server = serve(*FLAGS, data_dir=data_dir)
        up = rebuild(data_dir)
        assert digests(up) == digests(down) and up["events"] == down["events"]
        keys = list(book.decisions)
        check_book(server, book, keys[checked:])
        checked = len(keys)
        # Nothing of that was new, but for alarms that the last outcomes raised and that are recorded only now.
        histories = [get(server, name, "/history")["alarms"] for name in ("arms", "two", "context")]
        late = [alarm for alarms in histories for alarm in alarms if alarm["number"] > down["events"]]
        assert rebuild(data_dir)["events"] == down["events"] + len(late)
        before = down["events"]

    check_book(server, book, chance.sample(list(book.decisions), min(500, len(book.decisions))))
    counts = {e["name"]: e["counts"] for e in server.get("/v1/experiments").ok(200)["experiments"]}
    assert server.stop() == 0
    last = check_file(data_dir)
    final = rebuild(data_dir)
    assert final["events"] == last
    for experiment in final["experiments"]:
        name = experiment["name"]
        acknowledged = sum(key[0] == name for key in book.decisions)
        complete = sum(k[0] == name and o["status"] == "complete" for k, o in book.outcomes.items())
        # Each caller had at most one request under way at each kill.
        most = KILLS * THREADS
        assert acknowledged <= counts[name]["decisions"] <= acknowledged + most
        assert complete <= experiment["outcomes"] == counts[name]["outcomes"] <= complete + most
    assert book.unanswered > 0


def test_defaults_come_once_despite_kills(serve, tmp_path):
    """Decisions whose time is over get one default outcome each, whenever the server was killed."""
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    brief = ARMS | {
        "name": "brief",
        "ttl_seconds": 0.3,
        "default_outcome": {"reward": 0, "costs": {"complaints": 0.5}},
    }
    path, kept, chance = "/v1/experiments/brief", [], random.Random(1)
    server = serve(*FLAGS, data_dir=data_dir)
    server.post("/v1/experiments", brief).ok(201)
    for kill in range(KILLS // 2):
        for i in range(chance.randrange(5, 60)):
            answer = server.post(f"{path}/decisions", {"id": f"{kill}-{i}"}).ok(200)
            kept.append(answer["id"])
        # Some of the kills meet the defaults being written.
        expired = server.get(path).ok(200)["counts"]["expired"]
        if kill % 2:
            wait_for(lambda: server.get(path).ok(200)["counts"]["expired"] > expired, "a default")
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        down = rebuild(copy_of(data_dir, tmp_path / "copy"))
        server = serve(*FLAGS, data_dir=data_dir)
        assert server.get(path).ok(200)["counts"]["outcomes"] >= down["experiments"][0]["outcomes"]
    wait_for(lambda: server.get(path).ok(200)["counts"]["expired"] == len(kept), "all defaults")
    for id in kept:
        audit = server.get(f"{path}/decisions/{id}").ok(200)
        assert [event["kind"] for event in audit["events"]] == ["decision", "default"]
    assert server.stop() == 0
    check_file(data_dir)
    assert rebuild(data_dir)["experiments"][0]["outcomes"] == len(kept)
