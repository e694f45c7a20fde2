"""Logged data: estimates against formulas in NumPy, inputs of all kinds, replay, warm start."""

from __future__ import annotations

import copy
import doctest
import importlib
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banister

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

ARMS = ["control", "bold", "wild"]
MEANS = np.array([0.2, 0.5, 0.8])
COSTS = np.array([0.1, 0.3, 0.6])
Z = 1.959963984540054


def columns(n: int = 4000, seed: int = 0) -> dict[str, Any]:
    """Rounds of a logging policy that depends on a context."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    logging = np.stack([0.6 - 0.4 * x, np.full(n, 0.2), 0.2 + 0.4 * x], axis=1)
    action = (rng.uniform(size=(n, 1)) > logging.cumsum(axis=1)).sum(axis=1)
    return {
        "action": action,
        "reward": (rng.uniform(size=n) < MEANS[action] * x).astype(float),
        "spend": (rng.uniform(size=n) < COSTS[action]).astype(float),
        "delay": rng.uniform(size=n) * COSTS[action],
        "pscore": logging[np.arange(n), action],
        "x": x,
    }


def make(data: Any, **options: Any) -> banister.Log:
    options = {"costs": ["spend", "delay"], "features": ["x"], "arms": 3, **options}
    return banister.Log.from_frame(data, **options)


@pytest.fixture(name="data")
def _data() -> dict[str, Any]:
    return columns()


@pytest.fixture(name="log")
def _log(data: dict[str, Any]) -> banister.Log:
    return make(data)


def normal(terms: np.ndarray) -> tuple[float, float, float]:
    mean, error = terms.mean(), terms.std(ddof=1) / np.sqrt(len(terms))
    return mean, mean - Z * error, mean + Z * error


def assert_close(one: banister.Estimate, expected: tuple[float, float, float]) -> None:
    found = (one.estimate, one.lower, one.upper)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


POLICY = np.array([0.2, 0.5, 0.3])

# Formulas


def test_ips_is_the_weighted_mean(log: banister.Log, data: dict[str, Any]) -> None:
    w = POLICY[data["action"]] / data["pscore"]
    found = banister.evaluate(log, POLICY, estimator="ips")
    assert_close(found.reward, normal(w * data["reward"]))
    assert_close(found.costs["spend"], normal(w * data["spend"]))
    assert_close(found.costs["delay"], normal(w * data["delay"]))
    assert found.reward.effective_sample_size == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert found.reward.largest_weight == w.max()
    assert found.reward.mean_weight == pytest.approx(w.mean())
    assert found.reward.share_clipped == found.reward.lost_weight == 0.0


def test_snips_is_the_ratio_with_the_delta_method(log: banister.Log, data: dict[str, Any]) -> None:
    w, y = POLICY[data["action"]] / data["pscore"], data["reward"]
    ratio = (w * y).sum() / w.sum()
    influence = w * (y - ratio) / w.mean()
    error = influence.std(ddof=1) / np.sqrt(len(w))
    found = banister.evaluate(log, POLICY, estimator="snips")
    assert_close(found.reward, (ratio, ratio - Z * error, ratio + Z * error))
    assert found.reward.standard_error == pytest.approx(error)


def test_clipped_weights(log: banister.Log, data: dict[str, Any]) -> None:
    w = POLICY[data["action"]] / data["pscore"]
    cut = np.minimum(w, 1.2)
    found = banister.evaluate(
        log, POLICY, estimator="ips", clip=1.2, reward={"range": [0, 1]}
    ).reward
    assert_close(found, normal(cut * data["reward"]))
    assert found.share_clipped == pytest.approx((w > 1.2).mean())
    assert found.lost_weight == pytest.approx((w - cut).mean())
    assert found.largest_weight == w.max()
    assert found.clipping_bias == pytest.approx((0.0, (w - cut).mean()))


@pytest.mark.parametrize("as_mapping", [False, True])
def test_dr_with_a_given_model(log: banister.Log, data: dict[str, Any], as_mapping: bool) -> None:
    rng = np.random.default_rng(5)
    q = rng.uniform(size=(3, len(log), 3))
    w, a = POLICY[data["action"]] / data["pscore"], data["action"]
    model = dict(zip(["reward", "spend", "delay"], q, strict=True)) if as_mapping else q
    found = banister.evaluate(log, POLICY, estimator="dr", model=model)
    for one, signal_q in zip([found.reward, *found.costs.values()], q, strict=True):
        residual = data[one.name] - signal_q[np.arange(len(log)), a]
        assert_close(one, normal(signal_q @ POLICY + w * residual))
    direct = banister.evaluate(log, POLICY, estimator="dm", model=model).reward
    assert direct.estimate == pytest.approx((q[0] @ POLICY).mean())
    assert direct.standard_error == direct.upper == np.inf
    # Judging some of the costs takes the model's tables of those alone.
    some = banister.evaluate(log, POLICY, model=model, guardrails={"name": "delay", "at_most": 0.9})
    assert some.verdicts["delay"].estimate == some.costs["delay"]


def test_bernstein_is_wider_and_covers_for_any_number_of_rounds(log: banister.Log) -> None:
    guardrails = [{"name": "spend", "at_most": 0.5}, {"name": "delay", "at_most": 0.5}]
    options: dict[str, Any] = {"reward": {"range": [0, 1]}, "min_pscore": 0.2}
    wide = banister.evaluate(
        log, POLICY, guardrails=guardrails, interval="bernstein", estimator="ips", **options
    )
    narrow = banister.evaluate(log, POLICY, guardrails=guardrails, estimator="ips", **options)
    assert wide.reward.lower < narrow.reward.lower < narrow.reward.upper < wide.reward.upper


def test_bootstrap_is_seeded_and_near_normal(log: banister.Log) -> None:
    def boot(seed: int) -> banister.Estimate:
        return banister.evaluate(
            log, POLICY, estimator="ips", interval="bootstrap", seed=seed
        ).reward

    assert boot(1) == boot(1) != boot(2)
    near = banister.evaluate(log, POLICY, estimator="ips").reward
    assert boot(1).lower == pytest.approx(near.lower, abs=0.01)
    assert boot(1).upper == pytest.approx(near.upper, abs=0.01)


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_unbiased_over_logs_and_intervals_cover(estimator: Any) -> None:
    truth, cost = 0.5 * POLICY @ MEANS, POLICY @ COSTS
    found = [
        banister.evaluate(make(columns(1000, seed)), POLICY, estimator=estimator)
        for seed in range(300)
    ]
    rewards = np.array([one.reward.estimate for one in found])
    spends = np.array([one.costs["spend"].estimate for one in found])
    assert abs(rewards.mean() - truth) < 4 * rewards.std() / np.sqrt(300)
    assert abs(spends.mean() - cost) < 4 * spends.std() / np.sqrt(300)
    covered = np.mean([one.reward.lower <= truth <= one.reward.upper for one in found])
    assert 0.91 < covered < 0.985


# Policies


def test_all_ways_to_say_the_same_policy(data: dict[str, Any]) -> None:
    named = make({**data, "action": np.array(ARMS)[data["action"]]}, arms=ARMS)
    one_hot = [0.0, 1.0, 0.0]
    rows = np.tile(one_hot, (len(named), 1))
    policies: list[Any] = ["bold", 1, np.int64(1), one_hot, rows, {"bold": 1.0}, {1: 1.0}]
    same = [banister.evaluate(named, policy) for policy in policies]
    assert all(one == same[0] for one in same)


def test_a_decision_and_an_agent(data: dict[str, Any]) -> None:
    named = make({**data, "action": np.array(ARMS)[data["action"]]}, arms=ARMS)
    # Another order than the log's: names count.
    agent = banister.Opb(ARMS[::-1], safe="control", seed=3)
    agent.observe_batch(["bold", "wild", "control"] * 50, [0.5, 0.9, 0.1] * 50)
    before = agent.to_json()
    by_agent = banister.evaluate(named, agent)
    assert agent.to_json() == before, "judging an agent leaves it alone, its random stream too"
    decision = agent.decide()
    assert by_agent == banister.evaluate(named, decision)
    assert by_agent == banister.evaluate(named, decision.policy)


def linear(rounds: int = 300) -> tuple[banister.Log, np.ndarray]:
    rng = np.random.default_rng(2)
    offered = rng.normal(size=(rounds, 3, 2))
    offered /= np.linalg.norm(offered, axis=2, keepdims=True)
    offered[:, 0] = [1.0, 0.0]
    action = rng.integers(3, size=rounds)
    played = offered[np.arange(rounds), action]
    data = {
        "action": action,
        "reward": np.clip(0.5 + 0.4 * played[:, 1], 0, 1),
        "spend": np.clip(0.2 + 0.1 * played[:, 0], 0, 1),
        "pscore": np.full(rounds, 1 / 3),
    }
    log = banister.Log.from_frame(data, costs=["spend"], offered=offered, arms=3)
    return log, offered


SPEND = banister.Guardrail("spend", at_most=0.5, safe_cost=0.3)


def test_a_linear_agent_is_judged_row_by_row() -> None:
    log, offered = linear()
    agent = banister.Oplb(safe_action=[1.0, 0.0], guardrails=[SPEND], seed=1)
    agent.warm_start(log)
    rows = copy.copy(agent).decide_batch(actions=offered).probabilities[:, :3]
    assert banister.evaluate(log, agent) == banister.evaluate(log, rows)


def test_disjoint_features() -> None:
    x = np.array([[3.0, 4.0], [5.0, 6.0]])
    joint = banister.disjoint_features(x, 3)
    assert joint.shape == (2, 3, 6)
    for row, blocks in zip(x, joint, strict=True):
        np.testing.assert_array_equal(blocks, np.kron(np.eye(3), row))
        np.testing.assert_array_equal(blocks, banister.disjoint_features(row, 3))


# Guardrails


def test_verdicts() -> None:
    log = make(columns(20_000))
    guardrails = [
        banister.Guardrail("delay", at_most=0.5),
        banister.Guardrail("spend", at_most=POLICY @ COSTS - 0.05),
    ]
    found = banister.evaluate(log, POLICY, guardrails=guardrails)
    assert [v.verdict for v in found.verdicts.values()] == ["broken", "kept"]
    assert list(found.verdicts) == ["spend", "delay"]
    assert not found.is_safe
    edge = banister.Guardrail("spend", at_most=float(POLICY @ COSTS))
    assert banister.evaluate(log, POLICY, guardrails=edge).verdicts["spend"].verdict == "undecided"
    frame = found.to_pandas()
    assert frame.loc["spend", "verdict"] == "broken"
    assert frame.loc["reward", "estimate"] == found.reward.estimate
    assert found.to_dict()["costs"]["spend"]["lower"] == found.costs["spend"].lower


def test_a_relative_guardrail_is_judged_by_its_difference(
    log: banister.Log, data: dict[str, Any]
) -> None:
    guardrail = banister.Guardrail("spend", at_most=2.0, relative=True)
    found = banister.evaluate(log, POLICY, guardrails=guardrail, safe=0, estimator="ips").verdicts[
        "spend"
    ]
    w = (POLICY[data["action"]] - 2.0 * (data["action"] == 0)) / data["pscore"]
    assert found.threshold == 0.0
    assert_close(found.estimate, normal(w * data["spend"]))


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
    expected = banister.evaluate(make(data, **options), [0.1, 0.2, 0.7])
    found = make(frames(data)[kind], **options)
    assert found.arms == (tuple(ARMS) if named else (0, 1, 2))
    assert banister.evaluate(found, [0.1, 0.2, 0.7]) == expected


def test_doubles_are_not_copied(data: dict[str, Any]) -> None:
    log = make(data)
    assert np.shares_memory(log.rewards, data["reward"])
    assert np.shares_memory(log.indices, data["action"])
    assert log.pscores is not None and np.shares_memory(log.pscores, data["pscore"])


def test_the_order_of_arms() -> None:
    data = {"action": ["b", "a", "b"], "reward": [1, 0, 1]}
    assert banister.Log.from_frame(data, pscore=None).arms == ("a", "b")
    log = banister.Log.from_frame(data, pscore=None, arms=["b", "c", "a"])
    assert log.arms == ("b", "c", "a") and log.indices.tolist() == [0, 2, 0]
    numbers = {"action": [20, 10], "reward": [1, 0]}
    log = banister.Log.from_frame(numbers, pscore=None, arms=[10, 20])
    assert log.indices.tolist() == [1, 0]
    assert len(banister.Log.from_frame(numbers, pscore=None).arms) == 21
    assert repr(log) == "Log(2 rounds, arms=[10, 20], costs=[], no pscores)"


def feedback(data: dict[str, Any]) -> dict[str, Any]:
    """What obp's `SyntheticBanditDataset.obtain_batch_bandit_feedback` returns."""
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


