"""Results in a few lines of text, and as tables of HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .._html import aligned, note, number, page

if TYPE_CHECKING:
    from .comparison import ComparisonResult
    from .run import SimulationResult

Row = tuple[str, ...]

_HEAD = (
    "instance",
    "agent",
    "runs",
    "regret",
    "± sd",
    "limit",
    "regret / limit",
    "reward at the end",
    "violations",
)
_BOARD = (
    "agent",
    "promise",
    "rank",
    "kept",
    "regret",
    "95% interval",
    "limit",
    "regret / limit",
    "violations",
    "of rounds",
    "net excess",
    "of optimum",
)


def summary(result: SimulationResult) -> str:
    """Returns one line per instance and agent."""
    return "\n".join(line[2:] for line in aligned([_HEAD, *_results(result)], words=2))


def summary_html(result: SimulationResult) -> str:
    """Returns the same as HTML, for notebooks."""
    return page("Simulation", _HEAD, _results(result))


def _results(result: SimulationResult) -> list[Row]:
    runs = {name: np.asarray(column) for name, column in result.runs.items()}
    rows: list[Row] = []
    for instance in result.instances:
        for agent in instance["agents"]:
            here = (runs["instance"] == instance["name"]) & (runs["agent"] == agent)
            regret = runs["regret"][here]
            spread = float(np.std(regret, ddof=1)) if len(regret) > 1 else 0.0
            mean, limit = float(regret.mean()), float(runs["limit"][here].mean())
            broken = float(np.sum(runs["violations"][here]))
            rows.append(
                (
                    instance["name"],
                    agent,
                    str(int(here.sum())),
                    number(mean),
                    number(spread),
                    number(limit),
                    _multiple(mean / limit if limit >= 1 else math.nan),
                    number(float(runs["reward_end"][here].mean())),
                    "–" if math.isnan(broken) else str(int(broken)),
                )
            )
    return rows


def leaderboards(result: ComparisonResult) -> str:
    """Returns one leaderboard per instance, by promise."""
    boards = _boards(result)
    # One set of widths for all: boards under each other are compared.
    lines = aligned([_BOARD, *(row for _, rows in boards for row in rows)], words=2)
    text, at = [], 1
    for name, rows in boards:
        text += [name, lines[0], *lines[at : at + len(rows)], ""]
        at += len(rows)
    return "\n".join([*text, *_notes(result)]).rstrip()


def leaderboards_html(result: ComparisonResult) -> str:
    """Returns the same as HTML, for notebooks."""
    pages = [page(name, _BOARD, rows) for name, rows in _boards(result)]
    return "".join([*pages, *map(note, _notes(result))])


def _boards(result: ComparisonResult) -> list[tuple[str, list[Row]]]:
    """Returns the name of each instance and the rows of its leaderboard, without tuned versions."""
    table = result.leaderboard
    boards: dict[str, list[Row]] = {}
    for i, instance in enumerate(table["instance"]):
        if table["tuned_of"][i]:
            continue
        rank = float(table["rank"][i])
        low, high = (float(table[f"regret_{end}"][i]) for end in ("low", "high"))
        broken, share = float(table["violations"][i]), float(table["violation_share"][i])
        row = (
            table["agent"][i],
            table["group"][i],
            "–" if math.isnan(rank) else str(int(rank)),
            table["kept"][i] or "–",
            number(float(table["regret"][i])),
            "–" if math.isnan(low) else f"{number(low)} to {number(high)}",
            number(float(table["limit"][i])),
            _multiple(float(table["regret_over_limit"][i])),
            "–" if math.isnan(broken) else f"{int(broken):,}",
            _share(share),
            number(float(table["net_excess"][i])),
            _share(float(table["of_optimum"][i])),
        )
        boards.setdefault(instance, []).append(row)
    return list(boards.items())


def _notes(result: ComparisonResult) -> list[str]:
    """Points to further tables."""
    verdicts: list[str] = result.published["verdict"]
    absent = len(result.left_out["agent"])
    notes = []
    if verdicts:
        counts = [f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts)]
        notes.append(f"published numbers: {', '.join(counts)} (see .published)")
    if absent:
        notes.append(f"skipped, as they do not support the instance: {absent} (see .left_out)")
    return notes


def _share(share: float) -> str:
    if math.isnan(share):
        return "–"
    # A share that is tiny is not nothing.
    return f"{share:.0e}" if 0 < share < 0.0005 else f"{100 * share:.1f}%" if share else "0"


def _multiple(x: float) -> str:
    """A multiple, with two significant digits."""
    if math.isnan(x):
        return "–"
    # Rounded first: 9.96 is 10, not 10.0.
    x = float(f"{x:.1e}")
    places = 1 - math.floor(math.log10(abs(x))) if x else 0
    return f"{x:,.{max(places, 0)}f}×"
