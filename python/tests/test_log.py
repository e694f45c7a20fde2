"""Logs: inputs of all kinds, and bad ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from logs import ARMS, MEANS, POLICY, broken, columns, make

import banister

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")


# Inputs


def frames(data: dict[str, Any]) -> dict[str, Any]:
    frame = pandas.DataFrame(data)

    class Stream:
        """Has an Arrow stream and nothing else."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return pyarrow.table(data).__arrow_c_stream__(requested_schema)

    return {
        "dictionary": {key: list(column) for key, column in data.items()},
        "pandas": frame,
        "pandas nullable": frame.convert_dtypes(),
        "pandas categorical": frame.astype({"action": "category"}),
        "polars": polars.DataFrame(data),
        "pyarrow": pyarrow.table(data),
        "dictionary-encoded": pyarrow.table(data).set_column(
            0, "action", pyarrow.array(data["action"]).dictionary_encode()
        ),
        "stream": Stream(),
    }


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", list(frames(columns(2))))
def test_all_frames_give_the_same(kind: str, named: bool) -> None:
    data = columns(500)
    if named:
        data["action"] = np.array(ARMS)[data["action"]]
    options: dict[str, Any] = {"arms": ARMS if named else 3}
    expected = banister.offline.evaluate(make(data, **options), [0.1, 0.2, 0.7])
    found = make(frames(data)[kind], **options)
    assert found.arms == (tuple(ARMS) if named else (0, 1, 2))
    assert banister.offline.evaluate(found, [0.1, 0.2, 0.7]) == expected


def test_doubles_are_not_copied(data: dict[str, Any]) -> None:
    log = make(data)
    assert np.shares_memory(log.rewards, data["reward"])
    assert np.shares_memory(log.indices, data["action"])
    assert log.pscores is not None and np.shares_memory(log.pscores, data["pscore"])


def test_the_order_of_arms() -> None:
    data = {"action": ["b", "a", "b"], "reward": [1, 0, 1]}
    assert banister.offline.Log.from_frame(data, pscore=None).arms == ("a", "b")
    log = banister.offline.Log.from_frame(data, pscore=None, arms=["b", "c", "a"])
    assert log.arms == ("b", "c", "a") and log.indices.tolist() == [0, 2, 0]
    numbers = {"action": [20, 10], "reward": [1, 0]}
    log = banister.offline.Log.from_frame(numbers, pscore=None, arms=[10, 20])
    assert log.indices.tolist() == [1, 0]
    assert len(banister.offline.Log.from_frame(numbers, pscore=None).arms) == 21
    assert repr(log) == "Log(2 rounds, arms=[10, 20], costs=[], no pscores)"


def feedback(data: dict[str, Any]) -> dict[str, Any]:
    """Makes the dictionary of obp's `SyntheticBanditDataset.obtain_batch_bandit_feedback`."""
    n = len(data["action"])
    return {
        "n_rounds": n,
        "n_actions": 3,
        "context": data["x"].reshape(-1, 1),
        "action_context": np.eye(3),
        "action": data["action"],
        "position": None,
        "reward": data["reward"].astype(int),
        "expected_reward": np.outer(data["x"], MEANS),
        "pi_b": np.full((n, 3, 1), 1 / 3),
        "pscore": data["pscore"],
    }


