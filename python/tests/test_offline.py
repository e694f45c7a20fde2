"""Off-policy estimates against formulas in NumPy, policies, verdicts, and logs that agents live through."""

from __future__ import annotations

import copy
import signal
import threading
from typing import Any

import numpy as np
import pytest
from logs import ARMS, COSTS, MEANS, POLICY, SPEND, broken, columns, linear, make

import banister

Z = 1.959963984540054


def normal(terms: np.ndarray) -> tuple[float, float, float]:
    mean, error = terms.mean(), terms.std(ddof=1) / np.sqrt(len(terms))
    return mean, mean - Z * error, mean + Z * error


def assert_close(one: banister.offline.Estimate, expected: tuple[float, float, float]) -> None:
    found = (one.estimate, one.lower, one.upper)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_every_segment_is_evaluated_from_its_own_rounds(data: dict[str, Any]) -> None:
    segments = ["even" if t % 2 == 0 else "odd" for t in range(len(data["reward"]))]
    segments[-1] = "alone"
    frame = {**data, "segment": segments}
    log = banister.offline.Log.from_frame(frame, costs=["spend", "delay"], segment="segment")
    found = banister.offline.evaluate(log, POLICY, interval="normal")
    rounds = {name: one.reward.n for name, one in found.segments.items()}
    assert rounds == {name: segments.count(name) for name in ("even", "odd")}
    assert found.without_estimates.keys() == {"alone"}
    own = np.array(segments) == "even"
    w = POLICY[data["action"][own]] / data["pscore"][own]
    assert_close(found.segments["even"].reward, normal(w * data["reward"][own]))
    with pytest.raises(TypeError, match="segment"):
        banister.offline.Log.from_frame(
            {**data, "segment": range(len(segments))}, costs=["spend", "delay"], segment="segment"
        )


# Formulas


def test_ips_is_the_weighted_mean(log: banister.offline.Log, data: dict[str, Any]) -> None:
    w = POLICY[data["action"]] / data["pscore"]
    found = banister.offline.evaluate(log, POLICY, interval="normal")
    assert_close(found.reward, normal(w * data["reward"]))
    assert_close(found.costs["spend"], normal(w * data["spend"]))
    assert_close(found.costs["delay"], normal(w * data["delay"]))
    assert found.reward.effective_sample_size == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert found.reward.largest_weight == w.max()
    assert found.reward.mean_weight == pytest.approx(w.mean())
    assert found.reward.share_clipped == found.reward.lost_weight == 0.0


def test_snips_is_the_ratio_with_the_delta_method(log: banister.offline.Log, data: dict[str, Any]) -> None:
    w, y = POLICY[data["action"]] / data["pscore"], data["reward"]
    ratio = (w * y).sum() / w.sum()
    influence = w * (y - ratio) / w.mean()
    error = influence.std(ddof=1) / np.sqrt(len(w))
    found = banister.offline.evaluate(log, POLICY, estimator="snips", interval="normal")
    assert_close(found.reward, (ratio, ratio - Z * error, ratio + Z * error))
    assert found.reward.standard_error == pytest.approx(error)


def test_clipped_weights(log: banister.offline.Log, data: dict[str, Any]) -> None:
    w = POLICY[data["action"]] / data["pscore"]
    cut = np.minimum(w, 1.2)
    found = banister.offline.evaluate(log, POLICY, interval="normal", clip=1.2, reward={"range": [0, 1]}).reward
    assert_close(found, normal(cut * data["reward"]))
    assert found.share_clipped == pytest.approx((w > 1.2).mean())
    assert found.lost_weight == pytest.approx((w - cut).mean())
    assert found.largest_weight == w.max()
    assert found.clipping_bias == pytest.approx((0.0, (w - cut).mean()))


@pytest.mark.parametrize("as_mapping", [False, True])
def test_dr_with_a_given_model(log: banister.offline.Log, data: dict[str, Any], as_mapping: bool) -> None:
    rng = np.random.default_rng(5)
    q = rng.uniform(size=(3, len(log), 3))
    w, a = POLICY[data["action"]] / data["pscore"], data["action"]
    model = dict(zip(["reward", "spend", "delay"], q, strict=True)) if as_mapping else q
    found = banister.offline.evaluate(log, POLICY, estimator="dr", interval="normal", model=model)
    for one, signal_q in zip([found.reward, *found.costs.values()], q, strict=True):
        residual = data[one.name] - signal_q[np.arange(len(log)), a]
        assert_close(one, normal(signal_q @ POLICY + w * residual))
    direct = banister.offline.evaluate(log, POLICY, estimator="dm", model=model).reward
    assert direct.estimate == pytest.approx((q[0] @ POLICY).mean())
    assert direct.standard_error == direct.upper == np.inf
    # Judging some of the costs takes the model's tables of those alone.
    guardrail = {"name": "delay", "at_most": 0.9}
    some = banister.offline.evaluate(log, POLICY, estimator="dr", model=model, guardrails=guardrail)
    assert some.verdicts["delay"].estimate == some.costs["delay"]


