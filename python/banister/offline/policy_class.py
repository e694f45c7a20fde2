"""Policies as arms: a finite class of maps from contexts to arms, among which an agent on arms chooses.

Contexts are drawn at random, and a policy is a map from contexts to arms that is fixed beforehand. Then its reward and
its costs at a decision are draws with a mean each, over contexts and outcomes, as those of an arm are. So an agent on
arms whose arms are policies certifies the mean over all decisions, and nothing is assumed about how means depend on
contexts: a bad prediction makes a poor policy, never a false certificate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._features import Features, by_name
from .._tables import Table
from .._types import ContextLike, ContextsLike

#: Predicted mean costs of the policies that are made, in ceilings.
AROUND = (0.5, 0.7, 0.85, 1.0, 1.3, 2.0)
#: Prices that are tried, in rewards per ceiling.
PRICES = np.concatenate([[0.0], np.geomspace(1e-4, 1e2, 300)])
RIDGE = 1.0


@dataclass(frozen=True)
class Policy:
    """The arm of a few with the largest predicted reward, less the price of its predicted cost."""

    arms: tuple[str, ...]
    price: float


class Outcomes(NamedTuple):
    """Outcomes of policies, as `fit` and `observe_batch` of an agent take them."""

    decisions: list[str]
    rewards: NDArray[np.float64]
    costs: NDArray[np.float64]


class PolicyClass:
    """Policies by name, the safe arm alone among them. Make one with `PolicyClass.fit`.

    >>> import banister
    >>> x = [[1.0, i / 100] for i in range(100)]
    >>> rewards = {"small": [0.5] * 100, "large": [0.5 + 0.4 * (i > 50) for i in range(100)]}
    >>> costs = {"small": [0.0] * 100, "large": [0.8] * 100}
    >>> policies = banister.offline.PolicyClass.fit(x, rewards, costs, safe="small", ceiling=0.3)
    >>> agent = banister.Opb(
    ...     policies.names, safe="small", guardrails=[banister.Guardrail("dollars", at_most=0.3, safe_cost=0.0)]
    ... ).fit(*policies.held_out)
    >>> decision = agent.decide()
    >>> policies.choose(decision.action, [1.0, 0.0])
    'small'
    """

    def __init__(
        self,
        arms: Sequence[str],
        safe: str,
        rewards: ArrayLike,
        costs: ArrayLike,
        policies: Mapping[str, Policy],
        features: Features | None = None,
    ) -> None:
        self.arms, self.safe, self.features = list(arms), safe, features
        self.policies = {safe: Policy((safe,), 0.0), **policies}
        #: Outcomes of all policies on the rows that they were not made from: for `agent.fit`.
        self.held_out = Outcomes([], np.empty(0), np.empty(0))
        self._rewards, self._costs = (np.asarray(one, dtype=float) for one in (rewards, costs))

    @classmethod
    def fit(
        cls,
        contexts: ContextsLike,
        rewards: object,
        costs: object,
        *,
        safe: str,
        ceiling: float,
        features: Features | None = None,
        share: float = 0.5,
        seed: int = 0,
    ) -> PolicyClass:
        """Returns policies whose mean costs are about a ceiling, made from a table with the outcomes of all arms.

        Rewards and costs are predicted by ridge regressions on a random share of the rows. The others must not have
        been looked at: on them every policy's outcomes are known, `held_out`, which an agent may learn from.

        Parameters:
            contexts: rows of numbers, an intercept 1 among them, or a table of the features' fields.
            rewards: a column for every arm, as a dictionary or a table.
            costs: a column for every arm too.
            safe: the arm that keeps the ceiling by itself.
            ceiling: the most that the mean cost may be: the guardrail's threshold.
            features: of a table of fields.
            share: part of the rows that policies are made from.
            seed: of that part.
        """
        x = _rows(contexts, features)
        tables = {"rewards": Table(rewards, "rewards"), "costs": Table(costs, "costs")}
        arms = [str(name) for name in tables["rewards"].names]
        if safe not in arms:
            raise ValueError(f"`safe` is {safe!r}: must be one of {arms}, the columns of `rewards`")
        if not 0 < share < 1:
            raise ValueError(f"`share` is {share}: must be above 0 and below 1")
        if not 0 < ceiling < np.inf:
            raise ValueError(f"`ceiling` is {ceiling}: must be a number above 0")
        columns = {}
        for name, table in tables.items():
            columns[name] = np.column_stack([table.numbers(arm, name) for arm in arms])
            _check(name, columns[name], (len(x), len(arms)))
        rows = np.random.default_rng(seed).permutation(len(x))
        made, held = np.split(rows, [round(share * len(x))])
        gram = x[made].T @ x[made] + RIDGE * np.eye(x.shape[1])
        r, c = (np.linalg.solve(gram, x[made].T @ columns[name][made]).T for name in ("rewards", "costs"))
        found = cls(arms, safe, r, c, {}, features)
        found._add(x[made], ceiling)
        found.held_out = found.outcomes(x[held], columns["rewards"][held], columns["costs"][held])
        return found

    def _add(self, x: NDArray[np.float64], ceiling: float) -> None:
        """Adds policies by price, of the safe arm with one more arm, two more, and so on, cheap ones first."""
        costs = np.maximum(x @ self._costs.T, 0.0)
        others = sorted(set(self.arms) - {self.safe}, key=lambda arm: costs[:, self.arms.index(arm)].mean())
        seen: set[bytes] = set()
        unit = max(float(np.ptp(x @ self._rewards.T)), 1e-12) / ceiling
        for count in range(1, len(others) + 1):
            arms = (self.safe, *others[:count])
            tried = [Policy(arms, float(price)) for price in unit * PRICES]
            chosen = [self._choices(policy, x) for policy in tried]
            means = np.array([costs[np.arange(len(x)), one].mean() for one in chosen])
            for target in AROUND:
                best = int(np.abs(means - target * ceiling).argmin())
                # Without its dearest arm it is a policy of fewer.
                is_used = bool((chosen[best] == self.arms.index(arms[-1])).any())
                if is_used and chosen[best].tobytes() not in seen:
                    seen.add(chosen[best].tobytes())
                    self.policies[f"{len(arms)} arms at {tried[best].price:.4g}"] = tried[best]

    @property
    def names(self) -> list[str]:
        """Names of the policies: the arms of the agent. The safe arm's own is first."""
        return list(self.policies)

    def choose(self, policy: str, context: ContextLike) -> str:
        """Returns the arm of a policy in a context."""
        return self.arms_in(context)[policy]

    def arms_in(self, context: ContextLike) -> dict[str, str]:
        """Returns the arm of every policy in a context."""
        x = np.asarray(context if self.features is None else self.features.transform_one(context), dtype=float)
        _check("context", x, self._rewards.shape[1:])
        return {name: self.arms[int(self._choices(one, x[None])[0])] for name, one in self.policies.items()}

    def outcomes(self, contexts: ContextsLike, rewards: ArrayLike, costs: ArrayLike) -> Outcomes:
        """Returns the outcomes of all policies on rows with those of all arms, in the order of the arms.

        A policy must not have been made from these rows, and they must be a sample of the contexts to come.
        """
        x, r, c = (_rows(contexts, self.features), np.asarray(rewards, dtype=float), np.asarray(costs, dtype=float))
        for name, one, width in (("contexts", x, self._rewards.shape[1]), ("rewards", r, None), ("costs", c, None)):
            _check(name, one, (len(x), len(self.arms) if width is None else width))
        chosen = np.column_stack([self._choices(policy, x) for policy in self.policies.values()])
        rows = np.arange(len(x))[:, None]
        return Outcomes(self.names * len(x), r[rows, chosen].ravel(), c[rows, chosen].ravel())

    def ranges(self, by_arm: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
        """Returns the range of every policy, given those of the arms: it may choose each of its own."""
        each = {name: [by_arm[arm] for arm in policy.arms] for name, policy in self.policies.items()}
        return {name: [min(lo for lo, _ in own), max(hi for _, hi in own)] for name, own in each.items()}

    def to_dict(self) -> dict[str, Any]:
        """Returns all but the held-out outcomes, as plain values."""
        policies = {name: asdict(policy) for name, policy in self.policies.items() if name != self.safe}
        parameters = {"rewards": self._rewards.tolist(), "costs": self._costs.tolist()}
        features = None if self.features is None else self.features.to_dict()
        return {"arms": self.arms, "safe": self.safe, **parameters, "policies": policies, "features": features}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> PolicyClass:
        """Returns the class that `to_dict` gave."""
        policies = {name: Policy(tuple(one["arms"]), float(one["price"])) for name, one in saved["policies"].items()}
        features = None if saved["features"] is None else Features.from_dict(saved["features"])
        return cls(saved["arms"], saved["safe"], saved["rewards"], saved["costs"], policies, features)

    def __repr__(self) -> str:
        return f"PolicyClass({len(self.policies)} policies of {', '.join(self.arms)}, {self.safe} safe)"

    def _choices(self, policy: Policy, x: NDArray[np.float64]) -> NDArray[np.int64]:
        """Returns the number of the arm in every row."""
        arms = np.array([self.arms.index(arm) for arm in policy.arms])
        scores = x @ self._rewards[arms].T - policy.price * np.maximum(x @ self._costs[arms].T, 0.0)
        return cast("NDArray[np.int64]", arms[scores.argmax(axis=1)])


def _rows(contexts: ContextsLike, features: Features | None) -> NDArray[np.float64]:
    x = np.asarray(contexts if features is None else by_name(features._fields, contexts, "contexts"), dtype=float)
    _check("contexts", x, x.shape if x.ndim == 2 else (len(x), 1))
    return x


def _check(name: str, found: NDArray[np.float64], shape: tuple[int, ...]) -> None:
    if found.shape != shape or not np.isfinite(found).all():
        raise ValueError(f"`{name}` has shape {found.shape}: must be {' × '.join(map(str, shape))} finite numbers")
