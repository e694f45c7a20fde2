"""Libraries that come with an extra of the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Says which extra to install if an import in the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error.name} is not installed: pip install 'banister[{name}]'", name=error.name
        ) from error
