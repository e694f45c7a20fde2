"""The figure of a comparison, with matplotlib: the same as that of the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from . import _native
from ._plot import LINES, OPTIMUM, QUIET, ResultFigure, chosen, head, short, style

if TYPE_CHECKING:
    from .simulation.comparison import ComparisonResult

# What each promise looks like, the strongest first: calm colours for the safe, vermilion for the unsafe.
_LOOKS = ((LINES[0], "o"), (LINES[2], "s"), (LINES[1], "D"), (LINES[6], "^"))

#: Panels side by side, and the size of one in inches.
_ACROSS, _WIDE, _HIGH = 3, 4.6, 3.7
#: A line of a name, and about the width of a letter, in points.
_LINE, _LETTER = 10.5, 4.6
#: From a point to its name, and to a name that had to move.
_GAP, _FAN = 7.0, 26.0
#: Regrets further apart than this need a logarithmic axis.
_FAR = 50.0


def scatter(result: ComparisonResult, instance: str | int | None = None) -> Figure:
    """One panel per instance whose policies are judged: regret against violation."""
    judged = [one for one in chosen(result.instances, instance) if one["knows_means"] and one["guardrails"]]
    if not judged:
        raise ValueError(f"`instance` is {instance!r}: none of its instances has guardrails to violate")
    columns = min(len(judged), _ACROSS)
    rows = -(-len(judged) // columns)
    top = 1.45
    width, height = max(_WIDE * columns, 7.8), _HIGH * rows + top
    figure = ResultFigure(figsize=(width, height), dpi=110, facecolor="white")
    grid = figure.subplots(
        rows,
        columns,
        squeeze=False,
        gridspec_kw={
            "left": 0.75 / width,
            "right": 1 - 0.3 / width,
            "top": 1 - top / height,
            "bottom": 0.6 / height,
            "wspace": 0.26,
            "hspace": 0.42,
        },
    )
    looks = {words: _LOOKS[i % len(_LOOKS)] for i, (_, words) in enumerate(_native.guarantees())}
    panels = [axes for row in grid for axes in row]
    for axes, one in zip(panels, judged, strict=False):
        points = [point for point in result.points if point["instance"] == one["name"]]
        _panel(axes, one["name"], points, looks)
    for axes in panels[len(judged) :]:
        axes.set_visible(False)
    head(
        figure,
        "What safety costs, and who does not pay",
        "Best is the lower left: no violation, little regret. Whiskers are 95% intervals over runs.",
        [
            Line2D([], [], color=color, marker=marker, ls="", ms=6, mec="white", label=words)
            for words, (color, marker) in looks.items()
        ],
    )
    # Names find their places once the axes have theirs.
    for axes in panels[: len(judged)]:
        _name_points(axes)
    return figure


class _Shares:
    """Places along the axis of shares: none of the rounds apart, then decades."""

    def __init__(self, shares: Sequence[float]) -> None:
        positive = [share for share in shares if share > 0]
        self.lowest = min(-2, *(math.floor(math.log10(share)) for share in positive), -2)

    def place(self, share: float) -> float:
        """0 for none; from 1 on a decade each."""
        if share <= 0:
            return 0.0
        return max(1 + math.log10(share) - self.lowest, 0.5)

    def ticks(self) -> tuple[list[float], list[str]]:
        decades = range(self.lowest, 1)
        names = [f"{100 * 10.0**decade:g}%" for decade in decades]
        return [0.0, *(self.place(10.0**decade) for decade in decades)], ["none", *names]


def _panel(
    axes: Axes,
    name: str,
    points: Sequence[dict[str, Any]],
    looks: dict[str, tuple[str, str]],
) -> None:
    drawn = [p for p in points if p["regret"][0] is not None and p["violation_share"][0] is not None]
    shares = _Shares([point["violation_share"][0] for point in drawn])
    style(axes, name)
    heights = [abs(point["regret"][0]) for point in drawn if point["regret"][0]]
    if heights and max(heights) > _FAR * min(heights):
        # Regret may have either sign: logarithmic on both sides of zero.
        least = max(min(heights), max(heights) / 1e4)
        axes.set_yscale("symlog", linthresh=10.0 ** math.ceil(math.log10(least)))
        axes.yaxis.set_major_formatter(lambda y, _: short(y))
    axes.axvspan(-0.45, 0.45, color="#0072B2", alpha=0.06, lw=0)
    axes.axhline(0, color=OPTIMUM, ls=":", lw=1.1, zorder=2)
    for point in drawn:
        color, marker = looks[point["guarantee"]]
        x, y = shares.place(point["violation_share"][0]), point["regret"][0]
        _, low, high = point["regret"]
        if low is not None:
            axes.plot([x, x], [low, high], color=color, lw=1, alpha=0.6, zorder=3)
        _, low, high = point["violation_share"]
        if low is not None and high > 0:
            ends = [shares.place(max(low, 0.0)), shares.place(min(high, 1.0))]
            axes.plot(ends, [y, y], color=color, lw=1, alpha=0.6, zorder=3)
        axes.plot(
            x,
            y,
            marker=marker,
            color=color,
            ms=6.5,
            mec="white",
            mew=0.8,
            ls="",
            zorder=4,
            label=point["agent"],
        )
    ticks, names = shares.ticks()
    axes.set_xticks(ticks, names)
    # Room for the names at the right of the last points.
    axes.set_xlim(-0.45, ticks[-1] + 1.1)
    axes.margins(y=0.12)
    axes.set_xlabel("share of rounds that violated", color=QUIET, size=9)
    axes.set_ylabel("regret", color=QUIET, size=9)


@dataclass
class _Mark:
    """A point of a panel and the place of its name, in points from the lower left corner."""

    name: str
    at: tuple[float, float]
    x: float
    y: float
    left: float
    middle: float

    @property
    def right(self) -> float:
        return self.left + _LETTER * len(self.name)


def _name_points(axes: Axes) -> None:
    """Writes every point's name beside it; where many stand above each other, the names make a list."""
    figure = axes.get_figure()
    assert figure is not None
    to_points = 72 / figure.dpi
    frame = axes.get_window_extent()
    marks = []
    for line in axes.lines:
        name = str(line.get_label())
        if not name.startswith("_"):
            at = (float(np.asarray(line.get_xdata())[0]), float(np.asarray(line.get_ydata())[0]))
            x, y = (float(pixels) * to_points for pixels in axes.transData.transform(at))
            marks.append(_Mark(name, at, x, y, x + _GAP, y))
    low, high = to_points * frame.y0 + _LINE / 2, to_points * frame.y1 - _LINE / 2
    for column in _columns(marks):
        middles = _spread([mark.y for mark in column], low, high)
        for mark, middle in zip(column, middles, strict=True):
            moved = abs(middle - mark.y) > 1
            mark.left, mark.middle = mark.x + (_FAN if moved else _GAP), middle
    for mark in marks:
        if not _is_free(mark, marks):
            steps = [sign * _LINE * k / 2 for k in range(1, 9) for sign in (1, -1)]
            home = mark.middle
            for step in steps:
                mark.middle = home + step
                if low <= mark.middle <= high and _is_free(mark, marks):
                    mark.left = mark.x + _FAN
                    break
            else:
                mark.middle = home
        axes.annotate(
            mark.name,
            mark.at,
            xytext=(mark.left - mark.x, mark.middle - mark.y),
            textcoords="offset points",
            va="center",
            size=8,
            color="#333333",
            annotation_clip=False,
            # Legible also where it stands on lines.
            path_effects=[withStroke(linewidth=2.2, foreground="white", alpha=0.85)],
            zorder=5,
        )
        if mark.left - mark.x > _GAP:
            axes.annotate(
                "",
                mark.at,
                xytext=(mark.left - mark.x - 2, mark.middle - mark.y),
                textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": "#AAAAAA", "lw": 0.6, "shrinkA": 0, "shrinkB": 3},
                annotation_clip=False,
                zorder=2.5,
            )


