"""Simulations: many runs in native threads, judged by the truth."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from .. import _native
from .._agent import Agent, declaration
from .._extra import extra
from .._figure import Figure, chosen
from .._guardrail import GuardrailLike, RewardLike
from .._guardrail import listed as as_list
from .._progress import bar
from .._types import Int
from .environment import Environment, GymEnvironment, is_gym, problem_of
from .table import TableEnvironment

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

AgentLike: TypeAlias = str | Mapping[str, Any] | Agent | type[Any] | Callable[[Any], Any]
"""A kind, a declaration, an agent to take the parameters of, or what makes an agent of your own."""

EnvironmentLike: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | TableEnvironment | Environment | Any
"""A declaration, a TOML file, a table of requests, an object with `actions` and `pull`, or a Gymnasium environment."""

Agents: TypeAlias = AgentLike | Iterable[AgentLike] | Mapping[str, AgentLike]


@dataclass(frozen=True)
class Experiment:
    """An experiment as declared: what travels to other processes and machines."""

    environment: Any
    agents: list[Any]
    run: dict[str, Any]
    guardrails: list[Any]
    reward: Any = None
    name: str = "simulation"
    folder: str = ""
    problem: dict[str, Any] | None = field(default=None)

    def check(self) -> _native.Experiment:
        """Checks everything."""
        return _native.Experiment(**vars(self))


def declared_agent(agent: Any, label: str | None = None) -> Any:
    """Returns a declaration, or a pair of a label and what makes an agent."""
    agent = declaration(agent)
    if isinstance(agent, Mapping):
        return {**agent, "label": label} if label is not None else dict(agent)
    if not callable(agent):
        raise TypeError(
            f"`agents` has {agent!r}: must be a kind such as 'opb', a declaration such as "
            "{'kind': 'opb', 'delta': 0.05}, an agent, or a class of your own"
        )
    return (label or str(getattr(agent, "label", None) or getattr(agent, "__name__", agent)), agent)


def declared_agents(agents: Agents) -> list[Any]:
    """Returns all agents, in order."""
    if isinstance(agents, Mapping) and "kind" not in agents:
        return [declared_agent(agent, str(label)) for label, agent in agents.items()]
    if isinstance(agents, (str, Mapping, Agent)) or callable(agents):
        return [declared_agent(agents)]
    return [declared_agent(agent) for agent in agents]


def declare(
    environment: EnvironmentLike,
    agents: Agents | None,
    guardrails: GuardrailLike | Iterable[GuardrailLike] | None,
    reward: RewardLike | None,
    name: str | None,
    **run: Int | None,
) -> Experiment:
    """Returns an experiment from the arguments of `simulate`; what is None comes from the environment."""
    folder, stem = "", "simulation"
    if isinstance(environment, (str, os.PathLike)):
        path = Path(environment)
        folder, stem = str(path.parent), path.stem
        environment = _native.read_toml(path.read_text(encoding="utf-8"))
    # An environment may bring more than itself: all of an experiment's file, or its attributes.
    brought: dict[str, Any] = {}
    problem = None
    if isinstance(environment, Mapping):
        if isinstance(environment.get("environment"), Mapping):
            brought = dict(environment)
            environment = brought.pop("environment")
    elif not isinstance(environment, TableEnvironment):
        if is_gym(environment) and not isinstance(environment, Environment):
            environment = GymEnvironment(environment)
        if not isinstance(environment, Environment):
            raise TypeError(
                f"`environment` is {environment!r}: must be a declaration such as {{'kind': "
                "'bernoulli', ...}, a TOML file, or an object with the methods `actions(rng)` and "
                "`pull(action, rng)`"
            )
        problem = problem_of(environment)
        brought["guardrail"] = getattr(environment, "guardrails", None)
        brought["reward"] = getattr(environment, "reward", None)

    def chosen(argument: Any, key: str) -> Any:
        own = brought.pop(key, None)
        return argument if argument is not None else own

    listed = chosen(agents, "agent")
    rails = as_list(chosen(guardrails, "guardrail" if "guardrail" in brought else "guardrails"))
    if isinstance(environment, TableEnvironment):
        environment = environment.of_guardrails(rails)
    given = {key: value for key, value in run.items() if value is not None}
    experiment = Experiment(
        environment=environment,
        agents=[] if listed is None else declared_agents(listed),
        run={**brought.pop("run", {}), **given},
        guardrails=rails,
        reward=chosen(reward, "reward"),
        name=chosen(name, "name") or stem,
        folder=folder,
        problem=problem,
    )
    if not experiment.agents:
        raise TypeError("`agents` is missing: give at least one, such as 'opb'")
    if brought:
        raise TypeError(f"`environment` has the key {next(iter(brought))!r}, which no experiment has")
    return experiment


def simulate(
    environment: EnvironmentLike,
    agents: Agents | None = None,
    horizon: Int | None = None,
    runs: Int | None = None,
    seed: Int | None = None,
    *,
    guardrails: GuardrailLike | Iterable[GuardrailLike] | None = None,
    reward: RewardLike | None = None,
    checkpoints: Int | None = None,
    delay: Int | None = None,
    batch: Int | None = None,
    name: str | None = None,
    threads: int | None = None,
    timing: bool = False,
    progress: bool = True,
) -> SimulationResult:
    """Runs agents side by side in an environment, on all cores, and judges every policy.

    Parameters:
        environment: a declaration as in TOML (`{"kind": "bernoulli", ...}`), a TOML experiment file,
            a `TableEnvironment`, an object of your own with `actions(rng)` and `pull(action, rng)` (see
            `Environment`), or a Gymnasium environment with a `cost` in `info`.
        agents: kinds, declarations, agents, or classes of your own (called with the `Problem`; with
            `decide(actions, rng)` and `observe(action, reward, costs)`): one, a list, or a
            dictionary by label.
        horizon, runs, seed: rounds per run (100 000), independent runs (10), seed (7). The same seed
            gives the same results on any number of threads, and as the command line.
        guardrails, reward: as for agents; where the environment brings none of its own.
        checkpoints, delay, batch: points of each curve (500); outcomes come up to `delay` rounds
            late; they are handed over every `batch` rounds.
        threads: as many as there are cores by default. Code written in Python runs on one.
        timing: measure the time per round, which makes results differ from run to run.

    Example:
        >>> import banister
        >>> result = banister.simulate(
        ...     {"kind": "bernoulli", "rewards": [0.1, 0.7], "costs": [[0.0, 0.2]]},
        ...     agents=["opb"],
        ...     guardrails=[banister.Guardrail("spend", at_most=0.5, safe_cost=0.0)],
        ...     horizon=2000,
        ...     runs=2,
        ...     progress=False,
        ... )
        >>> result.runs["violations"].sum().item()
        0
    """
    experiment = declare(
        environment,
        agents,
        guardrails,
        reward,
        name,
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=checkpoints,
        delay=delay,
        batch=batch,
    ).check()
    with bar("simulating", progress) as update:
        results = _native.run_experiments([experiment], threads, timing, update)
    return SimulationResult(results)


class SimulationResult:
    """Results of a simulation: curves over time, and one row per run.

    The tables have the columns of the command line's `curves.csv` and `runs.csv`. Results can be pickled.
    """

    #: The tables there are, by name.
    _TABLES: ClassVar[tuple[str, ...]] = ("curves", "runs", "alarms")

    def __init__(self, results: _native.Results) -> None:
        self._results = results

    @property
    def instances(self) -> list[dict[str, Any]]:
        """The instances: names, arms, guardrails, the best feasible policy, agents."""
        return self._results.instances

    @property
    def curves(self) -> dict[str, Any]:
        """Statistics over runs at the checkpoints, as a dictionary of columns."""
        return self._results.table("curves").columns()

    @property
    def runs(self) -> dict[str, Any]:
        """One entry per run, as a dictionary of columns."""
        return self._results.table("runs").columns()

    @property
    def alarms(self) -> dict[str, Any]:
        """Rounds in which agents noticed that an assumption had become false, one entry per run.

        `first_change` is the first round with other means, `first_alarm` the first that was decided under
        an alarm, `rounds_until_alarm` lies between them. NaN where there was none, or the alarm came
        before the change.
        """
        return self._results.table("alarms").columns()

    def to_dict(self) -> dict[str, Any]:
        """Returns all of it as plain values, for JSON: `instances`, and the columns of every table.

        What is unknown is None.
        """
        tables = {name: plain(self.table(name).columns()) for name in self._TABLES}
        return {"instances": self.instances, **tables}

    def table(self, table: str = "curves") -> _native.ResultTable:
        """Returns "curves", "runs" or "alarms" as a table of the Arrow C data interface."""
        if table not in self._TABLES:
            *names, last = map(repr, self._TABLES)
            raise ValueError(f"`table` is {table!r}: must be {', '.join(names)} or {last}")
        return self._native_table(table)

    def _native_table(self, table: str) -> _native.ResultTable:
        return self._results.table(table)

    def to_pandas(self, table: str = "curves") -> pandas.DataFrame:
        """Returns the table as a pandas DataFrame."""
        with extra("pandas"):
            import pandas

        frame: pandas.DataFrame = pandas.DataFrame(self.table(table).columns())
        return frame

    def to_polars(self, table: str = "curves") -> polars.DataFrame:
        """Returns the table as a polars DataFrame, sharing memory."""
        with extra("polars"):
            import polars

        return polars.DataFrame(self.table(table))

    def to_arrow(self, table: str = "curves") -> pyarrow.Table:
        """Returns the table as a pyarrow Table, sharing memory."""
        with extra("arrow"):
            import pyarrow

        return pyarrow.table(self.table(table))

    def plot(self, instance: str | int | None = None) -> Figure:
        """Draws regret, costs against their thresholds and reward over time: of all instances, or of one."""
        place = chosen(self.instances, instance)
        return Figure(_native.curves_svg(self._results, place))

    def __repr__(self) -> str:
        from .summary import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from .summary import summary_html

        return summary_html(self)


def plain(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Returns columns as lists, None for what is NaN."""

    def known(column: Any) -> list[Any]:
        values = column.tolist() if hasattr(column, "tolist") else list(column)
        return [None if value != value else value for value in values]

    return {name: known(column) for name, column in columns.items()}
