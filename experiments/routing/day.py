"""Plays the requests as one day, under a sum and under other promises, and writes day.csv.

usage: python day.py BANISTER

BANISTER is the command-line tool. The orders of the requests are those of board.csv. Means over orders, with the
half-width of Student's 95% interval; `most_dollars` is per request, in the order that spent the most; `over` counts
the orders whose sum is above the budget.
"""

from __future__ import annotations

import csv
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
#: 97.5% quantile of Student's distribution with 19 degrees of freedom.
STUDENT = 2.093
COLUMNS = ("ceiling", "agent", "promise", "reward", "interval", "dollars", "most_dollars", "over", "orders")


def play(banister: str, text: str, ceiling: str) -> list[dict[str, str]]:
    text = text.replace("at_most = [8.29e-5, 2.35e-4]", f"at_most = {ceiling}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "day.toml"
        file.write_text(text)
        out = Path(folder) / "out"
        subprocess.run([banister, "compare", file, "--out", out, "--quiet", "--no-timing"], check=True)
        return list(csv.DictReader((out / "runs.csv").open()))


def main() -> None:
    text = (HERE / "day.toml").read_text()
    each = text.replace("over = 3609\n", "") + '\n[[agent]]\nkind = "ucb_bwk"\n'
    lines = []
    for ceiling in ("8.29e-5", "2.35e-4"):
        for rows, promise in ((play(sys.argv[1], text, ceiling), "sum"), (play(sys.argv[1], each, ceiling), "")):
            for agent in dict.fromkeys(row["agent"] for row in rows):
                own = [row for row in rows if row["agent"] == agent]
                rewards = [float(row["reward_drawn"]) for row in own]
                dollars = [float(row["dollars_drawn"]) for row in own]
                half = STUDENT * statistics.stdev(rewards) / math.sqrt(len(own))
                kept = promise or ("averages" if agent == "ucb_bwk" else "each decision")
                over = sum(one > float(ceiling) for one in dollars)
                means = statistics.mean(rewards), half, statistics.mean(dollars), max(dollars)
                lines.append((ceiling, agent, kept, *means, over, len(own)))
    with (HERE / "day.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(lines)


if __name__ == "__main__":
    main()
