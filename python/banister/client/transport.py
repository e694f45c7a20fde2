"""Transports: how a client, blocking or async, carries out the steps of a request with httpx."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar, overload
from urllib.parse import urlsplit

from .._extra import extra
from .retry import Answer, Lost, Pace, Result, Send, Steps, Wait

if TYPE_CHECKING:
    import httpx
    from typing_extensions import Self

P = ParamSpec("P")
T = TypeVar("T")
X = TypeVar("X")

DEFAULT_URL = "http://127.0.0.1:8787"
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True)
class Address:
    """URL of the service and the token that opens it, which is never shown."""

    url: str
    token: str | None = field(repr=False)

    @classmethod
    def resolve(cls, url: str | None, token: str | None) -> Address:
        """Takes the arguments, or else the environment's variables."""
        url = (url or os.environ.get("BANISTER_URL") or DEFAULT_URL).rstrip("/")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"`url` is {url!r}: must begin with http:// or https:// and name a host")
        if parts.username or parts.password:
            raise ValueError("`url` has a user or a password in it: must be without, give `token`")
        if parts.query or parts.fragment:
            raise ValueError(f"`url` is {url!r}: must end with the host, the port or a path")
        token = token or os.environ.get("BANISTER_TOKEN") or None
        if token is not None and not all("!" <= character <= "~" for character in token):
            raise ValueError("`token` has a space or another character that no token has")
        return cls(url, token)

    def options(self, transport: Any, connections: int) -> dict[str, Any]:
        """Returns the arguments of httpx's clients."""
        if connections < 1:
            raise ValueError(f"`connections` is {connections}: must be at least 1")
        httpx = import_httpx()
        # Nobody means a proxy between two programs on one machine.
        trust_env = urlsplit(self.url).hostname not in LOOPBACK
        headers = {"accept": "application/json", "user-agent": "banister-client"}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        return {
            "base_url": self.url,
            "headers": headers,
            "transport": transport,
            "limits": httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            "trust_env": trust_env,
            # Made once: it takes longer than many requests.
            "verify": httpx.create_ssl_context(trust_env=trust_env),
        }


def import_httpx() -> Any:
    """Imports httpx, which comes with the extra `client`."""
    with extra("client"):
        import httpx
    return httpx


class Transport(Generic[X]):
    """Everything of a transport but the waiting; `X` is httpx's own kind of transport."""

    #: Name of httpx's class of clients.
    _CLASS: ClassVar[str]

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout: float = 5.0,
        retries: int = 8,
        deadline: float = 30.0,
        connections: int = 20,
        transport: X | None = None,
    ) -> None:
        self._address = Address.resolve(url, token)
        self._pace = Pace(timeout=timeout, retries=retries, deadline=deadline)
        self._connections = connections
        options = self._address.options(transport, connections)
        kind = getattr(import_httpx(), self._CLASS)
        self._http: Any = kind(**options)
        # A transport of the caller's own has its own connections.
        self._connect: Callable[[], Any] = lambda: kind(**options) if transport is None else self._http

    @property
    def url(self) -> str:
        """URL of the service and of its page."""
        return self._address.url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _lost(self, error: httpx.TransportError, step: Send) -> Lost:
        """Describes a request that got no answer."""
        httpx = sys.modules["httpx"]
        reason = str(error) or type(error).__name__
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
            return Lost(f"the service at {self.url} cannot be reached: {reason}", False, error)
        what = f"the service at {self.url} gave no answer to {step.call.method} {step.call.path}"
        if isinstance(error, httpx.TimeoutException):
            return Lost(f"{what} in {step.timeout:.3g} s", True, error)
        return Lost(f"{what}: {reason}", True, error)


class BlockingTransport(Transport["httpx.BaseTransport"]):
    """A transport for programs with threads."""

    _CLASS = "Client"
    _sleep: Callable[[float], object] = staticmethod(time.sleep)

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
            return _answer(self._http.request(**_arguments(step)))
        except sys.modules["httpx"].TransportError as error:
            return self._lost(error, step)

    def _run(self, steps: Steps[T]) -> T:
        result: Result = None
        while True:
            try:
                step = steps.send(result)
            except StopIteration as done:
                value: T = done.value
                return value
            result = self._take(step)


