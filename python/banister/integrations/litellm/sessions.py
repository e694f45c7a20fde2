"""Sessions: calls that keep an arm together, and are learned as one outcome."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .backends import AnyDecision

log = logging.getLogger(__name__)

#: Sessions that are open; beyond, the oldest ends.
MAX_SESSIONS = 100_000

Unit: TypeAlias = Callable[[Mapping[str, Any]], "str | None"]
"""From a request (`messages`, `input`, `request_kwargs`) to its session."""


@dataclass(eq=False)
class Session:
    """Calls of one session, and the sums of those that were learned."""

    key: str
    arm: str
    #: None if no decision was made, or another arm had to be played: nothing is learned then.
    decision: AnyDecision | None
    began: float
    #: Calls under way.
    open: int = 0
    #: True if no more calls belong to it.
    is_over: bool = False
    is_learned: bool = False
    calls: int = 0
    reward: float = 0.0
    costs: dict[str, float] = field(default_factory=dict)

    def means(self) -> tuple[float, dict[str, float]]:
        """Returns reward and costs per call."""
        return self.reward / self.calls, {name: cost / self.calls for name, cost in self.costs.items()}


def session_id(query: Mapping[str, Any]) -> str | None:
    """Returns `litellm_session_id`, else `user`, else `metadata["session_id"]` of a request; None without any."""
    request = query["request_kwargs"]
    tables = [request, *(request.get(name) or {} for name in ("metadata", "litellm_metadata"))]
    found = [one.get("litellm_session_id") for one in tables] + [request.get("user")]
    found += [one.get("session_id") for one in tables[1:]]
    return next((str(one) for one in found if one), None)


class Sessions:
    """Sessions by key, the oldest first, from every thread."""

    def __init__(self, unit: Unit | str, period: float) -> None:
        self._key: Unit = unit if callable(unit) else session_id
        self._period = period
        #: Held while a session's first call is decided, so that there is one decision for it.
        self.turn = threading.RLock()
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._due: list[Session] = []

    def key(self, query: Mapping[str, Any]) -> str | None:
        """Returns the session of a request; None for one that is alone."""
        try:
            key = self._key(query)
        except Exception as error:
            log.warning("a call without a session: %r", error)
            return None
        return None if key is None else str(key)

    def find(self, key: str | None) -> Session | None:
        """Returns the session that a call belongs to."""
        with self._lock:
            self._sweep()
            return None if key is None else self._sessions.get(key)

    def begin(self, key: str, arm: str, decision: AnyDecision | None) -> Session:
        """Returns a session that begins; the one that there is, if another thread was faster."""
        with self._lock:
            self._sweep()
            session = self._sessions.setdefault(key, Session(key, arm, decision, time.monotonic()))
            while len(self._sessions) > MAX_SESSIONS:
                self._end(next(iter(self._sessions)))
        return session

    def move(self, session: Session, arm: str) -> None:
        """Gives a session another arm: it is closed, and teaches nothing."""
        with self._lock:
            session.arm, session.decision = arm, None

    def enter(self, session: Session) -> None:
        """A call begins."""
        with self._lock:
            session.open += 1

    def add(self, session: Session, reward: float, costs: Mapping[str, float]) -> bool:
        """Adds the outcome of a call; False if the session was learned, or is closed."""
        with self._lock:
            if session.is_learned or session.decision is None:
                return False
            session.calls += 1
            session.reward += reward
            for name, cost in costs.items():
                session.costs[name] = session.costs.get(name, 0.0) + cost
            return True

    def leave(self, session: Session) -> None:
        """A call has ended."""
        with self._lock:
            session.open -= 1
            self._settle(session)

    def end(self, key: str) -> bool:
        """Ends a session; False if there is none."""
        with self._lock:
            is_known = key in self._sessions
            if is_known:
                self._end(key)
            return is_known

    def end_all(self) -> None:
        """Ends all sessions as they are, also with calls under way."""
        with self._lock:
            for key in list(self._sessions):
                self._sessions[key].open = 0
                self._end(key)

    def due(self) -> list[Session]:
        """Returns the sessions that are to be learned, once."""
        with self._lock:
            self._sweep()
            found, self._due = self._due, []
        return found

    def _sweep(self) -> None:
        """Ends the sessions whose period is over."""
        now = time.monotonic()
        while self._sessions:
            oldest = next(iter(self._sessions.values()))
            if now - oldest.began < self._period:
                return
            self._end(oldest.key)

    def _end(self, key: str) -> None:
        session = self._sessions.pop(key)
        session.is_over = True
        self._settle(session)

    def _settle(self, session: Session) -> None:
        if session.is_over and session.open <= 0 and not session.is_learned:
            session.is_learned = True
            if session.calls and session.decision is not None:
                self._due.append(session)
