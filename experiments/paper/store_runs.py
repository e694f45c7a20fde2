"""Writes runs.csv: the final regrets of `banister reproduce`, and of the default agent on the published arms.

usage: python store_runs.py BANISTER

BANISTER is the program. tests/test_docs.py holds README and the book against the file.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
COLUMNS = ["instance", "agent", "run", "regret", "limit", "violations"]
DEFAULT = '[[agent]]\nkind = "opb"\nlabel = "banister"\n'
AGENTS = DEFAULT + DEFAULT.replace("banister", "banister, kl") + 'intervals = "kl"\n'


def runs(out: Path, *command: str | Path) -> list[dict[str, str]]:
    subprocess.run([sys.argv[1], *command, "--quiet", "--out", out], check=True, stdout=subprocess.DEVNULL)
    with open(out / "runs.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = runs(Path(folder) / "reproduce", "reproduce")
        for tau in ("1.0", "0.5", "0.2"):
            experiment = Path(folder) / f"{tau}.toml"
            published = (HERE / f"published-{tau}.toml").read_text(encoding="utf-8")
            experiment.write_text(published.partition("[[agent]]")[0] + AGENTS, encoding="utf-8")
            own = runs(Path(folder) / tau, "run", experiment)
            rows += [row | {"instance": row["instance"] + ", published arms"} for row in own]
    with open(HERE / "runs.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
