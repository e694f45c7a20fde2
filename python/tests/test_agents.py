"""Agents: what they decide, learn, keep and refuse to lose."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import banister
import numpy as np
import pytest
from banister._agent import CLASSES

SPEND = banister.Guardrail("spend", at_most=0.5, safe_cost=0.1)
MEANS = np.array([[0.2, 0.5, 0.9, 0.7], [0.1, 0.3, 0.9, 0.4]])


def arms_agent(seed: int = 7, **more: Any) -> banister.Opb:
    return banister.Opb(["a", "b", "c", "d"], guardrails=[SPEND], seed=seed, **more)


def linear_agent(seed: int = 7, **more: Any) -> banister.Oplb:
    return banister.Oplb(safe_action=[1.0, 0.0, 0.0], guardrails=[SPEND], seed=seed, **more)


def play(agent: banister.Agent, rounds: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    actions = []
    for _ in range(rounds):
        decision = agent.decide()
        reward, cost = (rng.random(2) < MEANS[:, decision.index]).astype(float)
        agent.observe(decision, reward, cost)
        actions.append(decision.action)
    return actions


def draw_actions(rng: np.random.Generator, count: int = 5) -> np.ndarray[Any, Any]:
    x = rng.standard_normal((count, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    actions: np.ndarray[Any, Any] = np.hstack([np.ones((count, 1)), x]) / np.sqrt(2)
    return actions


def test_every_registered_kind_has_a_class() -> None:
    kinds = {
        variant["properties"]["kind"]["const"] for variant in banister._native.agent_schema()["oneOf"]
    }
    assert set(CLASSES) == kinds
    for kind, cls in CLASSES.items():
        assert getattr(banister, cls.__name__) is cls
        assert cls.__name__ in banister.__all__
        agent = cls(2, guardrails=[SPEND], seed=1)
        assert agent.config["kind"] == kind
        assert agent.decide().probabilities.sum() == pytest.approx(1)


def test_a_policy_is_a_distribution_within_its_guardrails() -> None:
    agent = arms_agent()
    for _ in range(300):
        play(agent, 5, seed=agent.outcomes)
        decision = agent.decide()
        assert decision.probabilities.shape == (4,)
        assert decision.probabilities.min() >= 0
        assert decision.probabilities.sum() == pytest.approx(1, abs=1e-12)
        assert sum(decision.policy.values()) == pytest.approx(1, abs=1e-12)
        assert 1 <= len(decision.policy) <= 2
        assert decision.policy[decision.action] == decision.probability
        certificate = decision.certificate
        entry = certificate["spend"]
        assert entry.threshold == 0.5
        assert entry.slack >= 0
        assert entry.pessimistic_cost + entry.slack == pytest.approx(0.5)
        assert entry.price >= 0
        assert certificate.gap >= 0
        assert certificate.outcomes == agent.outcomes
        assert certificate.optimistic_reward >= certificate.value - 1e-9
    assert agent.decide().probabilities[3] > 0.5, "the best safe arm is found"


def test_decisions_are_plain_values_for_logs() -> None:
    decision = arms_agent().decide()
    text = json.loads(json.dumps(decision.to_dict()))
    assert text["action"] == decision.action
    assert text["certificate"]["guardrails"][0]["name"] == "spend"
    assert repr(decision).startswith("Decision(action=")
    assert "spend" in repr(decision.certificate)
    assert "outcomes=0" in repr(arms_agent())


def test_the_same_seed_gives_the_same_decisions() -> None:
    assert play(arms_agent(3), 400) == play(arms_agent(3), 400)
    assert play(arms_agent(3), 400) != play(arms_agent(4), 400)
    first = arms_agent(seed=np.random.default_rng(5))  # type: ignore[arg-type]
    second = arms_agent(seed=np.random.default_rng(5))  # type: ignore[arg-type]
    assert play(first, 200) == play(second, 200)


def test_draws_follow_the_policy_with_any_generator() -> None:
    agent = arms_agent()
    play(agent, 100)
    policy = agent.decide().probabilities
    rng = np.random.default_rng(1)
    size = 20_000
    for indices in (
        agent.decide_batch(size).indices,
        agent.decide_batch(size, rng=rng).indices,
        np.array([agent.decide(rng=rng).index for _ in range(size)]),
    ):
        seen = np.bincount(indices, minlength=4) / size
        assert np.abs(seen - policy).max() < 4 * np.sqrt(0.25 / size)


def test_names_numbers_and_decisions_are_the_same_arm() -> None:
    agents = [arms_agent() for _ in range(4)]
    decision = agents[0].decide()
    agents[0].observe(decision, 1.0, 0.0)
    agents[1].observe(decision.action, 1.0, [0.0])
    agents[2].observe(np.int64(decision.index), np.float64(1), np.zeros(1))  # type: ignore[arg-type]
    agents[3].observe(decision.index, 1, {"spend": 0})
    states = [json.loads(agent.save())["agent"] for agent in agents]
    assert all(state["arms"] == states[0]["arms"] for state in states)


def test_batches_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(0)
    indices = rng.integers(4, size=50)
    rewards, costs = rng.random((2, 50))
    single = arms_agent()
    for index, reward, cost in zip(indices, rewards, costs, strict=True):
        single.observe(int(index), reward, cost)
    named = [single.arms[index] for index in indices]
    for batch in (indices, indices.astype(np.int32), indices.tolist(), named):
        agent = arms_agent()
        agent.observe_batch(batch, rewards, costs[:, None])
        assert agent.save() == single.save()
        assert agent.outcomes == 50
    agent = arms_agent()
    decisions = agent.decide_batch(50)
    assert decisions.actions == [decision.action for decision in decisions]
    agent.observe_batch(decisions, rewards, costs)
    again = arms_agent()
    again.decide_batch(50)
    again.observe_batch(list(decisions), rewards, costs)
    assert agent.save() == again.save()


def test_a_refused_batch_changes_nothing() -> None:
    agent = arms_agent()
    play(agent, 10)
    before = agent.save()
    with pytest.raises(ValueError, match="spend"):
        agent.observe_batch([0, 1, 2], [1.0, 1.0, 1.0], [[0.0], [0.0], [np.nan]])
    with pytest.raises(ValueError, match="there is no arm 9"):
        agent.observe_batch([0, 9], [1.0, 1.0], [[0.0], [0.0]])
    assert agent.save() == before


def test_linear_batches_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(2)
    sets = np.stack([draw_actions(rng) for _ in range(30)])
    one, many = linear_agent(), linear_agent()
    batch = many.decide_batch(actions=sets)
    for x, decision in zip(sets, batch, strict=True):
        alone = one.decide(x)
        assert alone.to_dict() == decision.to_dict()
        np.testing.assert_array_equal(alone.features, decision.features)
    assert batch.probabilities.shape == (30, 6)
    rewards, costs = rng.random((2, 30))
    many.observe_batch(batch, rewards, costs[:, None])
    played = np.stack([decision.features for decision in batch if decision.features is not None])
    one.observe_batch(features=played, rewards=rewards, costs=costs[:, None])
    assert one.save() == many.save()


def test_late_outcomes_are_known_by_their_features() -> None:
    rng = np.random.default_rng(3)
    first, second = draw_actions(rng), draw_actions(rng)
    late, exact = linear_agent(), linear_agent()
    early = late.decide(first)
    late.decide(second)
    late.observe(early, 0.7, 0.2)
    assert early.features is not None
    exact.decide(second)
    exact.observe_batch(features=early.features[None], rewards=[0.7], costs=[[0.2]])
    assert json.loads(late.save())["agent"]["regression"] == json.loads(exact.save())["agent"]["regression"]


def test_actions_are_taken_from_any_array() -> None:
    x = draw_actions(np.random.default_rng(4), 6)
    expected = linear_agent().decide(x).to_dict()
    wide = np.zeros((6, 6))
    wide[:, ::2] = x
    for same in (x.tolist(), np.asfortranarray(x), wide[:, ::2], x.astype(object)):
        assert linear_agent().decide(same).to_dict() == expected
    single = x.astype(np.float32)
    assert linear_agent().decide(single).to_dict() == linear_agent().decide(single.astype(float)).to_dict()


def test_snapshots_go_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    agent = arms_agent()
    play(agent, 200)
    path = tmp_path / "agent.json"
    agent.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["agent.json"]
    twins = [
        banister.load(path),
        banister.load(agent.save()),
        banister.Opb.load(path),
        banister.Agent.load(path),
        pickle.loads(pickle.dumps(agent)),
        copy.copy(agent),
        copy.deepcopy(agent),
    ]
    expected = play(agent, 300, seed=9)
    for twin in twins:
        assert type(twin) is banister.Opb
        assert play(twin, 300, seed=9) == expected
        assert twin.save() == agent.save()


def test_subclasses_survive_pickling() -> None:
    agent = Annotated(3, guardrails=[SPEND], seed=1)
    agent.note = "kept"
    for twin in (pickle.loads(pickle.dumps(agent)), copy.copy(agent)):
        assert type(twin) is Annotated
        assert twin.note == "kept"


class Annotated(banister.Opb):
    note: str


def test_arms_come_and_go() -> None:
    agent = arms_agent(max_arms=5)
    assert agent.add_arm("e") == 4
    agent.observe("e", 1.0, 0.0)
    agent.retire_arm("b")
    assert "b" not in agent.decide_batch(500).actions
    agent.observe("b", 1.0, 0.0)
    assert agent.arms == ["a", "b", "c", "d", "e"]
    table = agent.estimates()
    assert table["offered"].tolist() == [True, False, True, True, True]
    with pytest.raises(ValueError, match="max_arms"):
        agent.add_arm("f")
    linear = banister.Oplb(["x", "y"], features=[[1.0, 0.0], [0.6, 0.8]], guardrails=[SPEND])
    assert linear.add_arm("z", [0.0, 1.0]) == 2
    linear.retire_arm("y")
    assert linear.arms == ["x", "z"]


def test_estimates_hold_what_was_seen() -> None:
    agent = arms_agent()
    agent.observe_batch(["b", "b", "d"], [1.0, 0.0, 1.0], [[0.5], [0.25], [0.0]])
    table = agent.estimates()
    assert table["arm"] == ["a", "b", "c", "d"]
    assert table["pulls"].tolist() == [0, 2, 0, 1]
    assert table["reward_mean"][1] == 0.5
    assert table["spend_mean"][1] == pytest.approx(0.375)
    assert np.isnan(table["reward_mean"][0])
    for signal in ("reward", "spend"):
        assert (table[f"{signal}_lower"] <= table[f"{signal}_upper"]).all()


def test_the_manners_of_mabwiser() -> None:
    agent = arms_agent()
    decisions, rewards, costs = ["a", "b", "b"], [1.0, 0.0, 1.0], [[0.1], [0.2], [0.3]]
    assert agent.fit(decisions, rewards, costs) is agent
    assert agent.outcomes == 3
    agent.partial_fit(["c"], [0.5], [[0.4]])
    assert agent.predict() in agent.arms
    expectations = agent.predict_expectations()
    assert expectations["b"] == 0.5
    agent.fit(decisions, rewards, costs)
    assert agent.outcomes == 3, "fit forgets"
    with pytest.raises(ValueError, match="actions"):
        agent.fit(["a"], [1.0, 2.0], [[0.0], [0.0]])
    assert agent.outcomes == 3, "a refused fit forgets nothing"
    linear = linear_agent()
    x = draw_actions(np.random.default_rng(0))
    assert linear.predict(x) in range(6)
    assert len(linear.predict(np.stack([x, x]))) == 2


def test_agents_are_used_from_several_threads() -> None:
    agent = arms_agent()
    linear = linear_agent()
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(300):
                agent.observe(agent.decide(), float(rng.random()), float(rng.random()))
                decision = linear.decide(draw_actions(rng))
                linear.observe(decision, float(rng.random()), float(rng.random()))
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert agent.outcomes == linear.outcomes == 1800
    assert agent.estimates()["pulls"].sum() == 1800


def test_long_calls_let_other_threads_run() -> None:
    """While one thread is in a long native call, another one gets to count."""
    agent = arms_agent()
    count, running = 0, threading.Event()

    def long() -> None:
        running.set()
        agent.decide_batch(3_000_000)
        running.clear()

    thread = threading.Thread(target=long)
    thread.start()
    running.wait()
    while running.is_set():
        count += 1
    thread.join()
    assert count > 1000
