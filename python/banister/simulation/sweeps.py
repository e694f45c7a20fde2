"""Sweeps: many experiments, over processes or a Ray cluster.

A sweep is split into tasks by run, each about as much work as the others. A run draws from a stream
of its own, so where a task runs, and how often it had to be tried, does not show in the results.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from .. import _native
from .._extra import extra
from .._guardrail import GuardrailLike, RewardLike
from .._progress import bar
from .._types import Int
from .grid import experiments_at, points
from .run import Agents, EnvironmentLike, Experiment, SimulationResult, declare

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: Tasks for each worker, so that all are busy until the end, and the least and most work of one.
TASKS_PER_WORKER = 16
LEAST_WORK, MOST_WORK = 50_000_000, 5_000_000_000

#: Errors that no second try would change.
_FINAL = (ValueError, TypeError, KeyboardInterrupt)

Task = tuple[int, int, int]


def run_task(experiment: bytes, task: Task, timing: bool) -> bytes:
    """Plays some runs of one agent, in a worker."""
    return _checked(experiment).run_shard(*task, timing)


@lru_cache(maxsize=64)
def _checked(experiment: bytes) -> _native.Experiment:
    """Returns the experiment, checked once for all of its tasks in this worker."""
    import cloudpickle

    checked: _native.Experiment = cloudpickle.loads(experiment).check()
    return checked


def sweep(
    environment: EnvironmentLike,
    agents: Agents | None = None,
    *,
    grid: Mapping[str, Iterable[Any]],
    horizon: Int | None = None,
    runs: Int | None = None,
    seed: Int | None = None,
    guardrails: GuardrailLike | Iterable[GuardrailLike] | None = None,
    reward: RewardLike | None = None,
    checkpoints: Int | None = None,
    delay: Int | None = None,
    batch: Int | None = None,
    name: str | None = None,
    executor: Literal["processes", "ray", "threads"] | Executor = "processes",
    workers: int | None = None,
    retries: int = 2,
    timing: bool = False,
    progress: bool = True,
) -> SweepResult:
    """Runs an experiment for every combination of some values.

    Parameters:
        environment, agents, horizon, runs, seed, ...: as for `simulate`.
        grid: what varies: a dictionary from keys to lists of values. Keys are `"horizon"` and the
            like, `"environment.margin"`, `"agents.delta"` (of all agents) or `"agents[0].delta"`,
            `"guardrails[0].at_most"` or `"guardrails.spend.at_most"`.
        executor: `"processes"` on this machine; `"ray"` for the Ray cluster you are connected to, or
            a local one; `"threads"` of this process; or an executor of your own with `submit`. The
            same seeds give the same results with all of them.
        workers: how many tasks run at once; by default as many as there are cores.
        retries: how often a task is tried again whose worker died or failed.

    Example:
        >>> import banister
        >>> result = banister.sweep(
        ...     {"kind": "bernoulli", "rewards": [0.1, 0.7], "costs": [[0.0, 0.2]]},
        ...     agents=["opb"],
        ...     guardrails=[banister.Guardrail("spend", at_most=0.5, safe_cost=0.0)],
        ...     grid={"guardrails.spend.at_most": [0.1, 0.5]},
        ...     horizon=1000,
        ...     runs=2,
        ...     executor="threads",
        ...     progress=False,
        ... )
        >>> [point["guardrails.spend.at_most"] for point in result.points]
        [0.1, 0.5]
    """
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ValueError(f"`retries` is {retries!r}: must be an integer, 0 or more")
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise ValueError(f"`workers` is {workers!r}: must be an integer, 1 or more")
    base = declare(
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
    )
    every = points(grid)
    declared = experiments_at(base, every)
    # Everything is checked here, before any worker starts.
    experiments = [experiment.check() for experiment in declared]
    names = [experiment.name for experiment in declared]
    if executor == "threads":
        with bar("sweeping", progress) as update:
            results = _native.run_experiments(experiments, workers, timing, update)
        return SweepResult(results, names, every)
    work = sum(experiment.total_work for experiment in experiments)
    count = workers or os.cpu_count() or 1
    share = min(max(work // (TASKS_PER_WORKER * count), LEAST_WORK), MOST_WORK)
    sent = [_pickled(experiment) for experiment in declared]
    jobs = [(i, task) for i, experiment in enumerate(experiments) for task in experiment.plan(share)]
    horizons = [experiment.resolved["run"]["horizon"] for experiment in experiments]
    rounds = [horizons[i] * (end - start) for i, (_, start, end) in jobs]
    with bar("sweeping", progress) as update, _submitter(executor, min(count, len(jobs))) as submit:
        shards = []
        finished = 0
        for job, shard in _tried(submit, sent, jobs, timing, retries):
            shards.append(shard)
            finished += rounds[job]
            if update is not None:
                update(finished / max(sum(rounds), 1), finished)
    return SweepResult(_native.gather(experiments, shards), names, every)


def _pickled(experiment: Experiment) -> bytes:
    """Returns the experiment with classes of your own by value: workers need not have their modules."""
    import cloudpickle

    makers = [agent[1] for agent in experiment.agents if isinstance(agent, tuple)]
    own = [*makers, type(experiment.environment)]
    names = {getattr(one, "__module__", None) for one in own}
    names -= {"builtins", "__main__", "banister.simulation.environment", None}
    modules = [sys.modules[name] for name in names if name in sys.modules]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        pickled: bytes = cloudpickle.dumps(experiment)
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return pickled


@contextmanager
def _submitter(executor: object, workers: int) -> Iterator[Callable[[bool], Any]]:
    """Yields a function that returns the executor, a new one if the last broke; stops it on failure."""
    if executor == "processes":
        # loky rather than the standard library's pool: it needs no `if __name__ == "__main__"` in
        # scripts, carries classes of a notebook, and notices workers that die.
        from loky import get_reusable_executor

        def processes(broken: bool) -> Any:
            return get_reusable_executor(max_workers=workers, kill_workers=broken, timeout=60)

        try:
            yield processes
        except BaseException:
            processes(False).shutdown(wait=False, kill_workers=True)
            raise
    elif executor == "ray":
        cluster = _Ray()
        try:
            yield lambda _: cluster
        except BaseException:
            cluster.cancel()
            raise
    elif hasattr(executor, "submit"):
        yield lambda _: executor
    else:
        raise ValueError(
            f"`executor` is {executor!r}: must be 'processes', 'ray', 'threads' or an object with `submit`"
        )


def _tried(
    executor: Callable[[bool], Any],
    sent: list[bytes],
    jobs: list[tuple[int, Task]],
    timing: bool,
    retries: int,
) -> Iterator[tuple[int, bytes]]:
    """Runs all jobs, those that fail again; yields each job's number and shard."""
    tries = dict.fromkeys(range(len(jobs)), 0)
    waiting: dict[Future[bytes], int] = {}

    def submit(job: int, broken: bool = False) -> None:
        experiment, task = jobs[job]
        future = executor(broken).submit(run_task, sent[experiment], task, timing)
        waiting[future] = job

    for job in tries:
        submit(job)
    while waiting:
        finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in finished:
            job = waiting.pop(future)
            error = future.exception()
            if error is None:
                yield job, future.result()
                continue
            tries[job] += 1
            if isinstance(error, _FINAL) or tries[job] > retries:
                raise error
            # When a worker dies all that waited with it come back: each counts as tried once.
            submit(job, broken=isinstance(error, BrokenProcessPool))


