"""Draws the paper's figures from results on disk, and builds the paper: HTML and PDF.

usage: build.py OUT

Results are the small tables that the repository holds. README.md in this folder says which commands remake them.
"""

from __future__ import annotations

import csv
import itertools
import statistics
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
#: Numbers from here on have their digits in groups.
LONG = 9999.5
MOVING = ROOT / "experiments" / "moving" / "leaderboard.csv"
BOARD = ROOT / "experiments" / "routing" / "board.csv"
#: ParetoBandit with the features that suit it best: its own extra noise features where it starts cold.
PARETO = {"cold": "paretobandit-wide", "warm": "paretobandit"}
#: Instances of the suite `moving`, and the first cells of their rows.
SEASONS = [
    ("season of 50 000", "season of 50 000", "nothing"),
    ("season of 50 000, drift declared", "season of 50 000", "the truth"),
    ("season of 200 000", "season of 200 000", "nothing"),
    ("season of 200 000, drift declared", "season of 200 000", "the truth"),
    ("season of 200 000, 0.6 of its drift declared", "season of 200 000", "0.6 of the truth"),
    ("season of 200 000, 0.3 of its drift declared", "season of 200 000", "0.3 of the truth"),
    ("season of 1 000 000", "season of 1 000 000", "nothing"),
    ("season of 1 000 000, drift declared", "season of 1 000 000", "the truth"),
    ("nothing moves", "constant", "nothing"),
    ("nothing moves, drift of a season of 200 000 declared", "constant", "that of a season of 200 000"),
    ("nothing moves, a tenth of it declared", "constant", "a tenth of that"),
]
#: Rows of regrets: arms, agent, and instance and agent of the stored runs.
REGRETS = [
    ("clipped Gaussian", "as published", "", "published settings"),
    ("clipped Gaussian", "default", ", published arms", "banister"),
    ("Bernoulli", "as printed", "", "paper's text"),
    ("Bernoulli", "default", "", "banister"),
]
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
            label = agent.replace("the paper", "as printed") if place == 0 else None
            ax.bar(x, regret, 0.14, color=COLOURS[number], label=label)
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
    """Mean ranks among agents that are safe in every round, and the gain that they lose beyond `opb`."""
    folder = ROOT / "experiments" / "holdout"
    own = [row for row in rows(folder / "ranks.csv") if row["group"] == "safe in every round" and row["mean_rank"]]
    pairs = {(row["agent"], row["other"]): row for row in rows(folder / "overall.csv")}
    figure, (ranks, lost) = plt.subplots(1, 2, figsize=(6.5, 2.9), layout="constrained", sharey=True)
    for ax in (ranks, lost):
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(colors=INK, length=3)
    lost.axvline(0, color=QUIET, linewidth=0.8, zorder=0)
    for place, row in enumerate(own):
        rank = float(row["mean_rank"])
        colour = OURS if row["agent"] in ("opb", "segmented") else COLOURS[0]
        ranks.plot(rank, place, "o", color=colour, markersize=5)
        ranks.text(rank + 0.25, place, f"{rank:.2f}", va="center", fontsize=7.5)
        pair = pairs.get((row["agent"], "opb"))
        if pair:
            low, middle, high = (100 * float(pair[f"difference{end}"]) for end in ("_low", "", "_high"))
            lost.plot([low, high], [place, place], color=colour, linewidth=1.2)
            lost.plot(middle, place, "o", color=colour, markersize=4)
    ranks.set_yticks(range(len(own)), [row["agent"] for row in own])
    ranks.invert_yaxis()
    ranks.set_xlim(1, len(own))
    ranks.set_xlabel("mean rank by regret")
    lost.set_xlabel("gain lost beyond opb, points")
    save(figure, "holdout")


def share(row: dict[str, str]) -> tuple[float, float]:
    """Percentage of the possible gain, and its half-width."""
    regret, high, lost = (float(row[key]) for key in ("regret", "regret_high", "lost"))
    return 100 * (1 - lost), 100 * lost * (high - regret) / regret


def violating(row: dict[str, str]) -> tuple[float, float]:
    """Percentage of the rounds that violate, and its half-width."""
    middle = float(row["violation_share"])
    return 100 * middle, 100 * (float(row["violation_share_high"]) - middle)


