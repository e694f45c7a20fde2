"""Writes runs.csv: the final regrets of `banister reproduce`, and of the default agent on the published arms; and
thresholds.csv: many runs of the default agent at lower thresholds, with those that ever violate.

usage: python store_runs.py BANISTER

BANISTER is the program. tests/test_docs.py holds README and the book against the file.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean, stdev

HERE = Path(__file__).resolve().parent
COLUMNS = ["instance", "agent", "run", "regret", "limit", "violations"]
THRESHOLDS = ["threshold", "runs", "regret", "interval", "runs_that_violate", "rounds_that_violate"]
DEFAULT = '[[agent]]\nkind = "opb"\nlabel = "banister"\n'
AGENTS = DEFAULT + DEFAULT.replace("banister", "banister, kl") + 'intervals = "kl"\n'


def runs(out: Path, *command: str | Path) -> list[dict[str, str]]:
    subprocess.run([sys.argv[1], *command, "--quiet", "--out", out], check=True, stdout=subprocess.DEVNULL)
    with open(out / "runs.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def thresholds(folder: Path) -> list[dict[str, object]]:
    known = (HERE / "safe-cost-known.toml").read_text(encoding="utf-8").partition("[[agent]]")[0]
    rows = []
    for tau in (0.3, 0.2, 0.1, 0.05):
        experiment = folder / "threshold.toml"
        experiment.write_text(known.replace("at_most = 0.2", f"at_most = {tau}") + DEFAULT, encoding="utf-8")
        own = runs(folder / f"threshold-{tau}", "run", experiment, "--runs", "4000", "--seed", "1")
        regrets = [float(row["regret"]) for row in own]
        violations = [int(row["violations"]) for row in own]
        spread = 1.96 * stdev(regrets) / len(own) ** 0.5
        violating = sum(count > 0 for count in violations)
        values = [tau, len(own), fmean(regrets), spread, violating, sum(violations)]
        rows.append(dict(zip(THRESHOLDS, values, strict=True)))
    return rows


def write(name: str, columns: list[str], rows: list[dict[str, object]]) -> None:
    with open(HERE / name, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = runs(Path(folder) / "reproduce", "reproduce")
        for tau in ("1.0", "0.5", "0.2"):
            experiment = Path(folder) / f"{tau}.toml"
            published = (HERE / f"published-{tau}.toml").read_text(encoding="utf-8")
            experiment.write_text(published.partition("[[agent]]")[0] + AGENTS, encoding="utf-8")
            own = runs(Path(folder) / tau, "run", experiment)
            rows += [row | {"instance": row["instance"] + ", published arms"} for row in own]
        write("runs.csv", COLUMNS, rows)
        write("thresholds.csv", THRESHOLDS, thresholds(Path(folder)))


if __name__ == "__main__":
    main()
