"""Comparisons: many agents on the same instances and the same outcomes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from .. import _native
from .._figure import Figure, chosen
from .._guardrail import listed
from .._progress import bar
from .._types import Int
from .environment import Environment, is_gym
from .run import Agents, SimulationResult, declared_agents, plain
from .table import TableEnvironment

SuiteLike: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""The name of a suite, a TOML experiment file, or an experiment as a dictionary."""


def suites() -> dict[str, str]:
    """Returns the suites of instances there are, each with what it is for.

    >>> import banister
    >>> banister.simulation.suites()["hard"]
    'instances made to be hard: the pair of the lower bound, L1 and L2'
    """
    return dict(_native.suites())


def compare(
    suite: SuiteLike | Iterable[SuiteLike] = "paper",
    agents: Agents | None = None,
    *,
    horizon: Int | None = None,
    runs: Int | None = None,
    seed: Int | None = None,
    instance_seed: Int = 1,
    skip_unfit: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    timing: bool = False,
    progress: bool = True,
) -> ComparisonResult:
    """Compares agents on the same instances and the same outcomes: `banister compare`.

    All agents share outcomes: the n-th pull of an arm brings the same outcome to each of them. So
    differences between agents are less noisy than the agents themselves.

    Parameters:
        suite: what to compare on: the name of a suite (see `suites()`), a TOML experiment file, an
            experiment as a dictionary with the same keys, or a list of those. A list of values in
            place of one makes a grid: `"at_most": [0.2, 0.5]` two instances, `"delta": [0.1, 0.01]`
            of an agent two agents.
        agents: as for `simulate`; lists of values make one agent each. By default those proposed
            for each instance that fit it.
        horizon, runs, seed: instead of those of the instances.
        instance_seed: what the suites `random` and `directions` draw their instances from.
        skip_unfit: skip agents on instances they do not support, rather than refuse them.
        checkpoint: a file that holds every finished run. Interrupted or killed, the same call goes on
            where it stopped; once all runs are done the file is removed. Code of your own must be the
            same as before: only its label is in the file.
        threads: as many as there are cores by default. Code written in Python runs on one.
        timing: measure the time per round, which makes results differ from run to run.

    Example:
        >>> import banister
        >>> result = banister.compare(
        ...     "hard", ["opb", {"kind": "opb", "delta": 0.1, "label": "bold"}],
        ...     horizon=1000, runs=3, progress=False,
        ... )
        >>> set(result.leaderboard["group"])
        {'safe in every round'}
        >>> len(result.pairs["difference"]) == len(result.instances)
        True
    """
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ValueError(f"`threads` is {threads!r}: must be an integer, 1 or more")
    if checkpoint is not None and not isinstance(checkpoint, (str, os.PathLike)):
        raise TypeError(f"`checkpoint` is {checkpoint!r}: must be a path")
    sources, folder = _sources(suite)
    comparison = _native.Comparison(
        sources,
        None if agents is None else declared_agents(agents),
        settings={
            "horizon": horizon,
            "runs": runs,
            "seed": seed,
            "instance_seed": instance_seed,
        },
        skip_unfit=skip_unfit,
        folder=folder,
    )
    path = None if checkpoint is None else str(Path(checkpoint))
    with bar("comparing", progress) as update:
        compared = comparison.run(threads, timing, path, update)
    return ComparisonResult(compared)


_ALLOWED = "must be the name of a suite, a TOML experiment file, an experiment as a dictionary, or a list of those"


def _sources(suite: object) -> tuple[list[Any], str]:
    """Returns the sources: names of suites, pairs of a name and an experiment; and the folder
    in which the files that experiments name are looked for."""
    if isinstance(suite, (str, os.PathLike, Mapping)) or not isinstance(suite, Iterable):
        every = [suite]
    else:
        every = list(suite)
        if not every:
            raise ValueError(f"`suite` is {suite!r}: {_ALLOWED}")
    sources: list[Any] = []
    folders = set()
    unnamed = sum(isinstance(one, Mapping) and not one.get("name") for one in every)
    numbers = iter(range(1, unnamed + 1))
    for one in every:
        if isinstance(one, Mapping):
            name = one.get("name") or (f"instance {next(numbers)}" if unnamed > 1 else "instance")
            sources.append((name, _experiment(one)))
        elif isinstance(one, str) and _is_suite(one):
            sources.append(one)
        elif isinstance(one, (str, os.PathLike)):
            path = Path(one)
            folders.add(path.parent)
            read = _native.read_toml(path.read_text(encoding="utf-8"))
            sources.append((path.stem, _experiment(read)))
        else:
            raise TypeError(f"`suite` has {one!r}: {_ALLOWED}{_hint(one)}")
    if len(folders) > 1:
        where = ", ".join(sorted(map(str, folders)))
        raise ValueError(f"`suite` has files in {where}: the experiments must lie in one folder")
    return sources, str(folders.pop()) if folders else ""


def _is_suite(name: str) -> bool:
    known = suites()
    if name in known or Path(name).suffix or Path(name).exists():
        return name in known
    raise ValueError(f"`suite` is {name!r}: the suites are {', '.join(known)}; and there is no such file")


def _hint(one: object) -> str:
    if isinstance(one, Environment) or is_gym(one):
        return (
            ". Environments written in Python draw for themselves, so agents would not meet the same "
            "outcomes: use `simulate`"
        )
    return ""