def moving() -> None:
    """Share of the possible gain against the share of rounds that violate, where means move."""
    stored = {(row["instance"], row["agent"]): row for row in rows(MOVING)}
    instances = ["season of 200 000", "line", "walk", "a cost jumps from 0.1 to 0.3"]
    agents = [
        ("opb", "opb", OURS, "o"),
        ("segmented", "segmented", COLOURS[5], "o"),
        ("s_colts", "S-COLTS", COLOURS[0], "s"),
        ("ma_ops", "MA-OPS", COLOURS[1], "D"),
        ("ucb_bwk", "UCB-BwK", COLOURS[2], "^"),
        ("lagrange_bwk", "LagrangeBwK", COLOURS[3], "v"),
    ]
    figure, panels = plt.subplots(2, 2, figsize=(6.5, 4.6), layout="constrained")
    for ax, instance in zip(panels.flat, instances, strict=True):
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(colors=INK, length=3, labelsize=7.5)
        for kind, label, colour, marker in agents:
            for declared in (False, True):
                row = stored.get((f"{instance}, drift declared" if declared else instance, kind))
                if row:
                    (x, dx), (y, dy) = violating(row), share(row)
                    face = colour if declared else "white"
                    name = f"{label}, drift declared" if declared else label
                    style = dict(color=colour, markerfacecolor=face, markersize=5, linewidth=0.9)
                    ax.errorbar(x, y, xerr=dx, yerr=dy, fmt=marker, label=name, **style)
        ax.axhline(100, color=QUIET, linewidth=0.6, linestyle=":", zorder=0)
        ax.set_xlim(-4, 100)
        ax.set_ylim(0, 135)
        ax.set_title(instance, fontsize=8)
    figure.supylabel("share of the possible gain, %", fontsize=8)
    figure.supxlabel("rounds that violate, %", fontsize=8)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=4, frameon=False, fontsize=7, loc="outside upper center")
    save(figure, "moving")


def routing() -> None:
    """Quality against dollars, from the board of the routing suite."""
    figure, panels = plt.subplots(1, 2, figsize=(6.5, 3.1), layout="constrained", sharey=True)
    for ax, mode in zip(panels, ("cold", "warm"), strict=True):
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(colors=INK, length=3)
        data = [row for row in rows(BOARD) if row["mode"] == mode]
        series = [
            ("opb", "banister", OURS, "o"),
            (PARETO[mode], "ParetoBandit*", COLOURS[0], "s"),
            *([("ucb_bwk", "UCB-BwK", COLOURS[2], "^")] if mode == "cold" else []),
        ]
        for kind, label, colour, marker in series:
            own = [row for row in data if row["router"] == kind]
            dollars, reward, error = ([float(row[key]) for row in own] for key in ("dollars", "reward", "interval"))
            ax.errorbar(dollars, reward, yerr=error, color=colour, fmt=marker, markersize=4, linewidth=1, label=label)
        single = models(data)
        ax.plot(*zip(*single, strict=True), "D", color=QUIET, markersize=4, label="one model")
        costs = [single[0][0] * (single[-1][0] / single[0][0]) ** (number / 200) for number in range(201)]
        label = "best without the request"
        ax.plot(costs, [blind(single, cost) for cost in costs], color=QUIET, linewidth=1, zorder=0, label=label)
        for ceiling in sorted({float(row["limit"].lstrip("$")) for row in data if row["limit"].startswith("$")}):
            ax.axvline(ceiling, color=QUIET, linewidth=0.6, linestyle=":", zorder=0)
        ax.set_xscale("log")
        ax.set_title(mode, fontsize=9)
    panels[0].set_ylabel("mean quality")
    panels[0].legend(frameon=False, fontsize=7, loc="lower right")
    figure.supxlabel("dollars per request (dotted: the ceilings)", fontsize=9)
    save(figure, "routing")


def models(data: list[dict[str, str]]) -> list[tuple[float, float]]:
    """Dollars and quality of each model alone, the cheapest first."""
    own = {row["router"]: (float(row["dollars"]), float(row["reward"])) for row in data}
    return sorted(own[name] for name in own if name.startswith("always"))


