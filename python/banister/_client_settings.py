"""What both clients are made with, and how a request of theirs looks to httpx."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from ._extra import extra
from ._service_retry import Answer, Lost, Send

if TYPE_CHECKING:
    import httpx

DEFAULT_URL = "http://127.0.0.1:8787"
LOOPBACK = {"127.0.0.1", "localhost", "::1"}

C = TypeVar("C", bound=type)


@dataclass(frozen=True)
class Address:
    """Where the service is, and what opens it. The token is never shown."""

    url: str
    token: str | None = field(repr=False)

    @classmethod
    def found(cls, url: str | None, token: str | None) -> Address:
        """From arguments, or else from the environment."""
        url = (url or os.environ.get("BANISTER_URL") or DEFAULT_URL).rstrip("/")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                f"`url` is {url!r}: must begin with http:// or https:// and name a host"
            )
        if parts.username or parts.password:
            raise ValueError("`url` has a user or a password in it: must be without, give `token`")
        if parts.query or parts.fragment:
            raise ValueError(f"`url` is {url!r}: must end with the host, the port or a path")
        token = token or os.environ.get("BANISTER_TOKEN") or None
        if token is not None and not all("!" <= character <= "~" for character in token):
            raise ValueError("`token` has a space or another character that no token has")
        return cls(url, token)

    def options(self, transport: Any, connections: int) -> dict[str, Any]:
        """The arguments of httpx's clients."""
        httpx = imported()
        if connections < 1:
            raise ValueError(f"`connections` is {connections}: must be at least 1")
        headers = {"accept": "application/json", "user-agent": "banister-client"}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        return {
            "base_url": self.url,
            "headers": headers,
            "transport": transport,
            "limits": httpx.Limits(
                max_connections=connections, max_keepalive_connections=connections
            ),
            # Nobody means a proxy between two programs on one machine.
            "trust_env": urlsplit(self.url).hostname not in LOOPBACK,
        }


def imported() -> Any:
    """httpx, which comes with the extra `client`."""
    with extra("client"):
        import httpx
    return httpx


async def sleep(seconds: float) -> None:
    """Sleeps in whichever event loop httpx runs in."""
    import anyio  # httpx brings it

    await anyio.sleep(seconds)


def request_arguments(step: Send) -> dict[str, Any]:
    """A request as arguments of httpx's `request`."""
    call = step.call
    headers = dict(call.headers)
    if call.content is not None:
        headers["content-type"] = call.content_type
    return {
        "method": call.method,
        "url": call.path,
        "content": call.content,
        "params": dict(call.params) or None,
        "headers": headers,
        "timeout": step.timeout,
    }


def answer(response: httpx.Response) -> Answer:
    """A response as data."""
    return Answer(response.status_code, response.headers, response.content)


def lost(error: httpx.TransportError, address: Address, step: Send) -> Lost:
    """What became of a request that got no answer."""
    httpx = sys.modules["httpx"]
    never = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
    if isinstance(error, never):
        return Lost(f"the service at {address.url} cannot be reached: {_why(error)}", False, error)
    what = f"{step.call.method} {step.call.path}"
    if isinstance(error, httpx.TimeoutException):
        reason = f"the service at {address.url} gave no answer to {what} in {step.timeout:.3g} s"
    else:
        reason = f"the service at {address.url} gave no answer to {what}: {_why(error)}"
    return Lost(reason, True, error)


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


def documented_like(other: type) -> Callable[[C], C]:
    """Takes the docstrings of methods from the twin of a class."""

    def decorate(cls: C) -> C:
        for name, member in vars(cls).items():
            twin = getattr(other, name, None)
            if callable(member) and not member.__doc__ and twin is not None:
                member.__doc__ = twin.__doc__
        return cls

    return decorate
