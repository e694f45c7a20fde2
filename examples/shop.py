"""A simulated shop that asks the decision service what to show, and tells it later how it went.

Three days of a shop in one minute. Visitors come with the hour of the day, and more of them every day. A
purchase is known within minutes, a complaint only after hours, and some outcomes never arrive: then the
experiment's default is taken when their time is over.

Two experiments run side by side:

    checkout          four checkout pages; complaints, conversion and spend have guardrails
    recommendations   three ways to recommend, chosen by what is known of the visitor

    python examples/shop.py             # with a service of its own, which ends with it: `banisterd` is on the
                                        # path, or named by the environment's BANISTERD
    python examples/shop.py --help      # another service, another pace, other visitors
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tqdm import tqdm

import banister
from banister.client.types import Decision

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0  # of the shop

# The world. Nobody tells the service any of this.


@dataclass(frozen=True)
class Variant:
    """Effects of a variant on visitors, on average."""

    conversion: float
    basket: float
    complaints: float
    spend: float

    def happens(self, visit: Visit) -> dict[str, float]:
        """Returns the outcome of one visit. The luck is the visitor's own, whichever variant they see."""
        bought = visit.luck[0] < self.conversion
        return {
            "reward": float(bought) * (self.basket + 0.1 * visit.taste),
            "conversion": float(bought),
            "complaints": float(visit.luck[1] < self.complaints),
            "spend": self.spend + min(0.05, self.spend) * visit.taste,
        }


@dataclass(frozen=True)
class Visit:
    """A visitor, with all the luck that they will have."""

    time: float
    segment: int
    luck: tuple[float, ...]
    #: From -1, modest, to 1, lavish.
    taste: float


SEGMENTS = ("new", "returning", "mobile")
CHECKOUT = {
    "control": Variant(0.45, 0.50, 0.02, 0.10),
    "one-page": Variant(0.54, 0.50, 0.025, 0.12),  # simply better
    "upsell": Variant(0.48, 0.70, 0.03, 0.24),  # earns most, but costs too much to be shown to all
    "countdown": Variant(0.60, 0.55, 0.20, 0.15),  # sells, and annoys
}
# By segment: what pleases one visitor annoys another.
RECOMMENDATIONS = {
    "bestsellers": [Variant(0.20, 0.5, 0.02, 0.0)] * 3,
    "personal": [Variant(0.15, 0.5, 0.04, 0.0), Variant(0.90, 0.9, 0.02, 0.0), Variant(0.25, 0.5, 0.03, 0.0)],
    "surprise": [Variant(0.80, 0.8, 0.05, 0.0), Variant(0.30, 0.5, 0.40, 0.0), Variant(0.75, 0.8, 0.60, 0.0)],
}


def visits(seed: int, per_day: float) -> Iterator[Visit]:
    """Visitors for ever: few at night, many in the evening, and a fifth more every day."""
    rng = np.random.default_rng(seed)
    now = 0.0
    while True:
        hour = now % DAY / HOUR
        rhythm = 1 - 0.8 * math.cos((hour - 3) / 24 * 2 * math.pi)
        now += rng.exponential(DAY / (per_day * rhythm * 1.2 ** (now / DAY)))
        mobile = 0.2 + 0.4 * (hour >= 18)
        segment = rng.choice(3, p=[0.6 * (1 - mobile), 0.4 * (1 - mobile), mobile])
        yield Visit(now, int(segment), tuple(rng.random(7)), rng.uniform(-1, 1))


# The shop's side: this is what a program of yours would do.


