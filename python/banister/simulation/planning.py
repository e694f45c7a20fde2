"""Plans: how long until an arm is certified and its lift known, before an experiment begins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from .._extra import extra
from .._figure import Figure
from .._guardrail import GuardrailLike, RewardLike
from .._html import aligned, cell, number, page
from .._progress import bar
from .._types import Int
from .run import AgentLike, EnvironmentLike, declare

if TYPE_CHECKING:
    import pandas


def plan(
    environment: EnvironmentLike,
    agent: AgentLike | None = None,
    *,
    guardrails: GuardrailLike | Iterable[GuardrailLike] | None = None,
    reward: RewardLike | None = None,
    lift: float | None = None,
    traffic: float | None = None,
    horizon: Int | None = None,
    runs: Int = 20,
    seed: Int | None = None,
    delay: Int | None = None,
    batch: Int | None = None,
    threads: int | None = None,
    progress: bool = True,
) -> Plan:
    """Plans an experiment: decisions until each arm is certified and its lift known, and what that costs meanwhile.

    Parameters:
        environment: a declaration of arms as for `simulate`, with the means that are expected, or a TOML file.
        agent: a kind, a declaration or an agent; that of the file, or "opb".
        guardrails, reward, seed, delay, batch, threads: as for `simulate`.
        lift: half-width to which the lift of the reward over the safe arm shall be known.
        traffic: decisions per day, to say times in days.
        horizon: decisions per run; by default doubled until everything has happened in every run, up to 1 280 000.
        runs: independent runs.

    Example:
        >>> import banister
        >>> plan = banister.plan(
        ...     {"kind": "bernoulli", "arms": ["control", "new"], "rewards": [0.1, 0.7], "costs": [[0.0, 0.2]]},
        ...     guardrails=banister.Guardrail("spend", at_most=0.5, safe_cost=0.0),
        ...     traffic=1000,
        ...     horizon=2000,
        ...     progress=False,
        ... )
        >>> plan.times["until"], plan.times["missed"].tolist()
        (['certified'], [0.0])
    """
    brings = isinstance(environment, (str, os.PathLike)) or (
        isinstance(environment, Mapping) and "agent" in environment
    )
    experiment = declare(
        environment,
        "opb" if agent is None and not brings else agent,
        guardrails,
        reward,
        None,
        horizon=_native.LONGEST_PLAN if horizon is None else horizon,
        runs=runs,
        seed=seed,
        delay=delay,
        batch=batch,
    ).check()
    with bar("planning", progress) as update:
        given = None if horizon is None else int(horizon)
        return Plan(*_native.plan(experiment, given, lift, traffic, threads, update))


@dataclass(frozen=True, repr=False)
class Plan:
    """Answer of `plan`: times by arm, what learning costs meanwhile, and a figure."""

    _answer: dict[str, Any]
    _svg: str = field(repr=False)

    @property
    def times(self) -> dict[str, Any]:
        """Decisions until an event ("certified" or "lift") of an arm, as a dictionary of columns.

        `median` and `q90` are quantiles over runs, NaN beyond the horizon; `missed` counts the runs in which it did not
        happen; `least` is the number of outcomes that typically certify the arm if every mean is known; `share` is that
        of the arm in the best policy, and where it is 0 the arm is never certified.
        """
        names = ("share", "median", "q90", "median_days", "q90_days", "missed", "least")
        rows = self._answer["times"]
        words = {name: [row[name] for row in rows] for name in ("arm", "until")}
        return words | {name: np.array([row[name] for row in rows], dtype=float) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Returns all of it as plain values, as `banister plan --json` prints them: also the times of every run."""
        return self._answer

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the times as a pandas DataFrame."""
        with extra("pandas"):
            import pandas

        frame: pandas.DataFrame = pandas.DataFrame(self.times)
        return frame

    def plot(self) -> Figure:
        """Draws the probability of every arm over decisions, with the median times."""
        return Figure(self._svg)

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        answer, times = self._answer, self.times
        lost, least, broken = number(answer["loss"]), number(answer["least_loss"]), answer["broken"]
        title = f"{answer['horizon']:,} decisions of {answer['agent']}: {lost} of reward lost each (limit {least}), "
        title += f"{sum(broken)} of {len(broken)} runs with a violation"
        return title, list(times), [list(map(cell, row)) for row in zip(*times.values(), strict=True)]

    def __repr__(self) -> str:
        title, head, rows = self._shown()
        return "\n".join([title, *aligned([head, *rows])])

    def _repr_html_(self) -> str:
        return page(*self._shown())
