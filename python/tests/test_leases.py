"""Decisions under leases of the real service."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fake_service import GUARDRAIL
from served import PATIENCE, running

import banister
from banister._native import LeaseHolder
from banister.client import Client, Lease, ServiceError

VECTORS = json.loads((Path(__file__).parents[2] / "clients" / "leases.json").read_text())


def until(what: str, holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)


@pytest.fixture(name="url", scope="module")
def _url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("data")) as url:
        yield url


@pytest.fixture(name="client")
def _client(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client


def create(client: Client, name: str, **declared: Any) -> str:
    """An experiment that knows its arms well enough to play the bold one now and then."""
    client.create(name, arms=["control", "bold"], guardrails=[GUARDRAIL], **declared)
    client.import_log(name, b"action,reward,complaints\n" + b"control,0,0\nbold,1,0\n" * 240 + b"bold,1,1\n" * 60)
    return name


@pytest.mark.parametrize("vector", VECTORS["leases"], ids=lambda one: one["name"])
def test_vectors(vector: dict[str, Any]) -> None:
    answer = json.dumps(vector["signed"]).encode()
    holder = LeaseHolder("checkout", "control", VECTORS["public_key"], 10_000)
    if vector["refused"] is not None:
        with pytest.raises(ValueError) as caught:
            holder.accept(answer, 0)
        assert str(caught.value) == vector["refused"]
        return
    lease = json.loads(vector["signed"]["lease"])
    holder.accept(answer, 0)
    now = vector["signed"]["now"]
    for time_ in vector["holds"]:
        drawn = next(draw for draw in vector["draws"] if draw["is_drawn"])
        _, decision = holder.decide(drawn["unit"], drawn["segment"], time_["now"] - now)
        assert (decision is not None) == time_["holds"]
    segments = {draw["segment"] for draw in vector["draws"]}
    for segment in segments:
        draws = [draw for draw in vector["draws"] if draw["segment"] == segment]
        arms, ids = holder.decide_many([draw["unit"] for draw in draws], segment, 0)
        assert arms == [lease["arms"][draw["arm"]] for draw in draws]
        assert ids == [lease["prefix"] + draw["unit"] if draw["is_drawn"] else None for draw in draws]


def test_decisions_are_drawn_here_and_learned_there(client: Client) -> None:
    name = create(client, "leased")
    with Lease(client, name, "control") as lease:
        units = [f"user-{i}" for i in range(500)]
        arms, ids = lease.decide_many(units[:400])
        singles = [lease.decide(unit) for unit in units[400:]]
        arms += [one.arm for one in singles]
        ids += [one.decision for one in singles]
        assert len(set(arms)) == 2
        for arm, decision in zip(arms, ids, strict=True):
            lease.report(decision, reward=float(arm == "bold"), costs={"complaints": 0.0})
        lease.flush()
        assert (lease.refused, lease.error) == (0, None)
    experiment = client.experiment(name)
    assert (experiment.counts.decisions, experiment.counts.outcomes) == (500, 500)
    for arm, decision in list(zip(arms, ids, strict=True))[::100]:
        assert client.decision(name, str(decision)).action == arm
    # Closed, it plays the safe arm.
    assert lease.decide("user-1") == ("control", None)


def test_units_have_one_arm_wherever_it_is_drawn(client: Client) -> None:
    name = create(client, "leased-units", unit={"name": "user", "period": "forever", "outcomes": "sum"})
    with Lease(client, name, "control") as lease:
        for i in range(20):
            unit = f"user-{i}"
            assert lease.decide(unit).arm == client.decide(name, unit=unit).action
            lease.report(unit=unit, reward=1.0, costs={"complaints": 0.0})
        lease.flush()
        assert (lease.refused, lease.error) == (0, None)
    assert client.experiment(name).counts.decisions == 20


def test_a_service_that_is_down_stops_nobody_from_deciding_safely(tmp_path: Path) -> None:
    with running(tmp_path) as url:
        client = Client(url, timeout=1)
        name = create(client, "killed")
        port = int(url.rsplit(":", 1)[1])
        lease = Lease(client, name, "control", seconds=2.0, every=0.05)
        drawn = [lease.decide(f"user-{i}") for i in range(200)]
        assert {one.arm for one in drawn} == {"control", "bold"}
        lease.flush()
    # Within its time the lease goes on, then the safe arm is played.
    until("the end of the lease", lambda: lease.seconds_left == 0)
    assert [lease.decide(f"late-{i}") for i in range(50)] == [("control", None)] * 50
    with running(tmp_path, port=port) as url:
        until("a new lease", lambda: lease.seconds_left > 0)
        again = [lease.decide(f"again-{i}") for i in range(200)]
        assert {one.arm for one in again} == {"control", "bold"}
        lease.close()
        assert client.experiment(name).counts.decisions == 400
        client.close()


def test_what_cannot_be_reported_is_not_drawn(client: Client) -> None:
    name = create(client, "leased-limit")
    with Lease(client, name, "control", limit=50, every=1000.0) as lease:
        _, ids = lease.decide_many([f"user-{i}" for i in range(80)])
        assert [decision is not None for decision in ids] == [True] * 50 + [False] * 30
        for decision in ids:
            lease.report(decision, reward=1.0, costs={"complaints": 0.0})
        lease.report("one more", reward=1.0)
        assert lease.refused == 1
        lease.flush()
        assert lease.decide("user-100").decision is not None
        # An outcome of a decision that there is not.
        lease.report("nobody", reward=1.0)
        lease.flush()
        assert lease.refused == 2
        assert isinstance(lease.error, banister.client.NotFoundError)


def test_a_service_that_cannot_be_reached_is_no_error_of_decide() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route")

    with Client("http://127.0.0.1:9", transport=httpx.MockTransport(refuse)) as client:
        lease = Lease(client, "x", "control", every=1000.0)
        assert lease.decide("user") == ("control", None)
        assert isinstance(lease.error, ServiceError)
        lease.report("user", reward=1.0)
        with pytest.raises(ServiceError):
            lease.flush()
        lease.close()
    for wrong in ({"every": 0.0}, {"public_key": "7"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Lease(client, "x", "control", **wrong)