@dataclass
class Experiment:
    """Asks for decisions, and reports what comes of them when it becomes known."""

    client: banister.client.Client
    name: str
    guardrails: list[banister.Guardrail]
    contextual: bool
    #: Reports on their way: when they arrive, a number in case of ties, and what they say.
    late: list[tuple[float, int, dict[str, Any]]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)
    #: Outcomes by signal; and those there would have been, had everybody seen the safe variant.
    happened: dict[str, list[float]] = field(default_factory=dict)
    safe: dict[str, list[float]] = field(default_factory=dict)

    def variant(self, action: str, visit: Visit) -> Variant:
        """Returns the variant that this visitor sees."""
        return RECOMMENDATIONS[action][visit.segment] if self.contextual else CHECKOUT[action]

    def serve(self, arrived: list[Visit]) -> None:
        """One decision per visitor, all in one request."""
        if not arrived:
            return
        known = np.eye(len(SEGMENTS))
        requests = [{"context": known[visit.segment]} if self.contextual else {} for visit in arrived]
        for visit, decision in zip(arrived, self.client.decide_batch(self.name, requests), strict=True):
            safe = "bestsellers" if self.contextual else "control"
            outcome = self.variant(decision.action, visit).happens(visit)
            for signal, value in self.variant(safe, visit).happens(visit).items():
                self.happened.setdefault(signal, []).append(outcome[signal])
                self.safe.setdefault(signal, []).append(value)
            self.expect(visit, decision, outcome)

    def expect(self, visit: Visit, decision: Decision, outcome: dict[str, float]) -> None:
        """The purchase is known in minutes, complaints in hours; some visitors are never heard of."""
        _, _, quick, slow, blocks, silent, _ = visit.luck
        names = {guardrail.name for guardrail in self.guardrails}
        if blocks > 0.02:
            soon = {name: outcome[name] for name in names - {"complaints"}}
            part = {"decision": decision, "reward": outcome["reward"], "costs": soon}
            self.post(visit.time + (1 + 20 * quick) * MINUTE, part)
        if outcome["complaints"] or silent > 0.05:
            part = {"decision": decision, "costs": {"complaints": outcome["complaints"]}}
            self.post(visit.time + (1 + 5 * slow) * HOUR, part)

    def post(self, at: float, report: dict[str, Any]) -> None:
        heapq.heappush(self.late, (at, next(self.numbers), report))

    def report(self, now: float) -> None:
        """Reports what has become known, all in one request."""
        due = []
        while self.late and self.late[0][0] <= now:
            due.append(heapq.heappop(self.late)[2])
        if due:
            # An outcome that comes after its time to live is too late: the default was taken.
            for error in self.client.report_batch(self.name, due).errors.values():
                if not isinstance(error, banister.client.ConflictError):
                    raise error

    def status(self) -> str:
        """A few words for the live line."""
        policy: dict[str, float] = self.client.state(self.name).policy or {}
        most = sorted(policy.items(), key=lambda item: -item[1])[:2]
        return f"{self.name}: " + " ".join(f"{action} {p:.0%}" for action, p in most)


def open_experiments(client: banister.client.Client, speed: float) -> list[Experiment]:
    """Declares both experiments. A service that has them from another day gets `checkout-2` and so on."""
    taken = {experiment.name for experiment in client.experiments()}

    def free(name: str) -> str:
        numbered = (f"{name}-{i}" for i in itertools.count(2))
        return next(one for one in itertools.chain([name], numbered) if one not in taken)

    complaints = banister.Guardrail("complaints", at_most=0.08, safe_cost=0.02)
    conversion = banister.Guardrail("conversion", at_least=0.98, relative=True)
    spend = banister.Guardrail("spend", at_most=0.20, safe_cost=0.10)
    checkout = client.create(
        free("checkout"),
        arms=list(CHECKOUT),
        guardrails=[complaints, conversion, spend],
        # A day of the shop, in seconds of ours: then silence means no purchase and no complaint.
        ttl_seconds=DAY / speed,
        default_outcome={"reward": 0.0, "costs": {"complaints": 0.0, "conversion": 0.0, "spend": 0.1}},
    )
    recommendations = client.create(
        free("recommendations"),
        arms=list(RECOMMENDATIONS),
        context=len(SEGMENTS),
        # Every segment is a feature of its own, so each parameter has this many entries, none above 1.
        agent={"kind": "oplb", "parameter_norm": math.sqrt(1 + (len(RECOMMENDATIONS) - 1) * len(SEGMENTS))},
        guardrails=[complaints],
        ttl_seconds=DAY / speed,
        default_outcome={"reward": 0.0, "costs": {"complaints": 0.0}},
    )
    return [
        Experiment(client, checkout.name, [complaints, conversion, spend], contextual=False),
        Experiment(client, recommendations.name, [complaints], contextual=True),
    ]


def run(client: banister.client.Client, minutes: float, speed: float, seed: int, per_day: float) -> list[Experiment]:
    """The shop is open: visitors come, reports come in, until the time is over."""
    experiments = open_experiments(client, speed)
    checkout, recommendations = experiments
    world = visits(seed, per_day)
    coming = next(world)
    start, end = time.monotonic(), minutes * 60 * speed
    form = "{percentage:3.0f}%|{bar:20}| {desc}"
    with tqdm(total=end, bar_format=form, file=sys.stdout, dynamic_ncols=True, disable=None) as bar:
        now, told = 0.0, -math.inf
        while now < end:
            now = min((time.monotonic() - start) * speed, end)
            arrived = []
            while coming.time <= now:
                arrived.append(coming)
                coming = next(world)
            for begin in range(0, len(arrived), 500):
                some = arrived[begin : begin + 500]
                checkout.serve(some)
                recommendations.serve([visit for visit in some if visit.luck[-1] < 0.2])
            for experiment in experiments:
                experiment.report(now)
            if now - told > speed:  # every second of ours
                told = now
                clock = f"day {now // DAY + 1:.0f} {now % DAY // HOUR:02.0f}h"
                words = [f"{len(checkout.happened.get('reward', ())):,} visits"]
                words += [experiment.status() for experiment in experiments]
                bar.set_description_str(f"{clock} | {' | '.join(words)}", refresh=False)
            bar.update(now - bar.n)
            time.sleep(0.02)
    return experiments


