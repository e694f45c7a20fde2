"""The program under test."""

import functools

import pytest
from service import server


@pytest.fixture(scope="session")
def banister():
    """Runs the program; what it computes may take a while."""
    return functools.partial(server.banister, deadline=120)
