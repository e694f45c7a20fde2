"""Sweeps: the same results wherever they run, and workers that die."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banister

SPEND = banister.Guardrail("spend", at_most=0.5, safe_cost=0.1)
DECLARED = {"kind": "bernoulli", "rewards": [0.2, 0.5, 0.9], "costs": [[0.1, 0.3, 0.9]]}


def sweep(**more: Any) -> banister.simulation.SweepResult:
    settings: dict[str, Any] = {
        "environment": DECLARED,
        "agents": {"ours": "opb", "kl": {"kind": "opb", "intervals": "kl"}},
        "guardrails": [SPEND],
        "grid": {"guardrails.spend.at_most": [0.3, 0.5], "agents[0].delta": [0.01, 0.1, 0.3]},
        "horizon": 300,
        "runs": 5,
        "progress": False,
    }
    return banister.sweep(**{**settings, **more})


def tables(result: banister.simulation.SweepResult) -> tuple[bytes, bytes]:
    return result.table("curves").to_csv(), result.table("runs").to_csv()


@pytest.fixture(scope="module")
def ray() -> Any:
    """A local cluster of two workers."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def expected() -> tuple[bytes, bytes]:
    return tables(sweep(executor="threads"))


@pytest.mark.usefixtures("ray")
@pytest.mark.parametrize("executor", ["processes", "ray", ThreadPoolExecutor(3)], ids=["processes", "ray", "own"])
@pytest.mark.parametrize("least", [1, 10**9], ids=["many tasks", "few tasks"])
def test_results_do_not_depend_on_where_they_come_from(
    executor: Any, least: int, expected: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(banister.simulation.sweeps, "LEAST_WORK", least)
    assert tables(sweep(executor=executor)) == expected


def test_a_point_is_a_simulation() -> None:
    result = sweep(executor="threads").to_pandas("runs")
    here = result[(result["guardrails.spend.at_most"] == 0.3) & (result["agents[0].delta"] == 0.1)]
    agents = {"ours": {"kind": "opb", "delta": 0.1}, "kl": {"kind": "opb", "intervals": "kl"}}
    spend = banister.Guardrail("spend", at_most=0.3, safe_cost=0.1)
    alone = banister.simulate(DECLARED, agents, 300, 5, guardrails=[spend], progress=False)
    assert here["regret"].tolist() == alone.runs["regret"].tolist()


def test_the_grids_values_are_columns() -> None:
    result = sweep(executor="threads")
    assert len(result.points) == 6
    pandas, polars, arrow = result.to_pandas(), result.to_polars(), result.to_arrow()
    for key in ("guardrails.spend.at_most", "agents[0].delta"):
        assert pandas[key].tolist() == polars[key].to_list() == arrow[key].to_pylist()
    assert set(result.instances[0]) >= {"name", "guardrails", "optimum"}
    assert result.instances[0]["name"] == "spend ≤ 0.3, delta = 0.01"


def test_points_that_look_the_same_in_short_stay_apart() -> None:
    rewards = [[0.1, 0.2, 0.3, 0.4, best] for best in (0.5, 0.9)]
    result = sweep(
        environment={**DECLARED, "costs": [[0.1] * 5]},
        grid={"environment.rewards": rewards, "agents.delta": [0.01, 0.01 + 1e-12]},
        executor="threads",
    )
    names = [instance["name"] for instance in result.instances]
    assert names[:2] == ["rewards = […], delta = 0.01 (1)", "rewards = […], delta = 0.01 (2)"]
    assert [point["environment.rewards"] for point in result.points] == [rewards[0]] * 2 + [rewards[1]] * 2
    assert result.to_pandas("runs").groupby("instance").size().tolist() == [10] * 4


class Dying:
    """An agent whose process dies the first time that it decides."""

    def __init__(self, problem: banister.simulation.Problem, mark: Path) -> None:
        self.mark = mark

    def decide(self, actions: Any, rng: np.random.Generator) -> int:
        if not self.mark.exists():
            self.mark.touch()
            os._exit(17)
        return 0

    def observe(self, action: int, reward: float, costs: list[float]) -> None:
        pass


def dying(mark: Path) -> Any:
    def make(problem: banister.simulation.Problem) -> Dying:
        return Dying(problem, mark)

    return make


@pytest.mark.usefixtures("ray")
@pytest.mark.parametrize("executor", ["processes", "ray"])
def test_tasks_of_workers_that_die_are_tried_again(executor: Any, tmp_path: Path) -> None:
    mark = tmp_path / "died"
    settings: dict[str, Any] = {
        "agents": {"dying": dying(mark)},
        "grid": {"horizon": [50, 60]},
        "executor": executor,
    }
    result = sweep(**settings)
    assert mark.exists(), "a worker has died"
    assert tables(result) == tables(sweep(**settings))
    mark.unlink()
    with pytest.raises(Exception, match=r"(?i)died|terminated|crash"):
        sweep(**settings, retries=0)


class Flaky:
    def __init__(self, problem: banister.simulation.Problem, mark: Path) -> None:
        if not mark.exists():
            mark.touch()
            raise OSError("the disk was busy")

    def decide(self, actions: Any, rng: np.random.Generator) -> int:
        return 0

    def observe(self, action: int, reward: float, costs: list[float]) -> None:
        pass


@pytest.mark.usefixtures("ray")
@pytest.mark.parametrize("executor", ["processes", "ray"])
def test_failures_that_may_pass_are_tried_again_and_others_not(executor: Any, tmp_path: Path) -> None:
    mark = tmp_path / "failed"
    main = os.getpid()

    def flaky(problem: banister.simulation.Problem) -> Any:
        # The check in this process is no task.
        return Dying(problem, mark) if os.getpid() == main else Flaky(problem, mark)

    result = sweep(agents={"flaky": flaky}, grid={"horizon": [50]}, executor=executor)
    assert mark.exists()
    assert len(result.runs["run"]) == 5

    class Wrong(Dying):
        def decide(self, actions: Any, rng: np.random.Generator) -> int:
            raise ValueError("always wrong")

    with pytest.raises(ValueError, match="always wrong"):
        sweep(agents={"wrong": lambda problem: Wrong(problem, mark)}, grid={"horizon": [50]}, executor=executor)


@pytest.mark.parametrize(
    ("more", "kind", "words"),
    [
        ({"grid": {"agents.detla": [1]}}, TypeError, "detla"),
        ({"grid": {"agents[7].delta": [0.1]}}, ValueError, "there are 2 agents"),
        ({"grid": {"guardrails.x.at_most": [0.1]}}, ValueError, "the guardrails are spend"),
        ({"grid": {"nonsense": [0.1]}}, ValueError, "nonsense"),
        ({"grid": {"horizon": []}}, ValueError, "`grid['horizon']` is empty"),
        ({"grid": {"horizon": 5}}, TypeError, "`grid['horizon']` is 5"),
        ({"grid": [1]}, TypeError, "`grid` is [1]"),
        ({"executor": "slurm"}, ValueError, "`executor` is 'slurm'"),
        ({"retries": -1}, ValueError, "`retries` is -1"),
        ({"workers": 0}, ValueError, "`workers` is 0"),
    ],
    ids=lambda case: str(case)[:40],
)
def test_bad_input(more: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        sweep(**more)
    assert words in str(caught.value)
