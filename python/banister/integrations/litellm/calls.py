"""Calls under way, and sums over those that ended."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from .backends import AnyDecision
from .sessions import Session

#: Calls and qualities that are waited for; beyond, the oldest are given up.
MAX_OPEN = 100_000

REPLACED, TOO_LONG, UNDECIDED = "replaced by the safe arm", "too long", "undecided by the service"
REFUSED, GIVEN_UP, JUDGE_FAILED, NO_BUDGET = "refused", "given up", "judge failed", "refused by a budget"
NO_FEATURES, AFTER_SESSION = "without features", "after its session"
REASONS = (REPLACED, TOO_LONG, UNDECIDED, REFUSED, GIVEN_UP, JUDGE_FAILED, NO_BUDGET, NO_FEATURES, AFTER_SESSION)

V = TypeVar("V")


@dataclass
class Call:
    """A call under way."""

    arm: str
    #: None if no decision was made.
    decision: AnyDecision | None
    #: True if its outcome will be learned.
    is_learned: bool
    #: None for a call that is alone.
    session: Session | None = None
    session_ended: bool = False
    dollars: float = 0.0
    output_tokens: int = 0
    seconds: float = 0.0
    began: float = field(default_factory=time.monotonic)


@dataclass
class ArmTotals:
    """Sums over the calls of one arm."""

    calls: int = 0
    failures: int = 0
    dollars: float = 0.0
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    #: Calls whose quality was learned, and the sum of it.
    judged: int = 0
    quality: float = 0.0


class Calls:
    """All calls of a strategy, from every thread: each begins once and ends once, however often it is told."""

    def __init__(self, arms: list[str]) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, Call] = {}
        self._judging = 0
        self._waiting: dict[str, Call] = {}
        self._early: dict[str, float] = {}
        self._totals = {arm: ArmTotals() for arm in arms}
        self._counts = dict.fromkeys(REASONS, 0)

    def begin(self, id: str, call: Call) -> None:
        """Records a call that begins."""
        with self._lock:
            self._keep(self._open, id, call)

    def end(self, id: str, response: Any, cost: float | None, seconds: float) -> Call | None:
        """Returns the call that ended, with a response or without; None if it is unknown or ended before."""
        with self._lock:
            call = self._open.pop(id, None)
            if call is None:
                return None
            answered = response is not None
            # An answer without a known cost was not free.
            call.dollars = float(cost) if cost is not None else math.nan if answered else 0.0
            call.seconds = seconds
            self._judging += call.is_learned and answered
            totals = self._totals[call.arm]
            totals.calls += 1
            totals.failures += not answered
            totals.dollars += 0.0 if math.isnan(call.dollars) else call.dollars
            totals.seconds += seconds
            usage = getattr(response, "usage", None)
            totals.input_tokens += _first(usage, "prompt_tokens", "input_tokens")
            call.output_tokens = _first(usage, "completion_tokens", "output_tokens")
            totals.output_tokens += call.output_tokens
        return call

    def overdue(self, seconds: float) -> list[Call]:
        """Returns the calls that have been open for so long, which count as failed from now on."""
        found, now = [], time.monotonic()
        with self._lock:
            # The oldest come first.
            while self._open and now - next(iter(self._open.values())).began > seconds:
                call = self._open.pop(next(iter(self._open)))
                call.seconds = now - call.began
                self._totals[call.arm].calls += 1
                self._totals[call.arm].failures += 1
                self._counts[GIVEN_UP] += 1
                found.append(call)
        return found

    def judged(self, key: str, call: Call, quality: float | None) -> float | None:
        """Returns the quality of an answer, also if it was reported already; else the call waits for it."""
        with self._lock:
            self._judging -= 1
            quality = self._early.pop(key, None) if quality is None else quality
            if quality is None:
                self._keep(self._waiting, key, call)
        return quality

    def reported(self, key: str, quality: float) -> Call | None:
        """Returns the call that waits for this quality; without one the quality waits for the call."""
        with self._lock:
            call = self._waiting.pop(key, None)
            if call is None:
                self._keep(self._early, key, quality)
        return call

    def learned(self, call: Call, quality: float) -> None:
        """Adds a quality to the sums."""
        with self._lock:
            self._totals[call.arm].judged += 1
            self._totals[call.arm].quality += quality

    def count(self, reason: str) -> int:
        """Counts a call out of the ordinary; returns how many there were."""
        with self._lock:
            self._counts[reason] += 1
            return self._counts[reason]

    def sums(self) -> tuple[dict[str, ArmTotals], dict[str, int]]:
        """Returns copies of the sums by arm and of the counts by reason."""
        with self._lock:
            waiting = {"open": len(self._open) + self._judging, "awaiting quality": len(self._waiting)}
            return {arm: replace(one) for arm, one in self._totals.items()}, {**self._counts, **waiting}

    def _keep(self, table: dict[str, V], key: str, value: V) -> None:
        table[key] = value
        if len(table) > MAX_OPEN:
            del table[next(iter(table))]
            self._counts[GIVEN_UP] += 1


def _first(usage: Any, *names: str) -> int:
    """Returns the first number that is there: interfaces of models name tokens differently."""
    return next((int(value) for name in names if (value := getattr(usage, name, None))), 0)
