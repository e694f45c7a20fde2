"""Measures the CPU time of a decision and its report in `Client` and in `AsyncClient`.

usage: BANISTERD=target/release/banisterd python client_cpu.py [--rounds N] [--concurrent N]

The time is that of this process alone, the clients';
blocks of the contenders take turns, and the least counts.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable

from service import running

import banister


def blocking(url: str, rounds: int) -> None:
    with banister.client.Client(url) as client:
        client.experiment("bench")
        for _ in range(rounds):
            client.report(client.decide("bench"), reward=1.0, costs=0.0)


async def concurrent(url: str, rounds: int, tasks: int) -> None:
    async def each(client: banister.client.AsyncClient) -> None:
        for _ in range(rounds // tasks):
            await client.report(await client.decide("bench"), reward=1.0, costs=0.0)

    async with banister.client.AsyncClient(url, connections=tasks) as client:
        await client.experiment("bench")
        await asyncio.gather(*(each(client) for _ in range(tasks)))


def least(contenders: dict[str, Callable[[int], object]], rounds: int, blocks: int) -> dict[str, float]:
    """Returns the least CPU time of a round, in µs, of each."""
    times = dict.fromkeys(contenders, float("inf"))
    for _ in range(blocks):
        for name, play in contenders.items():
            start = time.process_time()
            play(rounds)
            times[name] = min(times[name], (time.process_time() - start) / rounds * 1e6)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--concurrent", type=int, default=16)
    options = parser.parse_args()
    many = options.concurrent
    with running() as url:
        with banister.client.Client(url) as client:
            client.create("bench", arms=["a", "b"], guardrails={"name": "cost", "at_most": 0.5, "safe_cost": 0.1})
        times = least(
            {
                "Client": lambda n: blocking(url, n),
                "AsyncClient": lambda n: asyncio.run(concurrent(url, n, 1)),
                f"AsyncClient, {many} at once": lambda n: asyncio.run(concurrent(url, n, many)),
            },
            options.rounds,
            options.blocks,
        )
    for name, took in times.items():
        print(f"{name:<28} {took:7.0f} µs of CPU per decision and report, {took / times['Client']:.2f}×")


if __name__ == "__main__":
    main()