def test_an_obp_dictionary(data: dict[str, Any], log: banister.offline.Log) -> None:
    costs = {"spend": data["spend"], "delay": data["delay"]}
    found = banister.offline.Log.from_obp(feedback(data), costs=costs)
    assert banister.offline.evaluate(found, POLICY) == banister.offline.evaluate(log, POLICY)
    table = np.stack([data["spend"], data["delay"]], axis=1)
    unnamed = banister.offline.Log.from_obp(feedback(data), costs=table)
    assert unnamed.guardrails == ("cost_0", "cost_1")
    np.testing.assert_array_equal(unnamed.costs, table)
    assert banister.offline.Log.from_obp(feedback(data), costs=data["spend"]).guardrails == ("cost",)
    assert banister.offline.Log.from_obp(feedback(data), adaptive=True).adaptive
    with pytest.raises(ValueError, match=r"`costs` \(cost\) has shape \(5,\)"):
        banister.offline.Log.from_obp(feedback(data), costs=np.zeros(5))
    with pytest.raises(ValueError, match="`reward` is 'reward': `bandit_feedback` has the columns"):
        banister.offline.Log.from_obp({k: v for k, v in feedback(data).items() if k != "reward"})
    with pytest.raises(ValueError, match=r"`bandit_feedback\['n_actions'\]` is None"):
        banister.offline.Log.from_obp(feedback(data) | {"n_actions": None})
    names = banister.offline.Log.from_obp(feedback(data), arms=ARMS)
    assert names.arms == tuple(ARMS)
    with pytest.raises(ValueError, match="`arms` has 1 entries, expected 3"):
        banister.offline.Log.from_obp(feedback(data), arms=["a"])
    with pytest.raises(ValueError, match=r"`action` .* is 2 in row .*: arms are numbered 0 to 1"):
        banister.offline.Log.from_obp(feedback(data) | {"n_actions": 2})


