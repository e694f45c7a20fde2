"""The real service as a process of its own, as people start it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import banister

ROOT = Path(__file__).parents[2]
#: The service is a program of its own, not a part of this package.
PROGRAM = os.environ.get("BANISTERD", str(ROOT / "target" / "debug" / "banisterd"))
#: If the service does not listen by then, it never will.
PATIENCE = 60


def plain() -> dict[str, str]:
    """The environment without settings of another service."""
    return {key: value for key, value in os.environ.items() if not key.startswith("BANISTER_")}


def make_token(data: Path, role: str, name: str) -> str:
    """A new token for the service of a folder."""
    command = [PROGRAM, "token", "create", "--data-dir", str(data), "--role", role, name]
    done = subprocess.run(command, env=plain(), capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout.strip()


def await_ready(url: str) -> None:
    """Returns when the service takes requests, which is a moment after it listens."""
    end = time.monotonic() + PATIENCE
    with banister.client.Client(url) as client:
        while not client.ready():
            assert time.monotonic() < end, "the service listens and does not become ready"
            time.sleep(0.01)


@contextmanager
def running(data: Path, stop: signal.Signals = signal.SIGTERM, port: int = 0) -> Iterator[str]:
    """Runs the service, on a free port, until the end of the block, then asks it to stop; its address."""
    command = [PROGRAM, "serve", "--listen", f"127.0.0.1:{port}", "--data-dir", str(data)]
    with open(data / "stderr.txt", "a+", encoding="utf-8") as complaints:
        process = subprocess.Popen(command, env=plain(), stdout=subprocess.PIPE, stderr=complaints, text=True)
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        assert process.stdout is not None
        try:
            url = None
            for line in process.stdout:
                found = re.search(r"the page is at (http://127\.0\.0\.1:\d+)/", line)
                if found:
                    url = found[1]
                    break
            timer.cancel()
            complaints.seek(0)
            assert url is not None, f"the service does not listen: {complaints.read()}"
            # What it prints later must not fill the pipe.
            drain = threading.Thread(target=process.stdout.read, daemon=True)
            drain.start()
            await_ready(url)
            yield url
            process.send_signal(stop)
            assert process.wait(PATIENCE) == 0, "asked to stop, it stops and is content"
        finally:
            timer.cancel()
            if process.poll() is None:
                process.kill()
                process.wait()