def test_bernstein_is_wider_and_covers_for_any_number_of_rounds(log: banister.offline.Log) -> None:
    guardrails = [{"name": "spend", "at_most": 0.5}, {"name": "delay", "at_most": 0.5}]
    options: dict[str, Any] = {"reward": {"range": [0, 1]}, "min_pscore": 0.2}
    wide = banister.offline.evaluate(
        log, POLICY, guardrails=guardrails, interval="bernstein", estimator="ips", **options
    )
    narrow = banister.offline.evaluate(
        log, POLICY, guardrails=guardrails, interval="normal", estimator="ips", **options
    )
    assert wide.reward.lower < narrow.reward.lower < narrow.reward.upper < wide.reward.upper


def test_bootstrap_is_seeded_and_near_normal(log: banister.offline.Log) -> None:
    def boot(seed: int) -> banister.offline.Estimate:
        return banister.offline.evaluate(log, POLICY, estimator="ips", interval="bootstrap", seed=seed).reward

    assert boot(1) == boot(1) != boot(2)
    near = banister.offline.evaluate(log, POLICY, interval="normal").reward
    assert boot(1).lower == pytest.approx(near.lower, abs=0.01)
    assert boot(1).upper == pytest.approx(near.upper, abs=0.01)


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_unbiased_over_logs_and_intervals_cover(estimator: Any) -> None:
    truth, cost = 0.5 * POLICY @ MEANS, POLICY @ COSTS
    found = [
        banister.offline.evaluate(make(columns(1000, seed)), POLICY, estimator=estimator, interval="normal")
        for seed in range(300)
    ]
    rewards = np.array([one.reward.estimate for one in found])
    spends = np.array([one.costs["spend"].estimate for one in found])
    assert abs(rewards.mean() - truth) < 4 * rewards.std() / np.sqrt(300)
    assert abs(spends.mean() - cost) < 4 * spends.std() / np.sqrt(300)
    covered = np.mean([one.reward.lower <= truth <= one.reward.upper for one in found])
    assert 0.91 < covered < 0.985


def bets(terms: np.ndarray, delta: float = 0.025) -> float:
    """The h at which the wealth of bets on terms that are never negative is 1/δ, by bisection."""
    stakes = np.array([0.95, 0.75, *(0.5 ** np.arange(1, 17))])
    weights = (np.arange(18) + 6.0) ** -1.3
    before = np.concatenate([[0.0], terms.cumsum()[:-1]])
    centre = np.minimum((0.5 + before) / np.arange(1, len(terms) + 1), 1)
    won = np.log1p(stakes * (terms - centre)[:, None]).sum(axis=0) + stakes * centre.sum()
    low, high = 0.0, 1.0
    for _ in range(60):
        h = (low + high) / 2
        wealth = weights @ np.exp(won - stakes * len(terms) * h) / weights.sum()
        low, high = (h, high) if wealth >= 1 / delta else (low, h)
    return low


def test_the_mixture_is_the_default_and_that_of_the_bets(data: dict[str, Any]) -> None:
    log = make({key: column[:400] for key, column in data.items()})
    w = (POLICY[data["action"]] / data["pscore"])[:400]
    found = banister.offline.evaluate(log, POLICY)
    for one in (found.reward, *found.costs.values()):
        y = data[one.name][:400]
        assert_close(one, ((w * y).mean(), bets(w * y), 1 - bets(w * (1 - y))))
    # The interval is one for the policy's value, whatever the estimate beside it.
    robust = banister.offline.evaluate(log, POLICY, estimator="dr")
    assert robust.reward.upper == found.reward.upper
    # A range is mapped to and fro, and known propensities make it narrower.
    guardrail = banister.Guardrail("spend", at_most=3.0, range=(-1.0, 4.0))
    wide = banister.offline.evaluate(log, POLICY, guardrails=guardrail).costs["spend"]
    y = (data["spend"][:400] + 1) / 5
    expected = ((w * data["spend"][:400]).mean(), 5 * bets(w * y) - 1, 4 - 5 * bets(w * (1 - y)))
    assert_close(wide, expected)
    narrow = banister.offline.evaluate(log, POLICY, min_pscore=0.2).costs["spend"]
    assert narrow.upper < found.costs["spend"].upper


