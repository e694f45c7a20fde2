"""Experiments as the service declares them, their live state and their history."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .answers import (
    ServiceCertificate,
    ServiceEstimate,
    ServiceSegmentCertificate,
    _Answer,
    _policy,
)


@dataclass(frozen=True)
class ServiceCounts(_Answer):
    """Counts of the events of an experiment."""

    decisions: int
    outcomes: int
    expired: int
    imported: int
    #: Decisions for which the safe action was the only choice.
    forced: int
    #: Decisions whose outcome never came within their time to live, and has no default.
    missing: int = 0


@dataclass(frozen=True)
class ServiceAlarm(_Answer):
    """Reason that the safe action is played alone, and since when."""

    #: "margin_not_proven", "solver_failed", "ill_conditioned", "alarm", "budget", "budget_exhausted" or "paused".
    reason: str
    since: datetime
    #: The first decision that was forced, as `@` and its number; None for a pause.
    decision: str | None


@dataclass(frozen=True)
class ServiceBudget(_Answer):
    """A budget over time in its period of now, in the units of its guardrail."""

    amount: float
    #: "hour", "day", "week" or "month", in UTC.
    per: str
    #: "safe" or "refuse".
    when_exhausted: str
    pacing: bool
    period_start: datetime
    period_end: datetime
    #: Costs reported for decisions of this period.
    spent: float
    #: Most that those may cost whose cost was not reported yet.
    reserved: float
    remaining: float
    #: Costs beyond the amount: of safe actions, or of an amount that was lowered since.
    beyond: float
    decisions: int
    #: Decisions at which the safe action was forced.
    exhausted: int
    #: Rest of the amount per decision until the period ends; None where it holds no policy back.
    pace: float | None = None


@dataclass(frozen=True)
class ServiceExperiment(_Answer):
    """An experiment as the service knows it."""

    name: str
    description: str
    #: "running", "paused" or "archived".
    status: str
    shadow: bool
    created: datetime
    #: Dictionaries with `name`, `offered`, `safe`, and `features` where there are any.
    arms: tuple[dict[str, Any], ...]
    safe: str | None
    #: How many numbers a decision brings, or its fields.
    context: int | dict[str, Any] | None
    dimension: int | None
    safe_action: tuple[float, ...] | None
    reward: dict[str, Any] | None
    guardrails: tuple[dict[str, Any], ...]
    confidence: float
    agent: dict[str, Any]
    ttl_seconds: float | None
    default_outcome: dict[str, Any] | None
    counts: ServiceCounts
    #: Set as long as decisions are forced to be safe.
    alarm: ServiceAlarm | None
    #: The last event of this experiment in the service's log.
    number: int
    #: Alarms that nobody has acknowledged yet: dictionaries with `kind`, `message`, `since` and more.
    alarms: tuple[dict[str, Any], ...] = ()
    #: The assumptions that certificates rest on: dictionaries with `text` and `watched`.
    rests_on: tuple[dict[str, Any], ...] = ()
    #: Budgets over time, by guardrail: one, or several with different periods.
    budgets: dict[str, tuple[ServiceBudget, ...] | ServiceBudget] = field(default_factory=dict)
    #: Reaction to alarms in force: "safe", "relearn" or "alert"; None where nothing watches the agent.
    on_breach: str | None = None
    #: Names of segments as declared, or a dictionary with `fields` and `known`; None where there are none.
    segments: Any = None

    def __repr__(self) -> str:
        what = f"{len(self.arms)} arms" if self.arms else f"actions of {self.dimension} features"
        names = ", ".join(str(guardrail["name"]) for guardrail in self.guardrails)
        return (
            f"ServiceExperiment({self.name!r}, {self.status}, {what}, guardrails=[{names}], "
            f"decisions={self.counts.decisions}, outcomes={self.counts.outcomes})"
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
    """Estimates of an arm."""

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
    """The live state of an experiment.

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
    #: The segment that policy and estimates are of, where decisions have one.
    segment: ServiceSegmentCertificate | None = None

    @classmethod
    def _from_json(cls, json: dict[str, Any]) -> dict[str, Any]:
        return {**json, "policy": _policy(json["policy"])}


@dataclass(frozen=True)
class ServiceSegmentArm(_Answer):
    """An arm in a segment."""

    name: str
    offered: bool
    probability: float
    pulls: int | None
    reward: ServiceEstimate
    guardrails: tuple[ServiceEstimate, ...]


@dataclass(frozen=True)
class ServiceSegmentGuardrail(_Answer):
    """A guardrail in a segment."""

    name: str
    #: "overall" or "each".
    scope: str
    #: Of the segment's own policy.
    pessimistic_cost: float
    threshold: float
    #: Reward per unit of threshold, spent here.
    price: float


@dataclass(frozen=True)
class ServiceSegment(_Answer):
    """A segment and its policy, or the pool of those that are not told apart."""

    #: None for the pool.
    name: str | None
    contexts: int
    #: Share of all decisions.
    frequency: float
    guardrails: tuple[ServiceSegmentGuardrail, ...]
    arms: tuple[ServiceSegmentArm, ...]
    #: Of its policy.
    estimates: ServiceEstimates
    #: Segments that share the pool's policy, the most frequent first.
    pooled: tuple[str, ...] = ()


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
    #: True if the safe action was the only choice.
    forced: bool
    guardrails: tuple[ServiceGuardrailPoint, ...]
    #: The segment that it is of, where decisions have one.
    segment: ServiceSegmentCertificate | None = None


@dataclass(frozen=True)
class ServiceMinute(_Answer):
    """Counts of one minute."""

    time: datetime
    decisions: int
    outcomes: int
    forced: int


@dataclass(frozen=True)
class ServiceHistory(_Answer):
    """The past of an experiment, oldest first."""

    points: tuple[ServicePoint, ...]
    per_minute: tuple[ServiceMinute, ...]
