"""Measures decisions per second of the Python client of leases, exposures kept, without a network.

usage: BANISTERD=target/release/banisterd python leases.py
"""

from __future__ import annotations

import statistics
import time

from service import running

from banister.client import Client, Lease

COUNT = 10_000
UNITS = {
    "short names": [f"user-{i}" for i in range(COUNT)],
    "36 characters": [f"00000000-0000-4000-8000-{10**11 + i}" for i in range(COUNT)],
    "not ASCII": [f"Nutzer-ä-{i}" for i in range(COUNT)],
}


def main() -> None:
    with running() as url, Client(url) as client:
        for number, (name, units) in enumerate(UNITS.items()):
            measure(client, f"bench-{number}", name, units)


def measure(client: Client, experiment: str, name: str, units: list[str]) -> None:
    arms = [f"arm-{i}" for i in range(10)]
    client.create(experiment, arms=arms, guardrails={"name": "cost", "at_most": 0.5, "safe_cost": 0.1})
    with Lease(client, experiment, safe="arm-0") as lease:
        rates = []
        for _ in range(20):
            start = time.perf_counter()
            _, decisions = lease.decide_many(units)
            rates.append(COUNT / (time.perf_counter() - start) / 1e6)
            assert None not in decisions
            lease._holder.take_exposures()
        start = time.perf_counter()
        for unit in units:
            lease.decide(unit)
        single = COUNT / (time.perf_counter() - start) / 1e6
        lease._holder.take_exposures()
    rates.sort()
    print(
        f"{name:14} decide_many {statistics.median(rates):.2f} M/s (median of 20; {rates[0]:.2f} to {rates[-1]:.2f}), "
        f"decide {single:.2f} M/s"
    )


if __name__ == "__main__":
    main()
