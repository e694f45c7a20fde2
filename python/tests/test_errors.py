"""Bad input: the argument, the value and what is allowed, as a ValueError or TypeError; never a Rust panic.

A panic would arrive as `PanicException`, or as the RuntimeError that guards against it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import banister

NAN = float("nan")
SPEND = {"name": "spend", "at_most": 0.5, "safe_cost": 0.1}
ENVIRONMENT = {"kind": "bernoulli", "rewards": [0.1, 0.7], "costs": [[0.1, 0.2]]}

opb: Any = banister.Opb
oplb: Any = banister.Oplb


def arms() -> Any:
    return banister.Opb(["a", "b"], guardrails=[SPEND], seed=1)


def linear() -> Any:
    return banister.Oplb(parameter_norm=1, safe_action=[1.0, 0.0], guardrails=[SPEND], seed=1)


def simulate(**more: Any) -> Any:
    settings: dict[str, Any] = {
        "environment": ENVIRONMENT,
        "agents": ["opb"],
        "guardrails": [SPEND],
        "horizon": 10,
        "progress": False,
    }
    return banister.simulate(**{**settings, **more})


def round_of(**more: Any) -> Any:
    settings: dict[str, Any] = {
        "actions": [[1.0, 0.0], [0.0, 1.0]],
        "safe": 0,
        "safe_costs": [0.1],
        "thresholds": [0.5],
        "gram": [[1.0, 0.0], [0.0, 1.0]],
        "reward": {"estimate": [0.1, 0.5], "radius": 0.1},
        "costs": [{"estimate": [0.0, 0.3], "radius": 0.1}],
    }
    return banister.solve_oplb(**{**settings, **more})


def ragged() -> Any:
    agent = opb(2, guardrails=[{"name": name, "at_most": 0.5} for name in "xy"])
    return agent.fit([0, 1], [0, 1], {"x": [0, 0], "y": [0]})


Call = Callable[[], object]
CASES: list[tuple[str, type[Exception], Call, list[str]]] = [
    ("no arms", TypeError, lambda: opb(), ["`arms`", "missing"]),
    ("zero arms", ValueError, lambda: opb(0), ["`arms` is 0"]),
    ("a string of arms", TypeError, lambda: opb("ab"), ["`arms` is 'ab'"]),
    ("a number as name", TypeError, lambda: opb(["a", 3]), ["`arms[1]` is 3", "string"]),
    ("a name twice", ValueError, lambda: opb(["a", "a"]), ["`arms[1]`", "a name of its own"]),
    ("delta", ValueError, lambda: opb(3, delta=2), ["`delta` is 2", "below 1"]),
    ("delta nan", ValueError, lambda: opb(3, delta=NAN), ["`delta` is NaN", "finite"]),
    ("delta text", TypeError, lambda: opb(3, delta="x"), ["`delta`", "must be a number"]),
    ("unknown argument", TypeError, lambda: opb(3, detla=1), ["`detla`", "`delta`"]),
    ("unknown word", ValueError, lambda: opb(3, intervals="klx"), ["`intervals`", "klx", "`kl`"]),
    ("horizon", TypeError, lambda: opb(3, horizon=2.5), ["`horizon` is 2.5", "integer"]),
    ("guardrails", TypeError, lambda: opb(3, guardrails=5), ["`guardrails` is 5"]),
    (
        "guardrail key",
        TypeError,
        lambda: opb(3, guardrails=[{"name": "x", "at_mots": 1}]),
        ["`guardrails[0]`", "at_mots", "at_most"],
    ),
    (
        "guardrail value",
        ValueError,
        lambda: opb(3, guardrails=[{"name": "x", "at_most": 0.5, "safe_cost": 0.7}]),
        ["`guardrails[0].safe_cost` is 0.7"],
    ),
    ("reward tuple", TypeError, lambda: opb(3, reward=(0, 30)), ["`reward`", "Reward(range=(0, 30))"]),
    ("guardrail tuple", TypeError, lambda: opb(2, guardrails=("x", 0.5)), ["`guardrails[0]`", "Guardrail("]),
    ("rows", ValueError, lambda: arms().fit([0, 1], [0, NAN], [0, 0]), ["`reward` is NaN in row 1"]),
    ("words", TypeError, lambda: arms().fit([0], [0], {"spend": ["x"]}), ["`costs['spend']`", "must be numbers"]),
    ("ragged", ValueError, ragged, ["`costs['y']` has 1 entries, `costs['x']` has 2"]),
    ("reward range", ValueError, lambda: opb(3, reward={"range": [1, 0]}), ["`reward.range`"]),
    ("seed", ValueError, lambda: opb(3, seed=-1), ["`seed` is -1"]),
    ("seed text", TypeError, lambda: opb(3, seed="x"), ["`seed` is 'x'", "Generator"]),
    ("safe", ValueError, lambda: opb(3, safe=7), ["`safe` is 7", "0 to 2"]),
    ("safe name", ValueError, lambda: opb(["a"], safe="b"), ['`safe` is "b"', "the arms are a"]),
    ("features", ValueError, lambda: oplb(3, features=[[1.0]]), ["`features`", "one per arm"]),
    ("features nan", ValueError, lambda: oplb(features=[[NAN]]), ["`features[0, 0]`", "finite"]),
    ("no S", ValueError, lambda: oplb(safe_action=[1.0]), ["`parameter_norm` is absent", "√K", "(1, v)"]),
    (
        "short S",
        ValueError,
        lambda: oplb(safe_action=[0.1], guardrails=[SPEND], parameter_norm=0.5),
        ["`guardrails[0].safe_cost`", "parameter_norm"],
    ),
    ("lambda", ValueError, lambda: oplb(2, lambda_=-1), ["`lambda` is -1", "above 0"]),
    ("no kind", TypeError, lambda: banister.Agent(3), ["banister.Opb"]),
    ("unknown arm", ValueError, lambda: arms().observe("z", 1.0, 0.0), ["`z`", "a, b"]),
    ("arm number", ValueError, lambda: arms().observe(9, 1.0, 0.0), ["no arm 9", "0 to 1"]),
    ("arm type", TypeError, lambda: arms().observe(1.5, 1.0, 0.0), ["`action` is 1.5"]),
    ("arm flag", TypeError, lambda: arms().observe(True, 1.0, 0.0), ["`action` is True"]),
    ("singular", TypeError, lambda: opb(3, guardrail=[]), ["`guardrail`", "did you mean `guardrails`?"]),
    ("reward nan", ValueError, lambda: arms().observe(0, NAN, 0.0), ["`reward` is NaN"]),
    ("reward far", ValueError, lambda: arms().observe(0, 1e200, 0.0), ["`reward` is 1", "[0, 1]"]),
    ("reward type", TypeError, lambda: arms().observe(0, "x", 0.0), ["`reward` is 'x'"]),
    ("cost nan", ValueError, lambda: arms().observe(0, 1.0, [NAN]), ["`spend` is NaN"]),
    ("cost count", ValueError, lambda: arms().observe(0, 1.0, [0.0, 1.0]), ["2 costs", "expected 1"]),
    ("no cost", ValueError, lambda: arms().observe(0, 1.0), ["0 costs", "spend"]),
    ("cost key", ValueError, lambda: arms().observe(0, 1.0, {"x": 1}), ["'x'", "spend"]),
    ("cost type", TypeError, lambda: arms().observe(0, 1.0, ["x"]), ["`costs[0]` is 'x'"]),
    ("features for arms", TypeError, lambda: arms().decide(np.eye(2)), ["`actions`", "Oplb"]),
    ("feature count", ValueError, lambda: linear().decide(np.eye(3)), ["(3, 3)", "(any, 2)"]),
    ("one action", ValueError, lambda: linear().decide([1.0, 0.0]), ["`actions` has shape (2,)"]),
    ("actions nan", ValueError, lambda: linear().decide([[NAN, 1.0]]), ["`actions[0][0]` is NaN"]),
    ("actions text", TypeError, lambda: linear().decide([["x", "y"]]), ["`actions`", "numbers"]),
    ("complex", TypeError, lambda: linear().decide(np.eye(2) * 1j), ["`actions`", "real"]),
    ("rng", TypeError, lambda: arms().decide(rng="x"), ["`rng` is 'x'", "Generator"]),
    ("batch", TypeError, lambda: arms().decide_batch(), ["`size`", "`actions`"]),
    ("batch size", ValueError, lambda: arms().decide_batch(-1), ["`size` is -1"]),
    (
        "batch length",
        ValueError,
        lambda: arms().observe_batch([0, 1], [1.0], [[0.0]]),
        ["`actions` has 2 entries, expected 1"],
    ),
    (
        "batch costs",
        ValueError,
        lambda: arms().observe_batch([0], [1.0], [[0.0, 1.0]]),
        ["`costs` has shape (1, 2), expected (1, 1)"],
    ),
    ("batch without costs", TypeError, lambda: arms().observe_batch([0], [1.0]), ["`costs`", "(1, 1)"]),
    ("retire safe", ValueError, lambda: arms().retire_arm("a"), ["safe arm"]),
    ("retire unknown", ValueError, lambda: arms().retire_arm("z"), ["`arm`", "a, b"]),
    ("add twice", ValueError, lambda: arms().add_arm("a"), ["a name of its own"]),
    ("add features", TypeError, lambda: arms().add_arm("c", [1.0]), ["feature"]),
    ("snapshot", ValueError, lambda: banister.load("{}"), ["snapshot", "format"]),
    ("broken snapshot", ValueError, lambda: banister.load('{"format": 3'), ["snapshot"]),
    ("other kind", ValueError, lambda: banister.Oplb.load(arms().save()), ["`opb`", "`oplb`"]),
    ("lp shapes", ValueError, lambda: banister.solve_lp([1.0], [[0.0, 1.0]], [0.5]), ["(1, 2)", "(any, 1)"]),
    ("lp nan", ValueError, lambda: banister.solve_lp([1.0, NAN], [[0.0, 1.0]], [0.5]), ["`reward[1]` is NaN"]),
    ("lp empty", ValueError, lambda: banister.solve_lp([], [[]], [0.5]), ["`reward` is empty"]),
    (
        "lp rounds",
        ValueError,
        lambda: banister.solve_lp(np.ones((3, 2)), np.ones((4, 1, 2)), [0.5]),
        ["`costs` has 4 rounds where `reward` has 3"],
    ),
    (
        "lp place",
        ValueError,
        lambda: banister.solve_lp(np.ones((2, 2)), [[0.0, 1.0]], [[0.5], [NAN]]),
        ["`thresholds[1, 0]` is NaN"],
    ),
    ("oplb gram", ValueError, lambda: round_of(gram=np.eye(3)), ["`gram`", "(3, 3)", "(2, 2)"]),
    ("oplb definite", ValueError, lambda: round_of(gram=-np.eye(2)), ["gram", "positive definite"]),
    ("oplb solver", ValueError, lambda: round_of(solver="best"), ["`solver`", "exact"]),
    ("oplb safe", ValueError, lambda: round_of(safe=5), ["`safe` is 5"]),
    ("oplb reward", TypeError, lambda: round_of(reward=[1.0]), ["`reward`", "estimate"]),
    ("oplb margin", ValueError, lambda: round_of(safe_costs=[0.6]), ["`safe_costs[0]` is 0.6"]),
    ("no agents", TypeError, lambda: simulate(agents=None), ["`agents`"]),
    ("agent kind", ValueError, lambda: simulate(agents=["opc"]), ["agents[0]", "opc", "opb"]),
    ("agent key", TypeError, lambda: simulate(agents=[{"kind": "opb", "detla": 1}]), ["agents[0]", "detla"]),
    ("agent value", ValueError, lambda: simulate(agents=[{"kind": "opb", "delta": 2}]), ["`agents[0].delta` is 2"]),
    ("agent type", TypeError, lambda: simulate(agents=[3]), ["`agents` has 3"]),
    ("environment kind", ValueError, lambda: simulate(environment={"kind": "x"}), ["environment", "`x`"]),
    ("environment type", TypeError, lambda: simulate(environment=3), ["`environment` is 3", "pull"]),
    ("means", ValueError, lambda: simulate(environment={**ENVIRONMENT, "rewards": [2, 0]}), ["environment.rewards"]),
    ("rounds", ValueError, lambda: simulate(horizon=0), ["`horizon` is 0"]),
    ("runs", ValueError, lambda: simulate(runs=-1), ["runs", "-1"]),
    ("labels", ValueError, lambda: simulate(agents=["opb", "opb"]), ["agents[1].label", "of its own"]),
    ("table", ValueError, lambda: simulate().table("x"), ["`table` is 'x'", "'runs'"]),
    ("instance", ValueError, lambda: simulate().plot("x"), ["`instance` is 'x'"]),
]


@pytest.mark.parametrize(("kind", "call", "words"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_bad_input(kind: type[Exception], call: Call, words: list[str]) -> None:
    with pytest.raises(Exception) as caught:
        call()
    assert type(caught.value) is kind, caught.value
    for word in words:
        assert word in str(caught.value)


def test_a_refused_outcome_changes_nothing() -> None:
    agent = arms()
    before = agent.save()
    for bad in (NAN, float("inf"), 1e200):
        with pytest.raises(ValueError):
            agent.observe(0, bad, 0.0)
        with pytest.raises(ValueError):
            agent.observe(0, 0.0, bad)
    assert agent.save() == before
    assert agent.outcomes == 0


def test_a_damaged_snapshot_is_refused_or_whole() -> None:
    agent = arms()
    agent.observe(0, 1.0, 0.0)
    text = agent.save()
    for cut in range(0, len(text), 7):
        with pytest.raises((ValueError, OSError)):
            banister.load(text[:cut] if cut else "{")
    rng = np.random.default_rng(0)
    for _ in range(200):
        at = int(rng.integers(len(text)))
        damaged = text[:at] + chr(int(rng.integers(32, 127))) + text[at + 1 :]
        try:
            banister.load(damaged).decide()
        except ValueError:
            continue


ALLOWED = (ValueError, TypeError, OverflowError, KeyError, IndexError, OSError)


class Strange:
    """Says that it is everything."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, key: object) -> Any:
        raise IndexError(key)

    def __float__(self) -> float:
        return float("nan")

    def __index__(self) -> int:
        return -7

    def tolist(self) -> Any:
        return [self, self]

    def random(self) -> float:
        return 1.0


