"""The served OpenAPI document: valid, complete, and true of every answer, also to requests made from it at random."""

import subprocess
import sys

import jsonschema
import openapi_spec_validator
import pytest

from . import routes
from .experiments import ALL, ARMS, FLAG, REQUESTS, costs_of, create_all
from .routes import Document
from .server import LONG, environment, rebuild, wait_for


@pytest.fixture
def server(serve):
    server = serve()
    create_all(server)
    server.post("/v1/experiments", FLAG).ok(201)
    return server


@pytest.fixture
def document(server):
    return Document(server.get("/openapi.json").ok(200))


def test_the_document_is_valid(document):
    assert document.document["openapi"].startswith("3.1.")
    openapi_spec_validator.validate(document.document)
    for name, schema in document.document["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema), name


def test_it_lists_exactly_the_routes_of_the_table(document):
    assert sorted(map(str, routes.of_document(document.document))) == sorted(map(str, routes.of_source()))
    operations = [route.operation for route in routes.of_source()]
    assert len(set(operations)) == len(operations)


def test_every_reference_leads_somewhere_and_every_schema_is_used(document):
    schemas = document.document["components"]["schemas"]
    found = set()

    def walk(value):
        if isinstance(value, dict):
            if isinstance(reference := value.get("$ref"), str):
                prefix, name = reference.rsplit("/", 1)
                assert prefix == "#/components/schemas" and name in schemas, reference
                if name not in found:
                    found.add(name)
                    walk(schemas[name])
            list(map(walk, value.values()))
        elif isinstance(value, list):
            list(map(walk, value))

    walk(document.document["paths"])
    assert found == set(schemas)


def test_every_operation_answers_as_the_document_says(server, document):
    for route in routes.of_source():
        body = routes.BODIES.get(route.operation)
        if isinstance(body, dict):
            document.check_request(route.method, route.path, body)
        path = route.path.replace("{name}", "arms").replace("{id}", "done").replace("{arm}", "brave")
        path = path.replace("{lease}", "1").replace("flags/arms", "flags/flag")
        answer = routes.send(server, route)
        document.check(route.method, path, answer)
        assert answer.status in (200, 201), (route, answer)
    assert len(document.seen) == len(routes.of_source())


def test_bounds_of_the_document_are_kept_exactly(serve):
    server = serve("--max-batch", "3")
    schemas = server.get("/openapi.json").ok(200)["components"]["schemas"]

    def most(schema, field):
        own = schemas[schema]["properties"][field]
        return next(own[key] for key in ("maxItems", "maxLength", "maximum") if key in own)

    def tried(declaration):
        return server.post("/v1/experiments?dry_run=true", ARMS | {"name": "tried"} | declaration).status

    server.post("/v1/experiments", ARMS).ok(201)
    path = "/v1/experiments/arms"
    for schema, field, route in [
        ("DecisionBatch", "decisions", f"{path}/decisions:batch"),
        ("OutcomeBatch", "outcomes", f"{path}/outcomes:batch"),
        ("TrackingBatch", "events", "/v1/track"),
    ]:
        assert most(schema, field) == 3
        entry = {"decisions": {}, "outcomes": {"decision": "x"}}
        entry = entry.get(field, {"event": "x", "targetingKey": "u", "id": "1"})
        assert server.post(route, {field: [entry] * 3}).status == 200
        assert server.post(route, {field: [entry] * 4}).status in (413, 422)
    assert most("ExposureBatch", "exposures") == 3
    for field in ["id", "unit"]:
        assert most("DecisionRequest", field) == 128
    ids = [server.post(f"{path}/decisions", {"id": "x" * count}).status for count in (128, 129)]
    assert ids == [200, 422]
    guardrails = [{"name": f"g{i}", "at_most": 0.5} for i in range(most("Declaration", "guardrails") + 1)]
    assert [tried({"guardrails": own}) for own in (guardrails[:-1], guardrails)] == [200, 422]
    arms = [f"arm-{i}" for i in range(most("Declaration", "arms") + 1)]
    assert [tried({"arms": own, "safe": arms[0]}) for own in (arms[:-1], arms)] == [200, 422]
    longest = most("NamedArm", "name")
    names = [["x" * count, "b"] for count in (longest, longest + 1)]
    assert [tried({"arms": own, "safe": "b"}) for own in names] == [200, 422]


@pytest.mark.parametrize("declaration", ALL, ids=lambda d: d["name"])
def test_every_kind_of_experiment_answers_as_the_document_says(server, document, declaration):
    name = declaration["name"]
    path = f"/v1/experiments/{name}"

    def get(rest=""):
        return document.check("GET", path + rest, server.get(path + rest)).ok(200)

    def post(rest, body, status=200):
        document.check_request("POST", path + rest, body)
        return document.check("POST", path + rest, server.post(path + rest, body)).ok(status)

    document.check_request("POST", "/v1/experiments", declaration)
    dry = declaration | {"name": "dry"}
    answer = server.post("/v1/experiments?dry_run=true", dry)
    document.check("POST", "/v1/experiments?dry_run=true", answer).ok(200)
    server.get("/v1/experiments/dry").problem(404)
    for _ in range(30):
        decision = post("/decisions", REQUESTS[name])
        outcome = {"decision": decision["id"], "reward": 1, "costs": costs_of(declaration, 0.5)}
        status = "pending" if "ttl_seconds" in declaration else "complete"
        assert post("/outcomes", outcome)["status"] == status
        get(f"/decisions/{decision['id']}")
    batch = post("/decisions:batch", {"decisions": [REQUESTS[name], {"id": "@no"}]})
    assert [result["status"] for result in batch["results"]] == [200, 422]
    first = batch["results"][0]["decision"]["id"]
    batch = post("/outcomes:batch", {"outcomes": [{"decision": first, "reward": 0}, {"decision": "none", "reward": 0}]})
    assert [result["status"] for result in batch["results"]] == [200, 404]
    for id in ["done", "part", "open"]:
        get(f"/decisions/{id}")
    listed = get("/decisions?limit=1000")["decisions"]
    assert len(listed) == get()["counts"]["decisions"]
    statuses = {d["status"] for d in listed} - {"cancelled"}
    assert statuses == {"open", status} | ({"partial"} if declaration["guardrails"] else set())
    get("/state")
    get("/history")
    for format in ["csv", "parquet"]:
        document.check("GET", f"{path}/export?format={format}", server.get(f"{path}/export?format={format}"))
    for change in [{"status": "paused"}, {"description": "new"}, {"status": "running"}, {"shadow": True}]:
        document.check_request("PATCH", path, change)
        document.check("PATCH", path, server.request("PATCH", path, change)).ok(200)
        if change.get("status") == "paused":
            assert (
                post("/decisions", {k: v for k, v in REQUESTS[name].items() if k not in ("taken", "propensity")})[
                    "certificate"
                ]["fallback"]
                == "paused"
            )
            assert get("/state")["alarm"]["reason"] == "paused"
    document.check("PATCH", path, server.request("PATCH", path, {"status": "archived"})).ok(200)
    for rest, body in [("/decisions", REQUESTS[name]), ("/outcomes", {"decision": "open", "reward": 1})]:
        document.check("POST", path + rest, server.post(path + rest, body)).problem(409)
    get("/state")


def test_a_decision_that_expired_is_as_the_document_says(server, document):
    lives = ARMS | {
        "name": "brief",
        "ttl_seconds": 0.001,
        "default_outcome": {"reward": 0, "costs": {"complaints": 0.5}},
    }
    server.post("/v1/experiments", lives).ok(201)
    server.post("/v1/experiments/brief/decisions", {"id": "gone"}).ok(200)
    path = "/v1/experiments/brief/decisions/gone"
    wait_for(lambda: server.get(path).json()["status"] == "expired", "default outcome")
    audit = document.check("GET", path, server.get(path)).ok(200)
    assert audit["outcome"] == {"reward": 0, "costs": {"complaints": 0.5}}
    assert [event["kind"] for event in audit["events"]] == ["decision", "default"]


def test_every_problem_is_as_the_document_says(server, document):
    """Per operation the problems that a caller can cause, each with a documented status."""
    post, get, patch, delete = "POST", "GET", "PATCH", "DELETE"
    arms, nowhere = "/v1/experiments/arms", "/v1/experiments/nowhere"
    json = {"content-type": "application/json"}
    other = {"content-type": "text/plain"}
    cases = [
        (post, "/v1/experiments", b"{", json, 400),
        (post, "/v1/experiments", ARMS, {}, 409),
        (post, "/v1/experiments", b" " * (3 << 20), json, 413),
        (post, "/v1/experiments", b"{}", other, 415),
        (post, "/v1/experiments", {}, {}, 422),
        (get, nowhere, None, {}, 404),
        (patch, nowhere, {}, {}, 404),
        (patch, arms, b"{", json, 400),
        (patch, arms, b"{}", other, 415),
        (patch, arms, {"status": "asleep"}, {}, 422),
        (post, f"{nowhere}/arms", {"name": "x"}, {}, 404),
        (post, f"{arms}/arms", {"name": "bold"}, {}, None),
        (post, f"{arms}/arms", {"name": ""}, {}, 422),
        (delete, f"{nowhere}/arms/x", None, {}, 404),
        (delete, f"{arms}/arms/nobody", None, {}, 404),
        (delete, f"{arms}/arms/control", None, {}, 409),
        (get, f"{nowhere}/state", None, {}, 404),
        (get, f"{nowhere}/history", None, {}, 404),
        (post, f"{nowhere}/decisions", {}, {}, 404),
        (post, f"{arms}/decisions", {"context": [1]}, {}, 422),
        (post, f"{arms}/decisions", b"nonsense", json, 400),
        (get, f"{nowhere}/decisions", None, {}, 404),
        (get, f"{arms}/decisions?limit=0", None, {}, 400),
        (get, f"{arms}/decisions/none", None, {}, 404),
        (get, f"{nowhere}/decisions/none", None, {}, 404),
        (post, f"{arms}/decisions:batch", {"decisions": []}, {}, 422),
        (post, f"{nowhere}/decisions:batch", {"decisions": [{}]}, {}, 200),
        (post, f"{nowhere}/outcomes", {"decision": "x"}, {}, 404),
        (post, f"{arms}/outcomes", {"decision": "none", "reward": 1}, {}, 404),
        (post, f"{arms}/outcomes", {"decision": "done", "reward": 1}, {}, 409),
        (post, f"{arms}/outcomes", {"decision": "open", "reward": 1e200}, {}, 422),
        (post, f"{arms}/outcomes:batch", {"outcomes": []}, {}, 422),
        (get, f"{nowhere}/export", None, {}, 404),
        (get, f"{arms}/export?format=x", None, {}, 400),
        (post, f"{arms}/import", b"", {"content-type": "text/csv"}, None),
        (post, f"{arms}/import", b"x", other, 415),
        (post, f"{nowhere}/import", routes.CSV, {"content-type": "text/csv"}, 404),
    ]
    for method, path, body, headers, status in cases:
        answer = server.request(method, path, body, headers=headers)
        document.check(method, path, answer)
        assert answer.status == status or (status is None and 400 <= answer.status < 500), (path, body, answer)


def test_refusals_of_strangers_are_as_the_document_says(serve):
    server = serve("--rate", "2", "--require-token")
    token = server.make_token("read", "reader")
    read = wait_for(lambda: (a := server.get("/openapi.json", token=token)).status == 200 and a, "document")
    document = Document(read.json())
    for route in routes.of_source():
        if route.role is None:
            continue
        path = route.path.replace("{name}", "arms").replace("{id}", "done").replace("{arm}", "x")
        document.check(route.method, path, routes.send(server, route)).problem(401)
        answer = wait_for(
            lambda route=route: (a := routes.send(server, route, token=token)).status != 429 and a, "answer"
        )
        if route.role != "read":
            document.check(route.method, path, answer).problem(403)
        if route.role == "read":
            answer = wait_for(
                lambda route=route: (a := routes.send(server, route, token=token)).status == 429 and a, "limit"
            )
            document.check(route.method, path, answer).problem(429)


def test_the_registry_of_agents_is_a_schema_that_agents_fulfil(server):
    schema = server.get("/v1/agents").ok(200)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for experiment in server.get("/v1/experiments").ok(200)["experiments"]:
        validator.validate(experiment["agent"])
    assert not validator.is_valid({"kind": "oracle"})
    assert not validator.is_valid({"kind": "opb", "nonsense": 1})


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
include-operation-id = ["decide_batch", "report_batch", "expose", "track"]
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
