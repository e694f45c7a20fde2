"""Guardrails and the reward, with the words of TOML and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ._types import Float, RangeLike

#: Keys that declare a threshold.
Direction: TypeAlias = Literal["at_most", "at_least"]

#: A signal, two of them or a signal and a number with an operator between, or weights by signal.
Expression: TypeAlias = str | Sequence[str | float] | Mapping[str, object]


class _Declared:
    def to_dict(self) -> dict[str, Any]:
        """Returns the same as a dictionary, without defaults."""
        fields = vars(self).items()
        return {key: value for key, value in fields if value is not None and value is not False}


@dataclass(frozen=True)
class Guardrail(_Declared):
    """A metric whose expected value must stay on one side of a threshold.

    Give `at_most` or `at_least`. With `relative`, the threshold is a factor of the safe action's own
    mean. Signals lie in `range` ([0, 1] unless given), or only their means do if they are
    `sub_gaussian` with that constant. `range` is `(lo, hi)`, or one such pair for every arm: a list in the
    order of the arms, or a dictionary by their names. Signals above `cap` count as `cap`, and the mean of
    what counts is bounded. `drift`, `{"by": 0.01, "per": "day"}`, says how fast every arm's mean may move; per
    "decision", or per "hour" or "day", where decisions need their `time`.
    `over=3609` bounds the mean over every stretch of 3609 decisions together, and not that of each policy (`Opb`).
    `safe_cost` is the safe action's mean, where it is known. `scope` is for `Segmented`:
    "overall" (the default) bounds the mean over all decisions, "each" the mean in every segment. `budget` is for
    the service alone: `{"amount": 50, "per": "day"}`.

    `expression` says what is bounded, where that is not a signal of its own. One of the agent's `signals`, or
    `"reward"`, is brought by outcomes once. `("refunds", "/", "orders")` is the first per unit of the second,
    `("revenue", "-", "refunds")` the first less the second, which may be the reward too.
    `("latency_ms", ">", 800)` is the share of outcomes above 800; `quantile=0.95` with `signal` and `at_most` says the
    same as a bound on that quantile. `{"input_tokens": 2.5e-6, "output_tokens": 1e-5}`, or such a dictionary for each
    arm, is a sum at given prices, which `agent.set_weights` changes; outcomes bring the signals among their costs.
    `signal`, `ratio=("refunds", "orders")` and `weights` are other spellings of these.

    >>> import banister
    >>> banister.Guardrail("spend", at_most=0.5, safe_cost=0.1).to_dict()
    {'name': 'spend', 'at_most': 0.5, 'safe_cost': 0.1}
    >>> banister.Guardrail("conversion", at_least=0.98, relative=True).to_dict()
    {'name': 'conversion', 'at_least': 0.98, 'relative': True}
    """

    name: str
    at_most: Float | None = None
    at_least: Float | None = None
    relative: bool = False
    range: RangeLike | None = None
    cap: Float | None = None
    sub_gaussian: Float | None = None
    drift: Mapping[str, object] | None = None
    safe_cost: Float | None = None
    over: int | None = None
    budget: Mapping[str, object] | None = None
    scope: Literal["overall", "each"] | None = None
    expression: Expression | None = None
    signal: str | None = None
    ratio: tuple[str, str] | None = None
    quantile: Float | None = None
    weights: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Reward(_Declared):
    """Declaration of the reward: `range`, `cap`, `sub_gaussian` and `drift` as of a guardrail; or its `expression`.

    >>> import banister
    >>> agent = banister.Opb(["Arm1", "Arm2"], reward=banister.Reward(range=(0, 30)))
    >>> agent.fit(["Arm1", "Arm1", "Arm2", "Arm1"], [20, 17, 25, 9]).outcomes
    4
    """

    range: RangeLike | None = None
    cap: Float | None = None
    sub_gaussian: Float | None = None
    drift: Mapping[str, object] | None = None
    signal: str | None = None
    expression: Expression | None = None


GuardrailLike: TypeAlias = Guardrail | Mapping[str, object]
"""A guardrail, or a dictionary with its keys."""

RewardLike: TypeAlias = Reward | Mapping[str, object]
"""The reward, or a dictionary with its keys."""


def listed(guardrails: Any) -> list[Any]:
    """Returns guardrails as a list: one may be given alone."""
    is_one = hasattr(guardrails, "to_dict") or isinstance(guardrails, Mapping)
    return [guardrails] if is_one else list(guardrails or ())
