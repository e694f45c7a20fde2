"""Plans: how long until an arm is certified and its lift known, before an experiment begins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _native
from .._figure import Figure
from .._guardrail import GuardrailLike, RewardLike
from .._html import aligned, cell, number
from .._progress import bar
from .._types import Int
from .run import Agents, EnvironmentLike, declare


def plan(
    environment: EnvironmentLike,
    agents: Agents | None = None,
    *,
    guardrails: GuardrailLike | Iterable[GuardrailLike] | None = None,
    reward: RewardLike | None = None,
    lift: float | None = None,
    traffic: float | None = None,
    threads: int | None = None,
    progress: bool = True,
    **run: Int | None,
) -> Plan:
    """Plans an experiment: decisions until each arm is certified and its lift known.

    Parameters:
        environment: a declaration of arms with the means that are expected, or a TOML file.
        lift: half-width to which the lift of the reward over the safe arm shall be known.
        traffic: decisions per day, for the figure.
        agents, guardrails, reward, threads: as for `simulate`; the first agent decides.
        run: `horizon`, `runs`, `seed`, `delay` and `batch`, as for `simulate`.

    Example:
        >>> import banister
        >>> arms = {"kind": "bernoulli", "arms": ["control", "new"], "rewards": [0.1, 0.7], "costs": [[0.0, 0.2]]}
        >>> spend = banister.Guardrail("spend", at_most=0.5, safe_cost=0.0)
        >>> plan = banister.plan(arms, "opb", guardrails=spend, horizon=2000, progress=False)
        >>> plan.times["arm"], plan.times["until"]
        (['new'], ['certified'])
    """
    own = declare(environment, agents, guardrails, reward, None, **run).check()
    with bar("planning", progress) as update:
        return Plan(*_native.plan(own, lift, traffic, threads, update))


@dataclass(frozen=True, repr=False)
class Plan:
    """Answer of `plan`: times by arm, what learning costs meanwhile, and a figure."""

    _answer: dict[str, Any]
    _svg: str

    @property
    def times(self) -> dict[str, Any]:
        """Decisions until an event ("certified" or "lift") of an arm, as a dictionary of columns.

        `median` and `q90` are quantiles over runs, NaN beyond the horizon; `least` is the number of outcomes that
        typically certify the arm if every mean is known; `share` is that of the arm in the best policy, and where it
        is 0 the arm is never certified.
        """
        rows = self._answer["times"]
        words = {name: [row[name] for row in rows] for name in ("arm", "until")}
        names = ("share", "median", "q90", "least")
        return words | {name: np.array([row[name] for row in rows], dtype=float) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Returns all of it as plain values, as `banister plan --json` prints them: also the times of every run."""
        return self._answer

    def plot(self) -> Figure:
        """Draws the probability of every arm over decisions."""
        return Figure(self._svg)

    def __repr__(self) -> str:
        own, times = self._answer["summary"], self.times
        regret, limit, broken = (number(own[name]) for name in ("regret_mean", "limit", "violations"))
        title = f"{own['horizon']:,} decisions of {own['agent']}: regret {regret} (limit {limit}), {broken} violations"
        rows = ([cell(value) for value in row] for row in zip(*times.values(), strict=True))
        return "\n".join([title, *aligned([list(times), *rows])])
