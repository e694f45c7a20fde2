"""The routes: from the source's table, from the served document, and a request for each."""

import dataclasses
import re

from .experiments import ARMS
from .server import ROOT

TABLE = ROOT / "crates" / "banister-service" / "src" / "routes.rs"
#: From the smallest up.
ROLES = ["read", "report", "decide-only", "decide", "admin"]
RIGHTS = ["read", "report", "decide", "admin"]


@dataclasses.dataclass(frozen=True)
class Route:
    method: str
    path: str
    #: The right it takes, which has the name of the smallest role that has it; None: anybody.
    role: str | None
    operation: str


def of_source():
    """The literal table of the source."""
    text = TABLE.read_text(encoding="utf-8")
    text = text[text.index("pub static ROUTES") :]
    text = text[: text.index("];")]
    entry = re.compile(r'route!\(\s*([A-Z]+)\s+"([^"]*)",\s*(\w+),\s*"([^"]*)"')
    found = [
        Route(method, path, None if access == "Open" else access.lower(), operation)
        for method, path, access, operation in entry.findall(text)
    ]
    assert len(found) == text.count("route!("), "an entry of the table was not understood"
    return found


def of_document(document):
    """What the served document says."""
    found = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if operation.get("security") == []:
                role = None
            else:
                said = re.fullmatch(r"Needs the right to `(\w+)`\.", operation["description"])
                assert said and said[1] in RIGHTS, operation
                role = said[1]
            found.append(Route(method.upper(), path, role, operation["operationId"]))
    return found


#: Per operation that takes a body: content type and a valid body for the experiment `arms`.
CSV = b"action,reward,complaints\nbold,0.5,0.25\n"
BODIES = {
    "create_experiment": ARMS | {"name": "created"},
    "change_experiment": {"description": "changed"},
    "add_arm": {"name": "added"},
    "decide": {"id": "decided"},
    "decide_batch": {"decisions": [{"id": "one of many"}, {}]},
    "report": {"decision": "open", "reward": 0.5},
    "report_batch": {"outcomes": [{"decision": "open", "reward": 0.5}, {"decision": "no such"}]},
    "import": CSV,
}


def send(server, route, token=None, headers=None, method=None, experiment="arms"):
    """A valid request for a route, with a token or without."""
    # What has an outcome cannot be cancelled.
    id = "decided" if route.operation == "cancel" else "done"
    path = route.path.replace("{name}", experiment).replace("{id}", id).replace("{arm}", "brave")
    body = BODIES.get(route.operation)
    headers = dict(headers or {})
    if isinstance(body, bytes):
        headers["content-type"] = "text/csv"
    return server.request(method or route.method, path, body, headers=headers, token=token)
