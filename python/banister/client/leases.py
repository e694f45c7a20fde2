"""Decisions under a lease: drawn by this program itself, also while the service cannot be reached."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from .._native import LeaseHolder
from .bodies import outcome_report, pieces
from .calls import batch_content, batch_results, make_call, path
from .errors import ServiceError
from .retry import Attempts, Lost
from .types import Exposed, OutcomeAnswer

if TYPE_CHECKING:
    from typing_extensions import Self

    from . import Client

_ANSWERS: dict[str, type[Any]] = {"exposure": Exposed, "outcome": OutcomeAnswer}
#: Least seconds between two requests for a lease that was granted.
_LEAST = 0.5


class LeasedArm(NamedTuple):
    """The arm of a unit, and the id of the decision, which outcomes are reported under.

    The id is None where the safe arm is played for want of a policy: nothing is to be reported then.
    """

    arm: str
    decision: str | None


class Lease:
    """Decides by a lease, which a thread renews; what was decided and its outcomes are reported by the same thread.

    Without a lease that holds, the safe arm is played. `decide` never waits, and never raises for want of a service.

    Parameters:
        client: a client of the service.
        name: the experiment.
        safe: its safe arm, which is played until the first lease is there.
        seconds: most seconds that a lease holds: how late an alarm, a pause or a new policy may arrive.
        public_key: the service's key, in hexadecimal digits; else the one that an answer comes with.
        limit: number of decisions that may wait to be reported: beyond it the safe arm is played.
        every: seconds between reports.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        safe: str,
        *,
        seconds: float = 60.0,
        public_key: str | None = None,
        limit: int = 100_000,
        every: float = 2.0,
    ) -> None:
        if not every > 0:
            raise ValueError(f"`every` is {every}: must be a positive number of seconds")
        self._client = client
        self._once = replace(client._pace, retries=0)
        self._path = path(name)
        self._terms = {"seconds": seconds}
        self._every = every
        self._safe, self._limit = safe, limit
        self._holder = LeaseHolder(name, safe, public_key, limit)
        self._outcomes: deque[dict[str, Any]] = deque()
        self._sending: list[tuple[str, str, list[dict[str, Any]]]] = []
        self._lock = threading.Lock()
        self._closed = threading.Event()
        #: Number of exposures and outcomes that the service refused, or that there was no room for.
        self.refused = 0
        #: The last error: of the service, or of a lease that is not what it should be.
        self.error: Exception | None = None
        self._renew()
        self._thread = threading.Thread(target=self._keep, name=f"lease of {name}", daemon=True)
        self._thread.start()

    def decide(self, unit: str, segment: str = "") -> LeasedArm:
        """Returns the arm of a unit."""
        return LeasedArm(*self._holder.decide(unit, segment, _clock()))

    def decide_many(self, units: list[str], segment: str = "") -> tuple[list[str], list[str | None]]:
        """Returns the arms of many units, and the ids of their decisions."""
        return self._holder.decide_many(units, segment, _clock())

    def report(
        self,
        decision: str | None = "",
        *,
        unit: str | None = None,
        report: str | None = None,
        reward: float | None = None,
        costs: Mapping[str, float] | None = None,
        signals: Mapping[str, float] | None = None,
    ) -> None:
        """Keeps an outcome to be reported: of a decision by its id, or of a unit; nothing where the id is None."""
        if decision is None:
            return
        outcome = outcome_report(decision, unit=unit, report=report, reward=reward, costs=costs, signals=signals)
        if len(self._outcomes) < self._limit:
            self._outcomes.append(outcome)
        else:
            self.refused += 1

    @property
    def seconds_left(self) -> float:
        """Seconds for which the lease still holds; 0 without one."""
        return self._holder.left(_clock()) / 1000

    def flush(self) -> None:
        """Reports all that waits. If the service cannot take it now, raises its error, and keeps what is left."""
        with self._lock:
            if not self._sending:
                # Outcomes first, so that their exposures are among those that are taken.
                outcomes = [self._outcomes.popleft() for _ in range(len(self._outcomes))]
                for lease, entries in json.loads(self._holder.take_exposures()):
                    self._sending.append((f"leases/{lease}/exposures", "exposure", entries))
                self._sending.append(("outcomes:batch", "outcome", outcomes))
            while self._sending:
                where, key, entries = self._sending[0]
                for piece in pieces(entries):
                    content = self._post(where, batch_content(key, piece))
                    results = batch_results(json.loads(content), key, _ANSWERS[key], len(piece))
                    refused = [result for result in results if isinstance(result, ServiceError)]
                    self.refused += len(refused)
                    if refused:
                        self.error = refused[-1]
                del self._sending[0]

    def close(self) -> None:
        """Reports what waits, if the service can be reached, and ends the thread; then the safe arm is played."""
        self._closed.set()
        self._thread.join()
        try:
            self.flush()
        except ServiceError as error:
            self.error = error
        self._holder = LeaseHolder("", self._safe, None, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _post(self, where: str, content: bytes) -> bytes:
        call = make_call("POST", f"{self._path}/{where}", content=content)
        return self._client._run(Attempts(self._once).send(call)).content

    def _renew(self) -> bool:
        sent = _clock()
        try:
            self._holder.accept(self._post("leases", json.dumps(self._terms).encode()), sent)
        except Exception as error:  # Without its thread, a lease would not be renewed any more.
            self.error = error
            return False
        return True

    def _keep(self) -> None:
        failures = 0 if self.seconds_left else 1
        while True:
            due = self._once.pause(failures, Lost("", sent=True)) if failures else max(self.seconds_left / 2, _LEAST)
            renewal = time.monotonic() + due
            while (left := renewal - time.monotonic()) > 0:
                if self._closed.wait(min(left, self._every)):
                    return
                try:
                    self.flush()
                except Exception as error:
                    self.error = error
            failures = 0 if self._renew() else failures + 1


#: Clocks that never go back; where there is one, that goes on while the machine sleeps.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)


def _clock() -> int:
    """Milliseconds that never go back."""
    return (time.monotonic_ns() if _CLOCK is None else time.clock_gettime_ns(_CLOCK)) // 1_000_000
