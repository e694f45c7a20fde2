"""Answers with all that the service's interface has in them, as typed objects."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import httpx
import pytest
from clients import Make

import banister
from banister.client.types import Estimate

TIME = "2026-01-02T03:04:05.678901Z"
WHEN = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
ESTIMATE = {"mean": 0.5, "lower": 0, "upper": 1}
UNKNOWN = {"mean": None, "lower": 0.0, "upper": 1.0}
POLICY = [
    {"action": "control", "index": 0, "probability": 0.69},
    {"action": "bold", "index": 1, "probability": 0.31},
]
GUARDRAIL = {"name": "complaints", "pessimistic_cost": 0.0999, "threshold": 0.1, "slack": 0.0001, "price": 0.4}
CERTIFICATE = {
    "guardrails": [GUARDRAIL],
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
            "matured": 0,
            "missing": 0,
        }
    ],
    "alarms": [],
    "evidence": [{"guardrail": "complaints", "watched": True, "points": [[10, 0.5]], "alarm_at": 6.0}],
    "watched_one_in": 1,
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
        {**POLICY[1], "offered": True, "pulls": None, "reward": ESTIMATE, "guardrails": [UNKNOWN]},
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
    assert audit.to_dict()["certificate"]["guardrails"][0] == {**GUARDRAIL, "capped": False}


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
