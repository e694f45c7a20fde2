"""The gateway with the decision service, which may come and go."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import litellm
import pytest
from gateways import CHEAP, CHEAP_COST, DEAR, HELLO, ask, deployment, limited, router, two, wait_for
from served import make_token, running

import banister


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_who_may_only_decide_uses_an_experiment_whose_prices_are_right(tmp_path: Path) -> None:
    admin, small = (make_token(tmp_path, role, role) for role in ("admin", "decide"))
    with running(tmp_path) as url, banister.client.Client(url, token=admin) as client:
        limited(two(), service=url, experiment="routing", token=admin).close(30)
        gateway = two()
        routing = limited(gateway, service=url, experiment="routing", token=small)
        ask(gateway, 5)
        assert routing.savings().counts["undecided by the service"] == 0
        # With other prices nothing it could ask for is certified, and it may not tell them.
        prices = {"input_cost_per_token": 1e-6, "output_cost_per_token": 4e-6}
        client.set_weights("routing", DEAR, {"dollars": {"input_tokens": 1.0, "output_tokens": 1.0}})
        other = router(deployment(CHEAP, "fine"), deployment(DEAR, "excellent", info={"id": "dear", **prices}))
        wrong = limited(other, service=url, experiment="routing", token=small)
        assert {one.choices[0].message.content for one in ask(other, 5)} == {"fine"}
        assert wrong.savings().counts["undecided by the service"] == 5


def test_gateways_share_an_experiment(tmp_path: Path) -> None:
    token = make_token(tmp_path, "admin", "gateway")
    with running(tmp_path) as url, banister.client.Client(url, token=token) as client:
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
        routings[0].install()
        ask(gateways[0], 5)
        assert routings[0].savings().counts["undecided by the service"] == 5, "it only says what it would do"

        with pytest.raises(ValueError, match="whose `at_most` of dollars is 0.00012: must be 0.0001, as"):
            limited(two(), service=url, experiment="routing", token=token, ceiling=1e-4)
        with pytest.raises(ValueError, match="whose `range` of output_tokens for openai/gpt-4o-mini is"):
            limited(two(), service=url, experiment="routing", token=token, max_tokens=50)
        with pytest.raises(ValueError, match="safe; give it another name"):
            limited(two(), service=url, experiment="routing", token=token, safe=DEAR, ceiling=1e-3)
        with pytest.raises(banister.client.AuthError):
            limited(two(), service=url, experiment="routing", token="wrong")


def test_classes_and_features_of_requests_reach_the_service(tmp_path: Path) -> None:
    def kind(request: Any) -> str:
        return str(request["request_kwargs"]["metadata"]["kind"])

    known = banister.Features({"kind": {"kind": "category", "values": ["code", "talk"]}})
    linear: dict[str, Any] = {
        "features": known,
        "parameter_norm": 2,
        "context": lambda request: {"kind": kind(request)},
    }
    with running(tmp_path) as url, banister.client.Client(url) as client:
        for name, options, agent in (("classes", {"segment": kind}, "segmented"), ("numbers", linear, "oplb")):
            gateway = two()
            with limited(gateway, service=url, experiment=name, **options) as routing:
                for given in ("code", "talk", "code"):
                    ask(gateway, 10, metadata={"kind": given})
                found = client.experiment(name)
                assert found.agent["kind"] == agent and found.counts.decisions == 30
                # A request without features goes to the safe arm, and the next one is decided.
                ask(gateway, 5, metadata={})
                ask(gateway, 5, metadata={"kind": "talk"})
                counts = routing.savings().counts
                assert (counts["without features"], counts["undecided by the service"]) == (5, 0)
                if name == "numbers":
                    ask(gateway, 5, metadata={"kind": "poetry"})
                    ask(gateway, 5, metadata={"kind": "code"})
                    counts = routing.savings().counts
                    assert (counts["without features"], counts["undecided by the service"]) == (10, 0)
                routing.close(30)
            total = client.experiment(name).counts
            assert total.outcomes == total.decisions == (35 if name == "classes" else 40)
        seen = {one.name: one.contexts for one in client.segments("classes")}
        assert sum(seen.values()) == 35


@pytest.mark.parametrize("options", [{}, {"share": 0.01}, {"quality": None}])
def test_a_budget_that_refuses_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture, options: Any) -> None:
    backup = deployment("openai/gpt-4.1", "from the backup", group="backup")
    models = (deployment(CHEAP, "fine"), deployment(DEAR, "excellent"), backup)
    gateway = router(*models, fallbacks=[{"chat": ["backup"]}], num_retries=2)
    budget = {"amount": 1.0, "per": "month", "when_exhausted": "refuse", "pacing": False}
    with running(tmp_path) as url, banister.client.Client(url) as client:
        routing = limited(gateway, service=url, group="chat", budget=budget, **options)
        # So little pays for the cheap model alone, which only a change may ask for.
        client.update("chat", budgets={"dollars": {**budget, "amount": 3e-4}})

        def spent() -> float:
            kept = client.experiment("chat").budgets["dollars"]
            assert isinstance(kept, banister.client.types.BudgetState)
            return kept.spent

        def is_refused() -> bool:
            (answer,) = ask(gateway)
            if answer.choices[0].message.content == "from the backup":
                return spent() + 9e-5 > 3e-4  # Sooner, if costs that are reserved were not reported yet.
            return False

        wait_for(is_refused)
        assert gateway.completion("chat", messages=HELLO).choices[0].message.content == "from the backup"
        routing.close()
        found = routing.savings()
        assert found.arms[CHEAP].calls >= 10, "what was spent is charged, and not the most it could have been"
        assert found.dollars == pytest.approx(found.arms[CHEAP].calls * CHEAP_COST) == spent() <= 3e-4
        assert found.counts["refused by a budget"] >= 2
        assert found.counts["undecided by the service"] == 0
        assert caplog.text.count("the budget of `dollars` is exhausted") == 1
        with pytest.raises(banister.client.BudgetError) as caught:
            client.decide("chat")
        assert caught.value.retry_after is not None and caught.value.retry_after > 0


def test_an_alarm_of_the_service_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    gateway = two()
    with running(tmp_path) as url:
        routing = limited(gateway, service=url, ceiling=1e-5, on_breach="safe", worst_cost={CHEAP: 2e-5})
        wait_for(lambda: bool(ask(gateway, 10) and routing.savings().alarms))
        ask(gateway, 10)
        routing.close()
    assert caplog.text.count("alarm: the safe arm alone is played: see the page of experiment 'chat'") == 1


@pytest.mark.parametrize("on_breach", ["safe", "alert"])
def test_the_reaction_to_alarms_is_that_of_the_experiment(tmp_path: Path, on_breach: Any) -> None:
    gateway = two()
    with running(tmp_path) as url, banister.client.Client(url) as client:
        routing = limited(gateway, service=url, on_breach=on_breach, worst_cost={CHEAP: 1e-5})
        assert client.experiment("chat").agent["on_breach"] == on_breach
        # It costs more than was declared.
        ask(gateway, 2)
        routing.close(30)
        wait_for(lambda: bool(client.experiment("chat").alarms))
        (alarm,) = client.experiment("chat").alarms
        assert (alarm.kind, alarm.forces_safe) == ("range", on_breach == "safe")
        assert (client.decide("chat").certificate.fallback == "alarm") == (on_breach == "safe")


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
    with running(tmp_path, port=port) as url, banister.client.Client(url) as client:
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
    with running(tmp_path, port=port) as url, banister.client.Client(url) as client:
        wait_for(lambda: decided(routing, gateway))
        routing.close(30)
        assert client.experiment("chat").counts.outcomes >= 1


def test_a_session_has_one_arm_and_one_outcome_from_all_gateways(tmp_path: Path) -> None:
    # LiteLLM takes a hundred callbacks in a process, and other tests leave theirs.
    litellm.logging_callback_manager._reset_all_callbacks()
    token = make_token(tmp_path, "admin", "gateway")
    with running(tmp_path) as url, banister.client.Client(url, token=token) as client:
        gateways = [two(), two()]
        own: dict[str, Any] = {"service": url, "experiment": "sessions", "token": token, "timeout": 5.0}
        own |= {"unit": "session", "ceiling": 5e-4, "period": 20.0, "give_up_after": 5.0}
        routings = [limited(one, **own) for one in gateways]
        for n in range(12):
            answers = [answer for gateway in gateways for answer in ask(gateway, 2, litellm_session_id=f"s{n}")]
            assert len({one.choices[0].message.content for one in answers}) == 1
        ask(gateways[0], 1)  # alone: a unit by itself
        for routing in routings:
            routing.close(30)
            assert routing.savings().counts["undelivered"] == 0
            assert routing.savings().counts["undecided by the service"] == 0
        counts = client.experiment("sessions").counts
        assert counts.decisions == 13
        # It is learned when its period is over, whatever gateways have told of it.
        wait_for(lambda: client.experiment("sessions").counts.outcomes == 13, 60.0)
        assert sum(arm.pulls or 0 for arm in client.state("sessions").arms) == 13
        with pytest.raises(ValueError, match="give `unit` here and there"):
            limited(two(), service=url, experiment="sessions", token=token, ceiling=5e-4)