def blind(single: list[tuple[float, float]], ceiling: float) -> float:
    """Quality of the best mixture of models within a ceiling."""
    best = max((quality for dollars, quality in single if dollars <= ceiling * (1 + 1e-9)), default=single[0][1])
    for (cheap, low), (dear, high) in itertools.combinations(single, 2):
        if cheap <= ceiling < dear:
            best = max(best, low + (ceiling - cheap) / (dear - cheap) * (high - low))
    return best


def tables() -> list[str]:
    """Rows of the paper's tables as the stored results have them."""
    found = []
    stored = {(row["instance"], row["agent"]): row for row in rows(MOVING)}
    for instance, cost, declared in SEASONS:
        row = stored[instance, "opb"]
        bad = "{:.1f} ± {:.1f}".format(*violating(row)) if int(row["violations"]) else "0"
        found.append("| {} | {} | {:.1f} ± {:.1f} | {} |".format(cost, declared, *share(row), bad))
    runs = rows(ROOT / "experiments" / "paper" / "runs.csv")
    for arms, agent, suffix, kind in REGRETS:
        cells = []
        for threshold in ("1", "0.5", "0.2"):
            name = f"τ = {threshold}{suffix}"
            own = [float(row["regret"]) for row in runs if (row["instance"], row["agent"]) == (name, kind)]
            digits = 0 if statistics.mean(own) >= 100 else 1
            mean = f"{statistics.mean(own):,.{digits}f}"
            mean = mean.replace(",", " " if statistics.mean(own) >= LONG else "")
            cells.append(f"{mean} ± {statistics.stdev(own):.{digits}f}")
        found.append(f"| {arms} | {agent} | {' | '.join(cells)} |")
    board = rows(BOARD)
    limits = list(dict.fromkeys(row["limit"] for row in board if row["limit"].startswith("$")))
    for limit in limits:
        cells = []
        for mode, routers in (("cold", ["opb", "ucb_bwk", PARETO["cold"]]), ("warm", ["opb", PARETO["warm"]])):
            data = [row for row in board if (row["mode"], row["limit"]) == (mode, limit)]
            single, ceiling = models(data), float(limit.lstrip("$"))
            gain = blind(single, ceiling) - single[0][1]
            for router in routers:
                (row,) = (row for row in data if row["router"] == router)
                part = 100 * (float(row["reward"]) - single[0][1]) / gain
                error = 100 * float(row["interval"]) / gain
                shown = f"{part:.0f} ± {error:.0f}" if error < 100 else "–"
                spent = "" if router == "opb" else f" ({100 * float(row['dollars']) / ceiling:.0f})"
                cells.append(shown + spent)
        power = f"{float(limit.lstrip('$')):.2e}".replace("e-0", "e-")
        found.append(f"| {power} | {' | '.join(cells)} |")
    for number in rows(HERE / "results" / "users.csv"):
        found.append(f"{100 * float(number['share_failing']):.3g}%")
    return found


def check() -> None:
    """Fails if the text has other numbers than the stored results."""
    text = (HERE / "paper.md").read_text(encoding="utf-8")
    missing = [row for row in tables() if row not in text]
    if missing:
        sys.exit("paper.md should have\n" + "\n".join(missing))


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
    # Figures and tables move to where there is room; their captions are text.
    style = "#set figure(placement: auto)\n#show figure.caption: it => align(left, text(0.9em, it))\n"
    header = OUT / "header.typ"
    header.write_text(style, encoding="utf-8")
    pypandoc.convert_file(
        source,
        "typst",
        outputfile=str(middle),
        extra_args=[*shared, f"--include-in-header={header}"],
    )
    # Typst looks for images beside its source, and nowhere outside its root.
    typst.compile(str(middle), output=str(OUT / "paper.pdf"), root=str(OUT))


def main() -> None:
    mpl.rcParams.update({"font.size": 9, "font.family": "DejaVu Sans", "svg.hashsalt": "banister", "text.color": INK})
    steps()
    published()
    holdout()
    moving()
    routing()
    check()
    build()


if __name__ == "__main__":
    main()
