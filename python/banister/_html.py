"""Numbers as people read them, and small tables of HTML for notebooks.

Tables take the colours of the page, so they fit light and dark ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _native
    from .client.answers import CertificateMethods

_TABLE = "border-collapse: collapse; background: transparent; color: inherit; margin: 0.4em 0"
_CELL = "padding: 0.15em 0.7em; border: 0; background: transparent; color: inherit; white-space: nowrap; text-align: "
#: The line under the head.
_RULE = "; border-bottom: 1px solid currentColor"
_TITLE = "text-align: left; color: inherit; font-weight: bold; padding: 0.15em 0.7em"
_NOTE = "margin: 0.2em 0.7em; color: inherit; opacity: 0.75"
#: Most rows of a table.
_MOST = 30


def number(x: float | None) -> str:
    """Returns a number with four significant digits; a dash for one that is not known."""
    if x is None or math.isnan(x):
        return "–"
    return f"{x:,.0f}" if 1000 <= abs(x) < 1e15 else f"{x:.4g}"


def interval(lower: float, upper: float) -> str:
    """Returns both ends of an interval."""
    return f"[{number(lower)}, {number(upper)}]"


def aligned(rows: Sequence[Sequence[str]], words: int | None = None) -> list[str]:
    """Returns rows of cells as indented lines; after so many words, numbers stand to the right."""
    columns = enumerate(zip(*rows, strict=True))
    styles = [f"{'<' if words is None or i < words else '>'}{max(map(len, column))}" for i, column in columns]
    padded = ("  ".join(map(format, row, styles)) for row in rows)
    return [f"  {line}".rstrip() for line in padded]


def page(title: str, head: Sequence[str], rows: Sequence[Sequence[object]], notes: Iterable[str] = ()) -> str:
    """Returns a table with a title above and notes below; words to the left, numbers to the right."""
    cells = [[cell(entry) for entry in row] for row in rows[:_MOST]]
    sides = ["right" if i and rows and all(_is_number(row[i]) for row in rows) else "left" for i in range(len(head))]

    def line(row: Sequence[str], tag: str, more: str = "") -> str:
        each = zip(row, sides, strict=True)
        return "<tr>" + "".join(f'<{tag} style="{_CELL}{side}{more}">{escape(c)}</{tag}>' for c, side in each) + "</tr>"

    body = "".join(line(row, "td") for row in cells)
    rest = [f"and {len(rows) - _MOST:,} more"] if len(rows) > _MOST else []
    below = "".join(map(note, [*rest, *notes]))
    return (
        f'<div style="overflow-x: auto"><table style="{_TABLE}"><caption style="{_TITLE}">{escape(title)}</caption>'
        f"<thead>{line(head, 'th', _RULE)}</thead><tbody>{body}</tbody></table></div>{below}"
    )


def note(text: str) -> str:
    """Returns a line of text under a table."""
    return f'<p style="{_NOTE}">{escape(text)}</p>'


def cell(value: object) -> str:
    """Returns a cell of a table as people read it."""
    return value if isinstance(value, str) else _text(value)


def policy(probabilities: Mapping[Any, float]) -> str:
    """Returns a policy in words, the likeliest action first."""
    each = sorted(probabilities.items(), key=lambda entry: -entry[1])
    return ", ".join(f"{action} {_probability(p)}" for action, p in each)


def _text(cell: object) -> str:
    return number(cell) if isinstance(cell, float) else f"{cell:,}" if type(cell) is int else str(cell)


def _is_number(cell: object) -> bool:
    return not isinstance(cell, str) or cell[:1] in "0123456789-−[–"


def agent(one: _native.Agent) -> str:
    """Returns an agent's estimates and alarms."""
    table = one.estimates()
    signals = ("reward", *one.guardrails)
    head = ["arm", *(["outcomes"] if "pulls" in table else [])]
    head += [f"{signal}{end}" for signal in signals for end in ("", " interval")]
    rows = []
    for i, arm in enumerate(table["arm"]):
        name = f"{arm} (safe)" if arm == one.safe else f"{arm}" if table["offered"][i] else f"{arm} (retired)"
        row: list[object] = [name, *([int(table["pulls"][i])] if "pulls" in table else [])]
        for signal in signals:
            mean, lower, upper = (float(table[f"{signal}_{end}"][i]) for end in ("mean", "lower", "upper"))
            row += [mean, interval(lower, upper)]
        rows.append(row)
    return page(repr(one), head, rows, [f"alarm: {alarm.message}" for alarm in one.alarms])


def _probability(p: float) -> str:
    return f"{100 * p:.4g}%"


def decision(one: _native.Decision) -> str:
    """Returns a decision's policy and its certificate."""
    rows = [
        [f"{arm}{' (drawn)' if arm == one.action else ''}", _probability(p)]
        for arm, p in sorted(one.policy.items(), key=lambda entry: -entry[1])
    ]
    title = f"Decision: {one.action}{' (safe)' * one.is_safe}"
    own = one.segment
    below = ""
    if own is not None:
        title += f" in {own.name}"
        costs = ", ".join(f"{name} at most {number(cost)}" for name, cost in own.costs.items())
        shared = "the pool's policy" if own.pooled else "its own policy"
        below = note(f"segment {own.name}: {shared}, {_probability(own.frequency)} of decisions; {costs}".rstrip("; "))
    if one.alarm is not None:
        below += note(f"alarm: {one.alarm.message}")
    if one.scale != 1:
        title += f" at {number(one.scale)} of its length"
    return page(title, ["action", "probability"], rows) + certificate(one.certificate) + below


def decision_batch(batch: _native.DecisionBatch) -> str:
    """Returns how often each action was drawn."""
    counts: dict[Any, int] = {}
    for action in batch.actions:
        counts[action] = counts.get(action, 0) + 1
    rows = [[str(action), n, _probability(n / len(batch))] for action, n in sorted(counts.items(), key=lambda e: -e[1])]
    return page(f"{len(batch):,} decisions", ["action", "drawn", "share"], rows)


def certificate(one: CertificateMethods) -> str:
    """Returns a certificate, one row per guardrail."""
    rows = [
        [f"{part.name}{' (capped mean)' * part.capped}", part.pessimistic_cost, part.threshold, part.slack, part.price]
        for part in one.guardrails
    ]
    notes = [f"based on {one.outcomes:,} outcomes; optimistic reward {number(one.optimistic_reward)}"]
    if one.confidence:
        notes[0] += f"; confidence {number(one.confidence.safety)}"
    if one.fallback:
        notes.append(f"the safe action was forced: {one.fallback}")
    return page("Certificate", ["guardrail", "pessimistic cost", "threshold", "slack", "price"], rows, notes)
