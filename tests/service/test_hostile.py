"""Bodies, names and queries that nobody should send: each gets a problem that says what is wrong."""

import itertools
import json

import pytest

from .experiments import ALL, ARMS, REQUESTS, create_all
from .log import rebuild

JSON = {"content-type": "application/json"}
ARMS_PATH = "/v1/experiments/arms"
#: Every route that takes JSON, with a valid body.
TAKERS = {
    ("POST", "/v1/experiments"): ARMS | {"name": "new"},
    ("PATCH", ARMS_PATH): {"description": "x"},
    ("POST", f"{ARMS_PATH}/arms"): {"name": "new"},
    ("POST", f"{ARMS_PATH}/decisions"): {"id": "new"},
    ("POST", f"{ARMS_PATH}/decisions:batch"): {"decisions": [{"id": "new"}]},
    ("POST", f"{ARMS_PATH}/outcomes"): {"decision": "open", "reward": 0.5},
    ("POST", f"{ARMS_PATH}/outcomes:batch"): {"outcomes": [{"decision": "open", "reward": 0.5}]},
}


@pytest.fixture
def server(serve):
    server = serve()
    create_all(server)
    yield server
    # Whatever was sent: it is alive, had no defect, and its log is sound.
    assert server.process.poll() is None
    assert server.get("/readyz").status == 200
    assert "panicked" not in server.log() and "a defect" not in server.log()
    assert server.stop() == 0
    rebuild(server.data_dir)


