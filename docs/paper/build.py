"""Draws the paper's figures from results on disk, and builds the paper: HTML and PDF.

usage: build.py OUT

Results are the small tables that the repository holds. README.md in this folder says which commands remake them.
"""

from __future__ import annotations

import csv
import itertools
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import pypandoc
import typst

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = Path(sys.argv[1]) if len(sys.argv) == 2 else Path("target/paper")
FIGURES = OUT / "figures"

INK, QUIET, OURS = "#1f2430", "#9aa0ab", "#0b6e99"
#: Lowest regret that the first figure shows.
LEAST = 5.0
COLOURS = ["#b5482f", "#d98f3d", "#8a8f2a", "#3f8f6b", OURS, "#123b5d"]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def axes(width: float, height: float) -> tuple[plt.Figure, plt.Axes]:
    figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=INK, length=3)
    return figure, ax


def save(figure: plt.Figure, name: str) -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    # Neither date nor random identifiers: the same results give the same file.
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def steps() -> None:
    """Regret by threshold, from the seed paper's algorithm to the default."""
    data = rows(HERE / "results" / "steps.csv")
    agents = ["the paper", "least bonus", "KL intervals", "mixtures of bets", "index"]
    thresholds = ["1", "0.5", "0.3", "0.2"]
    figure, ax = axes(6.5, 3.4)
    for place, threshold in enumerate(thresholds):
        here = {row["agent"]: row for row in data if row["instance"].endswith(f"at_most = {threshold}")}
        for number, agent in enumerate(agents):
            row = here[agent]
            regret, low, high = (float(row[key]) for key in ("regret", "regret_low", "regret_high"))
            x = place + (number - 2) * 0.15
            ax.bar(x, regret, 0.14, color=COLOURS[number], label=agent if place == 0 else None)
            ax.plot([x, x], [max(low, 1), high], color=INK, linewidth=0.8)
        limit = float(here["index"]["limit"])
        if limit > LEAST:
            ax.plot([place - 0.42, place + 0.42], [limit, limit], color=QUIET, linewidth=1.4, zorder=0)
            ax.text(place - 0.43, limit, "limit", color=QUIET, ha="right", va="center", fontsize=7)
    ax.set_yscale("log")
    ax.set_ylim(LEAST, 2e5)
    ax.set_xlim(-0.6, len(thresholds) - 0.45)
    ax.set_xticks(range(len(thresholds)), [f"τ = {threshold}" for threshold in thresholds])
    ax.set_ylabel("regret after a million rounds")
    ax.legend(ncols=3, frameon=False, fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, 1.12))
    save(figure, "steps")


def published() -> None:
    """Ours divided by the published number, one row of dots per suite and agent."""
    figure, ax = axes(6.5, 3.0)
    ax.axvline(1, color=QUIET, linewidth=0.8, zorder=0)
    groups: dict[str, list[dict[str, str]]] = {}
    names = {
        "paper": "2021, figures",
        "authors-linear": "2024",
        "authors-long": "2024, 10⁷ rounds",
        "directions": "2024",
    }
    for suite, name in names.items():
        for row in rows(ROOT / "experiments" / "published" / f"{suite}.csv"):
            if float(row["published"]) > 0:
                random = " (random)" if row["instance"].startswith("random") else ""
                groups.setdefault(f"{row['agent']}{random}, {name}", []).append(row)
    for place, own in enumerate(groups.values()):
        for number, row in enumerate(own):
            value, mean = float(row["published"]), float(row["mean"])
            error = float(row["sd"]) ** 2 / float(row["runs"])
            if row["published_sd"]:
                error += float(row["published_sd"]) ** 2 / float(row["published_runs"])
            y = place + 0.7 * ((number + 0.5) / len(own) - 0.5)
            reach = 1.96 * error**0.5 / value
            colour = COLOURS[place % len(COLOURS)]
            ax.plot([mean / value - reach, mean / value + reach], [y, y], color=colour, linewidth=0.8)
            ax.plot(mean / value, y, "o", color=colour, markersize=2.5)
    ax.set_yticks(range(len(groups)), list(groups), fontsize=7)
    ax.invert_yaxis()
    ax.set_xlim(0, 2.6)
    ax.set_xlabel("ours divided by the published number")
    save(figure, "published")


