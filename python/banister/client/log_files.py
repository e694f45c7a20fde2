"""Logs from and to the decision service: CSV on the way, `banister.offline.Log` in hand."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._extra import extra
from .._features import Features
from .._plain import finite
from .._tables import Table, is_missing
from ..offline.log import Log, LogLike
from .types import Experiment

CSV = "text/csv"


#: Columns that every exported file has.
OWN = {
    "decision", "number", "time", "action", "index", "pscore", "reward", "status", "shadow",
}  # fmt: skip


def cost_column(guardrail: str, has_segments: bool = False) -> str:
    """Returns the column of a guardrail's costs: its name, unless another column may have it."""
    rest = guardrail
    while rest.startswith("cost_"):
        rest = rest.removeprefix("cost_")
    taken = rest in OWN or rest.startswith(("context_", "feature_"))
    taken |= has_segments and (rest in ("segment", "request") or rest.startswith("segment_"))
    return f"cost_{guardrail}" if taken else guardrail


def log_from_csv(content: bytes, experiment: Experiment, features: Sequence[str] | Features | None) -> Log:
    """Returns the complete outcomes of an exported file."""
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8"))))
    guardrails = [str(guardrail["name"]) for guardrail in experiment.guardrails]
    has_segments = experiment.segments is not None
    costs = [cost_column(guardrail, has_segments) for guardrail in guardrails]
    for column in ["action", "reward", *costs]:
        if rows and column not in rows[0]:
            raise ValueError(f"the exported file has no column {column!r}, only {list(rows[0])}")
    # In shadow mode it may never have been said what was done.
    complete = [row for row in rows if all(row[one] for one in ["action", "reward", *costs])]
    if not complete:
        raise ValueError(f"the experiment {experiment.name!r} has no complete outcome yet")
    context = _contexts(complete, features) if isinstance(features, Features) else None
    features = None if isinstance(features, Features) else features
    chosen = ["reward", *costs, *(features or ())]
    columns: dict[str, Any] = {name: np.array([float(row[name]) for row in complete]) for name in chosen}
    columns["action"] = [row["action"] for row in complete]
    if has_segments:
        columns["segment"] = [row["segment"] for row in complete]
    pscores = [row.get("pscore") for row in complete]
    if all(pscores):
        columns["pscore"] = np.array([float(one) for one in pscores if one])
    log = Log.from_frame(
        columns,
        costs=dict(zip(guardrails, costs, strict=True)),
        pscore="pscore" if all(pscores) else None,
        features=features,
        arms=[arm.name for arm in experiment.arms] or None,
        # The agent learned from the outcomes as they came.
        adaptive=True,
        segment="segment" if has_segments else None,
    )
    return log if context is None else replace(log, context=context)


def _contexts(rows: list[dict[str, str]], features: Features) -> NDArray[np.float64]:
    """Returns the contexts of an exported file, whose columns have the names of the fields."""
    columns = {}
    for name, field in features.to_dict().items():
        column = f"context_{name}"
        if column not in rows[0]:
            raise ValueError(f"the exported file has no column {column!r}, only {list(rows[0])}")
        cells = [row[column] for row in rows]
        if field["kind"] == "number":
            columns[name] = [float(cell) if cell else None for cell in cells]
        else:
            known = {str(value): value for value in field.get("values", ())} or {"true": True, "false": False}
            columns[name] = [known.get(cell, cell or None) for cell in cells]
    return features.transform(columns)


def file_from_log(log: LogLike | bytes) -> tuple[bytes, str]:
    """Returns a file that the service takes, and its media type."""
    if isinstance(log, (bytes, bytearray)):
        if log[:4] != b"PAR1":
            return bytes(log), CSV
        with extra("arrow"):
            import pyarrow.parquet

        log = pyarrow.parquet.read_table(io.BytesIO(log))
    if isinstance(log, Log):
        columns = _columns(log)
    else:
        table = Table(log, "log")
        columns = {str(name): table.column(name, "log") for name in table.names}
    cells = {name: _cells(name, np.asarray(column)) for name, column in columns.items()}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(cells)
    writer.writerows(zip(*cells.values(), strict=True))
    return text.getvalue().encode(), CSV


def _columns(log: Log) -> dict[str, Any]:
    if log.context is not None or log.offered is not None:
        raise ValueError("`log` has features, whose columns have no names in a Log: give the frame, or the file")
    columns: dict[str, Any] = {
        "action": [str(log.arms[index]) for index in log.indices],
        "reward": log.rewards,
    }
    if log.pscores is not None:
        columns["pscore"] = log.pscores
    if log.segments is not None:
        columns["segment"] = list(log.segments)
    if log.requests is not None:
        columns["request"] = list(log.requests)
    names = [cost_column(guardrail, log.segments is not None) for guardrail in log.guardrails]
    return {**columns, **dict(zip(names, log.costs.T, strict=True))}


def _cells(name: str, column: Any) -> list[Any]:
    """Returns a column as text; what is missing is empty."""
    missing = is_missing(column)
    cells = []
    for row, (value, gone) in enumerate(zip(column.tolist(), missing, strict=True)):
        if isinstance(value, float) and not gone:
            finite(value, f"{name}[{row}]")
        if isinstance(value, bool):
            value = int(value)
        cells.append("" if gone else value)
    return cells