def anything(rng: np.random.Generator, depth: int = 0) -> Any:
    """A random value of a random kind."""
    plain: list[Callable[[], Any]] = [
        lambda: None,
        lambda: bool(rng.integers(2)),
        lambda: int(rng.integers(-3, 6)),
        lambda: int(rng.choice([2**63, 2**64, -(2**70), 10**30, 2**32])),
        lambda: float(rng.choice([0.0, -0.0, 1.0, 0.5, -1.0, 1e308, 5e-324, np.nan, np.inf, -np.inf])),
        lambda: rng.choice(["", "a", "spend", "safe", "\ud800", "x" * 300, "{}", "opb"]).item(),
        lambda: b"bytes",
        lambda: object(),
        lambda: Strange(),
        lambda: np.float32(rng.random()),
        lambda: np.int8(-5),
        lambda: rng.random(tuple(rng.integers(0, 4, size=rng.integers(0, 4)))),
        lambda: rng.random((3, 2)) * rng.choice([1.0, 1e200, np.nan, 0.0]),
        lambda: np.zeros((2, 0)),
        lambda: np.array(["a", "b"]),
        lambda: np.array([1, None], dtype=object),
        lambda: rng.integers(-2, 5, size=(2, 2)),
        lambda: np.asfortranarray(rng.random((2, 2))),
        lambda: rng,
        lambda: banister.Opb(2).decide(),
    ]
    if depth < 2:
        plain += [
            lambda: [anything(rng, depth + 1) for _ in range(rng.integers(0, 4))],
            lambda: tuple(anything(rng, depth + 1) for _ in range(rng.integers(0, 3))),
            lambda: {str(rng.integers(3)): anything(rng, depth + 1)},
            lambda: {"name": "x", "at_most": anything(rng, depth + 1)},
            lambda: {"estimate": anything(rng, depth + 1), "radius": anything(rng, depth + 1)},
        ]
    return plain[int(rng.integers(len(plain)))]()


