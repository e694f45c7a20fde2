"""Runs routers on requests whose prices or models change half-way: banister beside ParetoBandit's own code.

usage: python moving.py [--orders N] [--out FILE]

The requests of experiments/routing come twice, each time in another order. Before the second pass one model's price
doubles ("price"), or its judged quality falls to seven tenths ("quality"). A router may have seen a log: of 1785
requests, what every model would have answered ("warm"; else "cold").

- `told`: `banister.Opb` with told prices. The log and the outcomes bring what a call used, at the first prices.
- `learned`: `banister.Opb` that learns dollars, as it comes: what has changed is found and learned anew.
- `paretobandit`: its BanditRouter with features of the request's class and length, as rivals.py has it. Without
  the embeddings and the priors of its paper, which keeps within 0.4% of its ceilings.

Counted is the second pass. `share`: gain over the cheapest model alone, as a part of the best policy's that does not
look at the request; one that does can have more than all. `overshoot`: most that was spent beyond the ceiling, in
ceilings of a call. `violating`: policies whose true expected price is above the ceiling; a router without policies has
none to count.
"""

from __future__ import annotations

import argparse
import csv
import logging
from pathlib import Path

import numpy as np
from board import interval
from rivals import ROOT, Order, Requests, class_features, pareto_bandit
from tqdm import tqdm

import banister

CEILINGS = (3e-4, 6.62e-4, 1.87e-3)
CHANGES = {"price": (2.0, 1.0), "quality": (1.0, 0.7)}
ROUTERS = (("told", "warm"), *((router, mode) for mode in ("warm", "cold") for router in ("learned", "paretobandit")))
#: The model that changes, and the requests of a log.
CHANGED, LOGGED = 1, 1785
NAMES = ["llama", "mistral", "gemini"]
#: Dollars of the dearest possible call.
MOST = (5e-4, 1.25e-2, 0.35)


def twice(requests: Requests, price: float, quality: float) -> Requests:
    """The requests, and the same once more after the change."""
    rewards, costs = requests.rewards.copy(), requests.costs.copy()
    rewards[:, CHANGED] *= quality
    costs[:, CHANGED] *= price
    return Requests(
        classes=requests.classes * 2,
        kinds=requests.kinds * 2,
        chars=np.concatenate([requests.chars] * 2),
        rewards=np.concatenate([requests.rewards, rewards]),
        costs=np.concatenate([requests.costs, costs]),
    )


def best(means: np.ndarray, ceiling: float) -> float:
    """The largest mean reward of a mixture of two models under the ceiling."""
    found = max(reward for reward, cost in means if cost <= ceiling)
    for reward, cost in means:
        for other, dearer in means:
            if cost <= ceiling < dearer:
                part = (ceiling - cost) / (dearer - cost)
                found = max(found, reward + part * (other - reward))
    return float(found)


def ours(requests: Requests, order: Order, ceiling: float, told: bool, price: float) -> tuple[np.ndarray, np.ndarray]:
    """Plays an order; returns the models chosen and the policies."""
    half = len(order.played) // 2
    dollars: dict[str, object] = {"name": "dollars", "at_most": ceiling}
    if told:
        known: dict[str, object] = {"signals": {"use": dict(zip(NAMES, ([0, most] for most in MOST)))}}
        dollars["weights"] = {"use": 1.0}
    else:
        known = {}
        dollars |= {
            "range": dict(zip(NAMES, ([0, most] for most in MOST))),
            "safe_cost": float(requests.costs[:, 0].mean()),
        }
    agent = banister.Opb(NAMES, guardrails=dollars, seed=order.run, **known)
    if len(order.log):
        arms = np.tile(NAMES, len(order.log))
        agent.fit(arms, requests.rewards[order.log].ravel(), requests.costs[order.log].ravel())
    chosen, policies = np.empty(2 * half, dtype=int), np.empty((2 * half, 3))
    for round_, row in enumerate(order.played):
        if told and round_ == half:
            agent.set_weights(NAMES[CHANGED], {"dollars": {"use": price}})
        decision = agent.decide()
        arm = decision.index
        # What is told is not in what a call used.
        used = requests.costs[row, arm] / (price if told and round_ >= half and arm == CHANGED else 1.0)
        agent.observe(decision, requests.rewards[row, arm], used)
        chosen[round_], policies[round_] = arm, decision.probabilities
    return chosen, policies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=12)
    parser.add_argument("--out", type=Path, default=ROOT / "experiments/routing/moving.csv")
    arguments = parser.parse_args()
    logging.getLogger("pareto_bandit").setLevel(logging.ERROR)
    requests = Requests.read(ROOT / "experiments/routing/requests.parquet")
    count, lines = len(requests), []
    jobs = [
        (router, mode, change, ceiling)
        for change in CHANGES
        for ceiling in CEILINGS
        for router, mode in ROUTERS
        if (router, change) != ("told", "quality")
    ]
    for router, mode, change, ceiling in tqdm(jobs, unit="setting"):
        both = twice(requests, *CHANGES[change])
        means = np.column_stack([both.rewards[count:].mean(axis=0), both.costs[count:].mean(axis=0)])
        gain, found = best(means, ceiling) - means[0, 0], []
        for run in range(arguments.orders):
            drawn = np.random.default_rng(run)
            played = np.concatenate([drawn.permutation(count), count + drawn.permutation(count)])
            log = drawn.permutation(count)[:LOGGED] if mode == "warm" else np.empty(0, dtype=int)
            order = Order(mode, run, played, log)
            if router == "paretobandit":
                features = np.concatenate([class_features(requests)] * 2)
                chosen, policies = pareto_bandit(both, features, ceiling)(order), None
            else:
                chosen, policies = ours(both, order, ceiling, router == "told", CHANGES[change][0])
            after, own = played[count:], chosen[count:]
            spent = np.cumsum(both.costs[after, own] - ceiling)
            reward = both.rewards[after, own].mean()
            violating = np.nan
            if policies is not None:
                # Of what is expected, not of what was drawn.
                reward = (policies[count:] @ means[:, 0]).mean()
                expected = policies[count:] @ means[:, 1]
                violating, spent = (expected > ceiling * (1 + 1e-9)).sum(), np.cumsum(expected - ceiling)
            found.append(((reward - means[0, 0]) / gain, reward, max(spent.max(), 0.0) / ceiling, violating))
        share, quality, overshoot, violating = (list(column) for column in zip(*found))
        lines.append(
            [change, f"{ceiling:g}", router, mode, arguments.orders]
            + [f"{x:.4f}" for x in (*interval(share), *interval(quality), *interval(overshoot))]
            + ["" if np.isnan(violating[0]) else f"{int(sum(violating))}"]
        )
    head = ["change", "ceiling", "router", "mode", "orders"]
    head += [name + end for name in ("share", "quality", "overshoot") for end in ("", "_interval")] + ["violating"]
    with arguments.out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)
    for line in [head, *lines]:
        print(" ".join(f"{one!s:>14}" for one in line[:4] + line[5:]))


if __name__ == "__main__":
    main()
