"""Retries of the client, their times, and requests that are never sent twice."""

from __future__ import annotations

import json
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from fake_service import CUT, GUARDRAIL, NOW, FakeService, Make, Time, serving

import banister
from banister.client.retry import Answer, Lost, Pace


def test_a_decision_whose_answer_is_lost_is_made_once(client: Any, service: FakeService) -> None:
    service.faults = [CUT, CUT]
    decision = client.decide("checkout")
    assert service.paths() == ["POST /v1/experiments/checkout/decisions"] * 3
    asked = [json.loads(body)["id"] for _, _, _, body in service.requests]
    assert asked == [decision.id] * 3
    assert list(service.experiments["checkout"].decisions) == [decision.id]
    service.faults = [CUT]
    client.report(decision, reward=1, costs=0)
    assert service.experiments["checkout"].agent.outcomes == 1
    service.faults = [CUT]
    batch = client.decide_batch("checkout", 4)
    assert len(service.experiments["checkout"].decisions) == 5
    assert {one.id for one in batch} < set(service.experiments["checkout"].decisions)
    assert len({headers["x-request-id"] for _, _, headers, _ in service.requests}) == 3


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_not_now_is_asked_again(client: Any, service: FakeService, status: int) -> None:
    service.faults = [(status, {}), (status, {})]
    client.decide("checkout")
    assert len(service.requests) == 3


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, banister.client.RefusedError),
        (401, banister.client.AuthError),
        (403, banister.client.AuthError),
        (404, banister.client.NotFoundError),
        (409, banister.client.ConflictError),
        (422, banister.client.RefusedError),
        (500, banister.client.ServiceError),
        (302, banister.client.ServiceError),
    ],
)
def test_what_is_wrong_stays_wrong(client: Any, service: FakeService, status: int, kind: type[Exception]) -> None:
    service.faults = [(status, {"location": "/elsewhere"})]
    with pytest.raises(kind) as caught:
        client.decide("checkout")
    assert type(caught.value) is kind
    assert isinstance(caught.value, ValueError) == (status in (400, 422))
    assert caught.value.status == status  # type: ignore[attr-defined]
    assert len(service.requests) == 1


def test_pauses_grow_with_full_jitter(make: Make, service: FakeService) -> None:
    client = make(service.url, retries=8, deadline=1000)
    time = Time(client)
    service.faults = [(503, {})] * 9
    with pytest.raises(banister.client.UnavailableError, match="not now"):
        client.experiments()
    assert len(service.requests) == 9
    assert time.asked == [(0.0, min(0.1 * 2**i, 5.0)) for i in range(8)]
    assert time.slept == [high for _, high in time.asked]


def test_retry_after_is_honoured_in_seconds_and_as_a_date(make: Make, service: FakeService) -> None:
    client = make(service.url)
    time = Time(client)
    at = format_datetime(NOW + timedelta(seconds=10), usegmt=True)
    past = format_datetime(NOW - timedelta(seconds=10), usegmt=True)
    for text in ["3", at, past, "soon"]:
        service.faults.append((429, {"retry-after": text}))
    client.experiments()
    # The second begins 3.1 s later, so its date is 6.9 s away. Jitter comes on top.
    assert time.slept == pytest.approx([3 + 0.1, 6.9 + 0.2, 0.4, 0.8])


def test_the_deadline_ends_it(make: Make, service: FakeService) -> None:
    client = make(service.url, deadline=2)
    time = Time(client)
    service.faults = [(429, {"retry-after": "3"})]
    with pytest.raises(banister.client.UnavailableError, match="429"):
        client.experiments()
    assert (time.slept, len(service.requests)) == ([], 1)


def test_an_attempt_waits_no_longer_than_the_deadline(make: Make) -> None:
    waited: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        waited.append(request.extensions["timeout"]["read"])
        raise httpx.ReadTimeout("slow", request=request)

    client = make("http://127.0.0.1:1", transport=httpx.MockTransport(answer), timeout=5, deadline=6, retries=9)
    time = Time(client)
    client._pace.uniform = lambda low, high: 2.5
    with pytest.raises(banister.client.UnavailableError, match="gave no answer to GET /v1/experiments in 1 s"):
        client.experiments()
    assert waited == [5, 3.5, 1]
    assert time.slept == [2.5, 2.5]


