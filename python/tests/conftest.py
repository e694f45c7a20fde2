"""What tests share."""

from __future__ import annotations

from typing import Any

import pytest
from logs import columns, make

import banister


@pytest.fixture(name="data")
def _data() -> dict[str, Any]:
    return columns()


@pytest.fixture(name="log")
def _log(data: dict[str, Any]) -> banister.Log:
    return make(data)
