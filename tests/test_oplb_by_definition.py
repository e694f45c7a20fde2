"""Rounds of OPLB through the command line, against the definitions written down in numpy.

Nothing here turns, whitens or factors anything: norms come from inverse matrices, the safe action's
complement from a singular value decomposition, and the best policy of three actions from a grid.
"""

import json

import numpy as np
import pytest

STEPS = 300


def complement(x0):
    """An orthonormal basis of the complement of x0, as columns; of everything if x0 = 0."""
    d = len(x0)
    if not np.any(x0):
        return np.eye(d)
    return np.linalg.svd(x0[:, None], full_matrices=True)[0][:, 1:]


def draw(rng, k, m):
    d = int(rng.integers(1, 5))
    zero = rng.random() < 0.25
    actions = rng.normal(size=(k, d))
    safe = int(rng.integers(k))
    actions[safe] *= 0.0 if zero else rng.choice([1.0, 100.0, 0.01])
    data = rng.normal(size=(int(rng.integers(1, 30)), d))
    return {
        "kind": "oplb",
        "actions": actions.tolist(),
        "safe": safe,
        "safe_costs": [0.0 if zero else float(c) for c in rng.uniform(-0.5, 0.2, m)],
        "thresholds": rng.uniform(0.25, 0.8, m).tolist(),
        "gram": (np.eye(d) * rng.choice([0.1, 1.0, 10.0]) + data.T @ data).tolist(),
        "reward": {"estimate": rng.normal(size=d).tolist(), "radius": float(rng.exponential(1.0))},
        "costs": [{"estimate": rng.normal(size=d).tolist(), "radius": float(rng.exponential(0.5))} for _ in range(m)],
        "solver": "exact",
    }


class Definition:
    """r̃ and c̃ of a policy, as the paper defines them."""

    def __init__(self, round_):
        self.actions = np.array(round_["actions"])
        self.round = round_
        gram = np.array(round_["gram"])
        x0 = self.actions[round_["safe"]]
        basis = complement(x0)
        self.inverse = np.linalg.inv(gram)
        self.basis = basis
        self.across = np.linalg.inv(basis.T @ gram @ basis)
        projector = basis @ basis.T
        along = x0 / (x0 @ x0) if np.any(x0) else np.zeros_like(x0)
        self.costs = [
            (safe_cost * along + projector @ np.array(cost["estimate"]), cost["radius"])
            for safe_cost, cost in zip(round_["safe_costs"], round_["costs"])
        ]

    def reward(self, policies):
        x = policies @ self.actions
        width = np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", x, self.inverse, x), 0.0))
        return x @ np.array(self.round["reward"]["estimate"]) + self.round["reward"]["radius"] * width

    def pessimistic(self, policies):
        x = policies @ self.actions
        z = x @ self.basis
        width = np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", z, self.across, z), 0.0))
        return np.array([x @ mean + radius * width for mean, radius in self.costs])


def grid():
    i, j = np.meshgrid(np.arange(STEPS + 1), np.arange(STEPS + 1))
    keep = i + j <= STEPS
    i, j = i[keep], j[keep]
    return np.stack([i, j, STEPS - i - j], axis=1) / STEPS


@pytest.mark.parametrize("m", [1, 2])
def test_three_actions_against_a_grid(banister, m):
    rng = np.random.default_rng(50 + m)
    rounds = [draw(rng, 3, m) for _ in range(150)]
    answers = banister("solve", "--lines", stdin="\n".join(map(json.dumps, rounds))).stdout
    policies = grid()
    close = 0
    for round_, answer in zip(rounds, map(json.loads, answers.splitlines()), strict=True):
        definition = Definition(round_)
        policy = np.zeros((1, 3))
        for action, probability in answer["policy"]:
            policy[0, action] = probability
        scale = 1.0 + abs(answer["value"])
        assert policy.sum() == pytest.approx(1.0, abs=1e-12)
        assert definition.reward(policy)[0] == pytest.approx(answer["value"], abs=1e-7 * scale)
        costs = definition.pessimistic(policy)[:, 0]
        assert costs == pytest.approx(answer["costs"], abs=1e-7)
        assert np.all(np.array(answer["costs"]) <= round_["thresholds"])
        allowed = np.all(definition.pessimistic(policies) <= np.array(round_["thresholds"])[:, None], axis=0)
        best = definition.reward(policies)[allowed].max()
        assert best <= answer["upper_bound"] + 1e-9 * scale
        close += best <= answer["value"] + 1e-3 * scale
    # With one guardrail the policy itself is proven best.
    assert close == len(rounds) if m == 1 else close > 0.9 * len(rounds)


def test_linearised_is_the_program_of_its_intervals(banister):
    rng = np.random.default_rng(60)
    rounds = [draw(rng, int(rng.integers(2, 9)), 1) | {"solver": "linearised"} for _ in range(200)]
    programs = []
    for round_ in rounds:
        definition = Definition(round_)
        single = np.eye(len(round_["actions"]))
        costs = definition.pessimistic(single)
        costs[0, round_["safe"]] = round_["safe_costs"][0]
        program = {"kind": "lp", "reward": definition.reward(single).tolist(), "costs": costs.tolist()}
        programs.append(program | {"thresholds": round_["thresholds"]})
    answers = banister("solve", "--lines", stdin="\n".join(map(json.dumps, rounds + programs))).stdout
    answers = [json.loads(line) for line in answers.splitlines()]
    for linear, program in zip(answers[: len(rounds)], answers[len(rounds) :], strict=True):
        assert linear["value"] == pytest.approx(program["value"], rel=1e-7, abs=1e-7)
