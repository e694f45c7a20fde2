"""Logged data that agents live through or start from."""

from __future__ import annotations

import copy
import signal
import threading
from typing import Any

import numpy as np
import pytest
from logs import ARMS, SPEND, broken, columns, linear, make

import banister

# Replay


def guarded(**options: Any) -> banister.Agent:
    return banister.Opb(3, guardrails=[{"name": "spend", "at_most": 0.4, "safe_cost": 0.1}], seed=1, **options)


def test_replay_accepts_by_rejection_and_the_agent_learns() -> None:
    log = make(columns(20_000))
    agent = guarded()
    original = copy.copy(agent)
    result = banister.offline.replay(log, agent, seed=4, progress=False)
    assert result.rows == len(log)
    assert agent.outcomes == result.accepted > 0
    assert result.policy == copy.copy(agent).decide().policy
    assert result.cut == 0 and result.outside == 0.0
    # One in M is accepted.
    assert log.pscores is not None
    assert result.max_weight == 1 / log.pscores.min()
    expected, spread = len(log) / result.max_weight, np.sqrt(len(log) / result.max_weight)
    assert abs(result.accepted - expected) < 5 * spread
    assert result.reward is not None
    curves = result.to_pandas()
    assert list(curves) == ["round", "row", "reward", "spend"]
    assert curves["round"].iloc[-1] == result.accepted
    assert curves["reward"].iloc[-1] == pytest.approx(result.reward.mean)
    assert curves["spend"].iloc[-1] == pytest.approx(result.costs["spend"].mean)
    assert result.costs["spend"].lower < 0.4
    assert original.outcomes == 0
    again = banister.offline.replay(log, original, seed=4, progress=False)
    assert repr(again) == repr(result)
    np.testing.assert_array_equal(again.curves["reward"], result.curves["reward"])
    assert original.to_json() == agent.to_json()


def test_replay_of_a_fixed_policy_estimates_it() -> None:
    """An agent that stays at the safe arm is replayed as that arm."""
    data = columns(5000)
    result = banister.offline.replay(
        make(data),
        banister.Opb(3, guardrails=[{"name": "spend", "at_most": 0.1001, "safe_cost": 0.1}], seed=1),
        progress=False,
    )
    safe = banister.offline.evaluate(make(data), result.policy)
    assert result.costs["spend"].lower <= safe.costs["spend"].upper
    assert result.costs["spend"].upper >= safe.costs["spend"].lower


def test_names_not_numbers_join_a_log_and_an_agent(data: dict[str, Any]) -> None:
    named = make({**data, "action": np.array(ARMS)[data["action"]]}, arms=ARMS)
    agent = banister.Opb([*ARMS[::-1], "new"], safe="control")
    assert agent.warm_start(named) == len(named)
    table = agent.estimates()
    pulls = dict(zip(table["arm"], table["pulls"].tolist(), strict=True))
    counts = np.bincount(data["action"]).tolist()
    assert pulls == {**dict(zip(ARMS, counts, strict=True)), "new": 0}
    result = banister.offline.replay(named, agent, progress=False)
    assert set(result.policy) <= {*ARMS, "new"}


def test_replay_of_a_linear_agent() -> None:
    log, _ = linear()
    agent = banister.Oplb(parameter_norm=1, safe_action=[1.0, 0.0], guardrails=[SPEND], seed=1)
    result = banister.offline.replay(log, agent, progress=False)
    assert agent.outcomes == result.accepted > 20
    assert result.outside == 0.0
    # The actions of the last round are on offer.
    assert len(agent.decide().probabilities) == 3
    context = banister.offline.Log.from_frame(
        {
            "action": [0, 1] * 50,
            "reward": [0.0, 1.0] * 50,
            "pscore": [0.5] * 100,
            "one": [1.0] * 100,
        },
        features=["one"],
    )
    by_context = banister.Oplb(parameter_norm=1, safe_action=[1.0, 0.0])
    result = banister.offline.replay(context, by_context, progress=False)
    assert result.accepted == by_context.outcomes > 20


def test_interruption_leaves_the_agent_as_it_was() -> None:
    # Contexts that become long vectors, so that it takes many seconds.
    rounds, k, d = 200_000, 20, 5
    rng = np.random.default_rng(6)
    data = {"action": rng.integers(k, size=rounds), "reward": rng.uniform(size=rounds)}
    data["pscore"] = np.full(rounds, 1 / k)
    data |= {f"x{i}": rng.uniform(size=rounds) for i in range(d)}
    log = banister.offline.Log.from_frame(data, features=[f"x{i}" for i in range(d)], arms=k)
    agent = banister.Oplb(parameter_norm=1, safe_action=np.eye(k * d)[0], seed=1)
    before = agent.to_json()
    pressed = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    pressed.start()
    with pytest.raises(KeyboardInterrupt):
        banister.offline.replay(log, agent, progress=False)
    pressed.join()
    assert agent.outcomes == 0
    assert agent.to_json() == before


