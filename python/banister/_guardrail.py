"""Guardrails, with the words of TOML and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

RangeLike: TypeAlias = Sequence[float] | Sequence[Sequence[float]] | Mapping[str, Sequence[float]]
"""`[lo, hi]`, or one such pair for every arm."""


@dataclass(frozen=True)
class Guardrail:
    """A metric whose expected value must stay on one side of a threshold.

    Give `at_most` or `at_least`. With `relative`, the threshold is a factor of the safe action's own
    mean. Signals lie in `range` ([0, 1] unless given), or only their means do if they are
    `sub_gaussian` with that constant. `range` is `[lo, hi]`, or one such pair for every arm: a list in the
    order of the arms, or a dictionary by their names. Signals above `cap` count as `cap`, and the mean of
    what counts is bounded. `safe_cost` is the safe action's mean, where it is known.

    >>> import banister
    >>> banister.Guardrail("spend", at_most=0.5, safe_cost=0.1).to_dict()
    {'name': 'spend', 'at_most': 0.5, 'safe_cost': 0.1}
    >>> banister.Guardrail("conversion", at_least=0.98, relative=True).to_dict()
    {'name': 'conversion', 'at_least': 0.98, 'relative': True}
    """

    name: str
    at_most: float | None = None
    at_least: float | None = None
    relative: bool = False
    range: RangeLike | None = None
    cap: float | None = None
    sub_gaussian: float | None = None
    safe_cost: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the same as a dictionary, without defaults."""
        fields = vars(self).items()
        return {key: value for key, value in fields if value is not None and value is not False}


GuardrailLike: TypeAlias = Guardrail | Mapping[str, object]
"""A guardrail, or a dictionary with its keys."""
