"""Policies as arms: choices and outcomes by brute force, coverage where predictions are wrong, the routing data."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import banister
from banister.offline import PolicyClass

ROUTING = Path(__file__).parents[2] / "experiments" / "routing"


def table(n: int, seed: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Contexts (1, x), and outcomes of three arms that are not linear in x."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    rewards = {"a": 0.3 + 0 * x, "b": 0.5 + 0.3 * np.sin(4 * x), "c": 0.7 + 0.2 * x}
    costs = {"a": 0.05 + 0 * x, "b": 0.2 + 0.15 * np.cos(5 * x), "c": 0.6 + 0.3 * x}

    def drawn(means: dict[str, Any]) -> dict[str, Any]:
        return {arm: (rng.random(n) < mean).astype(float) for arm, mean in means.items()}

    return np.column_stack([np.ones(n), x]), drawn(rewards), drawn(costs)


def test_choices_and_outcomes_are_those_of_the_formula() -> None:
    x, rewards, costs = table(400, 1)
    policies = PolicyClass.fit(x, rewards, costs, safe="a", ceiling=0.2, seed=3)
    assert policies.names[0] == "a" and len(policies.names) > 4
    made, held = np.split(np.random.default_rng(3).permutation(400), [200])
    # A ridge of 1 is one more row for each number.
    rows = np.vstack([x[made], np.eye(2)])
    predicted = {}
    for name, columns in (("reward", rewards), ("cost", costs)):
        for arm, column in columns.items():
            parameter, *_ = np.linalg.lstsq(rows, np.append(column[made], [0, 0]), rcond=None)
            predicted[name, arm] = x @ parameter

    def brute(name: str, row: int) -> str:
        policy = policies.policies[name]
        worth = {a: predicted["reward", a][row] - policy.price * max(predicted["cost", a][row], 0) for a in policy.arms}
        return max(worth, key=lambda arm: worth[arm])

    expected = [(name, row) for row in held for name in policies.names]
    assert policies.held_out.decisions == [name for name, _ in expected]
    for i, (name, row) in enumerate(expected):
        arm = brute(name, row)
        assert policies.held_out.rewards[i] == rewards[arm][row] and policies.held_out.costs[i] == costs[arm][row]
        if i < 100:
            assert policies.choose(name, x[row]) == arm
    again = PolicyClass.from_dict(json.loads(json.dumps(policies.to_dict())))
    assert again.names == policies.names and all(again.arms_in(one) == policies.arms_in(one) for one in x[:50])
    ranges = policies.ranges({"a": [0, 0.1], "b": [0, 1], "c": [-1, 2]})
    for name, policy in policies.policies.items():
        assert ranges[name] == {1: [0, 0.1], 2: [0, 1], 3: [-1, 2]}[len(policy.arms)]


def test_no_policy_violates_though_predictions_are_wrong() -> None:
    """Costs over all contexts are known here by integration; δ = 0.1 in each of 60 runs."""
    grid = np.linspace(-1, 1, 2001)
    means = {"a": 0.05 + 0 * grid, "b": 0.2 + 0.15 * np.cos(5 * grid), "c": 0.6 + 0.3 * grid}
    contexts = np.column_stack([np.ones(len(grid)), grid])
    violating, better = 0, 0
    for seed in range(60):
        x, rewards, costs = table(600, 100 + seed)
        policies = PolicyClass.fit(x, rewards, costs, safe="a", ceiling=0.25, seed=seed)
        guardrail = banister.Guardrail("cost", at_most=0.25)
        agent = banister.Opb(policies.names, safe="a", guardrails=[guardrail], delta=0.1, seed=seed)
        agent.fit(*policies.held_out)
        numbers = {name: policies._choices(policies.policies[name], contexts) for name in policies.names}
        true = {name: np.choose(own, list(means.values())).mean() for name, own in numbers.items()}
        x, rewards, costs = table(600, 1000 + seed)
        violated = False
        for row in range(600):
            decision = agent.decide()
            violated |= sum(p * true[name] for name, p in decision.policy.items()) > 0.25
            arm = policies.choose(decision.action, x[row])
            agent.observe(decision, rewards[arm][row], costs[arm][row])
        violating += violated
        better += decision.policy.get("a", 0.0) < 0.5
    # Twelve or more of 60 at probability 0.1 each: one time in a hundred.
    assert violating < 12
    assert better > 50, "the safe arm is left"


def test_requests_are_routed_better_than_by_paretobandit_without_a_violation() -> None:
    data = pq.read_table(ROUTING / "requests.parquet").to_pydict()
    arms, worst = ("llama", "mistral", "gemini"), (4.5e-4, 6.5e-3, 0.17)
    frame = {"class": data["class"], "length": np.log(data["prompt_chars"])}
    features = banister.Features.fit(frame)
    x = features.transform(frame)
    rewards, costs = ({arm: np.array(data[f"{arm}_{kind}"]) for arm in arms} for kind in ("reward", "cost"))
    all_rewards, all_costs = (np.column_stack(list(one.values())) for one in (rewards, costs))
    with (ROUTING / "board.csv").open() as file:
        board = [row for row in csv.DictReader(file) if row["mode"] == "warm" and "paretobandit" in row["router"]]
    for name in ("$2.35e-4", "$6.62e-4", "$1.87e-3", "$5.31e-3", "$1.50e-2"):
        ceiling = float(name[1:])
        rival = max(float(row["reward"]) for row in board if row["limit"] == name)
        found = []
        for seed in range(8):
            log, played = np.split(np.random.default_rng(seed).permutation(len(x)), [1785])
            own = ({arm: column[log] for arm, column in one.items()} for one in (rewards, costs))
            policies = PolicyClass.fit(x[log], *own, safe="llama", ceiling=ceiling, seed=seed)
            ranges = policies.ranges({arm: [0.0, most] for arm, most in zip(arms, worst, strict=True)})
            guardrail = banister.Guardrail("dollars", at_most=ceiling, range=ranges)
            agent = banister.Opb(policies.names, safe="llama", guardrails=[guardrail], seed=seed)
            agent.fit(*policies.held_out)
            chosen = {name: policies._choices(policies.policies[name], x) for name in policies.names}
            means = {name: all_costs[np.arange(len(x)), own].mean() for name, own in chosen.items()}
            for row in played:
                decision = agent.decide()
                assert sum(p * means[name] for name, p in decision.policy.items()) <= ceiling
                found.append(sum(p * all_rewards[row, chosen[name][row]] for name, p in decision.policy.items()))
                arm = chosen[decision.action][row]
                agent.observe(decision, all_rewards[row, arm], all_costs[row, arm])
        assert np.mean(found) >= rival, (name, np.mean(found), rival)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"safe": "d"}, "`safe` is 'd': must be one of"),
        ({"ceiling": 0.0}, "`ceiling` is 0.0"),
        ({"ceiling": float("nan")}, "`ceiling` is nan"),
        ({"share": 1.0}, "`share` is 1.0"),
        ({"contexts": [[1.0, float("nan")]] * 40}, "`contexts` has shape"),
        ({"contexts": [1.0] * 40}, "`contexts` has shape"),
        ({"contexts": [[1.0, 2.0]] * 39}, "`rewards` has shape"),
        ({"costs": {"a": [0.0] * 40, "b": [1.0] * 40}}, "`costs` is 'c'"),
        ({"costs": {"a": [0.0] * 40, "b": [1.0] * 40, "c": [np.inf] * 40}}, "`costs`"),
    ],
)
def test_input_is_checked(change: dict[str, Any], words: str) -> None:
    x, rewards, costs = table(40, 1)
    given: dict[str, Any] = {"contexts": x, "rewards": rewards, "costs": costs, "safe": "a", "ceiling": 0.2, **change}
    with pytest.raises(ValueError, match=words):
        PolicyClass.fit(**given)
    with pytest.raises(ValueError, match="`context` has shape"):
        PolicyClass.fit(x, rewards, costs, safe="a", ceiling=0.2).choose("a", [1.0, 2.0, 3.0])
