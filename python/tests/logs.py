"""A log that several tests work on."""

from __future__ import annotations

from typing import Any

import numpy as np

import banister

ARMS = ["control", "bold", "wild"]
MEANS = np.array([0.2, 0.5, 0.8])
COSTS = np.array([0.1, 0.3, 0.6])
POLICY = np.array([0.2, 0.5, 0.3])


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


def make(data: Any, **options: Any) -> banister.offline.Log:
    options = {"costs": ["spend", "delay"], "features": ["x"], "arms": 3, **options}
    return banister.offline.Log.from_frame(data, **options)


def linear(rounds: int = 300) -> tuple[banister.offline.Log, np.ndarray]:
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
    log = banister.offline.Log.from_frame(data, costs=["spend"], offered=offered, arms=3)
    return log, offered


SPEND = banister.Guardrail("spend", at_most=0.5, safe_cost=0.3)


def broken(data: dict[str, Any], column: str, value: object, row: int = 7) -> dict[str, Any]:
    changed = list(data[column])
    changed[row] = value
    return {**data, column: changed}
