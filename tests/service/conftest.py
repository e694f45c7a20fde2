"""Servers and browsers for the tests, stopped whatever happens."""

import pytest

from .browser import browser, look  # noqa: F401
from .server import Server


@pytest.fixture
def serve(tmp_path):
    """Starts servers; all are killed at the end of the test."""
    servers = []

    def start(*flags, data_dir=None, wait=True, **more):
        folder = data_dir or tmp_path / "data"
        if data_dir is None:
            folder.mkdir(exist_ok=True)
        server = Server(folder, tmp_path / f"server-{len(servers)}.log", *flags, **more)
        servers.append(server)
        server.start()
        return server.ready() if wait else server

    yield start
    for server in servers:
        if server.process is not None and server.process.poll() is None:
            server.process.kill()
        server.stop()


@pytest.fixture
def service(serve):
    """A server with nothing in it."""
    return serve()
