"""The routes: the source's table, the served document, a request for each, and checks of answers by the document."""

import dataclasses
import re

import jsonschema

from .experiments import ARMS, FLAG
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
    """Returns the routes of the served document."""
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


#: Per operation that takes a body: a valid one for the experiment `arms`, or for `priced`.
CSV = b"action,reward,complaints\nbold,0.5,0.25\n"
BODIES = {
    "create_experiment": ARMS | {"name": "created"},
    "change_experiment": {"description": "changed"},
    "add_arm": {"name": "added"},
    "set_weights": {"dollars": {"calls": 0.02}},
    "decide": {"id": "decided"},
    "decide_batch": {"decisions": [{"id": "one of many"}, {}]},
    "report": {"decision": "open", "reward": 0.5},
    "report_batch": {"outcomes": [{"decision": "open", "reward": 0.5}, {"decision": "no such"}]},
    "import": CSV,
    "grant_lease": {"seconds": 60},
    "expose": {"exposures": [{"unit": "u", "arm": "bold", "at": 0}]},
    "track": {"events": [{"event": "bought", "targetingKey": "u", "id": "order"}]},
    "evaluate_flag": {"context": {"targetingKey": "u"}},
    "evaluate_flags": {"context": {"targetingKey": "u"}},
}


def send(server, route, token=None, headers=None, method=None, experiment="arms"):
    """A valid request for a route, with a token or without."""
    # What has an outcome cannot be cancelled.
    id = "decided" if route.operation == "cancel" else "done"
    # The first event is no lease: a status per exposure.
    path = (
        route.path.replace("{name}", experiment).replace("{id}", id).replace("{arm}", "brave").replace("{lease}", "1")
    )
    body = BODIES.get(route.operation)
    if route.operation == "set_weights":
        path = path.replace("/arms/arms", "/priced/arms")
    if route.operation == "evaluate_flag":
        path = path.replace("/arms", f"/{FLAG['name']}")
    headers = dict(headers or {})
    if isinstance(body, bytes):
        headers["content-type"] = "text/csv"
    return server.request(method or route.method, path, body, headers=headers, token=token)


class Document:
    """The served document, and checks of answers against it."""

    def __init__(self, document):
        self.document = document
        self.seen = set()

    def operation(self, method, path):
        for template, item in self.document["paths"].items():
            pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
            if re.fullmatch(pattern, path.split("?")[0]) and method.lower() in item:
                # Literal paths before patterns: `decisions:batch` is no name.
                return template, item[method.lower()]
        raise AssertionError(f"{method} {path} is not in the document")

    def schema(self, schema):
        """A schema with the document's components, so that references lead somewhere."""
        return schema | {"components": self.document["components"]}

    def valid(self, schema, value):
        validator = jsonschema.Draft202012Validator(
            self.schema(schema), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
        )
        errors = [f"{e.json_path}: {e.message[:300]}" for e in validator.iter_errors(value)]
        assert errors == [], errors

    def check(self, method, path, answer):
        """Status, content type and body are as the document says."""
        _, operation = self.operation(method, path)
        responses = operation["responses"]
        assert str(answer.status) in responses, (method, path, answer)
        content = responses[str(answer.status)]["content"]
        assert answer.kind in content, (method, path, answer.headers)
        if answer.kind in ("application/json", "application/problem+json"):
            self.valid(content[answer.kind]["schema"], answer.json())
        self.seen.add((operation["operationId"], answer.status))
        return answer

    def check_request(self, method, path, body):
        """Checks a request against the document."""
        _, operation = self.operation(method, path)
        self.valid(operation["requestBody"]["content"]["application/json"]["schema"], body)