BAD_REPLAYS: list[tuple[Any, dict[str, Any], Any, str]] = [
    (lambda: banister.Opb(2), {}, ValueError, "`log` has 3 arms: `agent` has 2"),
    (
        lambda: banister.Opb(3, guardrails={"name": "cash", "at_most": 0.5, "safe_cost": 0.1}),
        {},
        ValueError,
        "`log` has no cost called 'cash'",
    ),
    (lambda: "opb", {}, TypeError, "`agent` is str: must be an agent"),
    (
        lambda: banister.Oplb(parameter_norm=1, safe_action=[1.0, 0.0]),
        {},
        ValueError,
        "`log` has feature vectors of length 3 (3 arms × 1 features of the context): `agent` takes 2 features",
    ),
    (guarded, {"max_weight": 0.0}, ValueError, "`max_weight` is 0"),
    (guarded, {"confidence": 2.0}, ValueError, "`confidence` is 2"),
    (guarded, {"seed": 0.5}, TypeError, "`seed` is 0.5"),
]


@pytest.mark.parametrize(("agent", "options", "error", "message"), BAD_REPLAYS)
def test_bad_replays(agent: Any, options: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        banister.offline.replay(make(columns(100)), agent(), progress=False, **options)
    assert message in str(caught.value)


def test_an_agent_without_arms_needs_features(data: dict[str, Any]) -> None:
    log = make(data, features=None)
    agent = banister.Oplb(parameter_norm=1, safe_action=[1.0, 0.0])
    with pytest.raises(ValueError, match="`log` has no features"):
        agent.warm_start(log)
    with pytest.raises(ValueError, match="`log` has no features"):
        banister.offline.evaluate(log, agent)
    # Arms that stay the same need none.
    assert banister.Oplb(3).warm_start(log) == len(log)


def test_a_safe_action_that_was_not_offered(data: dict[str, Any]) -> None:
    log = make(data)
    agent = banister.Oplb(
        parameter_norm=1,
        safe_action=[1.0, 0.0, 0.0],
        guardrails=[{"name": "spend", "at_most": 0.4, "safe_cost": 0.1}],
    )
    with pytest.raises(ValueError, match="`policy` plays its safe action with probability"):
        banister.offline.evaluate(log, agent)
    assert banister.offline.replay(log, agent, progress=False).outside > 0


def test_names_and_numbers_do_not_mix(data: dict[str, Any]) -> None:
    named = make({**data, "action": np.array(ARMS)[data["action"]]}, arms=ARMS)
    with pytest.raises(ValueError, match=r"`log` has arms with names .* `arms=list\(log.arms\)`"):
        banister.offline.replay(named, banister.Opb(3), progress=False)
    with pytest.raises(ValueError, match="`log` has the arm 'wild': the arms of `agent` are"):
        banister.Opb(["control", "bold"]).warm_start(named)


# Warm start


def test_warm_start_is_observe_batch(log: banister.offline.Log, data: dict[str, Any]) -> None:
    warm, fed = guarded(), guarded()
    assert banister.offline.warm_start(warm, log) == len(log) == warm.outcomes
    fed.observe_batch(data["action"], data["reward"], data["spend"])
    assert warm.estimates()["spend_upper"].tolist() == fed.estimates()["spend_upper"].tolist()
    assert warm.decide().policy == fed.decide().policy


def test_warm_start_of_a_linear_agent_is_observe_batch() -> None:
    log, offered = linear()
    warm, fed = (banister.Oplb(parameter_norm=1, safe_action=[1.0, 0.0], guardrails=[SPEND], seed=1) for _ in range(2))
    assert warm.warm_start(log) == len(log)
    played = offered[np.arange(len(log)), log.indices]
    fed.observe_batch(features=played, rewards=log.rewards, costs=log.costs)
    actions = offered[0]
    np.testing.assert_allclose(warm.decide(actions).probabilities, fed.decide(actions).probabilities, atol=1e-9)


def test_a_refused_warm_start_teaches_nothing(data: dict[str, Any]) -> None:
    agent = guarded()
    with pytest.raises(ValueError, match=r"`cost\[7\]\[0\] \(spend\)` is 3: must lie in"):
        agent.warm_start(make(broken(data, "spend", 3.0)))
    assert agent.outcomes == 0
    # This one is refused half-way.
    short = guarded(intervals="paper", horizon=100)
    before = short.to_json()
    with pytest.raises(ValueError, match="the horizon of 100 outcomes is used up"):
        short.warm_start(make(data))
    assert short.to_json() == before
    assert short.outcomes == 0
