"""Made from the core's registry by `python -m banister._stubs`."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._agent import Agent
from ._guardrail import GuardrailLike

__all__ = ["Opb", "Oplb", "OptimisticMix", "SColts", "MarginAdaptive", "Doslb", "LinConTs", "LinConKlUcb", "PessimisticOptimistic", "ConservativeUcb", "UcbBwk", "PrimalDualBwk", "Ucb1", "KlUcb", "Thompson", "HplcLucb", "SafeLts", "Roful", "GenOp", "SafeLucb", "ConservativeLinUcb", "LinUcb", "LinTs"]

class Opb(Agent):
    guarantee: ClassVar[Literal["every_round"]]
    def __new__(
        cls,
        arms: int | Sequence[str] | None = None,
        *,
        safe: int | str = 0,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: Mapping[str, object] | None = None,
        seed: int | np.random.Generator | None = None,
        delta: float = 0.01,
        floor: float | None = None,
        horizon: int | None = None,
        intersect: bool | None = None,
        intervals: Literal["hoeffding", "mixture", "kl", "subgaussian", "bernstein", "paper", "published"] | None = None,
        label: str | None = None,
        lazy: float | None = None,
        log_term: float | None = None,
        omega: float | None = None,
        on_breach: Literal["safe", "relearn", "alert"] | None = None,
        optimism: Literal["paper", "margin", "value", "least", "index", "sampled", "published"] = "index",
        optimism_delta: float = 0.1,
        rho: float = 1.0,
        run_length: float | None = None,
        unknown_safe_cost: Literal["interval", "paper"] = "interval",
    ) -> Opb: ...

class Oplb(Agent):
    guarantee: ClassVar[Literal["every_round"]]
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
        floor: float | None = None,
        horizon: int | None = None,
        label: str | None = None,
        lambda_: float | None = None,
        long_features: Literal["error", "clip"] = "error",
        max_work: int = 200000000,
        norm: float | None = None,
        omega: float | None = None,
        on_breach: Literal["safe", "relearn", "alert"] | None = None,
        optimism: Literal["paper", "margin", "value", "least", "index", "sampled", "published"] | None = None,
        optimism_delta: float = 0.1,
        parameter_norm: float | None = None,
        radius: Literal["multiscale", "logdet", "paper"] | None = None,
        radius_scale: float = 1.0,
        relative_gap: float = 0.001,
        run_length: float | None = None,
        solver: Literal["linearised", "exact"] = "linearised",
        unknown_safe_cost: Literal["interval", "paper"] = "interval",
    ) -> Oplb: ...

class OptimisticMix(Agent):
    guarantee: ClassVar[Literal["every_round"]]
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
    ) -> OptimisticMix: ...

class SColts(Agent):
    guarantee: ClassVar[Literal["every_round"]]
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
        omega: float = 1.0,
    ) -> SColts: ...

class MarginAdaptive(Agent):
    guarantee: ClassVar[Literal["every_round"]]
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
    ) -> MarginAdaptive: ...

class Doslb(Agent):
    guarantee: ClassVar[Literal["cumulative"]]
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

class LinConTs(Agent):
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: int | Sequence[str] | None = None,
        *,
        safe: int | str = 0,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: Mapping[str, object] | None = None,
        seed: int | np.random.Generator | None = None,
        label: str | None = None,
    ) -> LinConTs: ...

class LinConKlUcb(Agent):
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: int | Sequence[str] | None = None,
        *,
        safe: int | str = 0,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: Mapping[str, object] | None = None,
        seed: int | np.random.Generator | None = None,
        label: str | None = None,
    ) -> LinConKlUcb: ...

class PessimisticOptimistic(Agent):
    guarantee: ClassVar[Literal["cumulative"]]
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
        margin: float | None = None,
        reward_weight: float = 0.6666666666666666,
        tightening: float = 6.0,
    ) -> PessimisticOptimistic: ...

class ConservativeUcb(Agent):
    guarantee: ClassVar[Literal["cumulative"]]
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
    ) -> ConservativeUcb: ...

class UcbBwk(Agent):
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: int | Sequence[str] | None = None,
        *,
        safe: int | str = 0,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: Mapping[str, object] | None = None,
        seed: int | np.random.Generator | None = None,
        delta: float = 0.01,
        epsilon: float | None = None,
        horizon: int | None = None,
        label: str | None = None,
    ) -> UcbBwk: ...

class PrimalDualBwk(Agent):
    guarantee: ClassVar[Literal["cumulative"]]
    def __new__(
        cls,
        arms: int | Sequence[str] | None = None,
        *,
        safe: int | str = 0,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: Mapping[str, object] | None = None,
        seed: int | np.random.Generator | None = None,
        delta: float = 0.01,
        epsilon: float | None = None,
        horizon: int | None = None,
        label: str | None = None,
    ) -> PrimalDualBwk: ...

class Ucb1(Agent):
    guarantee: ClassVar[Literal["unsafe"]]
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

class KlUcb(Agent):
    guarantee: ClassVar[Literal["unsafe"]]
    def __new__(
        cls,
        arms: int | Sequence[str] | None = None,
        *,
        safe: int | str = 0,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: Mapping[str, object] | None = None,
        seed: int | np.random.Generator | None = None,
        c: float = 0.0,
        label: str | None = None,
    ) -> KlUcb: ...

class Thompson(Agent):
    guarantee: ClassVar[Literal["unsafe"]]
    def __new__(
        cls,
        arms: int | Sequence[str] | None = None,
        *,
        safe: int | str = 0,
        guardrails: GuardrailLike | Sequence[GuardrailLike] = ...,
        reward: Mapping[str, object] | None = None,
        seed: int | np.random.Generator | None = None,
        label: str | None = None,
    ) -> Thompson: ...

class HplcLucb(Agent):
    guarantee: ClassVar[Literal["per_action"]]
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
        delta: float | None = None,
        label: str | None = None,
        lambda_: float = 0.1,
        log_factor: float = 2.0,
        noise_factor: float = 2.0,
        parameter_norm: float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
    ) -> HplcLucb: ...

class SafeLts(Agent):
    guarantee: ClassVar[Literal["per_action"]]
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
        delta: float | None = None,
        label: str | None = None,
        lambda_: float = 0.1,
        log_factor: float = 2.0,
        noise_factor: float = 2.0,
        parameter_norm: float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
    ) -> SafeLts: ...

class Roful(Agent):
    guarantee: ClassVar[Literal["per_action"]]
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
        label: str | None = None,
        lambda_: float = 1.0,
        max_scale: float = 1.0,
        norm: float | None = None,
        parameter_norm: float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> Roful: ...

class GenOp(Agent):
    guarantee: ClassVar[Literal["per_action"]]
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
        label: str | None = None,
        lambda_: float = 1.0,
        max_scale: float = 1.0,
        norm: float | None = None,
        parameter_norm: float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> GenOp: ...

class SafeLucb(Agent):
    guarantee: ClassVar[Literal["per_action"]]
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
        exploration: int | None = None,
        horizon: int | None = None,
        label: str | None = None,
        lambda_: float = 1.0,
        norm: float | None = None,
        parameter_norm: float | None = None,
        play: Literal["scaled", "mixed"] | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> SafeLucb: ...

class ConservativeLinUcb(Agent):
    guarantee: ClassVar[Literal["cumulative"]]
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
        label: str | None = None,
        lambda_: float = 1.0,
        norm: float | None = None,
        parameter_norm: float | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> ConservativeLinUcb: ...

class LinUcb(Agent):
    guarantee: ClassVar[Literal["unsafe"]]
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
        label: str | None = None,
        lambda_: float = 1.0,
        norm: float | None = None,
        parameter_norm: float | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
    ) -> LinUcb: ...

class LinTs(Agent):
    guarantee: ClassVar[Literal["unsafe"]]
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
        label: str | None = None,
        lambda_: float = 1.0,
        norm: float | None = None,
        parameter_norm: float | None = None,
        radius: Literal["logdet", "paper"] = "logdet",
        v: float | None = None,
    ) -> LinTs: ...
