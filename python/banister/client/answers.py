"""Methods of the service's answers; their fields: `types` has those, made from the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from .. import _html
from .errors import ServiceError

if TYPE_CHECKING:
    from .types import Arm, Confidence, Counts, Fallback, GuardrailCertificate, SolverReport, SolverStatus

T = TypeVar("T")


class Answer:
    """Methods of all answers."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the same as nested dictionaries."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


class Policy(dict[str, float]):
    """A policy: from the name of each action that may be drawn to its probability."""

    @classmethod
    def from_json(cls, json: list[dict[str, Any]]) -> Policy:
        """Returns the policy that the service lists."""
        return cls({one["action"]: one["probability"] for one in json})


class CertificateMethods(Answer):
    """Methods of certificates, of the service's and of the package's own agents."""

    if TYPE_CHECKING:
        guardrails: tuple[GuardrailCertificate, ...]
        optimistic_reward: float
        solver: SolverReport
        fallback: Fallback | None
        outcomes: int
        confidence: Confidence | None

    @property
    def status(self) -> SolverStatus:
        """Status of the solver: "optimal", "budget" or "infeasible"."""
        return self.solver.status

    @property
    def value(self) -> float:
        """Objective at the policy."""
        return self.solver.value

    @property
    def upper_bound(self) -> float:
        """Proven upper bound on the objective of every pessimistically feasible policy."""
        return self.solver.upper_bound

    @property
    def gap(self) -> float:
        """Difference `upper_bound - value`."""
        return self.solver.gap

    def __getitem__(self, key: str | int) -> GuardrailCertificate:
        """Returns the part of one guardrail, by name or number."""
        for i, one in enumerate(self.guardrails):
            if key in (one.name, i):
                return one
        known = ", ".join(one.name for one in self.guardrails)
        raise KeyError(f"there is no guardrail {key!r}: they are {known}")

    def __repr__(self) -> str:
        slacks = ", ".join(f"{one.name}: {one.slack:.6g}" for one in self.guardrails)
        fallback = f", fallback={self.fallback!r}" if self.fallback else ""
        return (
            f"Certificate(slack={{{slacks}}}, optimistic_reward={self.optimistic_reward:.6g}, "
            f"gap={self.gap:.3e}{fallback})"
        )

    def _repr_html_(self) -> str:
        return _html.certificate(self)


class DecisionMethods(Answer):
    """Methods of decisions, with the words of `banister.Decision`."""

    if TYPE_CHECKING:
        id: str
        experiment: str
        action: str
        safe: bool
        probability: float
        policy: Policy
        certificate: CertificateMethods

    @property
    def is_safe(self) -> bool:
        """True if the action is the safe one."""
        return self.safe

    @property
    def scale(self) -> float:
        """1: the service plays whole actions."""
        return 1.0

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(id={self.id!r}, experiment={self.experiment!r}, action={self.action!r}, "
            f"probability={self.probability:.6g}, policy={self.policy!r})"
        )


class ExperimentMethods(Answer):
    """Methods of experiments."""

    if TYPE_CHECKING:
        name: str
        status: str
        arms: tuple[Arm, ...]
        dimension: int | None
        guardrails: tuple[dict[str, Any], ...]
        counts: Counts

    def __repr__(self) -> str:
        what = f"{len(self.arms)} arms" if self.arms else f"actions of {self.dimension} features"
        names = ", ".join(str(guardrail["name"]) for guardrail in self.guardrails)
        return (
            f"Experiment({self.name!r}, {self.status}, {what}, guardrails=[{names}], "
            f"decisions={self.counts.decisions}, outcomes={self.counts.outcomes})"
        )


class Batch(Sequence[T], Generic[T]):
    """The results of a batch, one per entry: the entry's result, or the error that it raises.

    >>> import banister
    >>> error = banister.client.ServiceError.from_problem({"status": 409, "detail": "another outcome"})
    >>> batch = banister.client.Batch(["fine", error])
    >>> batch
    Batch(2 results, 1 error)
    >>> batch[0], list(batch.errors)
    ('fine', [1])
    >>> batch[1]
    Traceback (most recent call last):
        ...
    banister.client.errors.ConflictError: another outcome (409)
    """

    def __init__(self, results: Sequence[T | ServiceError]) -> None:
        self._results = tuple(results)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, key: int) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> Batch[T]: ...
    def __getitem__(self, key: int | slice) -> T | Batch[T]:
        if isinstance(key, slice):
            return Batch(self._results[key])
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
        return f"Batch({len(self)} results, {count} error{'s' * (count != 1)})"
