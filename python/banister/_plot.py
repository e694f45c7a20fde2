"""Figures of results, with matplotlib: the same as those of the report."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import EngFormatter, MaxNLocator
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .simulation.run import SimulationResult

# Told apart by most people with a colour deficiency (after Okabe and Ito); red is for thresholds.
LINES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#6B6B6B", "#D55E00")
TEXTS = ("#005A8D", "#8F6200", "#00694D", "#98467A", "#1F739F", "#555555", "#A34800")
THRESHOLD = "#C5283D"
OPTIMUM = "#333333"
QUIET = "#666666"
# Later laps of the colours are dashed: no two of the first 28 lines look the same.
DASHES: tuple[Any, ...] = ("-", (0, (4.5, 2.2)), (0, (1.5, 1.5)), (0, (7, 2, 1.5, 2)))

#: More values than this at the ends of lines are not read any more.
_MOST_ENDS = 12

Column = NDArray[np.float64]


class ResultFigure(Figure):
    """A figure that notebooks show as the value of a cell, also where pyplot was never imported."""

    def _repr_png_(self) -> bytes:
        png = BytesIO()
        # Notebooks are narrower than the figure: fewer pixels lose nothing there.
        self.savefig(png, format="png", dpi=90)
        return png.getvalue()


def plot(result: SimulationResult, instance: str | int | None = None) -> Figure:
    """One row per instance: regret, a guardrail's cost each, reward."""
    shown = chosen(result.instances, instance)
    curves = {name: np.asarray(column) for name, column in result.curves.items()}
    agents = list(dict.fromkeys(agent for one in shown for agent in one["agents"]))
    judged = any(one["knows_means"] for one in shown)
    panels = max(len(one["guardrails"]) for one in shown) + 1 + judged
    # A row for each instance; one alone may take two, so that its text stays legible.
    columns = panels if len(shown) > 1 or panels < 4 else (panels + 1) // 2
    rows = len(shown) * -(-panels // columns)
    handles = [Line2D([], [], color=color(i), ls=dashes(i), lw=2.4, label=agent) for i, agent in enumerate(agents)]
    above = (1.25 if len(shown) == 1 else 1.5) + _more_lines(handles, 4.6 * columns)
    height = 2.9 * rows + above + 0.15
    figure = ResultFigure(figsize=(4.6 * columns, height), dpi=110, facecolor="white")
    top = 1 - above / height
    grid = figure.subplots(
        rows,
        columns,
        squeeze=False,
        gridspec_kw={
            "left": 0.62 / (4.6 * columns) + (0.02 if len(shown) > 1 else 0),
            "right": 1 - 0.55 / (4.6 * columns),
            "top": top,
            "bottom": 0.62 / height,
            "wspace": 0.34,
            "hspace": 0.48,
        },
    )
    for panes, one in zip(grid.reshape(len(shown), -1), shown, strict=True):
        row: list[Axes] = list(panes)
        _row(row, one, curves, agents, judged)
        if len(shown) > 1:
            row[0].annotate(
                one["name"],
                (0, 1),
                xytext=(0, 23),
                xycoords="axes fraction",
                textcoords="offset points",
                size=11,
                weight="bold",
            )
    for axes in grid[-1]:
        axes.set_xlabel("round", color=QUIET)
    runs = len(set(result.runs["run"].tolist()))
    means = f"Means over {runs} run{'s' if runs > 1 else ''}."
    detail = (
        f"{means} Band: ±0.5 standard deviation. Costs and rewards are the policies' expectations under the true means."
        if judged
        else f"{means} The true means are unknown: costs and rewards are those that were observed."
    )
    head(figure, shown[0]["name"] if len(shown) == 1 else "Regret, cost and reward", detail, handles)
    return figure


def color(line: int) -> str:
    """The colour of a line."""
    return LINES[line % len(LINES)]


def dashes(line: int) -> Any:
    """Its dashes: each lap of the colours has its own."""
    return DASHES[line // len(LINES) % len(DASHES)]


def chosen(instances: Sequence[dict[str, Any]], instance: str | int | None) -> Sequence[dict[str, Any]]:
    """The instances asked for: all, or one by name or number."""
    if instance is None:
        return instances
    if isinstance(instance, int) and -len(instances) <= instance < len(instances):
        return [instances[instance]]
    names = [one["name"] for one in instances]
    if instance in names:
        return [instances[names.index(str(instance))]]
    raise ValueError(f"`instance` is {instance!r}: the instances are {', '.join(names)}")


def head(figure: Figure, title: str, detail: str, handles: Sequence[Line2D]) -> None:
    """The title, what the figure shows, and what its lines and marks stand for."""
    width, height = figure.get_size_inches()
    left = 0.25 / width
    figure.text(left, 1 - 0.28 / height, title, weight="bold", size=13, va="center")
    figure.text(left, 1 - 0.52 / height, detail, size=8.5, color=QUIET, va="center")
    more = _more_lines(handles, width)
    figure.legend(
        handles=list(handles),
        loc="center left",
        bbox_to_anchor=(left - 0.004, 1 - (0.78 + more / 2) / height),
        ncols=_across(handles, width),
        frameon=False,
        fontsize=9.5,
        handlelength=1.8,
        borderpad=0,
        labelspacing=0.3,
    )


def _across(handles: Sequence[Line2D], width: float) -> int:
    """How many entries of a legend stand side by side in a figure so many inches wide."""
    longest = max((len(str(handle.get_label())) for handle in handles), default=1)
    return max(1, min(len(handles), int((width - 0.4) / (0.55 + 0.068 * longest))))


def _more_lines(handles: Sequence[Line2D], width: float) -> float:
    """The height in inches of a legend's lines beyond the first."""
    return 0.19 * (-(-len(handles) // _across(handles, width)) - 1) if handles else 0.0


def _row(
    row: Sequence[Axes],
    one: dict[str, Any],
    curves: dict[str, Any],
    agents: Sequence[str],
    judged: bool,
) -> None:
    here = curves["instance"] == one["name"]
    panels = iter(row)

    def lines(axes: Axes, column: str) -> list[tuple[int, Column, Column]]:
        drawn = []
        for i, agent in enumerate(agents):
            rows = here & (curves["agent"] == agent)
            if rows.any():
                x, y = curves["round"][rows], curves[column][rows]
                if not judged:
                    # What was observed since the last checkpoint is mostly noise.
                    length = np.diff(x, prepend=0)
                    y = np.cumsum(y * length) / np.cumsum(length)
                axes.plot(x, y, color=color(i), ls=dashes(i), lw=1.7, zorder=3)
                drawn.append((i, x, y))
        return drawn

    if judged:
        axes = next(panels)
        _over_time(axes, "cumulative regret", one["horizon"])
        ends = []
        for i, x, y in lines(axes, "regret_mean"):
            rows = here & (curves["agent"] == agents[i])
            half = curves["regret_std"][rows] / 2
            lower, upper = y - half, y + half
            # It begins with nothing.
            axes.plot([0, x[0]], [0, y[0]], color=color(i), lw=1.7, zorder=3)
            axes.fill_between(x, lower, upper, color=color(i), alpha=0.18, lw=0)
            ends.append((i, float(y[-1])))
        # Regret below 0 is what agents have that break guardrails; it must not go unseen.
        if all(y >= 0 for _, y in ends):
            axes.set_ylim(bottom=0)
        if len(ends) <= _MOST_ENDS:
            _end_labels(axes, one["horizon"], ends)
    for i, guardrail in enumerate(one["guardrails"]):
        axes = next(panels)
        name = guardrail["name"]
        _over_time(axes, f"expected {name}" if judged else f"mean {name} so far", one["horizon"])
        lines(axes, f"{name}_cost_mean")
        if guardrail["threshold"] is not None:
            sign = "≤" if guardrail["direction"] == "at_most" else "≥"
            _reference(axes, guardrail["threshold"], f"threshold {sign} {{}}", THRESHOLD, "--")
        costs = one["optimum"]["costs"]
        if judged and i < len(costs) and not _same(costs[i], guardrail["threshold"]):
            _reference(axes, costs[i], "optimum {}", OPTIMUM, ":", below=True)
    axes = next(panels)
    _over_time(axes, "expected reward" if judged else "mean reward so far", one["horizon"])
    lines(axes, "reward_mean")
    if judged and one["optimum"]["reward"] is not None:
        _reference(axes, one["optimum"]["reward"], "optimum r* = {}", OPTIMUM, ":")
    for axes in panels:
        axes.set_visible(False)


def _same(cost: float | None, threshold: float | None) -> bool:
    """Whether the optimum's line would lie on the threshold's, or there is none."""
    return cost is None or (threshold is not None and abs(cost - threshold) < 1e-9)


def style(axes: Axes, title: str) -> None:
    """The house style of axes."""
    axes.set_title(title, loc="left", size=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#999999")
    axes.grid(axis="y", color="#E4E4E4", lw=0.9)
    axes.set_axisbelow(True)
    axes.tick_params(colors="#555555", labelsize=8.5, length=0, axis="y")
    axes.tick_params(colors="#555555", labelsize=8.5, color="#999999", axis="x")
    axes.margins(y=0.12)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(lambda y, _: short(y))


def _over_time(axes: Axes, title: str, horizon: int) -> None:
    """The same with rounds along the bottom."""
    style(axes, title)
    axes.set_xlim(0, horizon)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def _reference(axes: Axes, level: float, text: str, color: str, style: str, below: bool = False) -> None:
    axes.axhline(level, color=color, ls=style, lw=1.3, zorder=4)
    axes.annotate(
        text.format(short(level)),
        (1, level),
        xycoords=("axes fraction", "data"),
        xytext=(0, -3 if below else 3),
        textcoords="offset points",
        ha="right",
        va="top" if below else "bottom",
        size=8.5,
        color=color,
        # Legible also where it stands on lines.
        path_effects=[withStroke(linewidth=2.5, foreground="white", alpha=0.85)],
        zorder=5,
    )


def _end_labels(axes: Axes, horizon: int, ends: list[tuple[int, float]]) -> None:
    """Values at the end, each beside its line; pushed apart where they would overlap."""
    low, high = axes.get_ylim()
    gap = 0.075 * (high - low)
    place = -np.inf
    for i, value in sorted(ends, key=lambda end: end[1]):
        place = max(value, place + gap)
        axes.annotate(
            short(value),
            (horizon, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            size=9,
            weight="bold",
            color=TEXTS[i % len(TEXTS)],
            annotation_clip=False,
        )


def short(x: float) -> str:
    """A number in few letters."""
    if x < 0:
        return f"−{short(-x)}"
    if abs(x) >= 1e6:
        return f"{x / 1e6:.3g}M"
    if abs(x) >= 1e4:
        return f"{x / 1e3:.3g}k"
    if abs(x) >= 1000:
        return f"{x:.0f}"
    return f"{x:.3g}"
