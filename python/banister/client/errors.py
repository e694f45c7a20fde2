"""Errors of the decision service and of the way to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class ServiceError(Exception):
    """The decision service refused a request, failed at it, or could not be reached.

    >>> import banister
    >>> error = banister.client.ServiceError.from_problem(
    ...     {"status": 404, "title": "Not Found", "detail": "there is no experiment `chekout`"}
    ... )
    >>> error
    NotFoundError('there is no experiment `chekout` (404)')
    >>> error.status
    404
    """

    #: The status of HTTP; None if there was no answer.
    status: int | None
    #: Kind of error, in a few words.
    title: str
    #: The fault of this request.
    detail: str
    #: The field of the request that is wrong, such as `guardrails[0].at_most`.
    field: str | None
    #: The value of that field.
    value: str | None
    #: The values allowed there.
    allowed: str | None
    #: Id of this request in the service's own log.
    request_id: str | None
    #: Seconds after which to ask again, if the service said so.
    retry_after: float | None

    def __init__(
        self,
        detail: str,
        *,
        status: int | None = None,
        title: str = "",
        field: str | None = None,
        value: str | None = None,
        allowed: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.title = title
        self.detail = detail
        self.field = field
        self.value = value
        self.allowed = allowed
        self.request_id = request_id
        self.retry_after = retry_after
        super().__init__(self._message())

    def _message(self) -> str:
        text = self.detail or self.title or "the service gave no reason"
        if self.field and self.field not in text:
            text = f"`{self.field}`: {text}"
        notes = [] if self.status is None else [str(self.status)]
        if self.request_id:
            notes.append(f"request {self.request_id}")
        return f"{text} ({', '.join(notes)})" if notes else text

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuilt, (type(self), self.detail, dict(vars(self))))

    @staticmethod
    def from_problem(
        problem: Mapping[str, Any], status: int | None = None, request_id: str | None = None
    ) -> ServiceError:
        """Returns the error that a problem document (RFC 9457) describes, as the class for its status."""
        told = problem.get("status")
        code = status if status is not None else told if isinstance(told, int) else 500
        seconds = problem.get("retry_after")
        detail = _text(problem.get("detail")) or ""
        kind = _CLASSES.get(code, ServiceError)
        if code == 429 and problem.get("type") == _EXHAUSTED:
            kind = BudgetError
        return kind(
            detail,
            status=code,
            title=_text(problem.get("title")) or "",
            request_id=_text(problem.get("request_id")) or request_id,
            field=_text(problem.get("field")),
            value=_text(problem.get("value")),
            allowed=_text(problem.get("allowed")),
            retry_after=float(seconds) if isinstance(seconds, (int, float)) else None,
        )


class AuthError(ServiceError):
    """The token is missing or unknown (401), or its role is too small for the request (403)."""


class NotFoundError(ServiceError):
    """There is no such experiment, arm or decision (404)."""


class ConflictError(ServiceError):
    """The request contradicts what the service knows already (409).

    Such as another request with the same decision id, an outcome that says otherwise than the one
    reported before, or anything new for an archived experiment.
    """


class RefusedError(ServiceError, ValueError):
    """Something in the request is not allowed (400, 422); `field`, `value` and `allowed` say what."""


class UnavailableError(ServiceError):
    """The service could not be reached, or has no time (429, 502, 503, 504), also when asked again."""


class BudgetError(UnavailableError):
    """A budget whose `when_exhausted` is `refuse` does not cover the safe action until its next period (429).

    Then not even the safe action may be played; `retry_after` is the number of seconds to the next period.
    """


#: The type of the only 429 about money; all others are about load.
_EXHAUSTED = "urn:banister:budget-exhausted"

#: Statuses that say: not now.
LATER = frozenset({429, 502, 503, 504})

_CLASSES: dict[int, type[ServiceError]] = {
    400: RefusedError,
    401: AuthError,
    403: AuthError,
    404: NotFoundError,
    409: ConflictError,
    422: RefusedError,
    **dict.fromkeys(LATER, UnavailableError),
}


def error_of(status: int, content: bytes, request_id: str | None) -> ServiceError:
    """Returns the error of an answer, which may not be from the service but from something before it."""
    try:
        problem = json.loads(content)
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or not (problem.get("detail") or problem.get("title")):
        start = content[:200].decode("utf-8", "replace").strip()
        problem = {"detail": f"the answer is not of the service: {start!r}"}
    return ServiceError.from_problem(problem, status, request_id)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _rebuilt(kind: type[ServiceError], detail: str, state: dict[str, Any]) -> ServiceError:
    return kind(detail, **{key: value for key, value in state.items() if key != "detail"})
