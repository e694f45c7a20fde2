"""A small decision service for tests of both clients: real agents, no disk, and faults on demand."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

import banister

TIME = "2026-01-01T00:00:00.000000Z"
#: Content types of changes, also without a body.
KINDS = ["application/json", "text/csv"]
#: A fault: the request is handled, and then the connection is cut without an answer.
CUT = "cut"


class Refusal(Exception):
    """An answer that is a problem."""

    def __init__(self, status: int, detail: str, **more: str) -> None:
        super().__init__(detail)
        self.status = status
        self.problem = {"type": "about:blank", "title": "No", "status": status, "detail": detail, **more}


class Experiment:
    """One experiment with arms."""

    def __init__(self, declared: dict[str, Any]) -> None:
        self.declared = declared
        arms = [arm if isinstance(arm, str) else arm["name"] for arm in declared["arms"]]
        self.names = [one["name"] for one in declared["guardrails"]]
        try:
            self.agent = banister.Opb(arms, safe=declared["safe"], guardrails=declared["guardrails"], seed=1)
        except ValueError as error:
            raise Refusal(422, str(error), field="guardrails") from error
        self.retired: set[str] = set()
        self.status = declared.get("status", "running")
        self.requests: dict[str, Any] = {}
        self.decisions: dict[str, Any] = {}
        self.outcomes: dict[str, Any] = {}
        self.imported = 0

    def json(self) -> dict[str, Any]:
        complete = sum(one["status"] == "complete" for one in self.outcomes.values())
        given = self.declared
        return {
            "name": given["name"],
            "description": given.get("description", ""),
            "status": self.status,
            "shadow": given.get("shadow", False),
            "created": TIME,
            "arms": [
                {"name": arm, "offered": arm not in self.retired, "safe": arm == given["safe"]}
                for arm in self.agent.arms
            ],
            "arms_offered": len(self.agent.arms) - len(self.retired),
            "safe": given["safe"],
            "segments": None,
            "context": None,
            "dimension": None,
            "safe_action": None,
            "reward": {"range": [0, 1]},
            "signals": {},
            "guardrails": given["guardrails"],
            "confidence": given.get("confidence", 0.99),
            "agent": {"kind": "opb", "delta": 0.01},
            "on_breach": "safe",
            "guarantee": "every_round",
            "rests_on": [],
            "budgets": {},
            "unit": None,
            "certified": None,
            "stop_when": None,
            "flag": None,
            "rollout": None,
            "share": None,
            "settled": None,
            "a_a": False,
            "ttl_seconds": given.get("ttl_seconds"),
            "default_outcome": given.get("default_outcome"),
            "counts": {
                "decisions": len(self.decisions),
                "outcomes": complete,
                "expired": 0,
                "returned": 0,
                "missing": 0,
                "imported": self.imported,
                "forced": 0,
                "moved": 0,
                "full": 0,
            },
            "alarm": {"reason": "paused", "since": TIME, "decision": None} if self.status == "paused" else None,
            "refusing": None,
            "alarms": [],
            "number": len(self.decisions) + complete,
        }

    def decide(self, request: dict[str, Any]) -> dict[str, Any]:
        number = len(self.decisions) + 1
        id = request.get("id", f"@{number}")
        if id in self.decisions:
            if self.requests[id] != request:
                raise Refusal(409, f"the decision `{id}` was another request", field="id", value=id)
            return self.decisions[id]  # type: ignore[no-any-return]
        drawn = self.agent.decide()
        places = {arm: index for index, arm in enumerate(self.agent.arms)}
        self.requests[id] = request
        self.decisions[id] = {
            "id": id,
            "experiment": self.declared["name"],
            "number": number,
            "time": TIME,
            "action": drawn.action,
            "index": drawn.index,
            "safe": drawn.is_safe,
            "probability": drawn.probability,
            "policy": [
                {"action": arm, "index": places[arm], "safe": arm == self.declared["safe"], "probability": p}
                for arm, p in drawn.policy.items()
            ],
            "certificate": drawn.certificate.to_dict(),
            "shadow": False,
            "from a newer service": {"the client": "ignores it"},
        }
        return self.decisions[id]  # type: ignore[no-any-return]

    def report(self, report: dict[str, Any]) -> dict[str, Any]:
        id = report["decision"]
        if id not in self.decisions:
            raise Refusal(404, f"there is no decision `{id}`")
        empty = {"decision": id, "status": "partial", "reward": None, "costs": dict.fromkeys(self.names)}
        known = self.outcomes.setdefault(id, empty)
        news = {"reward": report.get("reward"), **report.get("costs", {})}
        old = {"reward": known["reward"], **known["costs"]}
        for signal, value in news.items():
            if value is not None and old[signal] not in (None, value):
                raise Refusal(409, f"another outcome is known for `{id}`", field=signal)
        merged = {key: old[key] if news.get(key) is None else news[key] for key in old}
        known["reward"], known["costs"] = merged["reward"], {key: merged[key] for key in self.names}
        if known["status"] == "partial" and None not in merged.values():
            known["status"] = "complete"
            self.agent.observe(self.decisions[id]["action"], known["reward"], known["costs"])
        return known  # type: ignore[no-any-return]

    def csv(self) -> str:
        lines = [",".join(["action", "reward", "pscore", *self.names])]
        for id, decision in self.decisions.items():
            known = self.outcomes.get(id, {"reward": None, "costs": dict.fromkeys(self.names)})
            cells = [decision["action"], known["reward"], decision["probability"], *known["costs"].values()]
            lines.append(",".join("" if cell is None else str(cell) for cell in cells))
        return "\n".join(lines) + "\n"


class FakeService:
    """The service: its experiments, what it was asked, and the faults that come next."""

    def __init__(self) -> None:
        self.experiments: dict[str, Experiment] = {}
        #: Each request as (method, path, headers, body).
        self.requests: list[tuple[str, str, Any, bytes]] = []
        #: For the next requests, in turn: None, CUT, or (status, headers) instead of an answer.
        self.faults: list[Any] = []
        self.token: str | None = None
        self.url = ""
        self.lock = threading.Lock()

    def paths(self) -> list[str]:
        """The requests so far, as `METHOD path`."""
        return [f"{method} {path}" for method, path, _, _ in self.requests]

    def handle(self, method: str, target: str, headers: Any, body: bytes) -> tuple[int, Any]:
        url = urlsplit(target)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        if parts in (["healthz"], ["readyz"]):
            return 200, {"status": "ok"}
        if self.token is not None and headers.get("authorization") != f"Bearer {self.token}":
            raise Refusal(401, "the token is missing or unknown")
        if parts[:2] != ["v1", "experiments"]:
            raise Refusal(404, f"there is nothing at {url.path}")
        rest = parts[2:]
        if method != "GET" and headers.get("content-type") not in KINDS:
            raise Refusal(415, "`content-type` is not one of a change", field="content-type")
        if not rest:
            if method == "GET":
                return 200, self.part(*parse_qs(url.query).get("after", []))
            return self.create(json.loads(body), "dry_run" in parse_qs(url.query))
        if rest[0] not in self.experiments:
            raise Refusal(404, f"there is no experiment `{rest[0]}`")
        return self.one(self.experiments[rest[0]], method, rest[1:], body)

    def part(self, after: str | None = None) -> dict[str, Any]:
        """Two experiments of the list."""
        names = list(self.experiments)
        first = 0 if after is None else names.index(after) + 1
        shown = names[first : first + 2]
        more = {"next": shown[-1]} if first + 2 < len(names) else {}
        return {"experiments": [self.experiments[name].json() for name in shown], **more}

    def create(self, declared: dict[str, Any], dry: bool) -> tuple[int, Any]:
        made = Experiment(declared)
        if dry:
            return 200, made.json()
        if declared["name"] in self.experiments:
            raise Refusal(409, f"there is an experiment `{declared['name']}` already", field="name")
        self.experiments[declared["name"]] = made
        return 201, made.json()

    def one(self, one: Experiment, method: str, rest: list[str], body: bytes) -> tuple[int, Any]:
        if rest == ["import"]:
            one.imported += body.count(b"\n") - 1
            return 200, {"outcomes": body.count(b"\n") - 1, "skipped": 0, "number": 1, "not_taught": []}
        asked = json.loads(body) if body else {}
        if method == "PATCH":
            if one.status == "archived":
                raise Refusal(409, "the experiment is archived: it cannot be changed any more")
            one.status = asked.pop("status", one.status)
            one.declared.update(asked)
        elif rest == ["arms"]:
            if asked["name"] in one.agent.arms:
                raise Refusal(409, f"there is an arm `{asked['name']}` already", field="name")
            one.agent.add_arm(asked["name"])
            return 201, one.json()
        elif rest[:1] == ["arms"]:
            if rest[1] in one.retired:
                raise Refusal(409, f"the arm `{rest[1]}` is retired already")
            one.agent.retire_arm(rest[1])
            one.retired.add(rest[1])
        elif rest[:1] == ["decisions"] and method == "GET":
            return 200, self.audit(one, rest[1])
        elif rest == ["decisions"]:
            return 200, one.decide(asked)
        elif rest == ["outcomes"]:
            return 200, one.report(asked)
        elif rest == ["decisions:batch"]:
            return 200, {"results": [entry("decision", one.decide, each) for each in asked["decisions"]]}
        elif rest == ["outcomes:batch"]:
            return 200, {"results": [entry("outcome", one.report, each) for each in asked["outcomes"]]}
        elif rest == ["export"]:
            return 200, one.csv()
        return 200, one.json()

    def audit(self, one: Experiment, id: str) -> dict[str, Any]:
        if id not in one.decisions:
            raise Refusal(404, f"there is no decision `{id}`")
        known = one.outcomes.get(id)
        return {
            **one.decisions[id],
            "draw": 0.5,
            "context": None,
            "candidates": None,
            "taken": None,
            "propensity": None,
            "known": [],
            "status": known["status"] if known else "open",
            "outcome": known and {"reward": known["reward"], "costs": known["costs"]},
            "events": [{"number": 1, "time": TIME, "kind": "decision", "author": "anonymous"}],
        }


def entry(key: str, act: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"status": 200, key: act(request)}
    except Refusal as error:
        return {"status": error.status, "problem": error.problem}


@contextmanager
def serving() -> Iterator[FakeService]:
    """A service that listens, until the end of the block."""
    fake = FakeService()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            with fake.lock:
                fake.requests.append((self.command, self.path, self.headers, body))
                fault = fake.faults.pop(0) if fake.faults else None
                headers: dict[str, str] = {}
                if isinstance(fault, tuple):
                    status, headers = fault
                    content: Any = Refusal(status, "not now").problem
                else:
                    try:
                        status, content = fake.handle(self.command, self.path, self.headers, body)
                    except Refusal as error:
                        status, content = error.status, error.problem
            if fault == CUT:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            data = (content if isinstance(content, str) else json.dumps(content)).encode()
            self.send_response(status)
            given = self.headers.get("x-request-id", "none")
            for key, value in {"x-request-id": given, **headers}.items():
                self.send_header(key, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = answer

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


GUARDRAIL = banister.Guardrail("complaints", at_most=0.2, safe_cost=0.05)
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Blocking:
    """An `AsyncClient` with the face of a `Client`, so that one test is for both."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.client = banister.client.AsyncClient(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self.client, name)
        if not inspect.iscoroutinefunction(member):
            return member
        return lambda *a, **k: self.loop.run_until_complete(member(*a, **k))

    def __repr__(self) -> str:
        return repr(self.client)

    def close(self) -> None:
        self.loop.run_until_complete(self.client.close())
        self.loop.close()


class Time:
    """A clock that moves only when somebody sleeps."""

    def __init__(self, client: Any) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        self.asked: list[tuple[float, float]] = []
        pace = client._pace
        pace.clock = lambda: self.seconds
        pace.uniform = self.uniform
        pace.now = lambda: NOW + timedelta(seconds=self.seconds)
        inner = getattr(client, "client", client)
        inner._sleep = self.sleep if inner is client else self.sleep_async

    def uniform(self, low: float, high: float) -> float:
        self.asked.append((low, high))
        return high

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


Make: TypeAlias = Callable[..., Any]
"""Makes a client, sync or async, that is closed after the test."""
