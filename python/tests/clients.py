"""Both clients with one face, and time that does not pass."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any, TypeAlias

import banister

GUARDRAIL = banister.Guardrail("complaints", at_most=0.2, safe_cost=0.05)
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Blocking:
    """An `AsyncClient` with the face of a `Client`, so that one test is for both."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.client = banister.client.AsyncClient(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self.client, name)
        if not inspect.iscoroutinefunction(member):
            return member
        return lambda *a, **k: self.loop.run_until_complete(member(*a, **k))

    def __repr__(self) -> str:
        return repr(self.client)

    def close(self) -> None:
        self.loop.run_until_complete(self.client.close())
        self.loop.close()


class Time:
    """A clock that moves only when somebody sleeps."""

    def __init__(self, client: Any) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        self.asked: list[tuple[float, float]] = []
        pace = client._pace
        pace.clock = lambda: self.seconds
        pace.uniform = self.uniform
        pace.now = lambda: NOW + timedelta(seconds=self.seconds)
        inner = getattr(client, "client", client)
        inner._sleep = self.sleep if inner is client else self.sleep_async

    def uniform(self, low: float, high: float) -> float:
        self.asked.append((low, high))
        return high

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


Make: TypeAlias = Callable[..., Any]
"""Makes a client, sync or async, that is closed after the test."""