def _experiment(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an experiment in the words of TOML, with plain values where Python has objects."""
    # An environment alone will do, where it brings its guardrails.
    alone = "kind" in given and "environment" not in given
    experiment: dict[str, Any] = {"environment": given} if alone else dict(given)
    if "guardrails" in experiment and "guardrail" not in experiment:
        experiment["guardrail"] = experiment.pop("guardrails")
    environment = experiment.get("environment")
    if isinstance(environment, TableEnvironment):
        environment = experiment["environment"] = environment.of_guardrails(listed(experiment.get("guardrail")))
    if not isinstance(environment, Mapping):
        raise TypeError(
            f"`suite` has the environment {environment!r}: must be a declaration such as {{'kind': "
            f"'bernoulli', ...}}{_hint(environment)}"
        )
    if experiment.get("guardrail") is not None:
        experiment["guardrail"] = listed(experiment["guardrail"])
    if experiment.get("agent") is not None:
        experiment["agent"] = declared_agents(experiment["agent"])
        for agent in experiment["agent"]:
            if isinstance(agent, tuple):
                raise TypeError(f"`suite` has the agent {agent[1]!r}: agents of your own are given as `agents`")
    return experiment


class ComparisonResult(SimulationResult):
    """Results of a comparison: leaderboards, paired differences, and every run.

    Beside the tables of a simulation it has those of the command line's `leaderboard.csv`,
    `pairs.csv`, `overall.csv`, `ranks.csv` and `traces.parquet`, with the same numbers. Each is a dictionary of
    columns; `table`, `to_pandas`, `to_polars` and `to_arrow` give them by name.
    """

    _TABLES: ClassVar[tuple[str, ...]] = (
        "leaderboard",
        "pairs",
        "overall",
        "ranks",
        "curves",
        "runs",
        "alarms",
        "traces",
        "published",
        "left_out",
    )

    def __init__(self, compared: _native.Compared) -> None:
        super().__init__(compared.results)
        self._compared = compared

    def _native_table(self, table: str) -> _native.ResultTable:
        if table in SimulationResult._TABLES:
            return super()._native_table(table)
        return self._compared.table(table)

    @property
    def leaderboard(self) -> dict[str, Any]:
        """One entry per instance and agent, in groups by promise: those that kept it by regret, with a `rank`, then the
        others by how much they violated.

        `kept` is "yes", "no" or "undecided", empty for agents that promise nothing. `violation_sum` is Σ(c − τ)₊ and
        `net_excess` (Σ(c − τ))₊. Intervals are Student's at 95% over runs.
        """
        return self._compared.table("leaderboard").columns()

    @property
    def pairs(self) -> dict[str, Any]:
        """Regret of `agent` beyond that of `other`, run by run on the same outcomes: for agents with the same promise,
        and for banister's own with every other.

        `difference_low` and `difference_high` hold for all entries at once with 95%; `low_alone` and `high_alone` for
        one that was chosen beforehand. `gain` is how many times wider the interval would be without the same outcomes.
        """
        return self._compared.table("pairs").columns()

    @property
    def overall(self) -> dict[str, Any]:
        """Paired differences over all instances: `difference` is the mean share of the possible gain that `agent` lost
        beyond `other`, with an interval over instances; `won` and `lost` count instances."""
        return self._compared.table("overall").columns()

    @property
    def ranks(self) -> dict[str, Any]:
        """Mean ranks of agents with the same promise, where at least two kept it on at least six instances."""
        return self._compared.table("ranks").columns()

    @property
    def traces(self) -> dict[str, Any]:
        """One entry per instance, agent, run and checkpoint, after the values that were swept."""
        return self._compared.table("traces").columns()

    @property
    def published(self) -> dict[str, Any]:
        """Published numbers beside ours, with the margin and the verdict.

        A number "agrees" when two one-sided tests at 5% show that ours is within the margin, "differs" when ours is
        shown to be outside, and is "undecided" else; "other horizon" and "absent" say why there is nothing to compare.
        """
        return self._compared.table("published").columns()

    @property
    def left_out(self) -> dict[str, Any]:
        """Agents that do not support an instance, and why."""
        return self._compared.table("left_out").columns()

    def plot(self, instance: str | int | None = None) -> Figure:
        """Draws regret and violation, one row per agent."""
        svg = _native.safety_svg(self._compared, chosen(self.instances, instance))
        if svg is None:
            raise ValueError(f"`instance` is {instance!r}: none of its instances has guardrails to violate")
        return Figure(svg)

    def plot_curves(self, instance: str | int | None = None) -> Figure:
        """Draws regret, costs against their thresholds and reward over time: `SimulationResult.plot`."""
        return super().plot(instance)

    @property
    def points(self) -> list[dict[str, Any]]:
        """Points of `plot`: per instance and agent regret and violation, each (mean, low, high)."""
        board = plain(self.leaderboard)

        def ends(name: str) -> list[Any]:
            return [list(one) for one in zip(*(board[name + end] for end in ("", "_low", "_high")), strict=True)]

        columns = {name: board[name] for name in ("instance", "agent", "group")}
        columns |= {name: ends(name) for name in ("regret", "violation_share")}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Returns all of it as plain values, for JSON: `instances`, `points`, and the columns of every table."""
        return {**super().to_dict(), "points": self.points}

    def __repr__(self) -> str:
        from .summary import leaderboards

        return leaderboards(self)

    def _repr_html_(self) -> str:
        from .summary import leaderboards_html

        return leaderboards_html(self)