def agents() -> list[Any]:
    linear = banister.Oplb(parameter_norm=1, safe_action=[1.0, 0.0], guardrails=[SPEND], seed=1)
    linear.decide([[0.6, 0.8]])
    exact = banister.Oplb(
        ["a", "b"], features=[[1.0, 0.0], [0.0, 1.0]], solver="exact", parameter_norm=1, guardrails=[SPEND]
    )
    return [banister.Opb(["a", "b", "c"], guardrails=[SPEND], seed=1), linear, exact]


def calls(rng: np.random.Generator) -> list[Callable[[], Any]]:
    agent = agents()[int(rng.integers(3))]

    def value() -> Any:
        return anything(rng)

    keyword: Any = rng.choice(["delta", "horizon", "intervals", "seed", "safe", "reward", "guardrails", "lazy"])
    return [
        lambda: agent.decide(value(), value()),
        lambda: agent.decide(rng=value()),
        lambda: agent.observe(value(), value(), value()),
        lambda: agent.observe(agent.decide(), value(), value()),
        lambda: agent.decide_batch(value() if rng.integers(2) else 3, value()),
        lambda: agent.decide_batch(actions=value()),
        lambda: agent.observe_batch(value(), value(), value()),
        lambda: agent.observe_batch(features=value(), rewards=value(), costs=value()),
        lambda: agent.add_arm(value(), value()),
        lambda: agent.retire_arm(value()),
        lambda: agent.fit(value(), value(), value()),
        lambda: agent.predict(value()),
        lambda: banister.load(value()),
        lambda: banister.Opb(value(), **{keyword: value()}).decide(),
        lambda: banister.Oplb(parameter_norm=1, features=value(), guardrails=value()).decide(),
        lambda: banister.Oplb(parameter_norm=1, safe_action=value()).decide(value()),
        lambda: banister.solve_lp(value(), value(), value()),
        lambda: banister.solve_lp(rng.random((2, 3)), value(), value()),
        lambda: banister.solve_oplb(
            value(),
            safe=value(),
            safe_costs=value(),
            thresholds=value(),
            gram=value(),
            reward=value(),
            costs=value(),
        ),
        lambda: banister.simulate(value(), value(), 3, 1, guardrails=value(), progress=False),
        lambda: banister.simulate(
            {"kind": "bernoulli", "rewards": value(), "costs": value()}, "opb", 3, value(), value(), progress=False
        ),
        lambda: banister.offline.Log.from_frame({"action": value(), "reward": value(), "pscore": value()}),
        lambda: agent.decide().certificate[value()],
    ]


@pytest.mark.parametrize("seed", range(60))
def test_hostile_arguments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(25):
        every = calls(rng)
        call = every[int(rng.integers(len(every)))]
        try:
            call()
        except ALLOWED:
            continue


def test_outcomes_of_any_size_keep_policies_safe() -> None:
    """Whatever is observed, every policy is a distribution within its guardrails."""
    rng = np.random.default_rng(0)
    for agent in agents():
        for _ in range(400):
            actions = None
            if isinstance(agent, banister.Oplb) and rng.integers(2):
                actions = rng.standard_normal((4, 2)) * 10.0 ** rng.integers(-8, 9)
            decision = agent.decide(actions)
            assert abs(decision.probabilities.sum() - 1) < 1e-9
            assert decision.certificate["spend"].slack >= 0
            agent.observe(decision, float(rng.integers(2)), float(rng.integers(2)))