def test_an_obp_dictionary(data: dict[str, Any], log: banister.Log) -> None:
    costs = {"spend": data["spend"], "delay": data["delay"]}
    found = banister.Log.from_obp(feedback(data), costs=costs)
    assert banister.evaluate(found, POLICY) == banister.evaluate(log, POLICY)
    table = np.stack([data["spend"], data["delay"]], axis=1)
    unnamed = banister.Log.from_obp(feedback(data), costs=table)
    assert unnamed.guardrails == ("cost_0", "cost_1")
    np.testing.assert_array_equal(unnamed.costs, table)
    assert banister.Log.from_obp(feedback(data), costs=data["spend"]).guardrails == ("cost",)
    zeros = feedback(data) | {"position": np.zeros(len(log), int)}
    assert len(banister.Log.from_obp(zeros)) == len(log)
    three = feedback(data) | {"position": np.arange(len(log)) % 3}
    with pytest.raises(ValueError, match=r"`bandit_feedback\['position'\]` has 3 positions"):
        banister.Log.from_obp(three)
    with pytest.raises(ValueError, match=r"`costs` \(cost\) has shape \(5,\)"):
        banister.Log.from_obp(feedback(data), costs=np.zeros(5))
    with pytest.raises(ValueError, match="`reward` is 'reward': `bandit_feedback` has the columns"):
        banister.Log.from_obp({k: v for k, v in feedback(data).items() if k != "reward"})
    with pytest.raises(ValueError, match=r"`bandit_feedback\['n_actions'\]` is None"):
        banister.Log.from_obp(feedback(data) | {"n_actions": None})
    names = banister.Log.from_obp(feedback(data), arms=ARMS)
    assert names.arms == tuple(ARMS)
    with pytest.raises(ValueError, match="`arms` has 1 entries, expected 3"):
        banister.Log.from_obp(feedback(data), arms=["a"])
    with pytest.raises(ValueError, match=r"`action` .* is 2 in row .*: arms are numbered 0 to 1"):
        banister.Log.from_obp(feedback(data) | {"n_actions": 2})


