"""Fixtures that tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from fake_service import GUARDRAIL, Blocking, FakeService, Make, Time, serving
from logs import columns, make

import banister

# LiteLLM's prices are those that come with it, not those of the day.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
# A shell starts jobs in the background with Ctrl-C ignored, which they and what they start would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(name="data")
def _data() -> dict[str, Any]:
    return columns()


@pytest.fixture(name="log")
def _log(data: dict[str, Any]) -> banister.offline.Log:
    return make(data)


@pytest.fixture(name="service")
def _service() -> Iterator[FakeService]:
    with serving() as fake:
        yield fake


@pytest.fixture(name="make", params=[banister.client.Client, Blocking], ids=["sync", "async"])
def _make(request: pytest.FixtureRequest) -> Iterator[Make]:
    made: list[Any] = []

    def make(url: str, **options: Any) -> Any:
        made.append(request.param(url, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture(name="client")
def _client(make: Make, service: FakeService) -> Any:
    client = make(service.url)
    Time(client)
    client.create("checkout", arms=["control", "bold"], guardrails=[GUARDRAIL])
    service.requests.clear()
    return client