def test_an_obp_dictionary_with_positions(data: dict[str, Any]) -> None:
    """Open Bandit's pages show three items: a row is one of them, with its propensity at its position."""
    n = len(data["action"])
    rows, position = np.arange(n), np.arange(n) % 3
    three = feedback(data) | {"position": position}
    # What obp's policies return: probabilities by round, action and position.
    action_dist = np.random.default_rng(3).dirichlet(np.ones(3), size=(n, 3)).transpose(0, 2, 1)
    weights = action_dist[rows, data["action"], position] / data["pscore"]
    terms = weights * data["reward"]
    log = banister.offline.Log.from_obp(three, costs=data["spend"])
    assert "3 positions" in repr(log)
    found = {one: banister.offline.evaluate(log, action_dist, estimator=one) for one in ("ips", "snips")}
    assert found["ips"].reward.estimate == pytest.approx(terms.mean(), rel=1e-12)
    assert found["ips"].costs["cost"].estimate == pytest.approx((weights * data["spend"]).mean(), rel=1e-12)
    assert found["snips"].reward.estimate == pytest.approx(terms.sum() / weights.sum(), rel=1e-12)
    # The same policy at all positions needs no positions.
    assert banister.offline.evaluate(three, POLICY) == banister.offline.evaluate(feedback(data), POLICY)
    own = position == 1
    second = banister.offline.Log.from_obp(three, costs=data["spend"], position=1)
    assert len(second) == own.sum()
    estimated = banister.offline.evaluate(second, action_dist[own])
    assert estimated.reward.estimate == pytest.approx(terms[own].mean(), rel=1e-12)
    assert estimated == banister.offline.evaluate(second, action_dist[own, :, 1])
    # Without positions there is one, as in obp's synthetic data.
    plain = banister.offline.Log.from_obp(feedback(data))
    # Its dataset will do.
    dataset = type("Dataset", (), {"obtain_batch_bandit_feedback": lambda _: feedback(data)})()
    assert banister.offline.evaluate(banister.offline.Log.from_obp(dataset), action_dist[:, :, 0]) == (
        banister.offline.evaluate(plain, action_dist[:, :, 0])
    )
    assert banister.offline.evaluate(plain, action_dist[:, :, :1]) == banister.offline.evaluate(
        plain, action_dist[:, :, 0]
    )
    assert len(banister.offline.Log.from_obp(feedback(data), position=0)) == n
    for feed, place, message in [
        (three, 3, r"`position` is 3: `bandit_feedback\['position'\]` has 0, 1, 2"),
        (feedback(data), 1, "`position` is 1: .* has 0"),
        (three | {"position": position[1:]}, None, r"has shape \(3999,\), expected \(4000,\): one per round"),
        (three | {"position": position - 1}, None, "is -1 in row 0: positions are numbered from 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            banister.offline.Log.from_obp(feed, position=place)
    with pytest.raises(TypeError, match=r"`bandit_feedback\['position'\]` holds float64: must be whole numbers"):
        banister.offline.Log.from_obp(three | {"position": position / 2})
    for wrong in (action_dist[1:], action_dist[:, :2], action_dist[:, :, :2]):
        with pytest.raises(ValueError, match=r"`policy` has shape .*, expected \(4000, 3, 3\): rounds, arms and pos"):
            banister.offline.evaluate(log, wrong)


BAD_LOGS: list[tuple[Any, dict[str, Any], Any, str]] = [
    (
        lambda d: d,
        {"reward": "revenue"},
        ValueError,
        "`reward` is 'revenue': `frame` has the columns 'action', 'reward', 'spend', 'delay', 'pscore', 'x'",
    ),
    (lambda d: d, {"action": "arm"}, ValueError, "`action` is 'arm'"),
    (lambda d: d, {"pscore": "p"}, ValueError, "`pscore` is 'p'"),
    (lambda d: d, {"costs": ["cash"]}, ValueError, "`costs['cash']` is 'cash'"),
    (
        lambda d: d,
        {"costs": ["spend", "spend"]},
        ValueError,
        "`costs` is ['spend', 'spend']: each name may occur only once",
    ),
    (lambda d: d, {"costs": {"reward": "spend"}}, ValueError, "called 'reward'"),
    (lambda d: d, {"features": ["y"]}, ValueError, "`features['y']` is 'y'"),
    (lambda d: d, {"features": "x"}, TypeError, "`features` is 'x': must be a list of columns"),
    (lambda d: d, {"features": []}, ValueError, "`features` is empty"),
    (
        lambda d: d,
        {"offered": np.ones((100, 3, 2))},
        TypeError,
        "`features` and `offered` are both given",
    ),
    (
        lambda d: d,
        {"features": None, "offered": np.ones((100, 2, 2))},
        ValueError,
        "`offered` has shape (100, 2, 2), expected (100, 3, any)",
    ),
    (lambda d: d, {"arms": 2}, ValueError, "in row"),
    (lambda d: d, {"arms": 0}, ValueError, "`arms` is 0: must be at least 1"),
    (lambda d: d, {"arms": []}, ValueError, "`arms` is empty"),
    (
        lambda d: d,
        {"arms": "abc"},
        TypeError,
        "`arms` is 'abc': must be a number or a list of arms",
    ),
    (lambda d: d, {"arms": ["a", "b", "c"]}, ValueError, "`arms` are a, b, c"),
    (
        lambda d: d | {"action": ["a"] * 100},
        {"arms": ["b"]},
        ValueError,
        "`action` (column 'action') is 'a' in row 0: `arms` are b",
    ),
    (
        lambda d: d | {"action": ["a"] * 100},
        {"arms": ["a", "a"]},
        ValueError,
        "`arms` is ['a', 'a']: each name may occur only once",
    ),
    (
        lambda d: d | {"action": [0.5] * 100},
        {},
        TypeError,
        "`action` (column 'action') has values like 0.5 (float)",
    ),
    (
        lambda d: broken(d, "action", -1),
        {},
        ValueError,
        "`action` (column 'action') is -1 in row 7",
    ),
    (
        lambda d: broken(d, "action", None),
        {},
        ValueError,
        "`action` (column 'action') is missing in row 7",
    ),
    (
        lambda d: broken(d, "reward", None),
        {},
        ValueError,
        "`reward` (column 'reward') is missing or NaN in row 7",
    ),
    (
        lambda d: broken(d, "reward", np.nan),
        {},
        ValueError,
        "`reward` (column 'reward') is missing or NaN in row 7",
    ),
    (lambda d: broken(d, "reward", np.inf), {}, ValueError, "`reward[7]` is inf"),
    (lambda d: d | {"reward": ["much"] * 100}, {}, TypeError, "`reward` (column 'reward') holds"),
    (
        lambda d: d | {"reward": [1.0] * 99},
        {},
        ValueError,
        "`rewards` has shape (99,), expected (100,)",
    ),
    (
        lambda d: broken(d, "spend", np.nan),
        {},
        ValueError,
        "`costs['spend']` (column 'spend') is missing or NaN in row 7",
    ),
    (
        lambda d: broken(d, "x", np.nan),
        {},
        ValueError,
        "`features['x']` (column 'x') is missing or NaN in row 7",
    ),
    (
        lambda d: broken(d, "pscore", 0.0),
        {},
        ValueError,
        "`pscore[7]` is 0: must be above 0 and at most 1",
    ),
    (lambda d: broken(d, "pscore", 1.5), {}, ValueError, "`pscore[7]` is 1.5"),
    (
        lambda d: pandas.DataFrame(broken(d, "spend", None)).convert_dtypes(),
        {},
        ValueError,
        "row 7",
    ),
    (lambda d: polars.DataFrame(broken(d, "spend", None)), {}, ValueError, "row 7"),
    (lambda d: pyarrow.table(broken(d, "spend", None)), {}, ValueError, "row 7"),
    (
        lambda d: pandas.DataFrame(d | {"reward": pandas.Timestamp("2026-01-01")}),
        {},
        TypeError,
        "`reward` (column 'reward') holds datetime",
    ),
    (
        lambda d: polars.DataFrame(d).lazy(),
        {},
        TypeError,
        "`frame` is LazyFrame: call `collect()` on it",
    ),
    (lambda d: 3, {}, TypeError, "`frame` is int: must be a pandas or polars DataFrame"),
    (lambda d: {key: [] for key in d}, {}, (TypeError, ValueError), "`action"),
]


@pytest.mark.parametrize(("change", "options", "error", "message"), BAD_LOGS)
def test_bad_logs(change: Any, options: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        make(change(columns(100)), **options)
    assert message in str(caught.value)


BAD_QUESTIONS: list[tuple[Any, dict[str, Any], Any, str]] = [
    ("bald", {}, ValueError, "`policy` is 'bald': the log's arms are 0, 1, 2"),
    (3, {}, ValueError, "`policy` is 3"),
    (True, {}, TypeError, "`policy` is True (bool)"),
    (None, {}, TypeError, "`policy` holds NoneType: must be numbers"),
    (["0.5", "0.5", "0"], {}, TypeError, "`policy` holds"),
    ([0.5, 0.5], {}, ValueError, "`policy` has shape (2,), expected (3,): one probability per arm"),
    ([0.5, 0.4, 0.0], {}, ValueError, "`policy` is a row with sum 0.9"),
    ([1.5, -0.5, 0.0], {}, ValueError, "`policy[0]` is 1.5"),
    ([np.nan, 0.5, 0.5], {}, ValueError, "`policy[0]` is NaN"),
    (np.ones((5, 3)) / 3, {}, ValueError, "`policy` has shape (5, 3), expected (100, 3)"),
    ({7: 1.0}, {}, ValueError, "`policy` is 7"),
    ({0: "all"}, {}, TypeError, "`policy[0]` is 'all'"),
    ({0: 0.5}, {}, ValueError, "`policy` is a row with sum 0.5"),
    (0, {"estimator": "best"}, ValueError, '`estimator` is "best"'),
    (0, {"interval": "wide"}, ValueError, '`interval` is "wide"'),
    (
        0,
        {"interval": "bernstein", "estimator": "snips"},
        ValueError,
        "`interval` is bernstein for snips",
    ),
    (0, {"interval": "bernstein", "clip": 5.0}, ValueError, "`reward_range` is not given"),
    (0, {"interval": "bernstein", "reward": {"range": [0, 1]}}, ValueError, "`clip` is not given"),
    (0, {"confidence": 1.0}, ValueError, "`confidence` is 1"),
    (0, {"confidence": np.nan}, ValueError, "`confidence` is NaN"),
    (0, {"confidence": "high"}, TypeError, '`confidence` is "high": must be a number'),
    (0, {"clip": 0.0}, ValueError, "`clip` is 0"),
    (0, {"min_pscore": 0.9}, ValueError, "`min_pscore` says that none is below 0.9"),
    (0, {"folds": 1, "estimator": "dr"}, ValueError, "`folds` is 1"),
    (0, {"ridge": -1.0}, ValueError, "`ridge` is -1"),
    (0, {"interval": "bootstrap", "resamples": 5}, ValueError, "`resamples` is 5"),
    (0, {"seed": -1}, (TypeError, ValueError), "`seed` is -1"),
    (
        0,
        {"safe": "x", "guardrails": {"name": "spend", "at_most": 0.5}},
        ValueError,
        "`safe` is 'x'",
    ),
    (
        0,
        {"guardrails": {"name": "cash", "at_most": 0.5}},
        ValueError,
        "`guardrails[0].name` is 'cash': the log's costs are spend, delay",
    ),
    (
        0,
        {"guardrails": [{"name": "spend", "at_most": 0.5}] * 2},
        ValueError,
        "`guardrails[1].name` is 'spend'",
    ),
    (0, {"guardrails": {"name": "spend"}}, ValueError, "guardrails[0]"),
    (
        0,
        {"guardrails": {"name": "spend", "at_most": 0.1, "range": [0, 0.5]}},
        ValueError,
        "(spend)` is 1: must lie in the declared range [0, 0.5]",
    ),
    (0, {"guardrails": {"name": "spend", "atmost": 0.1}}, TypeError, "`guardrails[0]`"),
    (
        0,
        {"estimator": "dr", "model": np.zeros((3, 100))},
        ValueError,
        "`model` has shape (3, 100), expected (3, 100, 3)",
    ),
    (0, {"estimator": "dr", "model": {"reward": np.zeros((100, 3))}}, ValueError, "`model` has the keys 'reward'"),
    (
        0,
        {"estimator": "dr", "model": {key: np.zeros((9, 3)) for key in ("reward", "spend", "delay")}},
        ValueError,
        "`model['reward']` has shape (9, 3)",
    ),
    (0, {"estimator": "dr", "model": np.full((3, 100, 3), np.nan)}, ValueError, "`model[0][0][0]` is NaN"),
    (0, {"model": np.zeros((3, 100, 3))}, ValueError, "`model` is given: 'ips' has none"),
]


@pytest.mark.parametrize(("policy", "options", "error", "message"), BAD_QUESTIONS)
def test_bad_questions(policy: Any, options: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        banister.offline.evaluate(make(columns(100)), policy, **options)
    assert message in str(caught.value)


def test_what_needs_pscores_says_so(data: dict[str, Any]) -> None:
    log = make(data, pscore=None)
    with pytest.raises(ValueError, match="`pscores` is not given: ips needs"):
        banister.offline.evaluate(log, 0)
    with pytest.raises(ValueError, match="`pscores` is not given: replay needs"):
        banister.offline.replay(log, banister.Opb(3), progress=False)
    assert banister.offline.evaluate(log, 0, estimator="dm").reward.estimate > 0
    with pytest.raises(TypeError, match="`log` is int: must be a pandas or polars DataFrame"):
        banister.offline.evaluate(3, 0)


# What may stand for a log


def test_frames_and_obp_are_logs() -> None:
    """A frame with the usual columns is enough, and so is obp's dictionary."""
    data = columns(400)
    frame = {
        "action": data["action"],
        "reward": data["reward"],
        "pscore": data["pscore"],
        "spend": data["spend"],
    }
    guardrail = banister.Guardrail("spend", at_most=0.5)
    log = banister.offline.Log.from_frame(frame, costs=["spend"])
    expected = banister.offline.evaluate(log, 0, guardrails=[guardrail]).to_dict()
    single = {**{key: frame[key] for key in ("action", "reward", "pscore")}, "costs": data["spend"]}
    obp = {
        "n_rounds": 400,
        "n_actions": 3,
        "context": None,
        "action": data["action"],
        "position": None,
        "reward": data["reward"],
        "pscore": data["pscore"],
        "spend": data["spend"],
    }
    for same in (frame, pandas.DataFrame(frame), polars.DataFrame(frame), single, obp):
        assert banister.offline.evaluate(same, 0, guardrails=[guardrail]).to_dict() == expected
        first, second = (banister.Opb(3, guardrails=[guardrail], seed=1) for _ in range(2))
        assert first.warm_start(same).outcomes == second.warm_start(log).outcomes == 400
        ours, theirs = (json.loads(agent.save())["agent"] for agent in (first, second))
        assert ours == theirs
        assert banister.offline.replay(same, first, progress=False).accepted > 0
    assert list(banister.offline.evaluate(single, 0).costs) == ["cost"]