def test_a_signal_outside_the_assumed_range_is_refused(data: dict[str, Any]) -> None:
    log = make({**data, "reward": 3 * data["reward"], "delay": 3 * data["delay"]})
    with pytest.raises(ValueError, match=r"`costs\[\"delay\"\]` is 1\..* in row .*: without a declared"):
        banister.offline.evaluate(log, POLICY)
    guardrail = {"name": "delay", "at_most": 2.0, "range": [0, 3]}
    with pytest.raises(ValueError, match=r"`reward` is 3 in row .* give `reward="):
        banister.offline.evaluate(log, POLICY, guardrails=guardrail)
    found = banister.offline.evaluate(log, POLICY, guardrails=guardrail, reward={"range": [0, 3]})
    assert found.verdicts["delay"].verdict == "kept"
    assert banister.offline.evaluate(log, POLICY, interval="normal").reward.upper > 0
    noisy = {"name": "delay", "at_most": 2.0, "sub_gaussian": 1.0, "range": [0, 3]}
    with pytest.raises(ValueError, match="a `mixture` interval needs the lowest and highest value"):
        banister.offline.evaluate(log, POLICY, guardrails=noisy, reward={"range": [0, 3]})


# Policies


def test_all_ways_to_say_the_same_policy(data: dict[str, Any]) -> None:
    named = make({**data, "action": np.array(ARMS)[data["action"]]}, arms=ARMS)
    one_hot = [0.0, 1.0, 0.0]
    rows = np.tile(one_hot, (len(named), 1))
    policies: list[Any] = ["bold", 1, np.int64(1), one_hot, rows, {"bold": 1.0}, {1: 1.0}]
    same = [banister.offline.evaluate(named, policy) for policy in policies]
    assert all(one == same[0] for one in same)


def test_a_decision_and_an_agent(data: dict[str, Any]) -> None:
    named = make({**data, "action": np.array(ARMS)[data["action"]]}, arms=ARMS)
    # Another order than the log's: names count.
    agent = banister.Opb(ARMS[::-1], safe="control", seed=3)
    agent.observe_batch(["bold", "wild", "control"] * 50, [0.5, 0.9, 0.1] * 50)
    before = agent.to_json()
    by_agent = banister.offline.evaluate(named, agent)
    assert agent.to_json() == before, "judging an agent leaves it alone, its random stream too"
    decision = agent.decide()
    assert by_agent == banister.offline.evaluate(named, decision)
    assert by_agent == banister.offline.evaluate(named, decision.policy)


def test_a_linear_agent_is_judged_row_by_row() -> None:
    log, offered = linear()
    agent = banister.Oplb(parameter_norm=1, safe_action=[1.0, 0.0], guardrails=[SPEND], seed=1)
    agent.warm_start(log)
    rows = copy.copy(agent).decide_batch(actions=offered).probabilities[:, :3]
    assert banister.offline.evaluate(log, agent) == banister.offline.evaluate(log, rows)


def test_disjoint_features() -> None:
    x = np.array([[3.0, 4.0], [5.0, 6.0]])
    joint = banister.offline.disjoint_features(x, 3)
    assert joint.shape == (2, 3, 6)
    for row, blocks in zip(x, joint, strict=True):
        np.testing.assert_array_equal(blocks, np.kron(np.eye(3), row))
        np.testing.assert_array_equal(blocks, banister.offline.disjoint_features(row, 3))


# Guardrails


def test_verdicts() -> None:
    log = make(columns(20_000))
    guardrails = [
        banister.Guardrail("delay", at_most=0.5),
        banister.Guardrail("spend", at_most=POLICY @ COSTS - 0.05),
    ]
    found = banister.offline.evaluate(log, POLICY, guardrails=guardrails)
    assert [v.verdict for v in found.verdicts.values()] == ["broken", "kept"]
    assert list(found.verdicts) == ["spend", "delay"]
    assert not found.is_safe
    edge = banister.Guardrail("spend", at_most=float(POLICY @ COSTS))
    assert banister.offline.evaluate(log, POLICY, guardrails=edge).verdicts["spend"].verdict == "undecided"
    frame = found.to_pandas()
    assert frame.loc["spend", "verdict"] == "broken"
    assert frame.loc["reward", "estimate"] == found.reward.estimate
    assert found.to_dict()["costs"]["spend"]["lower"] == found.costs["spend"].lower