async def _sleep(seconds: float) -> None:
    """Sleeps in whichever event loop httpx runs in."""
    import anyio  # httpx brings it

    await anyio.sleep(seconds)


class AsyncTransport(Transport["httpx.AsyncBaseTransport"]):
    """A transport for programs with an event loop."""

    _CLASS = "AsyncClient"
    _sleep: Callable[[float], Awaitable[object]] = staticmethod(_sleep)
    #: Connections that may be made or are idle; made with the first request, when the event loop is known.
    _free: Any = None
    _idle: list[Any]
    _lanes: frozenset[Any] = frozenset()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        for lane in {self._http, *self._lanes}:
            await lane.aclose()

    async def _take(self, step: Send | Wait) -> Result:
        if isinstance(step, Wait):
            await self._sleep(step.seconds)
            return None
        import anyio

        if self._free is None:
            self._free, self._idle = anyio.Semaphore(self._connections), [self._http]
        if self._free.value > 0:
            self._free.acquire_nowait()
        else:
            with anyio.move_on_after(step.timeout) as waited:
                await self._free.acquire()
            if waited.cancelled_caught:
                return Lost(f"all connections to {self.url} are in use", False)
        # For every request a client of httpx looks at all its connections: so each of ours has one.
        lane = self._idle.pop() if self._idle else self._connect()
        if lane not in self._lanes:
            self._lanes |= {lane}
        try:
            return _answer(await lane.request(**_arguments(step)))
        except sys.modules["httpx"].TransportError as error:
            return self._lost(error, step)
        finally:
            self._idle.append(lane)
            self._free.release()

    async def _run(self, steps: Steps[T]) -> T:
        result: Result = None
        while True:
            try:
                step = steps.send(result)
            except StopIteration as done:
                value: T = done.value
                return value
            result = await self._take(step)


def _arguments(step: Send) -> dict[str, Any]:
    """Returns the arguments of httpx's `request`."""
    call = step.call
    headers = dict(call.headers)
    if call.method != "GET":
        # Also without a body: the service refuses changes that a page of another site could ask for.
        headers["content-type"] = call.content_type
    return {
        "method": call.method,
        "url": call.path,
        "content": call.content,
        "params": dict(call.params) or None,
        "headers": headers,
        "timeout": step.timeout,
    }


def _answer(response: httpx.Response) -> Answer:
    return Answer(response.status_code, response.headers, response.content)


class request(Generic[P, T]):
    """A method of both clients, written once: the function it decorates yields a request's steps.

    A blocking client has it as a method that returns the answer, an async one as a coroutine function.
    """

    def __init__(self, steps: Callable[Concatenate[Any, P], Steps[T]]) -> None:
        def method(client: Any, *args: P.args, **kwargs: P.kwargs) -> T:
            answer: T = client._run(steps(client, *args, **kwargs))
            return answer

        async def coroutine(client: Any, *args: P.args, **kwargs: P.kwargs) -> T:
            answer: T = await client._run(steps(client, *args, **kwargs))
            return answer

        self._blocking, self._async = method, coroutine
        signature = inspect.signature(steps)
        answer = str(signature.return_annotation).removeprefix("Steps[").removesuffix("]")
        for function in (method, coroutine):
            functools.update_wrapper(function, steps)
            function.__annotations__ = {**steps.__annotations__, "return": answer}
            vars(function)["__signature__"] = signature.replace(return_annotation=answer)

    @overload
    def __get__(self, client: BlockingTransport, owner: object) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncTransport, owner: object) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: object) -> Callable[Concatenate[Any, P], Any]: ...
    def __get__(self, client: object, owner: Any) -> Any:
        function: Any = self._async if issubclass(owner, AsyncTransport) else self._blocking
        return function if client is None else function.__get__(client)
