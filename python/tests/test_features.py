"""Features: tables of every library become the same vectors, agents take rows by name, and snapshots keep it."""

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
SPEND = banister.Guardrail("spend", at_most=0.5, safe_cost=0.1)


def fitted(frame: object = VISITS, **more: Any) -> Features:
    given = {"numbers": {"age": (0, 100)}, "categories": {"shop": None}, **more}
    return Features.fit(frame, COLUMNS, **given)


def agent(features: Features, **more: Any) -> banister.Oplb:
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
    one, other = agent(features), agent(features)
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
    own = agent(fitted())
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
    assert agent(features).warm_start(log) == 4
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
        assert agent(features).warm_start(log) == 2
        with pytest.raises(banister.client.ServiceError, match='`context.country` is "es"'):
            client.decide("shop", context=ROW | {"country": "es"})
