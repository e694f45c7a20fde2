"""The client of the decision service."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from numpy.typing import ArrayLike

from . import _client_settings as settings
from ._log import Log
from ._log_like import LogLike
from ._service_answers import (
    ServiceAudit,
    ServiceBatch,
    ServiceDecision,
    ServiceDecisionSummary,
    ServiceExperiment,
    ServiceOutcome,
)
from ._service_bodies import UNCHANGED, CostsLike, Declaration
from ._service_calls import Calls
from ._service_retry import Pace, Result, Send, Steps, Wait
from ._service_state import ServiceHistory, ServiceState

if TYPE_CHECKING:
    import httpx
    from typing_extensions import Self, Unpack

T = TypeVar("T")


class Client:
    """A client of the decision service, for programs with threads; `AsyncClient` is its twin.

    It keeps connections open and may be used from several threads at once. A request that gets no
    answer, or the answer "not now", is sent again, and never counts twice.

    Parameters:
        url: where the service is; else the environment's `BANISTER_URL`, else
            `http://127.0.0.1:8787`.
        token: what opens the service; else the environment's `BANISTER_TOKEN`. It is never shown.
        timeout: seconds to wait for the answer to one attempt.
        retries: how many attempts may follow the first.
        deadline: seconds after which no further attempt is made.
        connections: how many may be open at once.
        transport: httpx's, in place of its own.

    >>> import banister
    >>> banister.Client("http://127.0.0.1:8787", token="secret")
    Client('http://127.0.0.1:8787')
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout: float = 5.0,
        retries: int = 8,
        deadline: float = 30.0,
        connections: int = 20,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._address = settings.Address.found(url, token)
        self._calls = Calls(Pace(timeout=timeout, retries=retries, deadline=deadline))
        self._sleep: Callable[[float], object] = time.sleep
        module, options = settings.imported(), self._address.options(transport, connections)
        self._http: httpx.Client = module.Client(**options)
        self._lost: type[httpx.TransportError] = module.TransportError

    @property
    def url(self) -> str:
        """Where the service is; its page is there, too."""
        return self._address.url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _take(self, step: Send | Wait) -> Result:
        if isinstance(step, Wait):
            self._sleep(step.seconds)
            return None
        try:
            return settings.answer(self._http.request(**settings.request_arguments(step)))
        except self._lost as error:
            return settings.lost(error, self._address, step)

    def _run(self, steps: Steps[T]) -> T:
        result: Result = None
        while True:
            try:
                step = steps.send(result)
            except StopIteration as done:
                value: T = done.value
                return value
            result = self._take(step)

    # Experiments

    def create(self, name: str, **declaration: Unpack[Declaration]) -> ServiceExperiment:
        """Makes an experiment. If the answer is lost, looks whether the experiment is there.

        Parameters:
            name: letters, digits, `.`, `_` and `-`.
            arms: their names; or dictionaries with `name` and `features`; or features by name.
            safe: the safe arm; the first unless given.
            guardrails: `banister.Guardrail` objects or dictionaries with their keys.
            context: how many numbers every decision brings as its context.
            dimension: instead of arms, how many features the actions have that a decision brings.
            safe_action: with `dimension`, the features of the safe action.
            reward: `{"range": [low, high]}` or `{"sub_gaussian": sigma}`; in [0, 1] unless given.
            confidence: of all guardrails at all times, such as 0.99.
            agent: a kind, a dictionary with `kind` and parameters, or an agent of this package.
            description: a line for people.
            shadow: whether only to say what would be done.
            ttl_seconds: outcomes are learned this long after their decisions, in the order of decisions.
            default_outcome: `{"reward": 0, "costs": {name: 0}}`, for those that never come; without it they
                are counted as missing.
        """
        return self._run(self._calls.create(name, **declaration))

    def check(self, name: str, **declaration: Unpack[Declaration]) -> ServiceExperiment:
        """What `create` would make, checked as there; nothing is made."""
        return self._run(self._calls.check(name, **declaration))

    def experiments(self) -> list[ServiceExperiment]:
        """All experiments."""
        return self._run(self._calls.experiments())

    def experiment(self, name: str) -> ServiceExperiment:
        """One experiment."""
        return self._run(self._calls.experiment(name))

    def update(
        self,
        name: str,
        *,
        description: str = UNCHANGED,
        status: Literal["running", "paused", "archived"] = UNCHANGED,
        shadow: bool = UNCHANGED,
        ttl_seconds: float | None = UNCHANGED,
        default_outcome: Mapping[str, Any] | None = UNCHANGED,
    ) -> ServiceExperiment:
        """Changes what is given; `ttl_seconds=None` takes the time to live away."""
        steps = self._calls.update(
            name,
            description=description,
            status=status,
            shadow=shadow,
            ttl_seconds=ttl_seconds,
            default_outcome=default_outcome,
        )
        return self._run(steps)

    def pause(self, name: str) -> ServiceExperiment:
        """From now on every decision is the safe action; outcomes are still learned from."""
        return self._run(self._calls.update(name, status="paused"))

    def resume(self, name: str) -> ServiceExperiment:
        """Ends a pause."""
        return self._run(self._calls.update(name, status="running"))

    def archive(self, name: str) -> ServiceExperiment:
        """Ends an experiment for good. It can still be looked at and exported."""
        return self._run(self._calls.update(name, status="archived"))

    def add_arm(self, name: str, arm: str, features: ArrayLike | None = None) -> ServiceExperiment:
        """Offers a further arm."""
        return self._run(self._calls.add_arm(name, arm, features))

    def retire_arm(self, name: str, arm: str) -> ServiceExperiment:
        """Offers an arm no more; what was learned of it is kept."""
        return self._run(self._calls.retire_arm(name, arm))

    def acknowledge(self, name: str, note: str = "") -> ServiceExperiment:
        """Clears the alarms of an experiment, once a person has seen to them; the note goes to the log."""
        return self._run(self._calls.acknowledge(name, note))

    # Decisions and outcomes

    def decide(
        self,
        name: str,
        *,
        id: str | None = None,
        context: ArrayLike | None = None,
        actions: ArrayLike | Mapping[str, ArrayLike] | Sequence[Mapping[str, Any]] | None = None,
        taken: str | None = None,
        propensity: float | None = None,
    ) -> ServiceDecision:
        """A decision.

        Parameters:
            name: the experiment.
            id: your own name for this decision, such as the order's number. The same request with the
                same id gets the same decision; without one, the client makes one up.
            context: the numbers that are known of this occasion.
            actions: the candidates: rows of features, features by name, or dictionaries with `name`
                and `features`.
            taken: in shadow mode, what you do.
            propensity: in shadow mode, with what probability you do it.
        """
        steps = self._calls.decide(
            name, id=id, context=context, actions=actions, taken=taken, propensity=propensity
        )
        return self._run(steps)

    def decide_batch(
        self, name: str, requests: int | Iterable[Mapping[str, Any]]
    ) -> ServiceBatch[ServiceDecision]:
        """Many decisions at once: a number of them, or a dictionary of `decide`'s arguments for each.

        A request that is refused does not hold up the others; its place in the batch raises its error.
        Every thousand is a request to the service of its own.
        """
        return self._run(self._calls.decide_batch(name, requests))

    def report(
        self,
        decision: ServiceDecision | str,
        id: str | None = None,
        *,
        reward: float | None = None,
        costs: CostsLike | None = None,
        taken: str | None = None,
    ) -> ServiceOutcome:
        """Reports an outcome, however late; what is not known yet may be reported later.

        Parameters:
            decision: the decision; or the experiment's name, with the decision's `id`.
            id: the decision's id, if only the experiment's name is given.
            reward: what it earned.
            costs: by guardrail; for a decision also in the order of the guardrails, or the number of a
                single one.
            taken: in shadow mode, what you did.
        """
        steps = self._calls.report(decision, id, reward=reward, costs=costs, taken=taken)
        return self._run(steps)

    def report_batch(
        self, name: str, outcomes: Iterable[Mapping[str, Any]]
    ) -> ServiceBatch[ServiceOutcome]:
        """Reports many outcomes at once: dictionaries with `decision`, `reward`, `costs`, `taken`.

        A report that is refused does not hold up the others; its place in the batch raises its error.
        Every thousand is a request to the service of its own.
        """
        return self._run(self._calls.report_batch(name, outcomes))

    def decision(self, name: str, id: str) -> ServiceAudit:
        """A decision with all that it rested on and all that became of it."""
        return self._run(self._calls.decision(name, id))

    def decisions(
        self, name: str, *, limit: int = 50, before: int | None = None
    ) -> list[ServiceDecisionSummary]:
        """The last decisions, newest first; those before a `number`, to page on."""
        return self._run(self._calls.decisions(name, limit, before))

    # What is known

    def state(self, name: str) -> ServiceState:
        """The live picture: policy, certificate, estimates, arms, and whether there is an alarm."""
        return self._run(self._calls.state(name))

    def history(self, name: str) -> ServiceHistory:
        """The past: estimates over time, and what happened in each minute."""
        return self._run(self._calls.history(name))

    def export(self, name: str, *, format: Literal["csv", "parquet"] = "parquet") -> bytes:
        """The experiment's log as a file."""
        return self._run(self._calls.export(name, format))

    def export_log(self, name: str, *, features: Sequence[str] | None = None) -> Log:
        """The complete outcomes as a log, for `banister.evaluate`, `replay` and `warm_start`.

        `features`: columns of the exported file that were known before the decision, such as
        `context_0`. Without all propensities, as in shadow mode, the log has none.
        """
        return self._run(self._calls.export_log(name, features))

    def import_log(self, name: str, log: LogLike | bytes) -> int:
        """Learns every outcome of a log: a `Log`, a frame, or a CSV or Parquet file's bytes.

        Returns their number. It may take until the client's `deadline`, and is not sent again if the
        answer is lost.
        """
        return self._run(self._calls.import_log(name, log))

    def health(self) -> bool:
        """Whether the service answers; asked once, and False if it cannot be reached."""
        return self._run(self._calls.is_well("/healthz"))

    def ready(self) -> bool:
        """Whether the service takes requests; asked once, and False if it cannot be reached."""
        return self._run(self._calls.is_well("/readyz"))