def broken(data: dict[str, Any], column: str, value: object, row: int = 7) -> dict[str, Any]:
    changed = list(data[column])
    changed[row] = value
    return {**data, column: changed}


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
    (0, {"folds": 1}, ValueError, "`folds` is 1"),
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
        {"model": np.zeros((3, 100))},
        ValueError,
        "`model` has shape (3, 100), expected (3, 100, 3)",
    ),
    (0, {"model": {"reward": np.zeros((100, 3))}}, ValueError, "`model` has the keys 'reward'"),
    (
        0,
        {"model": {key: np.zeros((9, 3)) for key in ("reward", "spend", "delay")}},
        ValueError,
        "`model['reward']` has shape (9, 3)",
    ),
    (0, {"model": np.full((3, 100, 3), np.nan)}, ValueError, "`model[0][0][0]` is NaN"),
]


@pytest.mark.parametrize(("policy", "options", "error", "message"), BAD_QUESTIONS)
def test_bad_questions(policy: Any, options: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        banister.evaluate(make(columns(100)), policy, **options)
    assert message in str(caught.value)


def test_what_needs_pscores_says_so(data: dict[str, Any]) -> None:
    log = make(data, pscore=None)
    with pytest.raises(ValueError, match="`pscores` is not given: dr needs"):
        banister.evaluate(log, 0)
    with pytest.raises(ValueError, match="`pscores` is not given: replay needs"):
        banister.replay(log, banister.Opb(3), progress=False)
    assert banister.evaluate(log, 0, estimator="dm").reward.estimate > 0
    with pytest.raises(TypeError, match="`log` is int: must be a pandas or polars DataFrame"):
        banister.evaluate(3, 0)


# Replay


def guarded(**options: Any) -> banister.Agent:
    return banister.Opb(
        3, guardrails=[{"name": "spend", "at_most": 0.4, "safe_cost": 0.1}], seed=1, **options
    )


def test_replay_accepts_by_rejection_and_the_agent_learns() -> None:
    log = make(columns(20_000))
    agent = guarded()
    original = copy.copy(agent)
    result = banister.replay(log, agent, seed=4, progress=False)
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
    again = banister.replay(log, original, seed=4, progress=False)
    assert repr(again) == repr(result)
    np.testing.assert_array_equal(again.curves["reward"], result.curves["reward"])
    assert original.to_json() == agent.to_json()


def test_replay_of_a_fixed_policy_estimates_it() -> None:
    """An agent that stays at the safe arm is replayed as that arm."""
    data = columns(5000)
    result = banister.replay(
        make(data),
        banister.Opb(
            3, guardrails=[{"name": "spend", "at_most": 0.1001, "safe_cost": 0.1}], seed=1
        ),
        progress=False,
    )
    safe = banister.evaluate(make(data), result.policy)
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
    result = banister.replay(named, agent, progress=False)
    assert set(result.policy) <= {*ARMS, "new"}


def test_replay_of_a_linear_agent() -> None:
    log, _ = linear()
    agent = banister.Oplb(safe_action=[1.0, 0.0], guardrails=[SPEND], seed=1)
    result = banister.replay(log, agent, progress=False)
    assert agent.outcomes == result.accepted > 20
    assert result.outside == 0.0
    # The actions of the last round are on offer.
    assert len(agent.decide().probabilities) == 3
    context = banister.Log.from_frame(
        {
            "action": [0, 1] * 50,
            "reward": [0.0, 1.0] * 50,
            "pscore": [0.5] * 100,
            "one": [1.0] * 100,
        },
        features=["one"],
    )
    by_context = banister.Oplb(safe_action=[1.0, 0.0])
    result = banister.replay(context, by_context, progress=False)
    assert result.accepted == by_context.outcomes > 20


def test_interruption_leaves_the_agent_as_it_was() -> None:
    # Contexts that become long vectors, so that it takes many seconds.
    rounds, k, d = 200_000, 20, 5
    rng = np.random.default_rng(6)
    data = {"action": rng.integers(k, size=rounds), "reward": rng.uniform(size=rounds)}
    data["pscore"] = np.full(rounds, 1 / k)
    data |= {f"x{i}": rng.uniform(size=rounds) for i in range(d)}
    log = banister.Log.from_frame(data, features=[f"x{i}" for i in range(d)], arms=k)
    agent = banister.Oplb(safe_action=np.eye(k * d)[0], seed=1)
    before = agent.to_json()
    pressed = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    pressed.start()
    with pytest.raises(KeyboardInterrupt):
        banister.replay(log, agent, progress=False)
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
        lambda: banister.Oplb(safe_action=[1.0, 0.0]),
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
        banister.replay(make(columns(100)), agent(), progress=False, **options)
    assert message in str(caught.value)


def test_an_agent_without_arms_needs_features(data: dict[str, Any]) -> None:
    log = make(data, features=None)
    agent = banister.Oplb(safe_action=[1.0, 0.0])
    with pytest.raises(ValueError, match="`log` has no features"):
        agent.warm_start(log)
    with pytest.raises(ValueError, match="`log` has no features"):
        banister.evaluate(log, agent)
    # Arms that stay the same need none.
    assert banister.Oplb(3).warm_start(log) == len(log)


def test_a_safe_action_that_was_not_offered(data: dict[str, Any]) -> None:
    log = make(data)
    agent = banister.Oplb(
        safe_action=[1.0, 0.0, 0.0],
        guardrails=[{"name": "spend", "at_most": 0.4, "safe_cost": 0.1}],
    )
    with pytest.raises(ValueError, match="`policy` plays its safe action with probability"):
        banister.evaluate(log, agent)
    assert banister.replay(log, agent, progress=False).outside > 0


def test_names_and_numbers_do_not_mix(data: dict[str, Any]) -> None:
    named = make({**data, "action": np.array(ARMS)[data["action"]]}, arms=ARMS)
    with pytest.raises(ValueError, match=r"`log` has arms with names .* `arms=list\(log.arms\)`"):
        banister.replay(named, banister.Opb(3), progress=False)
    with pytest.raises(ValueError, match="`log` has the arm 'wild': the arms of `agent` are"):
        banister.Opb(["control", "bold"]).warm_start(named)


# Warm start


def test_warm_start_is_observe_batch(log: banister.Log, data: dict[str, Any]) -> None:
    warm, fed = guarded(), guarded()
    assert banister.warm_start(warm, log) == len(log) == warm.outcomes
    fed.observe_batch(data["action"], data["reward"], data["spend"])
    assert warm.to_json() == fed.to_json()
    assert warm.decide().policy == fed.decide().policy


def test_warm_start_of_a_linear_agent_is_observe_batch() -> None:
    log, offered = linear()
    warm, fed = (
        banister.Oplb(safe_action=[1.0, 0.0], guardrails=[SPEND], seed=1) for _ in range(2)
    )
    assert warm.warm_start(log) == len(log)
    played = offered[np.arange(len(log)), log.indices]
    fed.observe_batch(features=played, rewards=log.rewards, costs=log.costs)
    actions = offered[0]
    np.testing.assert_allclose(
        warm.decide(actions).probabilities, fed.decide(actions).probabilities, atol=1e-9
    )


def test_a_refused_warm_start_teaches_nothing(data: dict[str, Any]) -> None:
    agent = guarded()
    with pytest.raises(ValueError, match=r"`cost\[7\]\[0\] \(spend\)` is 3: must lie in"):
        agent.warm_start(make(broken(data, "spend", 3.0)))
    assert agent.outcomes == 0
    # This one is refused half-way.
    short = guarded(intervals="hoeffding", horizon=100)
    before = short.to_json()
    with pytest.raises(ValueError, match="the horizon of 100 outcomes is used up"):
        short.warm_start(make(data))
    assert short.to_json() == before
    assert short.outcomes == 0


@pytest.mark.parametrize("module", ["_frame", "_log", "_offline", "_policy", "_replay"])
def test_examples_in_docstrings(module: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(f"banister.{module}"))
    assert failed == 0


def test_examples_in_the_chapter() -> None:
    chapter = Path(__file__).resolve().parents[2] / "docs" / "logged-data.md"
    failed, tried = doctest.testfile(str(chapter), module_relative=False)
    assert failed == 0 and tried > 10


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
    log = banister.Log.from_frame(frame, costs=["spend"])
    expected = banister.evaluate(log, 0, guardrails=[guardrail]).to_dict()
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
        assert banister.evaluate(same, 0, guardrails=[guardrail]).to_dict() == expected
        first, second = (banister.Opb(3, guardrails=[guardrail], seed=1) for _ in range(2))
        assert first.warm_start(same) == second.warm_start(log) == 400
        assert first.save() == second.save()
        assert banister.replay(same, first, progress=False).accepted > 0
    assert list(banister.evaluate(single, 0).costs) == ["cost"]
