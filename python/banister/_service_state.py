"""The live picture of an experiment and its past, as the decision service tells them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ._service_answers import (
    ServiceAlarm,
    ServiceCertificate,
    ServiceEstimate,
    _Answer,
    _policy,
)


@dataclass(frozen=True)
class ServiceEstimates(_Answer):
    """The estimated means of a policy; guardrails in the order of their declaration."""

    reward: ServiceEstimate
    guardrails: tuple[ServiceEstimate, ...]
    #: The reward of the safe action, if it is known, to compare with.
    safe: ServiceEstimate | None


@dataclass(frozen=True)
class ServiceArm(_Answer):
    """What is known of an arm."""

    name: str
    offered: bool
    safe: bool
    pulls: int | None
    #: Of being played, in the policy of now.
    probability: float | None
    reward: ServiceEstimate
    guardrails: tuple[ServiceEstimate, ...]


@dataclass(frozen=True)
class ServiceState(_Answer):
    """The live picture of an experiment.

    Policy, certificate and estimates are those of now; with a context or changing actions, those of
    the last decision, and None before the first.
    """

    experiment: str
    number: int
    time: datetime
    outcomes: int
    policy: dict[str, float] | None
    certificate: ServiceCertificate | None
    estimates: ServiceEstimates | None
    arms: tuple[ServiceArm, ...]
    alarm: ServiceAlarm | None

    @classmethod
    def _from_json(cls, json: dict[str, Any]) -> dict[str, Any]:
        return {**json, "policy": _policy(json["policy"])}


@dataclass(frozen=True)
class ServiceGuardrailPoint(_Answer):
    """One guardrail at one time."""

    mean: float | None
    lower: float
    upper: float
    pessimistic_cost: float
    threshold: float
    price: float | None


@dataclass(frozen=True)
class ServicePoint(_Answer):
    """An experiment at one time."""

    time: datetime
    reward: ServiceEstimate
    optimistic_reward: float | None
    #: Whether the safe action was the only choice.
    forced: bool
    guardrails: tuple[ServiceGuardrailPoint, ...]


@dataclass(frozen=True)
class ServiceMinute(_Answer):
    """What happened in one minute."""

    time: datetime
    decisions: int
    outcomes: int
    forced: int


@dataclass(frozen=True)
class ServiceHistory(_Answer):
    """The past of an experiment, oldest first."""

    points: tuple[ServicePoint, ...]
    per_minute: tuple[ServiceMinute, ...]
