"""Agents: what they decide, learn, keep and refuse to lose."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import banister
from banister._agent import CLASSES

SPEND = banister.Guardrail("spend", at_most=0.5, safe_cost=0.1)
MEANS = np.array([[0.2, 0.5, 0.9, 0.7], [0.1, 0.3, 0.9, 0.4]])


def arms_agent(seed: int = 7, **more: Any) -> banister.Opb:
    return banister.Opb(["a", "b", "c", "d"], guardrails=[SPEND], seed=seed, **more)


def linear_agent(seed: int = 7, **more: Any) -> banister.Oplb:
    return banister.Oplb(parameter_norm=1, safe_action=[1.0, 0.0, 0.0], guardrails=[SPEND], seed=seed, **more)


def play(agent: banister.Agent, rounds: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    actions = []
    for _ in range(rounds):
        decision = agent.decide()
        reward, cost = (rng.random(2) < MEANS[:, decision.index]).astype(float)
        agent.observe(decision, reward, cost)
        actions.append(decision.action)
    return actions


def learned(agent: banister.Agent) -> Any:
    """The state of an agent but for its identity."""
    return json.loads(agent.save())["agent"]


def plain(decision: banister.Decision) -> dict[str, Any]:
    """A decision but for who made it, and when."""
    return {key: value for key, value in decision.to_dict().items() if key not in ("agent_id", "serial")}


def draw_actions(rng: np.random.Generator, count: int = 5) -> np.ndarray[Any, Any]:
    x = rng.standard_normal((count, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    actions: np.ndarray[Any, Any] = np.hstack([np.ones((count, 1)), x]) / np.sqrt(2)
    return actions


def made(kind: str, arms: int = 3, **more: Any) -> banister.Agent:
    """An agent of any kind, with what it cannot do without."""
    schema = {one["properties"]["kind"]["const"]: one for one in banister._native.agent_schema()["oneOf"]}
    needs = schema[kind]["traits"]
    if needs["needs_horizon"]:
        more["horizon"] = 1000
    if needs["needs_origin"]:
        return CLASSES[kind](**ORIGIN, **more)
    return CLASSES[kind](arms, guardrails=[SPEND], **more)


def decided(agent: banister.Agent) -> banister.Decision:
    """A decision of an agent of any kind."""
    return agent.decide(segment="de") if isinstance(agent, banister.Segmented) else agent.decide()


def test_every_registered_kind_has_a_class() -> None:
    kinds = {variant["properties"]["kind"]["const"] for variant in banister._native.agent_schema()["oneOf"]}
    assert set(CLASSES) == kinds
    for kind, cls in CLASSES.items():
        module = banister if kind in ("opb", "oplb", "segmented") else banister.rivals
        assert getattr(module, cls.__name__) is cls
        assert cls.__name__ in module.__all__
        agent = made(kind, seed=1)
        assert isinstance(agent, cls)
        assert agent.config["kind"] == kind
        assert decided(agent).probabilities.sum() == pytest.approx(1)
    assert banister.agents() == CLASSES


def test_the_numbers_in_force_show() -> None:
    config = banister.Oplb(4, solver="exact").config
    assert (config["parameter_norm"], config["lambda"]) == (2.0, 1.0)
    config = linear_agent(norm=2).config
    assert (config["parameter_norm"], config["lambda"]) == (1, 0.2)


def test_every_kind_says_what_it_promises() -> None:
    promises = dict(banister._native.guarantees())
    assert next(iter(promises)) == banister.Opb.guarantee == "every_round"
    for cls in CLASSES.values():
        assert cls.guarantee in promises
        assert promises[cls.guarantee] in (cls.__doc__ or "")
        assert f'"{cls.guarantee}"' in (cls.__doc__ or "")
        # Who takes features takes other actions in every round.
        assert ("safe_action" in str(inspect.signature(cls))) == cls.takes_features
    assert banister.Oplb.takes_features and not banister.Opb.takes_features


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_equal_seeds_give_equal_agents_also_after_a_save(kind: str) -> None:
    """Also kinds that sample to decide."""
    one, two = made(kind, seed=5), made(kind, seed=5)
    for i in range(60):
        first, second = decided(one), decided(two)
        assert repr(first) == repr(second)
        outcome = (i % 3 / 2, 0.1)
        one.observe(first, *outcome)
        two.observe(second, *outcome)
        if i % 20 == 10:
            one.save()  # Saving drops what only helps the next decision.
            two = type(two).load(two.save())


THOMPSON = pytest.mark.skipif("thompson" not in CLASSES, reason="no agent that samples to decide yet")


@THOMPSON
def test_agents_that_sample_are_seeded() -> None:
    def decisions(seed: int) -> list[int]:
        agent = made("thompson", seed=seed, arms=6)
        played = []
        for i in range(40):
            decision = agent.decide()
            agent.observe(decision, i % 2, 0.1)
            played.append(decision.index)
        return played

    assert decisions(1) == decisions(1)
    assert len({tuple(decisions(seed)) for seed in range(8)}) > 1
    # Forgetting is not repeating.
    agent = made("thompson", seed=1, arms=6)
    firsts = set()
    for _ in range(20):
        firsts.add(tuple(agent.decide().index for _ in range(6)))
        agent.reset()
    assert len(firsts) > 1


@THOMPSON
def test_what_a_sampling_agent_draws_is_no_echo_of_its_actions() -> None:
    """The stream of the agent is not that of the draws from policies."""
    agent = made("thompson", seed=3)
    before = json.loads(agent.save())["position"]
    for _ in range(10):
        agent.decide()
    # A policy on one arm needs no random number, so only the agent's own stream went on.
    assert json.loads(agent.save())["position"] == before


def test_resets_are_saved() -> None:
    agent = arms_agent()
    fresh = json.loads(agent.save())
    assert "resets" not in fresh, "as older versions read it"
    agent.reset()
    agent.reset()
    again = banister.load(agent.save())
    assert [json.loads(one.save())["interface"]["resets"] for one in (again, agent)] == [2, 2]
    assert again.decide().policy == agent.decide().policy


ORIGIN: dict[str, Any] = {
    "parameter_norm": 1.0,
    "features": [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
    "safe": 0,
    "guardrails": [banister.Guardrail("cost", at_most=0.5, safe_cost=0.0, range=(-1.0, 1.0))],
    "reward": {"range": [-1.0, 1.0]},
}


def test_whole_actions_have_scale_one() -> None:
    decision = arms_agent().decide()
    assert decision.scale == 1.0
    assert "scale" not in repr(decision)
    assert decision.to_dict()["scale"] == 1.0
    assert arms_agent().decide_batch(3).scale.tolist() == [1.0] * 3


@pytest.mark.skipif("roful" not in CLASSES, reason="no agent that plays parts of actions yet")
def test_parts_of_actions_are_learned_by_their_features() -> None:
    def roful() -> Any:
        return CLASSES["roful"](**ORIGIN, seed=2)

    def believed(agent: Any) -> Any:
        table = agent.estimates()
        columns = [table[f"{signal}_{end}"] for signal in ("reward", "cost") for end in ("mean", "lower", "upper")]
        return np.array(columns)

    by_decision, by_features = roful(), roful()
    by_batch = copy.copy(by_decision)
    decisions, outcomes, played = [], [], []
    for i in range(50):
        decision = by_decision.decide()
        assert 0 <= decision.scale <= 1
        outcome = (0.5 - i % 3 / 4, 0.2 * decision.scale)
        by_decision.observe(decision, *outcome)
        decisions.append(decision)
        outcomes.append(outcome)
        played.append(decision.scale * decision.features)
    parts = [decision for decision in decisions if decision.scale != 1]
    assert parts, "at first nobody knows how far is safe"
    assert f"scale={parts[0].scale:.6f}" in repr(parts[0])
    assert parts[0].to_dict()["scale"] == parts[0].scale
    rewards, costs = (list(column) for column in zip(*outcomes, strict=True))
    by_features.observe_batch(features=np.array(played), rewards=rewards, costs=costs)
    by_batch.observe_batch(decisions, rewards, costs)
    assert (believed(by_features) == believed(by_batch)).all()
    # Alone or together, the sums are rounded differently.
    assert np.allclose(believed(by_decision), believed(by_features), rtol=1e-12, atol=1e-12)
    # Taken as whole actions the same outcomes teach something else.
    by_number = roful()
    by_number.observe_batch([decision.index for decision in decisions], rewards, costs)
    assert not np.allclose(believed(by_number), believed(by_decision))
    first = roful()
    batch = first.decide_batch(4)
    assert batch.scale.tolist() == [decision.scale for decision in batch]
    second = copy.copy(first)
    first.observe_batch(batch, rewards[:4], costs[:4])
    for decision, reward, cost in zip(batch, rewards, costs, strict=False):
        second.observe(decision, reward, cost)
    assert np.allclose(believed(first), believed(second), rtol=1e-12, atol=1e-12)


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
    agents[2].observe(np.int64(decision.index), np.float64(1), np.zeros(1))
    agents[3].observe(decision.index, 1, {"spend": 0})
    states = [json.loads(agent.save())["agent"] for agent in agents]
    assert all(state["arms"] == states[0]["arms"] for state in states)


def test_names_may_be_integers() -> None:
    by_arm = {10: (0, 1), 20: (0, 0.5), 30: (0, 1)}
    spend = banister.Guardrail("spend", at_most=0.5, safe_cost=0.1, range=by_arm)
    agent = banister.Opb(np.array([10, 20, 30]), safe=np.int64(20), guardrails=spend, seed=1)
    assert (agent.arms, agent.safe) == ([10, 20, 30], 20)
    decision = agent.decide()
    assert decision.action == 20 and type(decision.action) is int and decision.index == 1
    agent.observe(np.int32(30), 1.0, 0.2)
    agent.observe_batch(np.array([10, 20]), [0.0, 1.0], [0.1, 0.2])
    agent.partial_fit(pd.Series([10, 30]), [0.0, 1.0], {"spend": [0.1, 0.2]})
    assert agent.predict_expectations() == {10: 0.0, 20: 1.0, 30: 1.0}
    agent.fit([10, 20, 30, 30], [0.0, 1.0, 1.0, 0.0], {"spend": [0.1] * 4})
    log = banister.offline.Log.from_frame(
        {"action": [30, 20], "reward": [1.0, 1.0], "spend": [0.1, 0.1]}, pscore=None, costs="spend", arms=[30, 20]
    )
    assert agent.warm_start(log).outcomes == 2
    assert agent.add_arm(40, ranges={"spend": [0, 1]}) == 3
    agent.retire_arm(40)
    again = pickle.loads(pickle.dumps(agent))
    assert again.arms == [10, 20, 30, 40] and again.decide().action in again.arms
    assert agent.estimates()["pulls"].tolist() == [1, 2, 3, 0]
    assert pickle.loads(pickle.dumps(decision)).action == 20


@pytest.mark.parametrize(
    ("arms", "error"),
    [
        ([1, "a"], r"`arms\[1\]` is 'a' \(str\): must be an integer, as other arms are"),
        (["a", 1], r"`arms\[1\]` is 1 \(int\): must be a string, or all arms integers"),
        ([True, False], r"`arms\[0\]` is True \(bool\)"),
        ([1.5], r"`arms\[0\]` is 1.5 \(float\)"),
        ([1, 1], "every arm needs a name of its own"),
    ],
)
def test_names_of_arms_are_all_strings_or_all_integers(arms: Any, error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        banister.Opb(arms)


def test_an_integer_is_a_name_where_names_are_integers() -> None:
    agent = banister.Opb([1, 2])
    with pytest.raises(ValueError, match="no arm is called `0`; the arms are 1, 2"):
        agent.observe(0, 1.0)
    with pytest.raises(ValueError, match="no arm is called `0`"):
        agent.fit(np.array([0, 1]), [1.0, 1.0])
    with pytest.raises(TypeError, match="`action` is True"):
        agent.observe(True, 1.0)


def test_rewards_outside_the_range_say_what_to_declare() -> None:
    decisions, rewards = ["Arm1", "Arm1", "Arm2", "Arm1"], [20, 17, 25, 9]
    names = ["Arm1", "Arm2"]
    told = r"reward of Arm1 was 20, outside its declared range \[0, 1\], .* such as \[0, 20\]"
    with pytest.raises(ValueError, match=told):
        banister.Opb(names).fit(decisions, rewards)
    agent = banister.Opb(names, guardrails={"name": "spend", "at_most": 0.5}, reward=banister.Reward(range=(0, 30)))
    with pytest.raises(ValueError, match="spend of Arm2 was 7, outside its declared range"):
        agent.fit(decisions, rewards, [0, 0, 7, 1])
    assert agent.outcomes == 0 and agent.alarms == []
    # What happens later is learned as the end of its range, and somebody is told.
    agent.observe(agent.decide(), 40, 0)
    assert [(one.kind, one.guardrail, one.forces_safe) for one in agent.alarms] == [("reward_range", None, False)]
    agent.observe("Arm2", 4, 1.5)
    alarm = agent.alarms[-1]
    assert (alarm.kind, alarm.guardrail, alarm.arm, alarm.mean) == ("range", "spend", "Arm2", 1.5)
    assert alarm.forces_safe and agent.decide().certificate.fallback == "alarm"
    assert agent.fit(decisions, rewards, [0, 0, 1, 1]).outcomes == 4


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
        assert learned(agent) == learned(single)
        assert agent.outcomes == 50
    agent = arms_agent()
    decisions = agent.decide_batch(50)
    assert decisions.actions == [decision.action for decision in decisions]
    again = copy.copy(agent)
    agent.observe_batch(decisions, rewards, costs)
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
        assert plain(alone) == plain(decision)
        np.testing.assert_array_equal(alone.features, decision.features)
    assert batch.probabilities.shape == (30, 6)
    rewards, costs = rng.random((2, 30))
    many.observe_batch(batch, rewards, costs[:, None])
    played = np.stack([decision.features for decision in batch if decision.features is not None])
    one.observe_batch(features=played, rewards=rewards, costs=costs[:, None])
    assert learned(one)["learner"] == learned(many)["learner"]


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
    assert learned(late)["learner"] == learned(exact)["learner"]


def test_the_actions_offered_last_survive_a_copy() -> None:
    agent = linear_agent()
    agent.decide(draw_actions(np.random.default_rng(5)))
    for again in (copy.copy(agent), pickle.loads(pickle.dumps(agent))):
        assert plain(again.decide()) == plain(agent.decide())
        again.observe(5, 0.5, 0.1)
        with pytest.raises(ValueError, match="there is no arm 6: arms are numbered 0 to 5"):
            again.observe(6, 0.5, 0.1)


def test_actions_are_taken_from_any_array() -> None:
    x = draw_actions(np.random.default_rng(4), 6)
    expected = plain(linear_agent().decide(x))
    wide = np.zeros((6, 6))
    wide[:, ::2] = x
    for same in (x.tolist(), np.asfortranarray(x), wide[:, ::2], x.astype(object)):
        assert plain(linear_agent().decide(same)) == expected
    single = x.astype(np.float32)
    assert plain(linear_agent().decide(single)) == plain(linear_agent().decide(single.astype(float)))


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
    agent = arms_agent()
    assert agent.add_arm("e") == 4
    agent.observe("e", 1.0, 0.0)
    agent.retire_arm("b")
    assert "b" not in agent.decide_batch(500).actions
    agent.observe("b", 1.0, 0.0)
    assert agent.arms == ["a", "b", "c", "d", "e"]
    table = agent.estimates()
    assert table["offered"].tolist() == [True, False, True, True, True]
    # Arms come without limit.
    many = arms_agent()
    assert [many.add_arm(f"more {i}") for i in range(20)] == list(range(4, 24))
    paper = arms_agent(intervals="paper", horizon=100)
    with pytest.raises(ValueError, match="paper"):
        paper.add_arm("f")
    linear = banister.Oplb(["x", "y"], features=[[1.0, 0.0], [0.6, 0.8]], parameter_norm=1, guardrails=[SPEND])
    assert linear.add_arm("z", [0.0, 1.0]) == 2
    linear.retire_arm("y")
    assert linear.arms == ["x", "y", "z"]
    assert linear.estimates()["offered"].tolist() == [True, False, True]


def test_ranges_by_arm() -> None:
    dollars = {"name": "dollars", "at_most": 0.5}
    for own in ({"cheap": [0, 0.1], "dear": [0, 2]}, [[0, 0.1], [0, 2]], np.array([[0.0, 0.1], [0.0, 2.0]])):
        agent = banister.Opb(["cheap", "dear"], guardrails=[{**dollars, "range": own}])
        # No call of the cheap arm, the safe one, costs more than 0.1: its margin is proven from the start.
        assert agent.decide().certificate.fallback is None
        beyond = copy.copy(agent)
        beyond.observe("cheap", 1.0, 0.2)
        assert [one.arm for one in beyond.alarms] == ["cheap"]
        agent.observe("dear", 1.0, 0.2)
        assert agent.alarms == []
        with pytest.raises(ValueError, match="ranges.dollars"):
            agent.add_arm("new")
        with pytest.raises(ValueError, match="ranges.spend"):
            agent.add_arm("new", ranges={"dollars": [0, 8], "spend": [0, 1]})
        assert agent.add_arm("new", ranges={"dollars": np.array([0, 8])}) == 2
        agent.observe("new", 1.0, 7.5)
        copy.copy(agent).observe("new", 0.0, 7.5)
    with pytest.raises(ValueError, match=r"guardrails\[0\].range.dear"):
        banister.Opb(["cheap", "dear"], guardrails=[{**dollars, "range": {"cheap": [0, 1]}}])
    with pytest.raises(ValueError, match="hold for all arms"):
        arms_agent().add_arm("new", ranges={"spend": [0, 1]})


def test_caps() -> None:
    capped = banister.Opb(2, guardrails=[banister.Guardrail("spend", at_most=2, safe_cost=0.5, cap=5)], seed=1)
    plain = banister.Opb(2, guardrails=[banister.Guardrail("spend", at_most=2, safe_cost=0.5, range=(0, 5))], seed=1)
    for cost in (0.5, 3.0, 80.0, 1e9):
        capped.observe(1, 1.0, cost)
        plain.observe(1, 1.0, min(cost, 5.0))
    for end in ("mean", "lower", "upper"):
        assert capped.estimates()[f"spend_{end}"].tolist() == plain.estimates()[f"spend_{end}"].tolist()
    (entry,) = capped.decide().certificate.guardrails
    assert entry.capped and entry.to_dict()["capped"]
    assert not plain.decide().certificate.guardrails[0].capped
    assert any("capped at 5" in text for text, _ in capped.assumptions)
    assert capped.alarms == []
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError):
            capped.observe(1, 1.0, bad)
    with pytest.raises((TypeError, ValueError), match="voids the certificate"):
        banister.Opb(2, guardrails=[{"name": "spend", "at_most": 2, "sub_gaussian": True}])


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
        except BaseException as error:
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


def test_what_arms_are_worth_and_play_that_settles() -> None:
    agent = banister.Opb([10, 20, 30], guardrails=[SPEND], seed=1)
    assert agent.worth_left() is not None and not agent.is_settled
    rng = np.random.default_rng(1)
    for _ in range(1500):
        decision = agent.decide()
        reward, cost = MEANS[:, decision.action // 10 - 1]
        agent.observe(decision, float(rng.random() < reward), float(rng.random() < cost))
    table = pd.DataFrame(agent.lift())
    assert table[["arm", "signal"]].to_numpy().tolist() == [[arm, s] for arm in (20, 30) for s in ("reward", "spend")]
    assert (table["difference_lower"] < table["difference"]).all()
    assert (table["difference"] < table["difference_upper"]).all()
    assert table["form"].unique().tolist() == ["constant"] and table["confidence"].unique().tolist() == [0.99]
    np.testing.assert_allclose(table["difference"], table["mean"] - table["safe_mean"])
    ends = [name + end for name in ("difference", "percent") for end in ("", "_lower", "_upper")]
    counts = ["outcomes", "safe_outcomes"]
    assert list(table) == ["arm", "signal", "mean", "safe_mean", *ends, *counts, "form", "confidence"]
    assert (table.dtypes[counts] == np.uint64).all() and (table.dtypes[[*ends, "mean"]] == np.float64).all()
    left = agent.worth_left()
    assert left is not None and left["per_decision"] == pytest.approx(left["at_most"] - left["guaranteed"])
    agent.settle()
    assert agent.is_settled and agent.decide().policy == left["policy"]
    assert banister.load(agent.save()).is_settled
    agent.settle(False)
    assert not agent.is_settled
    assert list(linear_agent().lift()) == list(table)
    assert linear_agent().lift()["arm"] == [] and linear_agent().worth_left() is None
    with pytest.raises(ValueError, match="`opb` can"):
        linear_agent().settle()
