"""Prints banister's agents and the other packages' routers side by side.

usage: python board.py FOLDER

FOLDER has `runs.csv` of `banister compare --suite routing` and `rivals.csv` of rivals.py, on the same
orders of the requests. Means over orders, with Student's 95% interval. Writes board.csv, and in
paths.csv what some routers had spent after so many requests.
"""

from __future__ import annotations

import csv
import math
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

#: 97.5% quantile of Student's distribution, by degrees of freedom.
STUDENT = {11: 2.201, 19: 2.093, 29: 2.045, 39: 2.023}
#: Agents of ours that are shown.
OURS = ("opb", "s_ops optimistic", "doslb", "ucb_bwk", "always llama", "always mistral", "always gemini")
#: Ceiling whose spending is written.
SHOWN = 6.62e-4
COLUMNS = ("mode", "limit", "router", "reward", "interval", "dollars", "over_100", "over_1000", "violations")


def interval(values: list[float]) -> tuple[float, float]:
    """Returns the mean and the half-width of its interval."""
    n = len(values)
    if n < 2:
        return values[0], math.nan
    return float(np.mean(values)), STUDENT.get(n - 1, 1.96) * float(np.std(values, ddof=1)) / math.sqrt(n)


def ours(path: Path) -> list[dict[str, object]]:
    found = defaultdict(list)
    for row in csv.DictReader(path.open()):
        if row["instance"].startswith("ceiling") and row["agent"] in OURS:
            limit, *mode = row["instance"].removeprefix("ceiling ").split(", ")
            if len(mode) == 1:
                found[mode[0], limit, row["agent"]].append(row)
    return [line(key, rows, "reward_drawn", "dollars_drawn", "dollars_beyond_") for key, rows in found.items()]


def theirs(path: Path) -> list[dict[str, object]]:
    found = defaultdict(list)
    for row in csv.DictReader(path.open()):
        if row["ceiling"]:
            limit = f"${float(row['ceiling']):.2e}".replace("e-0", "e-")
        else:
            limit = f"weight {row['quality_weight']}"
        found[row["mode"], limit, row["rival"]].append(row)
    return [line(key, rows, "reward", "dollars", "over_") for key, rows in found.items()]


def line(
    key: tuple[str, str, str], rows: list[dict[str, str]], reward: str, dollars: str, over: str
) -> dict[str, object]:
    mean, half = interval([float(row[reward]) for row in rows])

    def share(window: int) -> float:
        values = [float(row[f"{over}{window}"]) for row in rows if row[f"{over}{window}"]]
        return float(np.mean(values)) if values else math.nan

    violations = [row["violations"] for row in rows if row.get("violations")]
    return {
        "mode": key[0],
        "limit": key[1],
        "router": key[2],
        "reward": mean,
        "interval": half,
        "dollars": float(np.mean([float(row[dollars]) for row in rows])),
        "over_100": share(100),
        "over_1000": share(1000),
        "violations": sum(map(int, violations)) if violations else "",
    }


def main() -> None:
    folder = Path(sys.argv[1])
    lines = ours(folder / "runs.csv") + theirs(folder / "rivals.csv")

    def place(one: dict[str, object]) -> tuple[object, ...]:
        limit = str(one["limit"])
        number = float(limit.removeprefix("$").removeprefix("weight "))
        return one["mode"], limit.startswith("weight"), number, -float(str(one["reward"]))

    lines.sort(key=place)
    with open(folder / "board.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)
    write_paths(folder)
    head = None
    for one in lines:
        if (one["mode"], one["limit"]) != head:
            head = one["mode"], one["limit"]
            print(f"\n{one['limit']}, {one['mode']}")
            print(f"{'router':20} {'reward':>16} {'dollars':>10} {'over, of 100':>13} {'1000':>6} violations")
        reward = f"{one['reward']:.4f} ± {one['interval']:.4f}"
        shares = f"{100 * one['over_100']:12.0f}% {100 * one['over_1000']:5.0f}%"
        print(f"{one['router']:20} {reward:>16} {one['dollars']:10.3e} {shares} {one['violations']}")
    print(f"\n{folder}: board.csv, paths.csv")


def write_paths(folder: Path) -> None:
    """Writes what some rivals had spent after every twentieth request of the first cold run."""
    table = pq.read_table(folder / "rivals-paths.parquet")
    columns = {name: table[name].to_pylist() for name in ("rival", "mode", "ceiling", "quality_weight", "round")}
    spent = table["cumulative_dollars"].to_pylist()
    with open(folder / "paths.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["rival", "requests", "dollars"])
        for rival, mode, ceiling, weight, round_, dollars in zip(*columns.values(), spent):
            shown = (rival in ("paretobandit", "paretobandit-wide") and ceiling == SHOWN) or weight == 0.7
            if mode == "cold" and shown and round_ % 20 == 19:
                writer.writerow([rival, round_ + 1, dollars])


if __name__ == "__main__":
    main()