def test_jitter_is_random_and_bounded() -> None:
    pace = Pace()
    lost = Lost("", sent=True)
    pauses = [pace.pause(3, lost) for _ in range(200)]
    assert len(set(pauses)) > 100
    assert 0 <= min(pauses) < 0.1
    assert 0.3 < max(pauses) <= 0.4
    assert pace.pause(10_000, lost) <= 5
    assert pace.pause(1, Answer(503, {"retry-after": "7"}, b"")) >= 7


def test_nobody_there(make: Make, service: FakeService) -> None:
    with serving() as gone:
        url = gone.url
    client = make(url)
    time = Time(client)
    with pytest.raises(banister.client.UnavailableError, match=f"{url} cannot be reached") as caught:
        client.create("x", arms=["a"])
    assert caught.value.status is None
    assert len(time.slept) == 8
    assert not client.health() and not client.ready()
    assert len(time.slept) == 8, "a look is one look"


# What may be done only once


def test_creation_after_a_lost_answer_looks_before_it_leaps(client: Any, service: FakeService) -> None:
    service.faults = [CUT]
    made = client.create("new", arms=["a", "b"], guardrails=GUARDRAIL, ttl_seconds=60, shadow=False)
    assert made.name == "new"
    assert service.paths() == ["POST /v1/experiments", "GET /v1/experiments/new"]
    service.requests.clear()
    service.faults = [(503, {})]
    assert client.create("newer", arms=["a", "b"], guardrails=GUARDRAIL).name == "newer"
    assert service.paths() == ["POST /v1/experiments", "GET /v1/experiments/newer", "POST /v1/experiments"]


def test_creation_that_another_was_faster_with_is_a_conflict(client: Any, service: FakeService) -> None:
    faults: list[Any] = [None, (504, {})]
    for fault in faults:
        service.faults = [fault]
        with pytest.raises(banister.client.ConflictError, match="already"):
            client.create("checkout", arms=["control", "bold", "third"], guardrails=GUARDRAIL)
    service.requests.clear()
    with pytest.raises(banister.client.ConflictError):
        client.create("checkout", arms=["control", "bold"], guardrails=[GUARDRAIL])
    assert len(service.requests) == 1, "without a lost answer a conflict is one, also with the same words"


def test_arms_after_a_lost_answer(client: Any, service: FakeService) -> None:
    service.faults = [CUT]
    assert client.add_arm("checkout", "wild").arms[-1].offered
    service.faults = [CUT]
    assert not client.retire_arm("checkout", "wild").arms[-1].offered
    assert [path.split()[0] for path in service.paths()] == ["POST", "GET", "DELETE", "GET"]


def test_an_end_after_a_lost_answer(client: Any, service: FakeService) -> None:
    service.faults = [CUT]
    assert client.archive("checkout").status == "archived"
    assert service.paths() == ["PATCH /v1/experiments/checkout", "GET /v1/experiments/checkout"]
    with pytest.raises(banister.client.ConflictError):
        client.archive("checkout")


def test_an_import_may_take_its_time(make: Make) -> None:
    waited = []

    def answer(request: httpx.Request) -> httpx.Response:
        waited.append(request.extensions["timeout"]["read"])
        return httpx.Response(200, json={"outcomes": 1, "skipped": 0, "number": 1, "not_taught": []})

    client = make("http://127.0.0.1:1", timeout=2, deadline=60, transport=httpx.MockTransport(answer))
    Time(client)
    assert client.import_log("checkout", b"action,reward\nbold,1\n").outcomes == 1
    assert waited == [60]


def test_a_log_is_not_imported_twice(client: Any, service: FakeService) -> None:
    log = {"action": ["bold"], "reward": [1.0], "pscore": [0.5], "complaints": [0.0]}
    service.faults = [CUT]
    with pytest.raises(banister.client.UnavailableError, match=r"not known.*counts.imported"):
        client.import_log("checkout", log)
    assert service.experiments["checkout"].imported == 1
    service.faults = [(429, {})]
    assert client.import_log("checkout", log).outcomes == 1
    assert service.experiments["checkout"].imported == 2