def _columns(marks: Sequence[_Mark]) -> list[list[_Mark]]:
    """Marks that stand above each other, each column from below."""
    columns: list[list[_Mark]] = []
    for mark in sorted(marks, key=lambda mark: mark.x):
        if columns and mark.x - columns[-1][0].x < _GAP:
            columns[-1].append(mark)
        else:
            columns.append([mark])
    return [sorted(column, key=lambda mark: mark.y) for column in columns]


def _spread(heights: Sequence[float], low: float, high: float) -> list[float]:
    """Ascending heights moved apart by a line at least, as little as that takes."""
    # A block is as high as its lines and centred where these would like to be.
    blocks: list[tuple[float, int]] = []

    def centre(block: tuple[float, int]) -> float:
        half = _LINE * (block[1] - 1) / 2
        return max(min(block[0], high - half), low + half)

    for height in heights:
        blocks.append((height, 1))
        while len(blocks) > 1:
            below, above = blocks[-2:]
            count = below[1] + above[1]
            if centre(above) - centre(below) >= _LINE * count / 2:
                break
            blocks[-2:] = [((below[0] * below[1] + above[0] * above[1]) / count, count)]
    return [centre(block) + _LINE * (k - (block[1] - 1) / 2) for block in blocks for k in range(block[1])]


def _is_free(mark: _Mark, marks: Sequence[_Mark]) -> bool:
    """Whether a name covers no other mark or name."""
    for other in marks:
        if other is mark:
            continue
        beside = mark.left < other.right and mark.right > other.left
        if beside and abs(mark.middle - other.middle) < 0.9 * _LINE:
            return False
        if mark.left - 3 < other.x < mark.right and abs(mark.middle - other.y) < 0.6 * _LINE:
            return False
    return True
