"""Anything may be passed anywhere: the answer is a ValueError, a TypeError, or an honest result.

A Rust panic would arrive as `PanicException`, or as the RuntimeError that guards against it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import banister

SPEND = {"name": "spend", "at_most": 0.5, "safe_cost": 0.1}
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
