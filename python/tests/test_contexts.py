"""Linear agents with named arms that share a context; tables of every library as the same vectors of features."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from served import running

import banister
from banister import Features

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
    assert warm.warm_start(log).outcomes == 300
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


VISITS: dict[str, list[Any]] = {
    "country": ["de", "fr", None, "fr"],
    "age": [20.0, None, 40.0, 60.0],
    "member": [True, False, True, True],
    "shop": [3, 17, 3, 17],
    "reward": [0.0, 1.0, 1.0, 0.0],
    "spend": [0.1, 0.2, 0.1, 0.3],
}
COLUMNS = ["country", "age", "member", "shop"]
ROW: dict[str, Any] = {"country": "de", "age": 31, "member": True, "shop": 3}


def fitted(frame: object = VISITS, **more: Any) -> Features:
    given = {"numbers": {"age": (0, 100)}, "categories": {"shop": None}, **more}
    return Features.fit(frame, COLUMNS, **given)


def featured_agent(features: Features, **more: Any) -> banister.Oplb:
    return banister.Oplb(["a", "b"], context=features, guardrails=SPEND, parameter_norm=2, seed=7, **more)


@pytest.mark.parametrize(
    "frame",
    [
        pandas.DataFrame(VISITS),
        pandas.DataFrame(VISITS).convert_dtypes(),
        pandas.DataFrame(VISITS).astype({"country": "category"}),
        polars.DataFrame(VISITS),
        polars.DataFrame(VISITS).with_columns(polars.col("country").cast(polars.Categorical)),
        pyarrow.table(VISITS),
        VISITS,
        [dict(zip(VISITS, row, strict=True)) for row in zip(*VISITS.values(), strict=True)],
    ],
)
def test_every_frame_is_the_same_table(frame: Any) -> None:
    features = fitted(frame)
    assert features == fitted()
    assert features.names == [
        "intercept", "age", "age missing", "country=de", "country=fr", "country missing", "member", "shop=3", "shop=17",
    ]  # fmt: skip
    expected: list[list[float]] = [
        [1, -0.6, 0, 1, 0, 0, 1, 1, 0],
        [1, 0, 1, 0, 1, 0, -1, 0, 1],
        [1, -0.2, 0, 0, 0, 1, 1, 1, 0],
        [1, 0.2, 0, 0, 1, 0, 1, 0, 1],
    ]
    vectors = features.transform(frame)
    np.testing.assert_allclose(vectors, expected, atol=1e-15)
    assert features.dimension == vectors.shape[1] == 9
    assert (np.linalg.norm(vectors, axis=1) <= features.norm).all() and features.norm == np.sqrt(5)


def test_fitted_numbers_clip_and_unseen_values_may_be_one() -> None:
    features = fitted(numbers=None, unseen="other")
    assert features.to_dict()["age"] == {
        "kind": "number", "range": [20.0, 60.0], "outside": "clip", "missing": "indicator",
    }  # fmt: skip
    ends = features.transform([ROW | {"age": 5}, ROW | {"age": 99, "country": "es"}])
    assert ends[:, features.names.index("age")].tolist() == [-1, 1]
    assert ends[:, features.names.index("country=other")].tolist() == [0, 1]


def test_what_was_not_seen_is_refused_by_name() -> None:
    features = fitted()
    refused: list[tuple[dict[str, Any], str]] = [
        ({"country": "es"}, r'`row\["country"\]` is "es": must be one of "de", "fr", or missing'),
        ({"age": 131}, r'`row\["age"\]` is 131: must be a number in \[0, 100\], or missing'),
        ({"age": float("inf")}, r'`row\["age"\]` is inf'),
        ({"member": None}, r'`row\["member"\]` is missing: must be true or false'),
        ({"shop": np.int64(4)}, r'`row\["shop"\]` is 4: must be one of 3, 17'),
        ({"colour": "red"}, "there is no such field; the fields are age, country, member, shop"),
    ]
    for row, message in refused:
        with pytest.raises(ValueError, match=message):
            features.transform_one(ROW | row)
    with pytest.raises(ValueError, match=r'`frame\["country"\]\[1\]` is "es"'):
        features.transform([ROW, ROW | {"country": "es"}])
    with pytest.raises(ValueError, match="`frame` has no column 'age', which the features need"):
        features.transform({name: VISITS[name] for name in ("country", "member", "shop")})
    with pytest.raises(TypeError, match=r'`row\["age"\]` is .*must be a text, a number'):
        features.transform_one(ROW | {"age": pandas.Timestamp("2020")})


@pytest.mark.parametrize(
    ("frame", "more", "message"),
    [
        ({"x": [1.0, 1.0]}, {}, "column 'x' is 1 in every row"),
        ({"x": [None, None]}, {}, "column 'x' has no values"),
        ({"x": ["a", 1]}, {}, "column 'x' holds int, str"),
        ({"x": pandas.to_datetime(["2020", "2021"])}, {}, "column 'x' holds dates"),
        ({"x": [f"{i}" for i in range(101)]}, {}, "column 'x' has 101 different values"),
        ({"x": ["a", None]}, {"missing": "refuse"}, r"`frame\['x'\]\[1\]` is missing"),
        ({"x": ["a", "b"]}, {"categories": {"x": ["a"]}}, r'`frame\["x"\]\[1\]` is "b"'),
        ({"x": [1, 2]}, {"numbers": {"y": (0, 1)}}, "`numbers` has 'y'"),
        ({"x": [1, 2]}, {"columns": ["z"]}, "'z'"),
        ({"x": [1, 2]}, {"unseen": "ignore"}, "`unseen` is 'ignore'"),
        (7, {}, "`frame` is int"),
    ],
)
def test_tables_that_make_no_features(frame: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Features.fit(frame, **more)


def test_declarations_that_make_no_features() -> None:
    wrong: list[tuple[Any, str]] = [
        ({"x": {"kind": "number", "range": [3, 1]}}, "x.range"),
        ({"x": {"kind": "hour"}}, r'fields\["x"\].*`hour`'),
        ({}, "`fields` is empty"),
        (3, "must be a dictionary of fields"),
    ]
    for fields, message in wrong:
        with pytest.raises((ValueError, TypeError), match=message):
            Features(fields)


def test_an_agent_takes_rows_by_name() -> None:
    features = fitted()
    one, other = featured_agent(features), featured_agent(features)
    assert one.features == features and one.context == 9 and one.config["norm"] == features.norm
    assert one.problem["context"] == features.to_dict()
    frame = pandas.DataFrame(VISITS)
    arms, rewards, costs = ["a", "b", "b", "a"], VISITS["reward"], VISITS["spend"]
    one.observe_batch(arms, rewards, costs, contexts=frame)
    for arm, reward, cost, vector in zip(arms, rewards, costs, features.transform(frame), strict=True):
        other.observe(arm, reward, cost, context=vector)
    assert one.predict_expectations(ROW) == pytest.approx(other.predict_expectations(features.transform_one(ROW)))
    assert len(one.predict(frame)) == len(one.decide_batch(contexts=frame)) == 4
    decision = one.decide(context=frame[COLUMNS].iloc[0])
    one.observe(decision, 1.0, 0.1)
    assert one.outcomes == 5
    with pytest.raises(ValueError, match=r'`context\["country"\]` is "es"'):
        one.decide(context=ROW | {"country": "es"})
    with pytest.raises(ValueError, match=r'`contexts\["country"\]\[0\]` is "es"'):
        one.decide_batch(contexts=[ROW | {"country": "es"}])
    with pytest.raises(TypeError, match="the fields age, country, member, shop"):
        one.decide()
    with pytest.raises(TypeError, match="give it as `context`"):
        banister.Oplb(["a", "b"], features=features, parameter_norm=1)  # type: ignore[arg-type]


def test_snapshots_keep_the_mapping(tmp_path: Path) -> None:
    own = featured_agent(fitted())
    own.observe("b", 1.0, 0.2, context=ROW)
    path = tmp_path / "agent.json"
    own.save(path)
    for again in (banister.load(path), copy.copy(own), pickle.loads(pickle.dumps(own))):
        assert again.features == own.features
        assert again.decide(context=ROW).policy == own.decide(context=ROW).policy
    assert pickle.loads(pickle.dumps(own.features)) == own.features
    assert Features.from_dict(fitted().to_dict()) == fitted()
    damaged = path.read_text().replace('"values":["de","fr"]', '"values":["de"]')
    with pytest.raises(ValueError, match="`fields` do not suit its agent"):
        banister.load(damaged)


def test_logs_and_tables_take_features() -> None:
    features = fitted()
    log = banister.offline.Log.from_frame(
        {**VISITS, "action": ["a", "b", "b", "a"]}, costs=["spend"], features=features, pscore=None
    )
    assert log.context is not None and log.context.tolist() == features.transform(VISITS).tolist()
    assert featured_agent(features).warm_start(log).outcomes == 4
    outcomes = {f"{name}_{arm}": VISITS[name] for name in ("reward", "spend") for arm in "ab"}
    table = banister.simulation.TableEnvironment(
        {**VISITS, **outcomes},
        rewards={"a": "reward_a", "b": "reward_b"},
        costs={"spend": ["spend_a", "spend_b"]},
        features=features,
    )
    result = banister.simulate(
        table,
        [{"kind": "oplb", "parameter_norm": 2}],
        horizon=20,
        runs=1,
        guardrails=[banister.Guardrail("spend", at_most=0.5, safe_cost=0.175)],
        progress=False,
    )
    assert len(result.runs["run"]) == 1


def test_the_service_takes_the_same_fields(tmp_path: Path) -> None:
    features = fitted()
    with running(tmp_path) as url, banister.client.Client(url) as client:
        agent_of = {"kind": "oplb", "parameter_norm": 2}
        made = client.create("shop", arms=["a", "b"], guardrails=[SPEND], context=features, agent=agent_of)
        assert made.context == features.to_dict()
        rows = [ROW, {"country": float("nan"), "age": None, "member": False, "shop": 17}]
        for place, row in enumerate(rows):
            decision = client.decide("shop", context=row, id=f"visit-{place}")
            client.report(decision, reward=1.0, costs=0.1)
        assert client.decision("shop", "visit-0").context == ROW
        log = client.export_log("shop", features=features)
        assert log.context is not None
        assert log.context[0].tolist() == features.transform_one(ROW).tolist()
        assert featured_agent(features).warm_start(log).outcomes == 2
        with pytest.raises(banister.client.ServiceError, match='`context.country` is "es"'):
            client.decide("shop", context=ROW | {"country": "es"})
