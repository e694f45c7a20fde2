"""Requests made by a machine from the served document: never a 5xx, always as documented."""

import subprocess
import sys

from . import routes
from .experiments import create_all
from .log import rebuild
from .server import LONG, environment

#: Per operation and phase.
EXAMPLES = 400 if LONG else 12
CHECKS = """
[checks]
enabled = false
not_a_server_error.enabled = true
status_code_conformance.enabled = true
content_type_conformance.enabled = true
response_headers_conformance.enabled = true
response_schema_conformance.enabled = true
negative_data_rejection.enabled = true
unsupported_method.enabled = true
ignored_auth.enabled = true

# In a batch each entry has a status of its own: a wrong one is refused within a 200.
[[operations]]
include-operation-id = ["decide_batch", "report_batch"]
checks.negative_data_rejection.enabled = false
"""


def test_schemathesis_finds_nothing(serve, tmp_path):
    server = serve()
    create_all(server)
    server.token = server.make_token("admin", "fuzz")
    (tmp_path / "schemathesis.toml").write_text(CHECKS)
    command = [
        sys.executable,
        "-m",
        "schemathesis.cli",
        "run",
        f"{server.url}/openapi.json",
        "--max-examples",
        EXAMPLES,
        "--seed",
        2024,
        "--no-color",
        "--header",
        f"Authorization: Bearer {server.token}",
        "--request-timeout",
        30,
        "--warnings",
        "off",
    ]
    done = subprocess.run(
        list(map(str, command)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(NO_PROXY="127.0.0.1"),
        timeout=1800 if LONG else 150,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
    # All but the one that serves the document itself.
    assert f"Tested: {len(routes.of_source()) - 1}" in done.stdout, done.stdout

    assert server.process.poll() is None
    assert "panicked" not in server.log() and "a defect" not in server.log()
    server.ready()
    assert server.stop() == 0
    assert rebuild(server.data_dir)["events"] > 50
