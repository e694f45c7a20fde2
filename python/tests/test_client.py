"""The client of the decision service, sync and async: what it sends, and what it makes of answers."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any

import httpx
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from fake_service import CUT, GUARDRAIL, NOW, FakeService, Make, Time

import banister
from banister.client import types
from banister.client.types import Estimate

SECRET = "do-not-show-me"

# The everyday


def test_a_decision_has_the_face_of_the_packages_own(client: Any) -> None:
    decision = client.decide("checkout", id="order-17")
    assert (decision.id, decision.experiment, decision.action) == ("order-17", "checkout", "control")
    assert decision.policy == {"control": 1.0}
    assert decision.probability == 1.0
    assert decision.is_safe
    assert decision.time == NOW
    certificate = decision.certificate["complaints"]
    assert certificate == decision.certificate[0]
    assert (certificate.threshold, certificate.pessimistic_cost) == (0.2, 0.05)
    with pytest.raises(KeyError, match="complaints"):
        decision.certificate["spend"]
    with pytest.raises(AttributeError):
        decision.action = "bold"


def test_the_words_are_those_of_banister_decision() -> None:
    ours, theirs = types.Decision, banister.Decision
    # An answer has the actions that may be drawn, not all arms: an array of them would not go by `index`.
    # Which agent decided, and its alarms, are the experiment's to say there.
    elsewhere = {"features", "probabilities", "agent_id", "serial", "alarm"}
    words = {name for name in dir(theirs) if not name.startswith("_")} - elsewhere
    assert words <= {*dir(ours), *ours.__dataclass_fields__}
    assert types.Certificate is banister.Certificate


def test_outcomes_by_decision_by_id_and_in_parts(client: Any, service: FakeService) -> None:
    first, second, third = (client.decide("checkout") for _ in range(3))
    assert client.report(first, reward=np.float64(1), costs=np.array([0.0])).status == "complete"
    part = client.report("checkout", second.id, reward=True)
    assert (part.status, part.reward, part.costs) == ("partial", 1.0, {"complaints": None})
    assert client.report("checkout", second.id, costs={"complaints": 0}).status == "complete"
    assert client.report(third, reward=0, costs=0.5).costs == {"complaints": 0.5}
    assert service.experiments["checkout"].agent.outcomes == 3
    audit = client.decision("checkout", third.id)
    assert (audit.status, audit.outcome.reward, audit.events[0].kind) == ("complete", 0, "decision")


def test_batches(client: Any) -> None:
    batch = client.decide_batch("checkout", [{"id": "a"}, {"id": "b"}])
    assert [decision.id for decision in batch] == ["a", "b"]
    assert len({decision.id for decision in client.decide_batch("checkout", 3)}) == 3
    reports = [
        {"decision": batch[0], "reward": 1, "costs": 0},
        {"decision": "nobody", "reward": 1},
        {"decision": "b", "reward": 0, "costs": {"complaints": 1}},
    ]
    done = client.report_batch("checkout", reports)
    assert list(done.errors) == [1]
    assert (done[0].status, done[2].status) == ("complete", "complete")
    with pytest.raises(banister.client.NotFoundError, match="nobody"):
        done[1]
    with pytest.raises(banister.client.NotFoundError):
        list(done)
    assert not done[::2].errors


def test_the_list_is_read_to_its_end(client: Any) -> None:
    names = ["checkout", *(f"e{i}" for i in range(4))]
    for name in names[1:]:
        client.create(name, arms=["a", "b"], guardrails=GUARDRAIL)
    assert [one.name for one in client.experiments()] == names


def test_experiments_and_arms(client: Any) -> None:
    assert [one.name for one in client.experiments()] == ["checkout"]
    assert client.pause("checkout").status == "paused"
    assert client.resume("checkout").status == "running"
    assert client.update("checkout", ttl_seconds=60.0).ttl_seconds == 60
    assert client.update("checkout", ttl_seconds=None).ttl_seconds is None
    assert client.archive("checkout").status == "archived"
    assert [arm.name for arm in client.add_arm("checkout", "wild").arms][-1] == "wild"
    assert not client.retire_arm("checkout", "wild").arms[-1].offered
    assert client.check("other", arms=["a", "b"], guardrails=GUARDRAIL).name == "other"
    assert len(client.experiments()) == 1
    assert client.health() and client.ready()


def test_names_and_ids_are_parts_of_paths_whatever_is_in_them(client: Any, service: FakeService) -> None:
    for id in ["a/b?c#d%2F", "..", ".", "ä €", "a b"]:
        assert client.decide("checkout", id=id).id == id
        assert client.decision("checkout", id).id == id
    with pytest.raises(banister.client.NotFoundError):
        client.experiment("../../healthz")
    before = len(service.requests)
    with pytest.raises(ValueError, match="`name` is empty"):
        client.decide("")
    assert len(service.requests) == before


def test_a_declaration_from_the_packages_own_objects(make: Make) -> None:
    seen: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        return httpx.Response(422, json={"title": "no", "status": 422, "detail": "no"})

    def create(**declared: Any) -> Any:
        with pytest.raises(banister.client.RefusedError):
            make("http://127.0.0.1:1", transport=httpx.MockTransport(answer)).create("x", **declared)
        return seen[-1]

    agent = banister.Opb(2, intervals="kl")
    body = create(arms=["a", "b"], agent=agent, guardrails=GUARDRAIL, confidence=np.float64(0.95))
    assert body["agent"]["intervals"] == "kl"
    assert body["safe"] == "a"
    assert body["guardrails"] == [{"name": "complaints", "at_most": 0.2, "safe_cost": 0.05}]
    assert body["confidence"] == 0.95
    assert "shadow" not in body and "description" not in body
    assert create(arms={"a": np.eye(2)[0], "b": [0, 1]}, agent=banister.Oplb)["arms"] == [
        {"name": "a", "features": [1.0, 0.0]},
        {"name": "b", "features": [0.0, 1.0]},
    ]
    assert create(dimension=2, safe_action=np.array([1, 0]), agent="oplb")["agent"] == {"kind": "oplb"}
    with pytest.raises(TypeError, match="guardrail"):
        create(arms=["a"], guardrail=GUARDRAIL)


def test_numbers_are_checked_before_anything_is_sent(client: Any, service: FakeService) -> None:
    decision = client.decide("checkout")
    service.requests.clear()
    with pytest.raises(ValueError, match="`reward` is NaN: only finite numbers are allowed"):
        client.report(decision, reward=float("nan"))
    with pytest.raises(ValueError, match=r"`costs\['complaints'\]` is inf"):
        client.report(decision, costs=np.inf)
    with pytest.raises(ValueError, match=r"`context\[1\]` is NaN"):
        client.decide("checkout", context=np.array([0.0, np.nan]))
    with pytest.raises(ValueError, match=r"`actions\[0\]\[1\]` is -inf"):
        client.decide("checkout", actions=[[0.0, -np.inf]])
    with pytest.raises(ValueError, match=r"`guardrails\[0\].at_most` is NaN"):
        client.create("x", arms=["a"], guardrails=[banister.Guardrail("c", at_most=float("nan"))])
    with pytest.raises(ValueError, match=r"in `outcomes\[1\]`: `reward` is NaN"):
        client.report_batch("checkout", [{"decision": "a", "reward": 0}, {"decision": "b", "reward": np.nan}])
    with pytest.raises(TypeError, match=r"`reward` is 'x' \(str\): must be a number"):
        client.report(decision, reward="x")
    with pytest.raises(TypeError, match="nothing to report"):
        client.report(decision)
    with pytest.raises(ValueError, match="has 2 entries, expected 1"):
        client.report(decision, costs=[0, 0])
    with pytest.raises(TypeError, match="dictionary by guardrail"):
        client.report("checkout", "a", costs=0.0)
    with pytest.raises(TypeError, match="`id` is missing"):
        client.report("checkout", reward=0.0)
    assert service.requests == []


# Logs


def test_an_exported_log_can_be_evaluated_and_imported(client: Any, service: FakeService) -> None:
    for i in range(40):
        client.report(client.decide("checkout"), reward=i % 2, costs=0)
    client.decide("checkout")
    log = client.export_log("checkout")
    assert (len(log), log.arms, log.guardrails) == (40, ("control", "bold"), ("complaints",))
    made = list(service.experiments["checkout"].decisions.values())[:40]
    assert log.rewards.tolist() == [i % 2 for i in range(40)]
    assert log.pscores is not None
    assert log.pscores.tolist() == [one["probability"] for one in made]
    assert log.indices.tolist() == [one["index"] for one in made]
    assert list(banister.offline.evaluate(log, "control", guardrails=GUARDRAIL).verdicts) == ["complaints"]
    assert client.export("checkout", format="csv").startswith(b"action,reward,pscore,complaints\n")
    assert client.import_log("checkout", log).outcomes == 40
    assert client.import_log("checkout", client.export("checkout", format="csv")).outcomes == 41
    kind, body = service.requests[-1][2]["content-type"], service.requests[-1][3]
    assert (kind, body[:7]) == ("text/csv", b"action,")
    # A Parquet file becomes CSV on this side.
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"action": ["bold"], "reward": [0.5], "complaints": [0.25]}), file)
    client.import_log("checkout", file.getvalue())
    kind, body = service.requests[-1][2]["content-type"], service.requests[-1][3]
    assert (kind, body) == ("text/csv", b"action,reward,complaints\nbold,0.5,0.25\n")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_every_library_are_sent_alike(client: Any, service: FakeService, library: str) -> None:
    columns = {"action": ["bold", "control"], "reward": [1.0, 0.25], "complaints": [True, False]}
    module = pytest.importorskip(library)
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    client.import_log("checkout", frame)
    assert service.requests[-1][3] == b"action,reward,complaints\nbold,1.0,1\ncontrol,0.25,0\n"
    with pytest.raises(ValueError, match=r"`reward\[1\]` is inf"):
        client.import_log("checkout", {"action": ["a", "b"], "reward": [0.0, np.inf]})


# Errors, secrets, settings


def test_errors_read_well_and_travel() -> None:
    problem = {"title": "No", "status": 422, "detail": "must be below 0.5", "field": "guardrails[0].safe_cost"}
    error = banister.client.ServiceError.from_problem(
        {**problem, "value": "0.7", "allowed": "below 0.5"}, request_id="r1"
    )
    assert str(error) == "`guardrails[0].safe_cost`: must be below 0.5 (422, request r1)"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), vars(again), str(again)) == (type(error), vars(error), str(error))
    assert isinstance(again, ValueError)
    later = banister.client.ServiceError.from_problem({"title": "No", "status": 429, "retry_after": 90})
    assert (error.retry_after, later.retry_after) == (None, 90)


def test_answers_that_are_not_of_the_service(make: Make) -> None:
    def client(status: int, text: str) -> Any:
        return make("http://127.0.0.1:1", transport=httpx.MockTransport(lambda _: httpx.Response(status, text=text)))

    with pytest.raises(banister.client.ServiceError, match="not of the service: '<html>'"):
        client(404, "<html>").experiments()
    with pytest.raises(banister.client.ServiceError, match="not JSON"):
        client(200, "<html>").experiments()
    with pytest.raises(banister.client.ServiceError, match="no list 'experiments'"):
        client(200, "[]").experiments()
    with pytest.raises(banister.client.ServiceError, match="Experiment has no name"):
        client(200, "{}").experiment("x")
    with pytest.raises(banister.client.ServiceError, match="0 results to a batch of 2"):
        client(200, '{"results": []}').decide_batch("x", 2)


def test_the_token_opens_and_is_never_shown(make: Make, service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    service.token = SECRET
    with pytest.raises(banister.client.AuthError, match="401"):
        make(service.url, token="wrong").experiments()
    client = make(service.url, token=SECRET)
    assert client.experiments() == []
    monkeypatch.setenv("BANISTER_TOKEN", SECRET)
    assert make(service.url).experiments() == []
    service.faults = [CUT] * 9
    Time(client)
    with pytest.raises(banister.client.UnavailableError) as caught:
        client.experiments()
    chain: BaseException | None = caught.value
    while chain is not None:
        assert SECRET not in repr(chain) + str(chain)
        chain = chain.__cause__
    assert SECRET not in repr(client) + repr(getattr(client, "client", client).__dict__)
    with pytest.raises(ValueError, match="`token`") as refused:
        make(service.url, token=f"{SECRET}\n")
    assert SECRET not in str(refused.value)


def test_the_address(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    assert banister.client.Client().url == "http://127.0.0.1:8787"
    monkeypatch.setenv("BANISTER_URL", "http://127.0.0.1:99/shop/")
    assert banister.client.Client().url == "http://127.0.0.1:99/shop"
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={"experiments": []})

    make("http://127.0.0.1:99/shop/", transport=httpx.MockTransport(answer)).experiments()
    assert asked == ["http://127.0.0.1:99/shop/v1/experiments"]
    for url in ["127.0.0.1:80", "ftp://127.0.0.1", "http://", "http://u:p@127.0.0.1", "http://127.0.0.1/?a=1"]:
        with pytest.raises(ValueError, match="`url`") as caught:
            make(url)
        assert "u:p" not in str(caught.value)
    wrong: list[dict[str, Any]] = [{"timeout": 0}, {"deadline": float("nan")}, {"retries": -1}, {"connections": 0}]
    for settings in wrong:
        with pytest.raises(ValueError, match=f"`{next(iter(settings))}` is"):
            make("http://127.0.0.1", **settings)


def test_loopback_is_never_asked_for_through_a_proxy(
    client: Any, service: FakeService, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert len(make(service.url, retries=0).experiments()) == 1


def test_the_twins_have_the_same_methods_and_words() -> None:
    def public(cls: type) -> dict[str, Any]:
        return {name: getattr(cls, name) for name in dir(cls) if not name.startswith("_")}

    sync, twin = public(banister.client.Client), public(banister.client.AsyncClient)
    assert list(sync) == list(twin)
    for name, member in sync.items():
        if callable(member):
            assert inspect.signature(member) == inspect.signature(twin[name]), name
            assert inspect.iscoroutinefunction(twin[name]), name
            assert member.__doc__ and member.__doc__ == twin[name].__doc__, name
    ours, theirs = (
        inspect.signature(cls.__init__).parameters for cls in (banister.client.Client, banister.client.AsyncClient)
    )
    assert {n: p.default for n, p in ours.items()} == {n: p.default for n, p in theirs.items()}


def test_both_are_context_managers(service: FakeService) -> None:
    with banister.client.Client(service.url) as client:
        assert client.experiments() == []
    with pytest.raises(RuntimeError, match="closed"):
        client.experiments()

    async def run() -> int:
        async with banister.client.AsyncClient(service.url) as client:
            found = await asyncio.gather(*(client.experiments() for _ in range(10)))
        return len(found)

    assert asyncio.run(run()) == 10


def test_threads_share_a_client(service: FakeService) -> None:
    def order(_: int) -> str:
        decision = client.decide("checkout")
        return client.report(decision, reward=1, costs=0).status

    with banister.client.Client(service.url) as client, ThreadPoolExecutor(8) as pool:
        client.create("checkout", arms=["control", "bold"], guardrails=GUARDRAIL)
        assert set(pool.map(order, range(100))) == {"complete"}
    assert service.experiments["checkout"].agent.outcomes == 100


def test_httpx_is_asked_for_only_by_who_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys, banister; print({'httpx', 'anyio'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    monkeypatch.setitem(sys.modules, "httpx", None)
    for cls in (banister.client.Client, banister.client.AsyncClient):
        with pytest.raises(ModuleNotFoundError, match=r"banister\[client\]"):
            cls()


def test_connections_are_shared_and_waited_for() -> None:
    """An async client has no more requests under way than connections; one that waits too long says so."""

    async def run() -> tuple[list[Any], int]:
        free = asyncio.Event()
        busy = most = 0

        class Slow(httpx.AsyncBaseTransport):
            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                nonlocal busy, most
                busy += 1
                most = max(most, busy)
                await free.wait()
                busy -= 1
                return httpx.Response(200, json={"experiments": []})

        options: Any = {"connections": 2, "transport": Slow(), "retries": 0}
        async with banister.client.AsyncClient("http://localhost", timeout=0.05, **options) as client:
            tasks = [asyncio.create_task(client.experiments()) for _ in range(2)]
            await asyncio.sleep(0)
            with pytest.raises(banister.client.UnavailableError, match="all connections .* are in use"):
                await client.experiments()
            tasks += [asyncio.create_task(client.experiments()) for _ in range(3)]
            await asyncio.sleep(0)
            free.set()
            return await asyncio.gather(*tasks), most

    assert asyncio.run(run()) == ([[]] * 5, 2)


TIME = "2026-01-02T03:04:05.678901Z"
WHEN = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
ESTIMATE = {"mean": 0.5, "lower": 0, "upper": 1}
UNKNOWN = {"mean": None, "lower": 0.0, "upper": 1.0}
POLICY = [
    {"action": "control", "index": 0, "probability": 0.69},
    {"action": "bold", "index": 1, "probability": 0.31},
]
PROVEN = {"name": "complaints", "pessimistic_cost": 0.0999, "threshold": 0.1, "slack": 0.0001, "price": 0.4}
CERTIFICATE = {
    "guardrails": [PROVEN],
    "optimistic_reward": 0.8,
    "solver": {"status": "budget", "value": 0.8, "upper_bound": 0.9, "gap": 0.1, "nodes": 3},
    "fallback": None,
    "outcomes": 4711,
    "confidence": {"safety": 0.99, "regret": None},
    "rests_on": [{"text": "the safe action is safe", "watched": False}],
}
STATE = {
    "experiment": "checkout",
    "number": 7,
    "time": TIME,
    "outcomes": 4711,
    "policy": POLICY,
    "certificate": CERTIFICATE,
    "estimates": {"reward": ESTIMATE, "guardrails": [UNKNOWN], "safe": ESTIMATE},
    "arms": [
        {
            "name": "bold",
            "offered": True,
            "safe": False,
            "pulls": 3,
            "probability": 0.31,
            "reward": ESTIMATE,
            "guardrails": [ESTIMATE],
            "windows": [],
            "matured": 0,
            "missing": 0,
        }
    ],
    "alarms": [],
    "evidence": [{"guardrail": "complaints", "watched": True, "points": [[10, 0.5]], "alarm_at": 6.0}],
    "alarm": {"reason": "margin_not_proven", "since": TIME, "decision": None},
}
POINT = {"mean": None, "lower": 0, "upper": 1, "pessimistic_cost": 0.1, "threshold": 0.1, "price": 0}
HISTORY = {
    "points": [
        {"time": TIME, "reward": ESTIMATE, "optimistic_reward": 0.8, "forced": True, "guardrails": [POINT]},
    ],
    "per_minute": [{"time": TIME, "decisions": 5, "outcomes": 4, "forced": 1}],
    "alarms": [],
}
AUDIT = {
    "id": "@1042",
    "experiment": "checkout",
    "number": 1042,
    "time": TIME,
    "action": "bold",
    "index": 1,
    "safe": False,
    "probability": 0.31,
    "policy": POLICY,
    "certificate": CERTIFICATE,
    "shadow": True,
    "draw": 0.7312,
    "context": [0.5, 1],
    "candidates": [{"name": "a", "features": [1.0, 0.0]}],
    "taken": "control",
    "propensity": 0.5,
    "known": [
        {**POLICY[1], "offered": True, "pulls": None, "reward": ESTIMATE, "guardrails": [UNKNOWN], "windows": []},
    ],
    "status": "partial",
    "outcome": {"reward": None, "costs": {"complaints": 0.0}},
    "events": [
        {"number": 1042, "time": TIME, "kind": "decision", "author": "anonymous"},
        {"number": 1050, "time": TIME, "kind": "part", "author": "shop"},
    ],
}


@pytest.fixture(name="ask")
def _ask(make: Make) -> Any:
    """A client whose every answer is the given one, and the address of what it asked for."""
    asked: list[str] = []

    def ask(answer: Any) -> tuple[Any, list[str]]:
        def handle(request: httpx.Request) -> httpx.Response:
            asked.append(request.url.raw_path.decode())
            return httpx.Response(200, content=json.dumps(answer))

        return make("http://127.0.0.1:1", transport=httpx.MockTransport(handle)), asked

    return ask


def test_the_state(ask: Any) -> None:
    client, asked = ask(STATE)
    state = client.state("checkout")
    assert asked == ["/v1/experiments/checkout/state"]
    assert (state.time, state.policy) == (WHEN, {"control": 0.69, "bold": 0.31})
    assert state.certificate["complaints"].price == 0.4
    assert (state.certificate.status, state.certificate.gap, state.certificate.solver.nodes) == ("budget", 0.1, 3)
    assert state.estimates.reward == Estimate(mean=0.5, lower=0.0, upper=1.0)
    assert state.estimates.guardrails[0].mean is None
    assert state.estimates.safe == state.estimates.reward
    assert (state.arms[0].pulls, state.arms[0].probability) == (3, 0.31)
    assert (state.alarm.reason, state.alarm.since) == ("margin_not_proven", WHEN)


def test_the_state_before_the_first_decision_with_a_context(ask: Any) -> None:
    nothing = dict.fromkeys(["policy", "certificate", "estimates", "alarm"])
    client, _ = ask({**STATE, **nothing, "arms": []})
    state = client.state("checkout")
    assert (state.policy, state.certificate, state.alarm, state.arms) == (None, None, None, ())


def test_the_history(ask: Any) -> None:
    client, asked = ask(HISTORY)
    history = client.history("checkout")
    assert asked == ["/v1/experiments/checkout/history"]
    (point,), (minute,) = history.points, history.per_minute
    assert (point.time, point.forced, point.reward.mean) == (WHEN, True, 0.5)
    assert (point.guardrails[0].mean, point.guardrails[0].threshold) == (None, 0.1)
    assert (minute.decisions, minute.outcomes, minute.forced) == (5, 4, 1)


def test_an_audit(ask: Any) -> None:
    client, asked = ask(AUDIT)
    audit = client.decision("checkout", "@1042")
    assert asked == ["/v1/experiments/checkout/decisions/%401042"]
    assert (audit.draw, audit.context, audit.candidates[0].name) == (0.7312, [0.5, 1], "a")
    assert (audit.taken, audit.propensity, audit.status, audit.shadow) == ("control", 0.5, "partial", True)
    assert (audit.known[0].action, audit.known[0].pulls) == ("bold", None)
    assert [event.kind for event in audit.events] == ["decision", "part"]
    assert (audit.outcome.reward, audit.outcome.costs) == (None, {"complaints": 0.0})
    assert audit.to_dict()["certificate"]["guardrails"][0] == {**PROVEN, "capped": False, "promise": None}


def test_the_list_of_decisions_is_paged(ask: Any) -> None:
    line = {key: AUDIT[key] for key in ("id", "number", "time", "action", "probability", "status")}
    client, asked = ask({"decisions": [{**line, "fallback": "paused", "reward": None, "costs": {"complaints": None}}]})
    (one,) = client.decisions("checkout", limit=5, before=2000)
    assert asked == ["/v1/experiments/checkout/decisions?limit=5&before=2000"]
    assert (one.id, one.time, one.fallback, one.costs) == ("@1042", WHEN, "paused", {"complaints": None})


@pytest.mark.parametrize(
    ("key", "wrong", "complaint"),
    [
        ("time", 5, "ExperimentState.time is 5"),
        ("outcomes", "many", "ExperimentState.outcomes is 'many'"),
        ("arms", {}, "ExperimentState.arms is {}"),
        ("estimates", {"reward": {"mean": 1, "lower": "low", "upper": 1}, "guardrails": []}, "reward.lower is 'low'"),
        ("certificate", {"guardrails": []}, "ExperimentState.certificate has no optimistic_reward"),
    ],
)
def test_what_is_not_understood_is_named(ask: Any, key: str, wrong: Any, complaint: str) -> None:
    client, _ = ask({**STATE, key: wrong})
    with pytest.raises(banister.client.ServiceError, match="not understood") as caught:
        client.state("checkout")
    assert complaint in str(caught.value)
