"""Rounds given by their numbers: the policy LP and a round of OPLB, one or thousands in a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from . import _native
from ._native import Solution, SolutionBatch, solve_lp
from ._plain import refused

__all__ = ["Solution", "SolutionBatch", "solve_lp", "solve_oplb"]

_Set: TypeAlias = Mapping[str, ArrayLike] | tuple[ArrayLike, ArrayLike]


def solve_oplb(
    actions: ArrayLike,
    *,
    safe: int,
    safe_costs: ArrayLike,
    thresholds: ArrayLike,
    gram: ArrayLike,
    reward: _Set,
    costs: Mapping[str, ArrayLike] | Sequence[_Set],
    solver: Literal["linearised", "exact"] = "linearised",
    relative_gap: float | None = None,
    max_work: int | None = None,
) -> Any:
    """Solves a round of OPLB given by its confidence sets, with the words of `banister solve`.

    actions: features, one row per action. safe: the safe action's number; safe_costs: its cost per
    guardrail. gram: the regression's Gram matrix. reward, costs: an estimate and a radius each, as
    {"estimate": ..., "radius": ...} or a pair, a list of them for the costs. solver: "linearised" or
    "exact", the latter to `relative_gap` or until `max_work` multiplications are spent. A leading axis
    of rounds on any array solves many rounds in one call.

    >>> import banister
    >>> solution = banister.solve_oplb(
    ...     [[1.0, 0.0], [0.0, 1.0]],
    ...     safe=0,
    ...     safe_costs=[0.1],
    ...     thresholds=[0.5],
    ...     gram=[[9.0, 0.0], [0.0, 9.0]],
    ...     reward=([0.1, 0.8], 0.3),
    ...     costs=[([0.0, 0.6], 0.3)],
    ...     solver="exact",
    ... )
    >>> solution.status, bool(solution.costs[0] <= 0.5)
    ('optimal', True)
    """
    sets = _set(reward, "reward"), _sets(costs)
    return _native.solve_oplb(actions, safe, safe_costs, thresholds, gram, *sets, solver, relative_gap, max_work)


def _set(value: Any, name: str) -> tuple[ArrayLike, ArrayLike]:
    """Returns the estimate and the radius of a confidence set, given as a pair or a dictionary."""
    if isinstance(value, dict) and value.keys() == {"estimate", "radius"}:
        return value["estimate"], value["radius"]
    if isinstance(value, tuple) and len(value) == 2:
        return value
    raise refused(name, value, 'must be {"estimate": ..., "radius": ...} or (estimate, radius)')


def _sets(costs: Any) -> tuple[ArrayLike, ArrayLike]:
    """Returns the estimates and the radii of all costs: from one set of arrays, or a list of sets."""
    if isinstance(costs, dict):
        return _set(costs, "costs")
    if not isinstance(costs, (list, tuple)):
        raise refused("costs", costs, 'must be a list of {"estimate": ..., "radius": ...}, one per guardrail')
    if not costs:
        raise ValueError("`costs` is empty: give at least one guardrail")
    sets = [_set(one, f"costs[{i}]") for i, one in enumerate(costs)]
    try:
        return np.stack([one[0] for one in sets], axis=-2), np.stack([one[1] for one in sets], axis=-1)
    except ValueError:
        raise ValueError("`costs` differ in shape between guardrails") from None
