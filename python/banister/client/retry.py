"""Requests as steps, and when they are sent again. Nothing here does I/O, sleeps or reads a clock.

A request is a generator: it yields what to do (`Send`, `Wait`), receives the result, and returns the
answer. The two clients differ only in how they carry it out.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TypeAlias, TypeVar

from .errors import LATER, ServiceError, UnavailableError, error_of

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A request as data."""

    method: str
    path: str
    #: JSON, or a file with its `content_type`.
    content: bytes | None = None
    content_type: str = "application/json"
    params: Mapping[str, str] = field(default_factory=dict)
    #: True if it may be done twice without harm; otherwise a lost answer is not followed by a guess.
    repeatable: bool = True
    #: True if an attempt may take until the deadline.
    long: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Send:
    """Step: send this and wait for an answer until the timeout."""

    call: Call
    timeout: float


@dataclass(frozen=True)
class Wait:
    """Step: sleep."""

    seconds: float


@dataclass(frozen=True)
class Answer:
    """A response of the service."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class Lost:
    """No answer came back."""

    reason: str
    #: True if the service may have got the request.
    sent: bool
    cause: Exception | None = None


Result: TypeAlias = Answer | Lost | None
Steps: TypeAlias = Generator[Send | Wait, Result, T]


class LostAnswer(UnavailableError):
    """The service may have done what it was asked to, or not: the answer was lost."""


@dataclass
class Pace:
    """Timeouts and retries of a client."""

    timeout: float = 5.0
    retries: int = 8
    deadline: float = 30.0
    #: The first pause is at most this long, each further one at most twice the one before.
    first: float = 0.1
    longest: float = 5.0
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)
    #: Not the program's own generator: a seed of it must not bring all clients back at once.
    uniform: Callable[[float, float], float] = random.SystemRandom().uniform

    def __post_init__(self) -> None:
        for name in ("timeout", "deadline"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ValueError(f"`{name}` is {value}: must be a positive number of seconds")
        if self.retries < 0:
            raise ValueError(f"`retries` is {self.retries}: must be at least 0")

    def pause(self, failures: int, result: Answer | Lost) -> float:
        """Returns the wait after n failures: exponential with full jitter, so that many
        clients do not come back at once; and not before the service's own `Retry-After`."""
        # Beyond 2³⁰ times the first pause there is only the longest.
        most = min(self.longest, self.first * 2.0 ** min(failures - 1, 30))
        jitter = self.uniform(0.0, most)
        return jitter + (self._retry_after(result) if isinstance(result, Answer) else 0.0)

    def _retry_after(self, answer: Answer) -> float:
        text = answer.headers.get("retry-after", "").strip()
        try:
            if text.isdecimal():
                return float(text)
            at = parsedate_to_datetime(text)
            at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
            return max((at - self.now()).total_seconds(), 0.0)
        except (TypeError, ValueError):
            return 0.0


class Attempts:
    """The attempts at one request: how many there were, and how much time is left."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._end = pace.clock() + pace.deadline
        self._failures = 0

    def send(self, call: Call) -> Steps[Answer]:
        """Sends until there is an answer, for better or worse, or no patience is left."""
        while True:
            left = self._end - self._pace.clock()
            most = left if call.long else min(self._pace.timeout, left)
            result = yield Send(call, max(most, 0.001))
            assert result is not None
            if isinstance(result, Answer) and result.status not in LATER:
                if 200 <= result.status < 300:
                    return result
                raise _refused(result)
            error, cause = _unavailable(call, result)
            if isinstance(error, LostAnswer):
                raise error from cause
            yield from self.pause(result, error, cause)

    def pause(self, result: Answer | Lost, error: ServiceError, cause: BaseException | None = None) -> Steps[None]:
        """Waits before the next attempt, or raises the error if there is none."""
        self._failures += 1
        if self._failures > self._pace.retries:
            raise error from cause
        seconds = self._pace.pause(self._failures, result)
        if self._pace.clock() + seconds >= self._end:
            raise error from cause
        yield Wait(seconds)


def _refused(answer: Answer) -> ServiceError:
    error = error_of(answer.status, answer.content, answer.headers.get("x-request-id"))
    seconds = answer.headers.get("retry-after", "").strip()
    error.retry_after = float(seconds) if seconds.isdecimal() else None
    return error


def _unavailable(call: Call, result: Answer | Lost) -> tuple[ServiceError, Exception | None]:
    """Returns the error to raise if there is no further attempt."""
    if isinstance(result, Answer):
        error = _refused(result)
        if call.repeatable or result.status == 429:
            return error, None
        known = {key: value for key, value in vars(error).items() if key != "detail"}
        return LostAnswer(error.detail, **known), None
    kind = LostAnswer if result.sent and not call.repeatable else UnavailableError
    return kind(result.reason), result.cause
