"""Linear agents with named arms that share a context."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import banister

SPEND = banister.Guardrail("spend", at_most=0.5, safe_cost=0.1)


def agent(arms: Any = ("a", "b", "c"), **more: Any) -> banister.Oplb:
    given = {"context": 2, "safe": arms[1], **more}
    return banister.Oplb(arms, parameter_norm=1.0, guardrails=SPEND, seed=7, **given)


def rounds(n: int) -> tuple[list[str], np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(1)
    contexts = np.column_stack([rng.random(n), np.ones(n)]) / 2
    arms = rng.integers(3, size=n)
    # Arm a is better where the first number is large, arm c where it is small.
    means = np.stack([contexts[:, 0], np.full(n, 0.2), 0.5 - contexts[:, 0]])[arms, np.arange(n)]
    rewards = (rng.random(n) < means).astype(float)
    return [("a", "b", "c")[arm] for arm in arms], rewards, (rng.random(n) < 0.1).astype(float), contexts


def test_the_features_are_those_of_the_service() -> None:
    learner = agent()
    assert (learner.arms, learner.safe, learner.context) == (["a", "b", "c"], "b", 2)
    assert learner.problem["context"] == 2 and learner.problem["arms"] == ["a", "b", "c"]
    learner.fit(*rounds(4000))
    seen = {}
    for first in (0.0, 0.5) * 50:
        decision = learner.decide(context=[first, 0.5])
        assert decision.features is not None
        seen[first, decision.action] = decision.features.tolist()
    assert seen[0.0, "c"] == [0.0, 0.0, 0.0, 0.0, 0.5]
    assert seen[0.5, "a"] == [0.0, 0.5, 0.5, 0.0, 0.0]
    assert all(x == [1.0, 0.0, 0.0, 0.0, 0.0] for (_, action), x in seen.items() if action == "b")


def test_all_ways_to_learn_are_the_same() -> None:
    names, rewards, costs, contexts = rounds(300)
    one_by_one = agent()
    for name, reward, cost, context in zip(names, rewards, costs, contexts, strict=True):
        one_by_one.observe(name, reward, cost, context=context)
    log = banister.offline.Log.from_frame(
        {"action": names, "reward": rewards, "spend": costs, "x": contexts[:, 0], "one": contexts[:, 1]},
        costs=["spend"],
        features=["x", "one"],
        arms=["c", "a", "b"],
        pscore=None,
    )
    warm = agent()
    assert warm.warm_start(log) == 300
    fitted = agent().fit(names, rewards, {"spend": costs}, contexts)
    batched = agent().partial_fit([("a", "b", "c").index(name) for name in names], rewards, costs, contexts)
    expected = one_by_one.decide(context=[0.4, 0.5]).probabilities
    for other in (warm, fitted, batched, copy.copy(fitted), pickle.loads(pickle.dumps(batched))):
        assert other.outcomes == 300
        np.testing.assert_allclose(other.decide(context=[0.4, 0.5]).probabilities, expected, atol=1e-6)


def test_decisions_learn_late_and_in_batches() -> None:
    learner = agent()
    early = learner.decide(context=[0.1, 0.5])
    batch = learner.decide_batch(contexts=[[0.1, 0.5], [0.4, 0.5]])
    assert batch.probabilities.shape == (2, 3)
    learner.observe_batch(batch, [1.0, 0.0], [0.0, 0.0])
    learner.observe(early, 1.0, 0.0)
    assert learner.outcomes == 3
    assert learner.predict([0.1, 0.5]) in learner.arms
    assert len(learner.predict([[0.1, 0.5], [0.4, 0.5]])) == 2


def test_arms_retire_and_are_not_added() -> None:
    learner = agent([3, 4, 5])
    learner.retire_arm(3)
    decision = learner.decide(context=[0.1, 0.5])
    assert decision.probabilities[0] == 0 and learner.arms == [3, 4, 5]
    again = pickle.loads(pickle.dumps(learner))
    assert again.decide(context=[0.1, 0.5]).policy.keys() <= {4, 5}
    learner.observe(3, 1.0, 0.0, context=[0.1, 0.5])
    with pytest.raises(ValueError, match="the safe arm cannot be retired"):
        learner.retire_arm(4)
    with pytest.raises(ValueError, match="the arms are fixed"):
        learner.add_arm(6)


def test_policies_are_evaluated_and_replayed() -> None:
    names, rewards, costs, contexts = rounds(600)
    log = banister.offline.Log.from_frame(
        {"action": names, "reward": rewards, "spend": costs, "x": contexts[:, 0], "one": contexts[:, 1]}
        | {"pscore": np.full(600, 1 / 3)},
        costs=["spend"],
        features=["x", "one"],
        arms=["c", "a", "b"],
    )
    learner = agent()
    assert banister.offline.replay(log, learner, progress=False).accepted == learner.outcomes
    # Nothing is proven yet: it plays the safe arm, b, in every context.
    fresh = banister.offline.evaluate(log, agent())
    assert fresh.reward.estimate == banister.offline.evaluate(log, "b").reward.estimate
    with pytest.raises(ValueError, match="this agent has contexts of 2 numbers"):
        banister.offline.evaluate(
            banister.offline.Log.from_frame({"action": names, "reward": rewards}, pscore=None), learner
        )


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: a.decide(), "`context` is missing: this agent has contexts of 2 numbers"),
        (lambda a: a.decide(context=[1.0]), r"`context` has shape \(1,\), expected \(2,\)"),
        (lambda a: a.decide(context=[1.0, np.nan]), r"`context\[1\]` is NaN"),
        (lambda a: a.decide([[1.0]], context=[1.0, 1.0]), "`actions` is given: the arms of this agent have names"),
        (lambda a: a.observe("a", 1.0, 0.0), "`context` is missing"),
        (lambda a: a.predict_expectations(), "`contexts` is missing"),
        (lambda _: banister.Opb(2).predict_expectations([1.0]), "`contexts` is for agents made with `context=`"),
        (lambda a: a.observe(9, 1.0, 0.0, context=[0, 0]), "there is no arm 9"),
        (lambda a: a.observe("z", 1.0, 0.0, context=[0, 0]), "no arm is called `z`"),
        (lambda a: a.fit(["a"], [1.0], [0.0], [[1.0, 2.0], [1.0, 2.0]]), r"`contexts` has shape \(2, 2\)"),
        (lambda _: banister.agents()["opb"](["a"], context=2), "use `Oplb`"),
        (lambda _: banister.Opb(2).decide(context=[1.0]), "`context` is given: this agent has none"),
        (lambda _: agent(("a", "b"), context=10**9), "`context` is 1000000000: must be at least 1"),
    ],
)
def test_misuse_is_told(call: Any, error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        call(agent())


def test_expectations_are_those_of_the_contexts() -> None:
    own = agent()
    rows = np.random.default_rng(1).uniform(-1, 1, (400, 2))
    own.fit(["a"] * 400, (0.5 + 0.4 * rows[:, 0]).tolist(), np.zeros(400), rows)
    own.decide(context=[0.0, 0.0])
    low, high = own.predict_expectations([[-0.9, 0.0], [0.9, 0.0]])
    assert high["a"] > low["a"] + 0.3
    assert own.predict_expectations([0.9, 0.0]) == high
    assert own.estimates()["reward_mean"][0] != high["a"], "nothing of the agent changes"


def test_a_snapshot_whose_context_does_not_fit_is_refused() -> None:
    learner = agent()
    learner.decide(context=[0.1, 0.5])
    text = learner.save().replace("[0.1,0.5]", "[0.1]")
    with pytest.raises(ValueError, match="`round` does not suit its agent"):
        banister.load(text)


def test_contexts_longer_than_declared_are_refused_at_the_door() -> None:
    learner = agent(norm=1.0)
    long, short = [1.0, 1.0], [0.5, 0.5]
    with pytest.raises(ValueError, match=r"`context` is a vector of length 1.41.*longer than `norm` = 1"):
        learner.decide(context=long)
    with pytest.raises(ValueError, match="`context` is a vector of length 1.41"):
        learner.observe("a", 1.0, 0.1, context=long)
    with pytest.raises(ValueError, match=r"`contexts\[1\]` is a vector of length 1.41"):
        learner.observe_batch(["a", "b"], [1.0, 1.0], [0.1, 0.1], contexts=[short, long])
    with pytest.raises(ValueError, match=r"`contexts\[1\]` is a vector of length 1.41"):
        learner.decide_batch(contexts=[short, long])
    assert learner.outcomes == 0
    assert len(agent(norm=1.0, long_features="clip").decide_batch(contexts=[short, long])) == 2


def test_a_parameter_per_arm_lets_the_safe_arm_depend_on_the_context() -> None:
    sales = banister.Guardrail("sales", at_least=0.8, relative=True)

    def own(**more: Any) -> banister.Oplb:
        given = {"context": 2, "model": "per_arm", "links": {"sales": "logistic"}, **more}
        return banister.Oplb(["a", "b"], safe="b", parameter_norm=3.0, guardrails=sales, seed=7, **given)

    learner = own()
    rng = np.random.default_rng(2)
    contexts = np.column_stack([np.ones(3000), rng.random(3000)])
    arms = ["ab"[k] for k in rng.integers(2, size=3000)]
    # Control sells more in the evening; the other sells as much, and earns more.
    rate = 0.3 + 0.4 * contexts[:, 1]
    earned = (rng.random(3000) < np.where(np.array(arms) == "a", 0.8, 0.2)).astype(float)
    learner.fit(arms, earned, {"sales": (rng.random(3000) < rate).astype(float)}, contexts)
    decision = learner.decide(context=[1.0, 0.9])
    assert decision.probabilities[0] > 0
    assert decision.features is not None and decision.features.tolist() == [1.0, 0.9]
    assert pickle.loads(pickle.dumps(learner)).decide(context=[1.0, 0.9]).policy.keys() <= {"a", "b"}
    assert learner.add_arm("c") == 2 and learner.arms == ["a", "b", "c"]
    learner.observe("c", 1.0, 1.0, context=[1.0, 0.5])
    learner.retire_arm("a")
    again = pickle.loads(pickle.dumps(learner))
    assert again.decide(context=[1.0, 0.9]).policy.keys() <= {"b", "c"}
    assert learner.estimates()["offered"].tolist() == [False, True, True]
    log = banister.offline.Log.from_frame(
        {"action": arms, "reward": earned, "sales": earned, "one": contexts[:, 0], "hour": contexts[:, 1]}
        | {"pscore": np.full(3000, 0.5)},
        costs=["sales"],
        features=["one", "hour"],
    )
    replayed = own()
    assert banister.offline.replay(log, replayed, progress=False).accepted == replayed.outcomes > 0
    with pytest.raises(ValueError, match="model"):
        banister.Oplb(["a", "b"], model="per_arm", parameter_norm=1.0)