UNREADABLE = {
    "truncated": b'{"id":"x"',
    "one brace": b"{",
    "a word": b"nonsense",
    "two values": b"{}{}",
    "a comma too many": b"{,}",
    "NaN": b'{"reward":NaN}',
    "Infinity": b'{"reward":-Infinity}',
    "invalid UTF-8": b'{"id":"\xff\xfe"}',
    "half a surrogate": b'{"id":"\\ud800"}',
    "NUL": b"\0",
    "a NUL in a text": b'{"id":"a\0b"}',
    "UTF-16": '{"id":"x"}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "white space": b"   \n ",
    "a deep list": b"[" * 100_000,
    "a deep object": b'{"x":' * 100_000,
    "a deep list within": b'{"context":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a number out of range": b'{"reward":1e999,"decision":"open","propensity":1e999}',
    "a comment": b"{/* */}",
    "single quotes": b"{'id':'x'}",
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_bodies_that_cannot_be_read(server, body):
    for method, path in TAKERS:
        answer = server.request(method, path, body, headers=JSON)
        assert answer.status in (400, 422), (path, answer)
        answer.problem(answer.status)


def test_bodies_of_another_kind(server):
    for (method, path), body in TAKERS.items():
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/json5", "", "multipart/form-data"]:
            headers = {"content-type": kind}
            answer = server.request(method, path, json.dumps(body).encode(), headers=headers)
            answer.problem(415, field="content-type")
        answer = server.request(method, path, json.dumps(body).encode())
        answer.problem(415, field="content-type")
        # Two megabytes and one byte.
        server.request(method, path, b" " * (2 << 20) + b"x", headers=JSON).problem(413)
    for (method, path), body in TAKERS.items():
        headers = {"content-type": "Application/JSON; charset=utf-8"}
        assert server.request(method, path, json.dumps(body).encode(), headers=headers).status in (200, 201)


WRONG = [None, True, 1, -1.5, "x", [], {}, [[]], [1], ["a", "b"], {"a": 1}]


def kinds(body, path=()):
    """Every place in a body, as a path."""
    yield path
    if isinstance(body, dict):
        for key, value in body.items():
            yield from kinds(value, (*path, key))
    if isinstance(body, list):
        for i, value in enumerate(body):
            yield from kinds(value, (*path, i))


def put(body, path, value):
    """The body with another value at a place."""
    if not path:
        return value
    copy = dict(body) if isinstance(body, dict) else list(body)
    copy[path[0]] = put(copy[path[0]], path[1:], value)
    return copy


def test_wrong_types_everywhere(server):
    """No answer is a 5xx, and every refusal of a field says which."""
    bodies = [("POST", "/v1/experiments?dry_run=true", d | {"name": "new"}) for d in ALL]
    bodies += [("POST", f"/v1/experiments/{name}/decisions", r | {"id": "new"}) for name, r in REQUESTS.items()]
    bodies += [(method, path, body) for (method, path), body in TAKERS.items()]
    refused = 0
    connection = server.connect()
    for method, path, body in bodies:
        for place in kinds(body):
            for value in WRONG:
                if not place and value == []:
                    continue  # `test_lists_are_no_objects`
                answer = server.request(method, path, put(body, place, value), connection=connection)
                assert answer.status < 500, (path, place, value, answer)
                if answer.status == 422:
                    refused += 1
                    problem = answer.problem(422)
                    assert problem.get("field") or not place, (path, place, value, problem)
                elif answer.status >= 400:
                    answer.problem(answer.status)
    connection.close()
    assert refused > 500


def test_lists_are_no_objects(server):
    """An object's values in the order of its fields are not that object."""
    for method, path, body in [
        ("POST", f"{ARMS_PATH}/decisions", []),
        ("POST", f"{ARMS_PATH}/decisions", ["an id"]),
        ("POST", f"{ARMS_PATH}/decisions:batch", {"decisions": [[None]]}),
        ("POST", f"{ARMS_PATH}/decisions:batch", [[{}]]),
        ("POST", f"{ARMS_PATH}/outcomes", ["open", 0.5, {"complaints": 0.5}]),
        ("POST", f"{ARMS_PATH}/outcomes:batch", {"outcomes": [["open", 0.5]]}),
        ("PATCH", ARMS_PATH, ["described"]),
        ("POST", f"{ARMS_PATH}/arms", ["new"]),
        ("POST", "/v1/experiments?dry_run=true", ARMS | {"name": "new", "guardrails": [["c", 0.5]]}),
    ]:
        answer = server.request(method, path, body)
        assert answer.status in (400, 422), (path, body, answer)
        answer.problem(answer.status)


def test_unknown_and_repeated_fields(server):
    for (method, path), body in TAKERS.items():
        problem = server.request(method, path, body | {"nonsense": 1}).problem(422, field="nonsense")
        assert "nonsense" in problem["detail"]
        key = next(iter(body))
        twice = json.dumps(body)[:-1] + f", {json.dumps(key)}: {json.dumps(body[key])}}}"
        problem = server.request(method, path, twice.encode(), headers=JSON).problem(422)
        assert key in problem["detail"] and "duplicate" in problem["detail"]
    report = b'{"decision":"open","costs":{"complaints":0,"complaints":1}}'
    server.post(f"{ARMS_PATH}/outcomes", report, headers=JSON).problem(422)


NUMBERS = [
    "1e308",
    "-1e308",
    "1.7976931348623157e308",
    "5e-324",
    "-0.0",
    "1e400",
    "-1e400",
    "1e-400",
    "123456789012345678901234567890",
    "9007199254740993",
    "-1",
    "0.1e1",
    "1E5",
]


def test_numbers_at_the_edge(server):
    """They are taken or refused, and what is learned stays finite."""
    count = itertools.count()
    for text in NUMBERS:
        for path, body in [
            ("context/decisions", '{"context":[%s,0,0]}'),
            ("candidates/decisions", '{"actions":[[%s,%s]]}'),
            ("shadow/decisions", '{"taken":"bold","propensity":%s}'),
            ("arms/outcomes", '{"decision":"open","reward":%s}'),
            ("arms/outcomes", '{"decision":"open","costs":{"complaints":%s}}'),
        ]:
            answer = server.post(f"/v1/experiments/{path}", body.replace("%s", text).encode(), headers=JSON)
            assert answer.status in (200, 400, 409, 422), (path, text, answer)
            if answer.status == 200:
                json.loads(answer.body, parse_constant=pytest.fail)
        for key, value in [
            ("confidence", "%s"),
            ("context", "%s"),
            ("ttl_seconds", "%s"),
            ("reward", '{"range":[0,%s]}'),
            ("reward", '{"range":[%s,1]}'),
            ("reward", '{"sub_gaussian":%s}'),
            ("guardrails", '[{"name":"c","at_most":%s}]'),
            ("guardrails", '[{"name":"c","at_most":0.5,"safe_cost":%s}]'),
            ("guardrails", '[{"name":"c","at_least":0.5,"range":[0,%s]}]'),
        ]:
            rest = json.dumps({k: v for k, v in ARMS.items() if k not in (key, "name")})[1:]
            name = f"n{next(count)}"
            body = f'{{"name":"{name}","{key}":{value.replace("%s", text)},{rest}'
            answer = server.post("/v1/experiments", body.encode(), headers=JSON)
            assert answer.status in (201, 400, 422), (key, text, answer)
            if answer.status == 422:
                assert answer.problem(422)["field"], answer
            if answer.status != 201:
                continue
            path = f"/v1/experiments/{name}"
            context = answer.json()["context"]
            request = {"context": [0.5] * context} if context else {}
            guardrail = answer.json()["guardrails"][0]["name"]
            for _i in range(3):
                made = server.post(f"{path}/decisions", request)
                assert made.status in (200, 422), (body, made)
                if made.status == 200:
                    report = {"decision": made.json()["id"], "reward": 0.5, "costs": {guardrail: 0.25}}
                    # A time to live may be over before anybody can report.
                    assert server.post(f"{path}/outcomes", report).status in (200, 409, 422)
            server.get(f"{path}/state").ok(200)
    for experiment in ["context", "candidates", "arms"]:
        server.get(f"/v1/experiments/{experiment}/state").ok(200)


def test_what_does_not_fit_the_experiment(server):
    def refuse(name, field, **request):
        problem = server.post(f"/v1/experiments/{name}/decisions", request).problem(422, field=field)
        assert problem["value"] and problem["allowed"]

    refuse("arms", "context", context=[1])
    refuse("arms", "actions", actions=[[1]])
    refuse("arms", "taken", taken="bold")
    refuse("arms", "propensity", propensity=0.5)
    refuse("context", "context")
    refuse("context", "context", context=[])
    refuse("context", "context", context=[1, 2])
    refuse("context", "context", context=[1] * 4)
    refuse("context", "actions", context=[1, 2, 3], actions=[[1]])
    refuse("candidates", "actions")
    refuse("candidates", "actions", actions=[])
    refuse("candidates", "actions", actions=[[0, 0]] * 10_001)
    refuse("candidates", "actions[0]", actions=[[1]])
    refuse("candidates", "actions[1]", actions=[[1, 0], [1, 0, 0]])
    refuse("candidates", "actions[1].name", actions=[{"name": n, "features": [0, 0]} for n in "aa"])
    refuse("candidates", "actions[0].name", actions=[{"name": "safe", "features": [0, 0]}])
    refuse("candidates", "actions[0].name", actions=[{"name": "0", "features": [0, 0]}])
    refuse("shadow", "taken", taken="nobody")
    refuse("shadow", "propensity", taken="bold", propensity=0)
    refuse("shadow", "propensity", taken="bold", propensity=1.5)
    for kind, entry in [("decisions", {}), ("outcomes", {"decision": "open", "reward": 0})]:
        for count in [0, 1001]:
            server.post(f"{ARMS_PATH}/{kind}:batch", {kind: [entry] * count}).problem(422, field=kind)
    for report, field in [
        ({}, "reward"),
        ({"reward": 1e200}, "reward"),
        ({"costs": {"complaints": -1e200}}, "costs.complaints"),
        ({"costs": {"nobody": 1}}, "costs.nobody"),
        ({"reward": 1, "taken": "bold"}, "taken"),
    ]:
        server.post(f"{ARMS_PATH}/outcomes", {"decision": "open", **report}).problem(422, field=field)