def test_a_relative_guardrail_is_judged_by_its_difference(log: banister.offline.Log, data: dict[str, Any]) -> None:
    guardrail = banister.Guardrail("spend", at_most=2.0, relative=True)
    found = banister.offline.evaluate(log, POLICY, guardrails=guardrail, safe=0, interval="normal").verdicts["spend"]
    w = (POLICY[data["action"]] - 2.0 * (data["action"] == 0)) / data["pscore"]
    assert found.threshold == 0.0
    assert_close(found.estimate, normal(w * data["spend"]))


def test_a_verdict_says_why_and_how_many_rounds_it_needs(data: dict[str, Any]) -> None:
    few = {key: column[:300] for key, column in data.items()}
    few["action"] = np.array([*ARMS, "odd"])[few["action"]]
    log = make(few, arms=[*ARMS, "odd"])
    guardrail = banister.Guardrail("spend", at_most=0.45)
    found = banister.offline.evaluate(log, [*POLICY, 0.0], guardrails=guardrail)
    verdict = found.verdicts["spend"]
    assert verdict.verdict == "undecided" and "contains 0.45" in verdict.reason
    assert verdict.rows_needed is not None and 300 < verdict.rows_needed < 30_000
    assert f"; about {verdict.rows_needed:,} rounds would decide)" in repr(verdict)
    assert f"  spend: {verdict.reason}; about" in repr(found)
    frame = found.to_pandas()
    assert frame.loc["spend", "reason"] == verdict.reason
    assert found.to_dict()["verdicts"]["spend"]["rows_needed"] == verdict.rows_needed

    never = banister.offline.evaluate(log, "odd", guardrails=guardrail)
    verdict = never.verdicts["spend"]
    assert verdict.verdict == "undecided" and verdict.rows_needed is None
    assert verdict.reason.endswith("the log never plays `odd`")
    assert never.reward.never_played == ("odd",) and not never.reward.weights_compatible
    assert (never.reward.lower, never.reward.upper) == (0.0, 1.0)
    assert "never played in the log: odd" in repr(never)

    normal = banister.offline.evaluate(log, "bold", guardrails=guardrail, interval="normal")
    assert "effective rounds: a `normal` interval decides from 200 on" in repr(normal)


def test_only_the_mixture_decides_on_adaptive_logs() -> None:
    log = make(columns(20_000), adaptive=True)
    assert log.adaptive and "adaptive" in repr(log)
    guardrail = banister.Guardrail("spend", at_most=0.6)
    assert banister.offline.evaluate(log, POLICY, guardrails=guardrail).is_safe
    normal = banister.offline.evaluate(log, POLICY, guardrails=guardrail, interval="normal")
    assert "the logging policy learned from this log" in normal.verdicts["spend"].reason
    assert not normal.is_safe


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
    assert agent.warm_start(named).outcomes == len(named)
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
    assert banister.Oplb(3).warm_start(log).outcomes == len(log)


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
    assert banister.offline.warm_start(warm, log).outcomes == len(log) == warm.outcomes
    fed.observe_batch(data["action"], data["reward"], data["spend"])
    assert warm.estimates()["spend_upper"].tolist() == fed.estimates()["spend_upper"].tolist()
    assert warm.decide().policy == fed.decide().policy
    chosen = "arms, thresholds and ranges were chosen without looking at the logged outcomes"
    named = [[one.text.startswith(chosen) for one in agent.decide().certificate.rests_on] for agent in (warm, fed)]
    assert [any(own) for own in named] == [True, False]


def test_warm_start_of_a_linear_agent_is_observe_batch() -> None:
    log, offered = linear()
    warm, fed = (banister.Oplb(parameter_norm=1, safe_action=[1.0, 0.0], guardrails=[SPEND], seed=1) for _ in range(2))
    assert warm.warm_start(log).outcomes == len(log)
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


def test_lift_over_the_safe_arm(data: dict[str, Any]) -> None:
    log = banister.offline.Log.from_frame(data, costs=["spend"])
    for form in ("constant", "concurrent"):
        found = banister.offline.lift(log, safe=0, form=form, guardrails=[SPEND])
        assert found["arm"] == [1, 1, 2, 2] and found["signal"] == ["reward", "spend"] * 2
        means = [data["reward"][data["action"] == arm].mean() for arm in (0, 1, 2)]
        np.testing.assert_allclose(found["mean"][::2], means[1:])
        assert (found["difference_lower"] < found["difference_upper"]).all() and set(found["form"]) == {form}
    with pytest.raises(ValueError, match="form"):
        banister.offline.lift(log, form="moving")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="confidence"):
        banister.offline.lift(log, confidence=2)
    with pytest.raises(ValueError, match="safe"):
        banister.offline.lift(log, safe=7)
