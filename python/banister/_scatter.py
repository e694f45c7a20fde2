"""The figure of a comparison, with matplotlib: the same as that of the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from . import _native
from ._plot import LINES, OPTIMUM, QUIET, ResultFigure, chosen, head, short, style

if TYPE_CHECKING:
    from ._compare import ComparisonResult

# What each promise looks like, the strongest first: calm colours for the safe, vermilion for the unsafe.
_LOOKS = ((LINES[0], "o"), (LINES[2], "s"), (LINES[1], "D"), (LINES[6], "^"))

#: Panels side by side, and the size of one in inches.
_ACROSS, _WIDE, _HIGH = 3, 4.6, 3.7
#: A line of a name, and about the width of a letter, in points.
_LINE, _LETTER = 10.5, 4.6
#: Regrets further apart than this need a logarithmic axis.
_FAR = 50.0


def scatter(result: ComparisonResult, instance: str | int | None = None) -> Figure:
    """One panel per instance whose policies are judged: regret against violation."""
    judged = [
        one
        for one in chosen(result.instances, instance)
        if one["knows_means"] and one["guardrails"]
    ]
    if not judged:
        raise ValueError(
            f"`instance` is {instance!r}: none of its instances has guardrails to violate"
        )
    columns = min(len(judged), _ACROSS)
    rows = -(-len(judged) // columns)
    top = 1.45
    width, height = max(_WIDE * columns, 6.4), _HIGH * rows + top
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
        axes.set_yscale("symlog", linthresh=max(min(heights), max(heights) / 1e4))
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
            x, y, marker=marker, color=color, ms=6.5, mec="white", mew=0.8, ls="", zorder=4,
            label=point["agent"],
        )
    ticks, names = shares.ticks()
    axes.set_xticks(ticks, names)
    # Room for the names at the right of the last points.
    axes.set_xlim(-0.45, ticks[-1] + 1.1)
    axes.margins(y=0.12)
    axes.set_xlabel("share of rounds that violated", color=QUIET, size=9)
    axes.set_ylabel("regret", color=QUIET, size=9)


def _name_points(axes: Axes) -> None:
    """Writes every point's name beside it, a little higher or lower where others stand already."""
    figure = axes.get_figure()
    assert figure is not None
    scale = 72 / figure.dpi
    points = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    to_points = axes.transData.transform
    marks = [
        tuple(scale * to_points((line.get_xdata()[0], line.get_ydata()[0])))  # type: ignore[index]
        for line in points
    ]
    taken: list[tuple[float, float, float]] = []

    def is_free(left: float, right: float, middle: float) -> bool:
        names = any(
            left < other_right and right > other_left and abs(middle - other) < _LINE
            for other_left, other_right, other in taken
        )
        covers = any(left - 3 < x < right and abs(middle - y) < 0.7 * _LINE for x, y in marks)
        return not names and not covers

    for line, (x, y) in sorted(zip(points, marks, strict=True), key=lambda one: -one[1][1]):
        name = str(line.get_label())
        left, right = x + 7, x + 7 + _LETTER * len(name)
        steps = [0.0] + [sign * 0.5 * _LINE * k for k in range(1, 40) for sign in (-1, 1)]
        shift = next((step for step in steps if is_free(left, right, y + step)), 0.0)
        taken.append((left, right, y + shift))
        moved = abs(shift) > 0.6 * _LINE
        axes.annotate(
            name,
            (line.get_xdata()[0], line.get_ydata()[0]),  # type: ignore[index]
            xytext=(12 if moved else 7, shift),
            textcoords="offset points",
            va="center",
            size=8,
            color="#333333",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": "#AAAAAA", "lw": 0.6, "shrinkA": 1, "shrinkB": 3}
            if moved
            else None,
            zorder=5,
        )
