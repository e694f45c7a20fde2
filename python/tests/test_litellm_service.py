"""The gateway with the decision service, which may come and go."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from gateways import CHEAP, DEAR, ask, limited, two, wait_for
from served import make_token, running

import banister


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_gateways_share_an_experiment(tmp_path: Path) -> None:
    token = make_token(tmp_path, "admin", "gateway")
    with running(tmp_path) as url, banister.Client(url, token=token) as client:
        gateways = [two(), two()]
        routings = [limited(one, service=url, experiment="routing", token=token) for one in gateways]
        for _ in range(4):
            for gateway in gateways:
                ask(gateway, 40)
        for routing in routings:
            routing.close(30)
        found = client.state("routing")
        played = {arm: sum(routing.savings().arms[arm].calls for routing in routings) for arm in (CHEAP, DEAR)}
        assert {arm.name: arm.pulls for arm in found.arms} == played
        assert played[DEAR] > 0
        counts = client.experiment("routing").counts
        assert (counts.decisions, counts.outcomes) == (320, 320)
        assert routings[0].agent is None
        assert routings[0].savings().certificate is not None

        client.update("routing", shadow=True)
        ask(gateways[0], 5)
        assert routings[0].savings().counts["undecided by the service"] == 5, "it only says what it would do"

        with pytest.raises(ValueError, match="which has other guardrails: give it another name"):
            limited(two(), service=url, experiment="routing", token=token, ceiling=1e-4)
        with pytest.raises(ValueError, match="safe; give it another name"):
            limited(two(), service=url, experiment="routing", token=token, safe=DEAR, ceiling=1e-3)
        with pytest.raises(banister.ServiceAuthError):
            limited(two(), service=url, experiment="routing", token="wrong")


def test_without_the_service_the_safe_arm_is_played_and_no_outcome_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    gateway = two()
    with running(tmp_path, port=port) as url:
        routing = limited(gateway, service=url, pause=0.1, quality=None)
        answers = ask(gateway, 20)
    assert {one.choices[0].message.content for one in ask(gateway, 20)} == {"fine"}
    assert routing.savings().counts["undecided by the service"] == 20
    assert "the safe arm is played for 0.1 s" in caplog.text
    # Those of the decisions that were made.
    assert all(routing.report(one, 0.6) for one in answers)
    with running(tmp_path, port=port) as url, banister.Client(url) as client:
        wait_for(lambda: client.experiment("chat").counts.outcomes == 20)
        wait_for(lambda: decided(routing, gateway))
        routing.close(30)
        assert routing.savings().counts["undelivered"] == 0


def decided(routing: Any, gateway: Any) -> bool:
    """True once a call is decided by the service again."""
    before = routing.savings().counts["undecided by the service"]
    ask(gateway)
    return bool(routing.savings().counts["undecided by the service"] == before)


def test_a_service_that_comes_later_gets_its_experiment(tmp_path: Path) -> None:
    port = free_port()
    gateway = two()
    routing = limited(gateway, service=f"http://127.0.0.1:{port}", pause=0.05)
    ask(gateway)
    assert routing.savings().arms[CHEAP].calls == 1
    with running(tmp_path, port=port) as url, banister.Client(url) as client:
        wait_for(lambda: decided(routing, gateway))
        routing.close(30)
        assert client.experiment("chat").counts.outcomes >= 1