def table(experiments: list[Experiment]) -> str:
    """Returns the table of results."""
    wide = max(16, *(len(experiment.name) for experiment in experiments))
    lines = [f"{'experiment':{wide}} {'signal':12} {'mean':>7} {'always safe':>12}   guardrail"]
    for experiment in experiments:
        counts = experiment.client.experiment(experiment.name).counts
        mean = {signal: float(np.mean(values)) for signal, values in experiment.happened.items()}
        safe = {signal: float(np.mean(values)) for signal, values in experiment.safe.items()}
        gain = mean["reward"] / safe["reward"] - 1
        means = f"{mean['reward']:7.4f} {safe['reward']:12.4f}"
        lines.append(f"\n{experiment.name:{wide}} {'reward':12} {means}   {gain:+.1%}")
        for guardrail in experiment.guardrails:
            signal, sign = guardrail.name, "≤" if guardrail.at_least is None else "≥"
            threshold = (guardrail.at_most or guardrail.at_least or 0.0) * (safe[signal] if guardrail.relative else 1.0)
            kept = mean[signal] <= threshold if sign == "≤" else mean[signal] >= threshold
            verdict = f"{sign} {threshold:.4f} {'kept' if kept else 'BROKEN'}"
            lines.append(f"{'':{wide}} {signal:12} {mean[signal]:7.4f} {safe[signal]:12.4f}   {verdict}")
        ends = f"{counts.outcomes:,} outcomes, {counts.expired:,} by default"
        share = counts.forced / max(counts.decisions, 1)
        lines.append(f"{'':{wide}} {counts.decisions:,} decisions, {ends}; forced to be safe: {share:.1%}")
    return "\n".join(lines)


@contextmanager
def service(url: str | None) -> Iterator[str]:
    """The address of a service that runs: yours, or one of our own for as long as the block lasts."""
    if url is not None:
        yield url.rstrip("/")
        return
    with tempfile.TemporaryDirectory() as folder:
        options = ["--listen", "127.0.0.1:0", "--data-dir", folder, "--log", "error"]
        program = os.environ.get("BANISTERD", "banisterd")
        # Settings of a service of yours are not for this one.
        plain = {key: value for key, value in os.environ.items() if not key.startswith("BANISTER_")}
        try:
            process = subprocess.Popen([program, "serve", *options], env=plain, stdout=subprocess.PIPE, text=True)
        except FileNotFoundError:
            hint = "cargo build --release -p banisterd, and name target/release/banisterd in BANISTERD"
            raise SystemExit(f"there is no program {program}: {hint}; or use a service that runs, by --url") from None
        try:
            assert process.stdout is not None
            found = (re.search(r"the page is at (http\S+?)/?\s*$", line) for line in process.stdout)
            address = next((match[1] for match in found if match), None)
            if address is None:
                raise SystemExit("the service did not start")
            yield address
        finally:
            process.terminate()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A simulated shop that uses the decision service.")
    parser.add_argument(
        "--url",
        help="a service that runs, in place of one of its own; if it asks for a token, put an "
        "admin's into BANISTER_TOKEN",
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="how long it takes (1)")
    parser.add_argument("--speed", type=float, default=4320.0, help="seconds of the shop per second (4320)")
    parser.add_argument("--visitors", type=float, default=12_000, help="per day, on the first day (12000)")
    parser.add_argument("--seed", type=int, default=0, help="of the world: the same visitors, the same luck")
    parser.add_argument("--stay", action="store_true", help="leave the page up at the end until Enter is pressed")
    chosen = parser.parse_args()
    with service(chosen.url) as url, banister.client.Client(url) as client:
        print(f"Look at {url}/ while the shop is open.\n", flush=True)
        experiments = run(client, chosen.minutes, chosen.speed, chosen.seed, chosen.visitors)
        print(f"\n{table(experiments)}")
        if chosen.stay:
            input(f"\nThe page is still at {url}/. Enter ends it. ")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nThe shop was closed early.")
    except banister.client.ServiceError as error:
        sys.exit(f"\nThe service: {error}")
