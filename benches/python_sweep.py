"""Times a sweep over processes and over Ray beside the same sweep in native threads.

usage: python python_sweep.py [--quick]

What tasks, pickling, queues and gathering cost is the difference. Workers are started beforehand, as
in a session that sweeps more than once. A time is the least of some repetitions, which take turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from typing import Any

import banister

#: The most that a sweep may take beyond its threads.
AIM = 0.10


def sweep(executor: Any, horizon: int) -> float:
    started = time.perf_counter()
    banister.sweep(
        {"kind": "bernoulli", "rewards": [0.1, 0.2, 0.4, 0.7], "costs": [[0.0, 0.4, 0.5, 0.2]]},
        ["opb"],
        guardrails=[banister.Guardrail("spend", at_most=0.5, safe_cost=0.0)],
        grid={"guardrails.spend.at_most": [1.0, 0.5, 0.2, 0.1]},
        horizon=horizon,
        runs=8,
        executor=executor,
        progress=False,
    )
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a short run, for a first impression")
    quick = parser.parse_args().quick
    executors = ["threads", "processes", "ray"]
    if importlib.util.find_spec("ray") is None:
        executors.remove("ray")
        print("Ray is not installed: its row is missing", file=sys.stderr)
    for executor in executors:
        sweep(executor, 1000)
    horizon = 200_000 if quick else 1_000_000
    times: dict[str, list[float]] = {executor: [] for executor in executors}
    for _ in range(2 if quick else 4):
        for executor in executors:
            times[executor].append(sweep(executor, horizon))
    threads = min(times["threads"])
    print(f"{'sweep over':<12} {'s':>7} {'overhead':>9}   aim")
    for executor in executors:
        overhead = min(times[executor]) / threads - 1
        verdict = "" if executor == "threads" else f"< {AIM:.0%}: {'met' if overhead < AIM else 'missed'}"
        print(f"{executor:<12} {min(times[executor]):7.2f} {overhead:>9.1%}   {verdict}")


if __name__ == "__main__":
    main()