class _Ray:
    """A Ray cluster behind the interface of executors: the one you are connected to, or a local one."""

    def __init__(self) -> None:
        try:
            ray: Any = importlib.import_module("ray")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "`executor` is 'ray', but Ray is not installed: pip install 'banister[ray]'"
            ) from error
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
        self.ray = ray
        # Tries are counted here, as for processes.
        self.remote = ray.remote(max_retries=0)(run_task)
        self.objects: dict[bytes, Any] = {}
        self.references: list[Any] = []

    def submit(self, _: object, experiment: bytes, task: Task, timing: bool) -> Future[bytes]:
        """Sends an experiment to the cluster once, and a task to one of its workers."""
        if experiment not in self.objects:
            self.objects[experiment] = self.ray.put(experiment)
        self.references.append(self.remote.remote(self.objects[experiment], task, timing))
        future: Future[bytes] = self.references[-1].future()
        return future

    def cancel(self) -> None:
        """Stops what still runs."""
        for reference in self.references:
            self.ray.cancel(reference, force=True)


class SweepResult(SimulationResult):
    """Results of a sweep: the tables of a simulation, with a column for each key of the grid."""

    def __init__(self, results: _native.Results, names: list[str], values: list[dict[str, Any]]) -> None:
        super().__init__(results)
        self._points = dict(zip(names, values, strict=True))

    @property
    def points(self) -> list[dict[str, Any]]:
        """The grid's values, one dictionary per instance."""
        return list(self._points.values())

    def to_dict(self) -> dict[str, Any]:
        """Returns all of it as plain values, with `points` in the order of `instances`."""
        return {**super().to_dict(), "points": self.points}

    def _added(self, table: str) -> dict[str, list[Any]]:
        instances = self.table(table).columns()["instance"]
        keys = next(iter(self._points.values()), {})
        return {key: [self._points[name][key] for name in instances] for key in keys}

    def to_pandas(self, table: str = "curves") -> pandas.DataFrame:
        """Returns the table as a pandas DataFrame, with the grid's columns."""
        frame: pandas.DataFrame = super().to_pandas(table).assign(**self._added(table))
        return frame

    def to_polars(self, table: str = "curves") -> polars.DataFrame:
        """Returns the table as a polars DataFrame, with the grid's columns."""
        with extra("polars"):
            import polars

        added = [polars.Series(key, values) for key, values in self._added(table).items()]
        return super().to_polars(table).with_columns(added)

    def to_arrow(self, table: str = "curves") -> pyarrow.Table:
        """Returns the table as a pyarrow Table, with the grid's columns."""
        with extra("arrow"):
            import pyarrow

        arrow = super().to_arrow(table)
        for key, values in self._added(table).items():
            arrow = arrow.append_column(key, pyarrow.array(values))
        return arrow
