"""Costs by their labels: Series by index, tables by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._frame import Table


def _is_position(labels: list[Any]) -> bool:
    """Whether labels are those that pandas gives where there are none: 0, 1, ..."""
    return labels == list(range(len(labels))) and not any(isinstance(one, bool) for one in labels)


def _once(labels: list[Any]) -> None:
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(f"`costs` has the label {label!r} more than once: each may occur once")


def row(costs: Any) -> object:
    """The costs of one outcome: a dictionary by label, or an array where there are no labels."""
    if isinstance(costs, Mapping):
        return dict(costs)
    if hasattr(costs, "columns"):
        labels = list(costs.columns)
        if len(costs) != 1:
            raise ValueError(
                f"`costs` is a table with {len(costs)} rows: one outcome has one row; for many use "
                "`observe_batch`"
            )
        values = [costs[label].to_list()[0] for label in labels] if len(set(labels)) == len(labels) else []
    elif hasattr(costs, "index") and not callable(costs.index):
        labels, values = list(costs.index), costs.tolist()
    else:
        # A Series of polars has no labels.
        return np.asarray(costs)
    if _is_position(labels):
        return np.asarray(costs, dtype=float).reshape(-1)
    _once(labels)
    return dict(zip(labels, values, strict=True))


def columns(costs: Any, guardrails: list[str]) -> object:
    """The costs of many outcomes with one column per guardrail, in their order."""
    is_table = hasattr(costs, "columns") or hasattr(costs, "__arrow_c_stream__")
    if not isinstance(costs, Mapping) and (not is_table or hasattr(costs, "name")):
        return costs
    table = Table(costs, "costs")
    if not isinstance(costs, Mapping) and _is_position(table.names):
        return np.asarray(costs, dtype=float)
    _once(table.names)
    missing = [name for name in guardrails if name not in table.names]
    unknown = [name for name in table.names if name not in guardrails]
    if missing or unknown:
        problems = [f"lacks {', '.join(map(repr, missing))}"] if missing else []
        if unknown:
            problems.append(f"has {', '.join(map(repr, unknown))}")
        raise ValueError(
            f"`costs` {' and '.join(problems)}: its columns must be the guardrails, in any order: "
            f"{', '.join(map(repr, guardrails))}"
        )
    stacked: NDArray[np.float64] = np.column_stack(
        [np.asarray(table.column(name, "costs"), dtype=float) for name in guardrails]
    )
    return stacked


def same_rows(labelled: list[tuple[str, Any]]) -> None:
    """Refuses columns of pandas whose rows have different labels."""
    indexed = [(name, value) for name, value in labelled if hasattr(value.index, "equals")]
    for name, value in indexed[1:]:
        first, other = indexed[0]
        if len(value) == len(other) and not value.index.equals(other.index):
            raise ValueError(
                f"`{first}` and `{name}` have the rows of their tables in different order, or different "
                f"rows: align them first, as by `{name}.loc[{first}.index]`, or pass arrays"
            )
