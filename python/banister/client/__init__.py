"""Clients of the decision service. Needs httpx; knows agents only by their declarations.

In reading order: `retry` (a request as steps that do no I/O), `errors`, `types` (typed answers, made from the
service's OpenAPI document) and `answers` (their methods), `codec` (JSON to and from them), `bodies` (requests),
`log_files` (exports and imports), `calls` and `api` (the methods of both clients, written once), `transport`
(how steps are carried out), `leases` (decisions without a request).
"""

from __future__ import annotations

from .answers import Batch
from .api import Api
from .errors import (
    AuthError,
    BudgetError,
    ConflictError,
    NotFoundError,
    RefusedError,
    ServiceError,
    UnavailableError,
)
from .leases import Lease, LeasedArm
from .transport import AsyncTransport, BlockingTransport

__all__ = [
    "AsyncClient",
    "AuthError",
    "Batch",
    "BudgetError",
    "Client",
    "ConflictError",
    "Lease",
    "LeasedArm",
    "NotFoundError",
    "RefusedError",
    "ServiceError",
    "UnavailableError",
]


class Client(Api, BlockingTransport):
    """A client of the decision service, for programs with threads; `AsyncClient` is its twin.

    It keeps connections open and may be used from several threads at once. A request that gets no
    answer, or the answer "not now", is sent again, and never counts twice.

    Parameters:
        url: URL of the service; else the environment's `BANISTER_URL`, else `http://127.0.0.1:8787`.
        token: token of the service; else the environment's `BANISTER_TOKEN`. It is never shown.
        timeout: seconds to wait for the answer to one attempt.
        retries: number of attempts that may follow the first.
        deadline: seconds after which no further attempt is made.
        connections: number of connections that may be open at once.
        transport: httpx's, in place of its own.

    >>> import banister
    >>> banister.client.Client("http://127.0.0.1:8787", token="secret")
    Client('http://127.0.0.1:8787')
    """


class AsyncClient(Api, AsyncTransport):
    """A client of the decision service, for programs with an event loop: asyncio or trio.

    It has the arguments and the methods of `Client`, to be awaited.

    >>> import banister
    >>> banister.client.AsyncClient("http://127.0.0.1:8787")
    AsyncClient('http://127.0.0.1:8787')
    """
