"""A result in a few lines of text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ._simulate import SimulationResult

_HEAD = ("instance", "agent", "runs", "regret", "± sd", "reward at the end", "violations")


def summary(result: SimulationResult) -> str:
    """One line per instance and agent."""
    runs = {name: np.asarray(column) for name, column in result.runs.items()}
    rows: list[tuple[str, ...]] = [_HEAD]
    for instance in result.instances:
        for agent in instance["agents"]:
            here = (runs["instance"] == instance["name"]) & (runs["agent"] == agent)
            regret = runs["regret"][here]
            spread = float(np.std(regret, ddof=1)) if len(regret) > 1 else 0.0
            broken = float(np.sum(runs["violations"][here]))
            rows.append(
                (
                    instance["name"],
                    agent,
                    str(int(here.sum())),
                    _number(float(regret.mean())),
                    _number(spread),
                    _number(float(runs["reward_end"][here].mean())),
                    "–" if math.isnan(broken) else str(int(broken)),
                )
            )
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    lines = [
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def _number(x: float) -> str:
    if math.isnan(x):
        return "–"
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"
