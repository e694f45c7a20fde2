"""What may stand for a log where one is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ._frame import Table
from ._log import Arm, Log

LogLike: TypeAlias = Log | Mapping[str, Any] | Any
"""A `Log`; a frame with the columns action, reward, pscore and one column per guardrail; or obp's
`bandit_feedback`, with the costs as further keys."""


def as_log(log: LogLike, guardrails: Sequence[str], arms: Sequence[Arm] | None = None) -> Log:
    """The log itself, or one from a frame with the usual columns, or from obp's dictionary.

    A guardrail's costs are in the column of its name; those of a single one also in `costs` or `cost`.
    For other columns there is `Log.from_frame`.
    """
    if isinstance(log, Log):
        return log
    table = Table(log, "log")
    costs = _costs(table.names, guardrails)
    if isinstance(log, Mapping) and {"n_rounds", "n_actions"} <= set(log):
        values = {name: table.numbers(column, "log") for name, column in costs.items()}
        return Log.from_obp(log, costs=values or None)
    pscore = "pscore" if "pscore" in table.names else None
    named = arms if arms and isinstance(arms[0], str) else None
    return Log.from_frame(log, costs=costs, pscore=pscore, arms=named)


def _costs(columns: Sequence[str], guardrails: Sequence[str]) -> dict[str, str]:
    """The column of each guardrail's costs, as far as there is one."""
    found = {name: name for name in guardrails if name in columns}
    if not found and len(guardrails) <= 1:
        name = guardrails[0] if guardrails else "cost"
        found = {name: column for column in ("costs", "cost") if column in columns}
    return found
