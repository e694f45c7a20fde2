"""The client of the decision service, for programs with an event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from numpy.typing import ArrayLike

from . import _client_settings as settings
from ._client import Client
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


@settings.documented_like(Client)
class AsyncClient:
    """A client of the decision service, for programs with an event loop: asyncio or trio.

    It has the arguments and the methods of `Client`, to be awaited.

    >>> import banister
    >>> banister.AsyncClient("http://127.0.0.1:8787")
    AsyncClient('http://127.0.0.1:8787')
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
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._address = settings.Address.found(url, token)
        self._calls = Calls(Pace(timeout=timeout, retries=retries, deadline=deadline))
        self._sleep: Callable[[float], Awaitable[object]] = settings.sleep
        module, options = settings.imported(), self._address.options(transport, connections)
        self._http: httpx.AsyncClient = module.AsyncClient(**options)
        self._lost: type[httpx.TransportError] = module.TransportError

    @property
    def url(self) -> str:
        """Where the service is; its page is there, too."""
        return self._address.url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def _take(self, step: Send | Wait) -> Result:
        if isinstance(step, Wait):
            await self._sleep(step.seconds)
            return None
        try:
            return settings.answer(await self._http.request(**settings.request_arguments(step)))
        except self._lost as error:
            return settings.lost(error, self._address, step)

    async def _run(self, steps: Steps[T]) -> T:
        result: Result = None
        while True:
            try:
                step = steps.send(result)
            except StopIteration as done:
                value: T = done.value
                return value
            result = await self._take(step)

    # Experiments

    async def create(self, name: str, **declaration: Unpack[Declaration]) -> ServiceExperiment:
        return await self._run(self._calls.create(name, **declaration))

    async def check(self, name: str, **declaration: Unpack[Declaration]) -> ServiceExperiment:
        return await self._run(self._calls.check(name, **declaration))

    async def experiments(self) -> list[ServiceExperiment]:
        return await self._run(self._calls.experiments())

    async def experiment(self, name: str) -> ServiceExperiment:
        return await self._run(self._calls.experiment(name))

    async def update(
        self,
        name: str,
        *,
        description: str = UNCHANGED,
        status: Literal["running", "paused", "archived"] = UNCHANGED,
        shadow: bool = UNCHANGED,
        ttl_seconds: float | None = UNCHANGED,
        default_outcome: Mapping[str, Any] | None = UNCHANGED,
    ) -> ServiceExperiment:
        steps = self._calls.update(
            name,
            description=description,
            status=status,
            shadow=shadow,
            ttl_seconds=ttl_seconds,
            default_outcome=default_outcome,
        )
        return await self._run(steps)

    async def pause(self, name: str) -> ServiceExperiment:
        return await self._run(self._calls.update(name, status="paused"))

    async def resume(self, name: str) -> ServiceExperiment:
        return await self._run(self._calls.update(name, status="running"))

    async def archive(self, name: str) -> ServiceExperiment:
        return await self._run(self._calls.update(name, status="archived"))

    async def add_arm(
        self, name: str, arm: str, features: ArrayLike | None = None
    ) -> ServiceExperiment:
        return await self._run(self._calls.add_arm(name, arm, features))

    async def retire_arm(self, name: str, arm: str) -> ServiceExperiment:
        return await self._run(self._calls.retire_arm(name, arm))

    async def acknowledge(self, name: str, note: str = "") -> ServiceExperiment:
        return await self._run(self._calls.acknowledge(name, note))

    # Decisions and outcomes

    async def decide(
        self,
        name: str,
        *,
        id: str | None = None,
        context: ArrayLike | None = None,
        actions: ArrayLike | Mapping[str, ArrayLike] | Sequence[Mapping[str, Any]] | None = None,
        taken: str | None = None,
        propensity: float | None = None,
    ) -> ServiceDecision:
        steps = self._calls.decide(
            name, id=id, context=context, actions=actions, taken=taken, propensity=propensity
        )
        return await self._run(steps)

    async def decide_batch(
        self, name: str, requests: int | Iterable[Mapping[str, Any]]
    ) -> ServiceBatch[ServiceDecision]:
        return await self._run(self._calls.decide_batch(name, requests))

    async def report(
        self,
        decision: ServiceDecision | str,
        id: str | None = None,
        *,
        reward: float | None = None,
        costs: CostsLike | None = None,
        taken: str | None = None,
    ) -> ServiceOutcome:
        steps = self._calls.report(decision, id, reward=reward, costs=costs, taken=taken)
        return await self._run(steps)

    async def report_batch(
        self, name: str, outcomes: Iterable[Mapping[str, Any]]
    ) -> ServiceBatch[ServiceOutcome]:
        return await self._run(self._calls.report_batch(name, outcomes))

    async def decision(self, name: str, id: str) -> ServiceAudit:
        return await self._run(self._calls.decision(name, id))

    async def decisions(
        self, name: str, *, limit: int = 50, before: int | None = None
    ) -> list[ServiceDecisionSummary]:
        return await self._run(self._calls.decisions(name, limit, before))

    # What is known

    async def state(self, name: str) -> ServiceState:
        return await self._run(self._calls.state(name))

    async def history(self, name: str) -> ServiceHistory:
        return await self._run(self._calls.history(name))

    async def export(self, name: str, *, format: Literal["csv", "parquet"] = "parquet") -> bytes:
        return await self._run(self._calls.export(name, format))

    async def export_log(self, name: str, *, features: Sequence[str] | None = None) -> Log:
        return await self._run(self._calls.export_log(name, features))

    async def import_log(self, name: str, log: LogLike | bytes) -> int:
        return await self._run(self._calls.import_log(name, log))

    async def health(self) -> bool:
        return await self._run(self._calls.is_well("/healthz"))

    async def ready(self) -> bool:
        return await self._run(self._calls.is_well("/readyz"))
