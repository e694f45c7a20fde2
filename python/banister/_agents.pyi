"""Made from the core's registry by `python -m banister._stubs`."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._agent import Agent
from ._guardrail import GuardrailLike

__all__ = ["Opb", "Oplb", "Doslb", "Ucb1"]

class Opb(Agent):
    kind: ClassVar[str]
    guarantee: ClassVar[Literal["every_round"]]
    takes_features: ClassVar[bool]
    def __new__(
        cls,
        arms: int | Sequence[str] | None = None,
        *,
        safe: int | str = 0,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: Mapping[str, object] | None = None,
        seed: int | np.random.Generator | None = None,
        delta: float = 0.01,
        horizon: int | None = None,
        intersect: bool | None = None,
        intervals: Literal["hoeffding", "kl", "subgaussian", "bernstein", "paper", "published"] | None = None,
        label: str | None = None,
        log_term: float | None = None,
        max_arms: int | None = None,
        optimism: Literal["paper", "margin", "value", "least", "published"] = "least",
        rho: float = 1.0,
        unknown_safe_cost: Literal["interval", "paper"] = "interval",
    ) -> Opb: ...

class Oplb(Agent):
    kind: ClassVar[str]
    guarantee: ClassVar[Literal["every_round"]]
    takes_features: ClassVar[bool]
    def __new__(
        cls,
        arms: int | Sequence[str] | None = None,
        *,
        features: ArrayLike | None = None,
        safe_action: ArrayLike | None = None,
        safe: int | str = 0,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: Mapping[str, object] | None = None,
        seed: int | np.random.Generator | None = None,
        delta: float = 0.01,
        horizon: int | None = None,
        label: str | None = None,
        lambda_: float | None = None,
        long_features: Literal["error", "clip"] = "error",
        max_work: int = 200000000,
        norm: float | None = None,
        optimism: Literal["paper", "margin", "value", "least", "published"] | None = None,
        parameter_norm: float | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
        radius_scale: float = 1.0,
        relative_gap: float = 0.001,
        solver: Literal["linearised", "exact"] = "linearised",
        unknown_safe_cost: Literal["interval", "paper"] = "interval",
    ) -> Oplb: ...

class Doslb(Agent):
    kind: ClassVar[str]
    guarantee: ClassVar[Literal["cumulative"]]
    takes_features: ClassVar[bool]
    def __new__(
        cls,
        arms: int | Sequence[str] | None = None,
        *,
        safe: int | str = 0,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: Mapping[str, object] | None = None,
        seed: int | np.random.Generator | None = None,
        delta: float = 0.01,
        label: str | None = None,
    ) -> Doslb: ...

class Ucb1(Agent):
    kind: ClassVar[str]
    guarantee: ClassVar[Literal["unsafe"]]
    takes_features: ClassVar[bool]
    def __new__(
        cls,
        arms: int | Sequence[str] | None = None,
        *,
        safe: int | str = 0,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: Mapping[str, object] | None = None,
        seed: int | np.random.Generator | None = None,
        exploration: float = 4.0,
        label: str | None = None,
    ) -> Ucb1: ...
