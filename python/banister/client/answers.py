"""Decisions and outcomes of the service, typed, with the words of `banister.Decision`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar, overload

from .errors import ServiceError

T = TypeVar("T")


class _Answer:
    """Methods of all answers."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the same as nested dictionaries."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


def _policy(json: Any) -> Any:
    """Returns the service's list of actions as a dictionary from their names to their probabilities."""
    return json if json is None else {one["action"]: one["probability"] for one in json}


@dataclass(frozen=True)
class ServiceEstimate(_Answer):
    """A mean and its confidence interval; the mean is None as long as nothing was observed."""

    mean: float | None
    lower: float
    upper: float


@dataclass(frozen=True)
class ServiceGuardrailCertificate(_Answer):
    """Proof that a policy keeps one guardrail: the words are those of `banister.GuardrailCertificate`."""

    name: str
    pessimistic_cost: float
    threshold: float
    slack: float
    price: float | None
    #: True if signals above the guardrail's `cap` count as the cap.
    capped: bool = False


@dataclass(frozen=True)
class ServiceCertificate(_Answer):
    """Proof that a policy keeps its guardrails: the words are those of `banister.Certificate`."""

    guardrails: tuple[ServiceGuardrailCertificate, ...]
    optimistic_reward: float | None
    #: "optimal", "budget" or "infeasible".
    status: str
    value: float | None
    upper_bound: float | None
    gap: float | None
    nodes: int
    #: Reason that the safe action was played alone, if it was.
    fallback: str | None
    #: Number of outcomes that it is based on.
    outcomes: int
    #: Probabilities: `safety`, that no policy ever violates a guardrail, and `regret`, that the regret bound
    #: holds too (None where it is one in expectation). None where the agent does not state them.
    confidence: dict[str, float | None] | None = None
    #: The assumptions it rests on: dictionaries with `text` and `watched`.
    rests_on: tuple[dict[str, Any], ...] = ()

    @classmethod
    def _from_json(cls, json: dict[str, Any]) -> dict[str, Any]:
        return {**json, **json["solver"]}

    def __getitem__(self, key: str | int) -> ServiceGuardrailCertificate:
        if isinstance(key, int):
            return self.guardrails[key]
        for one in self.guardrails:
            if one.name == key:
                return one
        known = ", ".join(one.name for one in self.guardrails)
        raise KeyError(f"there is no guardrail {key!r}: there are {known}")


@dataclass(frozen=True)
class ServiceSegmentCertificate(_Answer):
    """A segment's own part of a certificate; costs in the order of the guardrails."""

    name: str
    #: True if it shares the policy of rare segments.
    pooled: bool
    #: Decisions seen in it before this one.
    contexts: int
    #: Share of all decisions that had this policy.
    frequency: float
    #: Pessimistic cost of its own policy under each guardrail.
    costs: tuple[float, ...]
    #: Part of each guardrail's pessimistic cost that frequencies add, since they are not known exactly.
    by_frequencies: tuple[float, ...]


@dataclass(frozen=True)
class ServiceDecision(_Answer):
    """A decision of the service: the policy, the action drawn from it, and its certificate."""

    #: By this an outcome is reported, and the decision repeated.
    id: str
    experiment: str
    #: Of the event in the service's log.
    number: int
    time: datetime
    action: str
    index: int
    is_safe: bool
    probability: float
    #: From the name of each action that may be drawn to its probability.
    policy: dict[str, float]
    certificate: ServiceCertificate = field(repr=False)
    #: True if this is only what the service would do.
    shadow: bool = False
    #: The segment's own part of the certificate, where decisions have one.
    segment: ServiceSegmentCertificate | None = None

    @property
    def scale(self) -> float:
        """1: the service plays whole actions."""
        return 1.0

    @classmethod
    def _from_json(cls, json: dict[str, Any]) -> dict[str, Any]:
        return {**json, "is_safe": json["safe"], "policy": _policy(json["policy"])}


@dataclass(frozen=True)
class ServiceOutcome(_Answer):
    """The outcome of a decision, as far as it is known."""

    decision: str
    #: "partial" as long as the reward or a cost is missing, then "complete".
    status: str
    reward: float | None
    costs: dict[str, float | None]
    #: Alarms that the report raised: numbers outside their declared ranges, which count as their ends.
    #: Dictionaries with `kind`, `guardrail`, `arm`, `message` and `forces_safe`.
    alarms: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class ServiceEvent(_Answer):
    """One event in the life of a decision."""

    number: int
    time: datetime
    #: "decision", "part", "outcome" or "default".
    kind: str


@dataclass(frozen=True)
class ServiceKnown(_Answer):
    """Estimates of one action of a policy when it was decided."""

    action: str
    index: int
    probability: float
    pulls: int | None
    reward: ServiceEstimate
    guardrails: tuple[ServiceEstimate, ...]


@dataclass(frozen=True)
class ServiceAudit(ServiceDecision):
    """A decision with all that it rested on and all that became of it."""

    #: The uniform number that chose.
    draw: float | None = None
    #: Its numbers, or its values by field.
    context: tuple[float, ...] | dict[str, Any] | None = None
    candidates: tuple[dict[str, Any], ...] | None = None
    taken: str | None = None
    propensity: float | None = None
    #: Of every action in the policy, when it was decided.
    known: tuple[ServiceKnown, ...] = ()
    #: "open", "partial", "pending", "complete", "expired" or "cancelled".
    status: str = "open"
    #: `reward` and `costs`, as far as they are known.
    outcome: dict[str, Any] | None = None
    events: tuple[ServiceEvent, ...] = ()


@dataclass(frozen=True)
class ServiceDecisionSummary(_Answer):
    """A line of the list of decisions."""

    id: str
    number: int
    time: datetime
    action: str
    probability: float
    fallback: str | None
    status: str
    reward: float | None
    costs: dict[str, float | None]
    segment: str | None = None


class ServiceBatch(Sequence[T], Generic[T]):
    """The results of a batch, one per entry: the entry's result, or the error that it raises.

    >>> import banister
    >>> error = banister.ServiceError.from_problem({"status": 409, "detail": "another outcome"})
    >>> batch = banister.ServiceBatch(["fine", error])
    >>> batch
    ServiceBatch(2 results, 1 error)
    >>> batch[0], list(batch.errors)
    ('fine', [1])
    >>> batch[1]
    Traceback (most recent call last):
        ...
    banister.client.errors.ServiceConflictError: another outcome (409)
    """

    def __init__(self, results: Sequence[T | ServiceError]) -> None:
        self._results = tuple(results)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, key: int) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> ServiceBatch[T]: ...
    def __getitem__(self, key: int | slice) -> T | ServiceBatch[T]:
        if isinstance(key, slice):
            return ServiceBatch(self._results[key])
        result = self._results[key]
        if isinstance(result, ServiceError):
            raise result
        return result

    def __iter__(self) -> Iterator[T]:
        return (self[i] for i in range(len(self)))

    @property
    def errors(self) -> dict[int, ServiceError]:
        """The errors by the number of their entry; empty if all went well."""
        pairs = enumerate(self._results)
        return {i: result for i, result in pairs if isinstance(result, ServiceError)}

    def __repr__(self) -> str:
        count = len(self.errors)
        return f"ServiceBatch({len(self)} results, {count} error{'s' * (count != 1)})"