def holdout() -> None:
    """Mean ranks among agents that are safe in every round."""
    ranks = rows(ROOT / "experiments" / "holdout" / "ranks.csv")
    own = [row for row in ranks if row["group"] == "safe in every round" and row["mean_rank"]]
    figure, ax = axes(6.5, 2.8)
    for place, row in enumerate(own):
        rank = float(row["mean_rank"])
        ours = row["agent"] in ("opb", "segmented")
        colour = OURS if ours else QUIET
        ax.plot([1, rank], [place, place], color=colour, linewidth=1.2)
        ax.plot(rank, place, "o", color=colour, markersize=5)
        p = f"   p = {float(row['p_first']):.2g}" if row["p_first"] else ""
        ax.text(rank + 0.15, place, f"{rank:.2f}{p}", va="center", fontsize=7.5)
    ax.set_yticks(range(len(own)), [row["agent"] for row in own])
    ax.invert_yaxis()
    ax.set_xlim(1, len(own) + 1.5)
    ax.set_xlabel("mean rank by regret")
    save(figure, "holdout")


def routing() -> None:
    """Quality against dollars, from the board of the routing suite."""
    data = [row for row in rows(ROOT / "experiments" / "routing" / "board.csv") if row["mode"] == "warm"]
    figure, ax = axes(6.5, 3.2)
    series = [
        ("opb", "banister", OURS, "o"),
        ("paretobandit", "ParetoBandit", COLOURS[0], "s"),
        ("always", "one model for all requests", QUIET, "D"),
    ]
    for kind, label, colour, marker in series:
        own = [row for row in data if row["router"].startswith(kind)]
        if kind == "always":
            own = list({row["router"]: row for row in own}.values())
        if kind == "paretobandit":
            own = [row for row in own if row["router"] == "paretobandit"]
        if kind == "opb":
            own = [row for row in own if row["router"] == "opb"]
        ax.errorbar(
            [float(row["dollars"]) for row in own],
            [float(row["reward"]) for row in own],
            yerr=[float(row["interval"]) for row in own],
            color=colour,
            fmt=marker,
            markersize=4.5,
            linewidth=1,
            label=label,
        )
    alone = [row for row in data if row["router"].startswith("always")]
    single = sorted({(float(row["dollars"]), float(row["reward"])) for row in alone})
    shares = [number / 200 for number in range(201)]
    for (cheap, low), (dear, high) in itertools.pairwise(single):
        dollars = [cheap + share * (dear - cheap) for share in shares]
        quality = [low + share * (high - low) for share in shares]
        label = "mixtures of two models" if cheap == single[0][0] else None
        ax.plot(dollars, quality, color=QUIET, linewidth=1, zorder=0, label=label)
    ceilings = sorted({float(row["limit"].lstrip("$")) for row in data if row["limit"].startswith("$")})
    for ceiling in ceilings:
        ax.axvline(ceiling, color=QUIET, linewidth=0.6, linestyle=":", zorder=0)
    ax.set_xscale("log")
    ax.set_xlabel("dollars per request (dotted: the ceilings)")
    ax.set_ylabel("mean quality")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    save(figure, "routing")


def build() -> None:
    """HTML with everything in it, and PDF by way of typst."""
    source = str(HERE / "paper.md")
    shared = ["--citeproc", "--standalone", f"--resource-path={OUT}:{HERE}"]
    pypandoc.convert_file(
        source,
        "html5",
        outputfile=str(OUT / "paper.html"),
        extra_args=[*shared, "--mathml", "--embed-resources", f"--css={HERE / 'paper.css'}"],
    )
    middle = OUT / "paper.typ"
    pypandoc.convert_file(source, "typst", outputfile=str(middle), extra_args=shared)
    # Typst looks for images beside its source, and nowhere outside its root.
    typst.compile(str(middle), output=str(OUT / "paper.pdf"), root=str(OUT))


def main() -> None:
    mpl.rcParams.update({"font.size": 9, "font.family": "DejaVu Sans", "svg.hashsalt": "banister", "text.color": INK})
    steps()
    published()
    holdout()
    routing()
    build()


if __name__ == "__main__":
    main()
