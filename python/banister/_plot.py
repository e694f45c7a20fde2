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
    from ._simulate import SimulationResult

# Told apart by most people with a colour deficiency (after Okabe and Ito); red is for thresholds.
LINES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#6B6B6B", "#D55E00")
TEXTS = ("#005A8D", "#8F6200", "#00694D", "#98467A", "#1F739F", "#555555", "#A34800")
THRESHOLD = "#C5283D"
OPTIMUM = "#333333"
QUIET = "#666666"

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
    chosen = _chosen(result.instances, instance)
    curves = {name: np.asarray(column) for name, column in result.curves.items()}
    agents = list(dict.fromkeys(agent for one in chosen for agent in one["agents"]))
    judged = any(one["knows_means"] for one in chosen)
    panels = max(len(one["guardrails"]) for one in chosen) + 1 + judged
    # A row for each instance; one alone may take two, so that its text stays legible.
    columns = panels if len(chosen) > 1 or panels < 4 else (panels + 1) // 2
    rows = len(chosen) * -(-panels // columns)
    head = 1.25 if len(chosen) == 1 else 1.5
    height = 2.9 * rows + head + 0.15
    figure = ResultFigure(figsize=(4.6 * columns, height), dpi=110, facecolor="white")
    top = 1 - head / height
    grid = figure.subplots(
        rows,
        columns,
        squeeze=False,
        gridspec_kw={
            "left": 0.62 / (4.6 * columns) + (0.02 if len(chosen) > 1 else 0),
            "right": 1 - 0.55 / (4.6 * columns),
            "top": top,
            "bottom": 0.62 / height,
            "wspace": 0.34,
            "hspace": 0.48,
        },
    )
    for panes, one in zip(grid.reshape(len(chosen), -1), chosen, strict=True):
        row: list[Axes] = list(panes)
        _row(row, one, curves, agents, judged)
        if len(chosen) > 1:
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
    _head(figure, chosen, agents, result, height, judged)
    return figure


def _chosen(
    instances: Sequence[dict[str, Any]], instance: str | int | None
) -> Sequence[dict[str, Any]]:
    if instance is None:
        return instances
    if isinstance(instance, int) and -len(instances) <= instance < len(instances):
        return [instances[instance]]
    names = [one["name"] for one in instances]
    if instance in names:
        return [instances[names.index(str(instance))]]
    raise ValueError(f"`instance` is {instance!r}: the instances are {', '.join(names)}")


def _head(
    figure: Figure,
    chosen: Sequence[dict[str, Any]],
    agents: Sequence[str],
    result: SimulationResult,
    height: float,
    judged: bool,
) -> None:
    runs = len(set(result.runs["run"].tolist()))
    title = chosen[0]["name"] if len(chosen) == 1 else "Regret, cost and reward"
    left = 0.25 / figure.get_size_inches()[0]
    figure.text(left, 1 - 0.28 / height, title, weight="bold", size=13, va="center")
    means = f"Means over {runs} run{'s' if runs > 1 else ''}."
    detail = (
        f"{means} Band: ±0.5 standard deviation. Costs and rewards are the policies' expectations "
        "under the true means."
        if judged
        else f"{means} The true means are unknown: costs and rewards are those that were observed."
    )
    figure.text(left, 1 - 0.52 / height, detail, size=8.5, color=QUIET, va="center")
    handles = [
        Line2D([], [], color=LINES[i % len(LINES)], lw=2.4, label=agent)
        for i, agent in enumerate(agents)
    ]
    figure.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(left - 0.004, 1 - 0.78 / height),
        ncols=max(len(agents), 1),
        frameon=False,
        fontsize=9.5,
        handlelength=1.8,
        borderpad=0,
    )


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
                axes.plot(x, y, color=LINES[i % len(LINES)], lw=1.7, zorder=3)
                drawn.append((i, x, y))
        return drawn

    if judged:
        axes = next(panels)
        _style(axes, "cumulative regret", one["horizon"])
        ends = []
        for i, x, y in lines(axes, "regret_mean"):
            rows = here & (curves["agent"] == agents[i])
            half = curves["regret_std"][rows] / 2
            lower, upper = y - half, y + half
            # It begins with nothing.
            axes.plot([0, x[0]], [0, y[0]], color=LINES[i % len(LINES)], lw=1.7, zorder=3)
            axes.fill_between(x, lower, upper, color=LINES[i % len(LINES)], alpha=0.18, lw=0)
            ends.append((i, float(y[-1])))
        # Regret below 0 is what agents have that break guardrails; it must not go unseen.
        if all(y >= 0 for _, y in ends):
            axes.set_ylim(bottom=0)
        _end_labels(axes, one["horizon"], ends)
    for i, guardrail in enumerate(one["guardrails"]):
        axes = next(panels)
        name = guardrail["name"]
        _style(axes, f"expected {name}" if judged else f"mean {name} so far", one["horizon"])
        lines(axes, f"{name}_cost_mean")
        if guardrail["threshold"] is not None:
            sign = "≤" if guardrail["direction"] == "at_most" else "≥"
            _reference(axes, guardrail["threshold"], f"threshold {sign} {{}}", THRESHOLD, "--")
        costs = one["optimum"]["costs"]
        if judged and i < len(costs) and not _same(costs[i], guardrail["threshold"]):
            _reference(axes, costs[i], "optimum {}", OPTIMUM, ":", below=True)
    axes = next(panels)
    _style(axes, "expected reward" if judged else "mean reward so far", one["horizon"])
    lines(axes, "reward_mean")
    if judged and one["optimum"]["reward"] is not None:
        _reference(axes, one["optimum"]["reward"], "optimum r* = {}", OPTIMUM, ":")
    for axes in panels:
        axes.set_visible(False)


def _same(cost: float | None, threshold: float | None) -> bool:
    """Whether the optimum's line would lie on the threshold's, or there is none."""
    return cost is None or (threshold is not None and abs(cost - threshold) < 1e-9)


def _style(axes: Axes, title: str, horizon: int) -> None:
    axes.set_title(title, loc="left", size=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#999999")
    axes.grid(axis="y", color="#E4E4E4", lw=0.9)
    axes.set_axisbelow(True)
    axes.tick_params(colors="#555555", labelsize=8.5, length=0, axis="y")
    axes.tick_params(colors="#555555", labelsize=8.5, color="#999999", axis="x")
    axes.set_xlim(0, horizon)
    axes.margins(y=0.12)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(lambda y, _: _short(y))


def _reference(
    axes: Axes, level: float, text: str, color: str, style: str, below: bool = False
) -> None:
    axes.axhline(level, color=color, ls=style, lw=1.3, zorder=4)
    axes.annotate(
        text.format(_short(level)),
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
            _short(value),
            (horizon, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            size=9,
            weight="bold",
            color=TEXTS[i % len(TEXTS)],
            annotation_clip=False,
        )


def _short(x: float) -> str:
    if x < 0:
        return f"−{_short(-x)}"
    if abs(x) >= 1e6:
        return f"{x / 1e6:.3g}M"
    if abs(x) >= 1e4:
        return f"{x / 1e3:.3g}k"
    if abs(x) >= 1000:
        return f"{x:.0f}"
    return f"{x:.3g}"
