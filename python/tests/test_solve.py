"""The solvers: against another solver, against the command line, single and in batches."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import banister

Rows = NDArray[np.float64]


def command_line(problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    text = "\n".join(json.dumps(problem) for problem in problems)
    done = subprocess.run(
        [sys.executable, "-m", "banister", "solve", "--lines"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def same(solution: Any, answer: dict[str, Any]) -> None:
    """Bit for bit."""
    assert solution.status == answer["status"]
    if answer["status"] == "infeasible":
        assert np.isnan(solution.value)
        return
    assert list(solution.policy.items()) == [tuple(entry) for entry in answer["policy"]]
    for key in ("value", "upper_bound", "gap", "nodes"):
        assert getattr(solution, key) == answer[key]
    assert solution.costs.tolist() == answer["costs"]
    assert solution.prices.tolist() == answer["prices"]


def problems(count: int, k: int, m: int, seed: int) -> tuple[Rows, Rows, Rows]:
    rng = np.random.default_rng(seed)
    return rng.random((count, k)), rng.random((count, m, k)), rng.random((count, m)) * 0.6


@pytest.mark.parametrize(("k", "m"), [(1, 1), (4, 1), (50, 1), (7, 2), (30, 3)])
def test_linear_programs(k: int, m: int) -> None:
    reward, costs, thresholds = problems(60, k, m, k + m)
    batch = banister.solve_lp(reward, costs, thresholds)
    assert len(batch) == 60
    asked = [
        {"kind": "lp", "reward": r.tolist(), "costs": c.tolist(), "thresholds": t.tolist()}
        for r, c, t in zip(reward, costs, thresholds, strict=True)
    ]
    feasible = 0
    for i, answer in enumerate(command_line(asked)):
        single = banister.solve_lp(reward[i], costs[i], thresholds[i])
        same(single, answer)
        same(batch[i], answer)
        oracle = linprog(-reward[i], A_ub=costs[i], b_ub=thresholds[i], A_eq=np.ones((1, k)), b_eq=[1])
        assert (oracle.status == 0) == (single.status == "optimal")
        if oracle.status == 0:
            feasible += 1
            assert single.value == pytest.approx(-oracle.fun, abs=1e-9)
            assert (single.probabilities @ costs[i].T <= thresholds[i] + 1e-9).all()
            assert single.probabilities.sum() == pytest.approx(1)
            assert np.count_nonzero(single.probabilities) <= m + 1
    assert feasible > 0
    np.testing.assert_array_equal(batch.probabilities[0], batch[0].probabilities)
    assert batch.costs.shape == batch.prices.shape == (60, m)


def test_arguments_without_rounds_hold_for_all_of_them() -> None:
    reward, costs, thresholds = problems(20, 6, 2, 1)
    batch = banister.solve_lp(reward, costs[0], thresholds[0])
    for i in range(20):
        assert batch[i].policy == banister.solve_lp(reward[i], costs[0], thresholds[0]).policy
    one = banister.solve_lp(reward[0], costs[0][0], 0.5)
    assert one.policy == banister.solve_lp(reward[0], costs[0][:1], [0.5]).policy


def rounds(count: int, k: int, d: int, m: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, k, d))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    x[:, 0] = np.eye(d)[0]
    basis = rng.standard_normal((count, 3 * d, d))
    return {
        "actions": x,
        "safe": 0,
        "safe_costs": np.full(m, 0.1),
        "thresholds": np.full(m, 0.5),
        "gram": np.eye(d) + np.swapaxes(basis, 1, 2) @ basis,
        "reward": {"estimate": rng.random((count, d)) - 0.3, "radius": np.full(count, 0.4)},
        "costs": {"estimate": rng.random((count, m, d)) * 0.5, "radius": np.full((count, m), 0.3)},
    }


@pytest.mark.parametrize("solver", ["linearised", "exact"])
@pytest.mark.parametrize("m", [1, 2])
def test_rounds_of_oplb(solver: Any, m: int) -> None:
    many = rounds(12, 9, 3, m, m)
    batch = banister.solve_oplb(**many, solver=solver)
    asked, singles = [], []
    for i in range(12):
        reward = {key: value[i] for key, value in many["reward"].items()}
        estimates, radii = many["costs"]["estimate"][i], many["costs"]["radius"][i]
        costs = [{"estimate": e, "radius": r} for e, r in zip(estimates, radii, strict=True)]
        one = {**many, "actions": many["actions"][i], "gram": many["gram"][i], "reward": reward, "costs": costs}
        singles.append(banister.solve_oplb(**one, solver=solver))
        asked.append(json.loads(json.dumps({"kind": "oplb", "solver": solver, **one}, default=lambda x: x.tolist())))
    for i, answer in enumerate(command_line(asked)):
        same(singles[i], answer)
        same(batch[i], answer)
        assert (singles[i].costs <= 0.5 + 1e-12).all()


def test_thousands_of_rounds_in_one_call() -> None:
    reward, costs, thresholds = problems(5000, 20, 1, 3)
    batch = banister.solve_lp(reward, costs, thresholds)
    solved = np.array(batch.status) == "optimal"
    assert solved.any()
    spent = np.einsum("nk,nmk->nm", batch.probabilities, costs)
    assert (spent[solved] <= thresholds[solved] + 1e-12).all()
    assert np.isnan(batch.value[~solved]).all()
    np.testing.assert_allclose(batch.probabilities[solved].sum(axis=1), 1)
