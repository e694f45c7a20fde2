"""Progress bars, in terminals and notebooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def bar(what: str, shown: bool) -> Iterator[Callable[[float, int], None] | None]:
    """Yields a bar over a share of work, called with the share done and the number of rounds."""
    if not shown:
        yield None
        return
    with warnings.catch_warnings():
        # Without ipywidgets a notebook gets a bar of text, which is fine.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    form = "{desc} {percentage:3.0f}%|{bar:30}| {elapsed} passed, {remaining} left{postfix}"
    progress: Any = tqdm(total=1.0, desc=what, bar_format=form, leave=False)

    def update(done: float, rounds: int) -> None:
        progress.set_postfix_str(f"{_short(rounds)} rounds", refresh=False)
        progress.update(max(done - progress.n, 0.0))

    try:
        yield update
    finally:
        progress.close()


def _short(count: int) -> str:
    return f"{count / 1e6:.1f}M" if count >= 1_000_000 else f"{count:,}"
