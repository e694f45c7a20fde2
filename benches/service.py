"""A service on this machine, for benchmarks of its clients."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from banister.client import Client


@contextmanager
def running() -> Iterator[str]:
    """Yields the address of a new service. `BANISTERD` names the program."""
    program = os.environ.get("BANISTERD", "banisterd")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "serve", "--listen", "127.0.0.1:0", "--data-dir", folder]
        service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert service.stdout is not None
            found = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in service.stdout)
            url = next(match for match in found if match)[0]
            with Client(url) as client:
                while not client.ready():
                    time.sleep(0.01)
            yield url
        finally:
            service.terminate()
            service.wait()
