"""Callers of two replicas, and a book of what they were told; callers who never read."""

import concurrent.futures
import contextlib
import http.client
import random
import resource
import socket
import threading
import time

from .server import wait_for

THREADS = 3
#: Whatever is waited for comes within this many seconds: other programs may need the machine too.
PATIENCE = 120
#: The service closes connections that are idle for 15 seconds; that is no fault of its.
IDLE = 14
#: The experiments that are called, and their guardrails.
COSTS = {"arms": ["complaints"], "two": ["complaints", "conversion"], "context": ["cost"]}


def eventually(condition, what):
    return wait_for(condition, what, deadline=PATIENCE)


class Book:
    """The acknowledgements of all replicas."""

    def __init__(self):
        self.lock = threading.Lock()
        #: (experiment, shown id) -> (request or None if it had no id of its own, bytes of the answer)
        self.decisions = {}
        #: (experiment, shown id) -> the fullest acknowledged answer, as JSON
        self.outcomes = {}
        #: Answers that never came, refusals, and of both those for decisions without an id of their own.
        self.unanswered = self.refused = self.unknown = 0
        self.answered = 0

    def decided(self, experiment, request, answer):
        with self.lock:
            key = (experiment, answer.json()["id"])
            own = request if "id" in request else None
            if key in self.decisions:
                # Repeated, wherever: byte by byte the same.
                assert own is not None and self.decisions[key][1] == answer.body
            self.decisions[key] = (own, answer.body)
            return key[1]

    def reported(self, experiment, answer):
        with self.lock:
            new = answer.json()
            known = self.outcomes.setdefault((experiment, new["decision"]), new)
            # Answers may overtake each other; the fuller one holds all that the other holds.
            less, more = sorted([known, new], key=lambda one: len(held(one)))
            assert held(less).items() <= held(more).items(), (less, more)
            self.outcomes[experiment, new["decision"]] = more


def held(outcome):
    """Returns the signals of an outcome that are known."""
    values = outcome["costs"] | {"the reward": outcome["reward"]}
    return {name: value for name, value in values.items() if value is not None}


class Caller:
    """Asks one replica, and goes to the other when that one is gone."""

    def __init__(self, replicas, first, book, breaks):
        self.replicas, self.place, self.book, self.breaks = replicas, first, book, breaks
        self.connection, self.answered = None, time.monotonic()

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def ask(self, path, body):
        """Asks until it is acknowledged; all other answers are a 503."""
        end = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < end, f"not acknowledged within {PATIENCE} seconds: {path} {body}"
            replica = self.replicas[self.place]
            kept = self.connection is not None
            idle = time.monotonic() - self.answered
            try:
                self.connection = self.connection or replica.connect(timeout=PATIENCE)
                answer = replica.post(path, body, connection=self.connection)
                self.answered = time.monotonic()
            except (OSError, http.client.HTTPException):
                assert self.breaks or (kept and idle > IDLE), f"a connection broke after {idle} s"
                self.close()
                self.place = 1 - self.place
                self.count("unanswered", path, body)
                continue
            if answer.status == 200:
                with self.book.lock:
                    self.book.answered += 1
                return answer
            detail = answer.problem(503)["detail"]
            assert detail.startswith(("the log is not available", "no answer within")) or self.breaks, detail
            self.count("refused", path, body)
            time.sleep(0.05)

    def count(self, what, path, body):
        with self.book.lock:
            setattr(self.book, what, getattr(self.book, what) + 1)
            # Whether it was made is not known, and asking again makes another.
            self.book.unknown += path.endswith("/decisions") and "id" not in body


def decision_of(experiment, id):
    """A request, always the same for an id."""
    context = {"context": [random.Random(id).random() for _ in range(3)]} if experiment == "context" else {}
    return context | ({} if id is None else {"id": id})


def reports_of(experiment, id, chance):
    """Reports that agree for an id: whole, in parts, repeated, or never completed."""
    values = random.Random(id)
    reward, costs = round(values.random(), 3), {name: round(values.random(), 3) for name in COSTS[experiment]}
    whole = {"decision": id, "reward": reward, "costs": costs}
    parts = [{"decision": id, "reward": reward}, *({"decision": id, "costs": {k: v}} for k, v in costs.items())]
    chance.shuffle(parts)
    return chance.choice([[whole], [whole, whole], parts, [*parts, whole], parts[:1], parts[:1] * 2])


def load(replicas, book, name, breaks, stop):
    """Decides and reports until it is told to stop: on one replica, or the same on both at once."""
    chance = random.Random(name)
    callers = [Caller(replicas, first, book, breaks) for first in range(2)]
    with contextlib.ExitStack() as closing:
        pool = closing.enter_context(concurrent.futures.ThreadPoolExecutor(2))
        for caller in callers:
            closing.callback(caller.close)
        for i in range(100_000):
            if stop.is_set():
                return
            experiment = chance.choice(list(COSTS))
            path = f"/v1/experiments/{experiment}"
            id = [f"{name}/{i} ü", None, f"{name}/{i} both"][i % 3]
            request = decision_of(experiment, id)
            chosen = callers if i % 3 == 2 else [chance.choice(callers)]

            def decide(caller):
                return book.decided(experiment, request, caller.ask(f"{path}/decisions", request))

            shown = set(pool.map(decide, chosen))
            assert len(shown) == 1
            if chance.random() < 0.2:
                continue
            (id,) = shown
            work = [(c, reports_of(experiment, id, random.Random(chance.random()))) for c in chosen]
            if chance.random() < 0.5:
                # The very same reports, at once.
                work = [(caller, work[0][1]) for caller in callers]

            def report(one):
                for body in one[1]:
                    book.reported(experiment, one[0].ask(f"{path}/outcomes", body))

            list(pool.map(report, work))


@contextlib.contextmanager
def under_load(replicas, book, name, breaks):
    """Callers meanwhile; gives a function that waits until so many more requests are answered."""
    stop = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(load, replicas, book, f"{name}-{n}", breaks, stop) for n in range(THREADS)]

        def more(count):
            enough = book.answered + count
            eventually(lambda: book.answered >= enough or any(r.done() for r in running), "load")

        try:
            yield more
        finally:
            stop.set()
        for one in running:
            one.result(2 * PATIENCE)


@contextlib.contextmanager
def many_files(count):
    """Lets this process, and those it starts, open so many files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = hard == resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count if unlimited else min(hard, count)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def never_reading(server, request, count):
    """Sockets that send requests one after another and read no answer."""
    sockets = []
    for _ in range(count):
        plain = socket.socket()
        sockets.append(plain)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.settimeout(30)
        # Some are not let in.
        with contextlib.suppress(OSError):
            plain.connect(("127.0.0.1", server.port))
            plain.sendall(request)
    return sockets


def requests(path, count=20):
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode() * count
