"""A control group with a memory limit of its own, in either version of Linux's control groups."""

import contextlib
import os
import pathlib

import pytest

from .server import wait_for

#: Where the versions are mounted, the file that shows it is the right one, and the file of the limit.
PLACES = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.limit_in_bytes"),
    ("/sys/fs/cgroup", "cgroup.controllers", "memory.max"),
]


def made(limit):
    """The folder of a new group; skips the test where no version lets us make one."""
    reasons = []
    for place, mark, file in PLACES:
        root = pathlib.Path(place)
        if not (root / mark).exists():
            reasons.append(f"no {place}/{mark}")
            continue
        group = root / f"banister-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as error:
            reasons.append(str(error))
            continue
        try:
            (group / file).write_text(str(limit))
            # Swapped out is not bounded.
            for swap in [group / "memory.memsw.limit_in_bytes", group / "memory.swap.max"]:
                with contextlib.suppress(OSError):
                    if swap.exists():
                        swap.write_text("0" if swap.name == "memory.swap.max" else str(limit))
            return group
        except OSError as error:
            reasons.append(str(error))
            group.rmdir()
    pytest.skip(f"no memory limits can be set here: {'; '.join(reasons)}")


@contextlib.contextmanager
def limited(megabytes):
    """The words before a command that make it run under a memory limit."""
    group = made(megabytes << 20)
    try:
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$0" "$@"']
    finally:
        wait_for(lambda: not (group / "cgroup.procs").read_text().split(), "end of the group's processes")
        group.rmdir()
