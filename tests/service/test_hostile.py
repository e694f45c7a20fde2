"""Bodies, names, ids and queries that nobody should send: each gets a problem that says what is wrong."""

import contextlib
import itertools
import json
import re

import pytest

from .experiments import ALL, ARMS, REQUESTS, create_all
from .server import make_token, quoted, rebuild, receive_all, wait_for

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


def test_errors_name_the_word_that_was_probably_meant(server):
    new = ARMS | {"name": "new"}
    guardrail = {"name": "complaints", "at_mots": 0.5}
    for path, body, status, meant in [
        ("/v1/experiments", new | {"guardrail": []}, 422, "guardrails"),
        ("/v1/experiments", new | {"guardrails": [guardrail]}, 422, "at_most"),
        ("/v1/experiments", new | {"agent": {"kind": "obp"}}, 422, "opb"),
        ("/v1/experiments", new | {"safe": "contrl"}, 422, "control"),
        ("/v1/experiments", new | {"rollout": {"floors": {"blod": 0.1}}}, 422, "bold"),
        ("/v1/experiments?dry_rum=true", new, 400, "dry_run"),
        ("/v1/experiments/arns/decisions", {}, 404, "arms"),
        (f"{ARMS_PATH}/arms/blod/forget", {}, 404, "bold"),
        (f"{ARMS_PATH}/outcomes", {"decision": "open", "rewrad": 1}, 422, "reward"),
        (f"{ARMS_PATH}/outcomes", {"decision": "open", "costs": {"complaint": 0}}, 422, "complaints"),
        (f"{ARMS_PATH}/outcomes", {"decision": "open", "signals": {"complaint": 0}}, 422, "complaints"),
        ("/v1/experiments/shadow/decisions", {"taken": "blod"}, 422, "bold"),
    ]:
        problem = server.post(path, body).problem(status)
        assert problem["detail"].endswith(f"; did you mean `{meant}`?"), problem
    # Nothing is near.
    for path, body in [
        ("/v1/experiments", new | {"colour": 1}),
        (f"{ARMS_PATH}/outcomes", {"decision": "open", "costs": {"clicks": 0}}),
        (f"{ARMS_PATH}/arms/brightest/forget", {}),
        ("/v1/experiments/nowhere/decisions", {}),
    ]:
        answer = server.post(path, body)
        assert "did you mean" not in answer.problem(answer.status)["detail"]


def test_an_unknown_cost_says_what_costs_there_are(server):
    def refused(experiment, costs):
        decision = server.post(f"/v1/experiments/{experiment}/decisions", {}).ok(200)["id"]
        report = {"decision": decision, "reward": 0, "costs": costs}
        return server.post(f"/v1/experiments/{experiment}/outcomes", report).problem(422, "costs.clicks")["allowed"]

    assert (
        refused("two", {"clicks": 1}) == "must be the name of a declared guardrail or signal (complaints, conversion)"
    )
    server.post("/v1/experiments", ARMS | {"name": "free", "guardrails": []}).ok(201)
    assert refused("free", {"clicks": 1}) == "the experiment declares no guardrail or signal: leave it out"


def test_an_unknown_experiment_is_named_and_no_other_that_the_token_may_not_see(serve):
    server = serve()
    server.post("/v1/experiments", ARMS | {"name": "shop_a1"}).ok(201)
    tokens = server.make_tokens({"boss": "admin"})
    scoped = make_token(server.data_dir, "admin", "scoped", "--experiments", "shop-*")
    wait_for(lambda: server.get("/v1/whoami", token=scoped).status == 200, "the token")
    path, absent = "/v1/experiments/shop-a1", "there is no experiment `shop-a1`"
    problem = server.get(path, token=tokens["boss"]).problem(404, "experiment")
    assert (problem["value"], problem["detail"]) == ("shop-a1", f"{absent}; did you mean `shop_a1`?")
    assert server.get(path, token=scoped).problem(404)["detail"] == absent


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


NAMES = [
    "a/b",
    "a%2Fb",
    "..",
    ".",
    "../etc",
    "",
    " ",
    "a b",
    "x" * 65,
    "x" * 10_000,
    "é",
    "😀",
    "a\0b",
    "a\nb",
    "-a",
    "_a",
    "a:b",
    "decisions:batch",
    "\u202eabc",
    "%",
    "%00",
    "?",
    "#",
    '"',
    "<script>",
    "'; DROP TABLE events; --",
]


def test_names_of_experiments(server):
    for name in NAMES:
        server.post("/v1/experiments", ARMS | {"name": name}).problem(422, field="name")
        for rest in ["", "/state", "/decisions", "/export", "/decisions/x"]:
            answer = server.get(f"/v1/experiments/{quoted(name)}{rest}")
            assert answer.status in (404, 414), (name, answer)
            if name not in ("", ".", ".."):
                assert len(answer.body) < 31_000


#: Characters that make a name show as something else than it is.
HIDDEN = "\0\t\n\r\x1b\x7f\x85\xad\u061c\u200b\u200d\u200e\u2028\u2029\u202a\u202e\u2060\u2066\u2069\ufeff"


def test_names_show_as_what_they_are(server):
    rail = ARMS["guardrails"][0]
    for c in HIDDEN:
        name = f"a{c}b"
        declared = ARMS | {"name": "new", "arms": ["control", name]}
        for path in ["/v1/experiments", "/v1/experiments?dry_run=true"]:
            server.post(path, declared).problem(422, field="arms[1].name")
        declared = ARMS | {"name": "new", "guardrails": [rail | {"name": name}]}
        server.post("/v1/experiments", declared).problem(422, field="guardrails[0].name")
        server.post(f"{ARMS_PATH}/arms", {"name": name}).problem(422, field="name")
        actions = [{"name": name, "features": [0, 1]}]
        path = "/v1/experiments/candidates/decisions"
        server.post(path, {"actions": actions}).problem(422, field="actions[0].name")
    # Texts for people have lines.
    described = {"description": "one\ntwo"}
    assert server.request("PATCH", ARMS_PATH, described).ok(200)["description"] == "one\ntwo"
    for name in ["naïve", "日本", "مرحبا", "a b", "=1+1", "😀"]:
        server.post(f"{ARMS_PATH}/arms", {"name": name}).ok(201)


def test_ids_of_decisions(server):
    path = f"{ARMS_PATH}/decisions"
    for id in ["", "x" * 129, "x" * 10_000, "@1", "@", "a\nb", "a\0b", "\x7f", "\x85", "a\tb"]:
        server.post(path, {"id": id}).problem(422, field="id")
        if id:
            server.get(f"{path}/{quoted(id)}").problem(404)
            server.post(f"{ARMS_PATH}/outcomes", {"decision": id, "reward": 0}).problem(404)
    odd = ["a/b", "a%2Fb", "../x", "é" * 128, "😀", " ", "'", '"', "\\", "?a=b#c", "x" * 128, "null", "1", "safe"]
    for id in [*odd, "\u202eabc"]:
        decision = server.post(path, {"id": id}).ok(200)
        assert decision["id"] == id
        assert server.get(f"{path}/{quoted(id)}").ok(200)["id"] == id
        assert server.post(path, {"id": id}).ok(200) == decision
        server.post(f"{ARMS_PATH}/outcomes", {"decision": id, "reward": 1}).ok(200)
    for id in ["@0", "@-1", "@99999999999999999999999", "@18446744073709551615", "@1", "@1.5", "@ 3", "@+3", "@03"]:
        server.get(f"{path}/{quoted(id)}").problem(404)
        server.post(f"{ARMS_PATH}/outcomes", {"decision": id, "reward": 1}).problem(404)


def test_paths_that_are_not_unicode(server):
    for path in ["/v1/experiments/%ff", "/v1/experiments/arms/decisions/%c3%28", "/v1/experiments/%ff/state"]:
        answer = server.get(path)
        assert answer.status in (400, 404)
        answer.problem(answer.status)
    server.request("DELETE", f"{ARMS_PATH}/arms/%ff").problem(400)


def test_queries(server):
    for query, field in [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=1001", "limit"),
        ("limit=x", "limit"),
        ("limit=", "limit"),
        ("limit=1e3", "limit"),
        ("limit=99999999999999999999999", "limit"),
        ("before=-1", "before"),
        ("before=x", "before"),
        ("nonsense=1", "nonsense"),
        ("limit=1&limit=2", "limit"),
        ("before=99999999999999999999999", "before"),
    ]:
        server.get(f"{ARMS_PATH}/decisions?{query}").problem(400, field=field)
    for format in ["xml", "", "CSV", "csv,parquet"]:
        server.get(f"{ARMS_PATH}/export?format={format}").problem(400, field="format")
    for dry in ["maybe", "", "1", "True"]:
        server.post(f"/v1/experiments?dry_run={dry}", ARMS | {"name": "dry"}).problem(400, field="dry_run")
    for query, field in [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=x", "limit"),
        ("summary=1", "summary"),
        ("before=1", "before"),
    ]:
        server.get(f"/v1/experiments?{query}").problem(400, field=field)
    server.get("/v1/experiments?after=nobody").problem(404)
    for query in ["escape=", "escape=all", "escape=formulas&format=parquet"]:
        server.get(f"{ARMS_PATH}/export?{query}").problem(400, field="escape")
    assert server.get(f"{ARMS_PATH}/decisions?before=0").ok(200)["decisions"] == []
    server.get(f"{ARMS_PATH}/decisions?before=9007199254740991").ok(200)


PATH = "/v1/experiments/arms"
#: A body that looks like requests; whoever loses count would answer them.
TRAP = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
JSON_HEAD = "content-type: application/json\r\n"
LAST = b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"


def head(method, path, *, length, token=None, more=JSON_HEAD):
    token = f"authorization: Bearer {token}\r\n" if token else ""
    return f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{token}{more}content-length: {length}\r\n\r\n".encode()


def split(said):
    """Statuses and heads of the answers on a connection."""
    heads = []
    while said:
        start, _, rest = said.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", start)
        assert start.startswith(b"HTTP/1.1 ") and length, said[:300]
        heads.append((int(start.split(b" ", 2)[1]), start.decode().lower()))
        said = rest[int(length[1]) :]
    return heads


@pytest.fixture
def guarded(serve):
    server = serve("--require-token")
    server.tokens = server.make_tokens({"boss": "admin", "guest": "read"})
    server.token = server.tokens["boss"]
    server.post("/v1/experiments", ARMS).ok(201)
    return server


def test_the_next_request_on_a_connection_is_the_next_request(guarded):
    boss, guest = guarded.tokens["boss"], guarded.tokens["guest"]
    decisions = f"{PATH}/decisions"
    plain = "content-type: text/plain\r\n"
    csv = "content-type: text/csv\r\n"
    for method, path, token, more, expected in [
        ("POST", decisions, None, JSON_HEAD, 401),
        ("POST", decisions, "wrong", JSON_HEAD, 401),
        ("POST", decisions, guest, JSON_HEAD, 403),
        ("POST", decisions, boss, JSON_HEAD + "sec-fetch-site: cross-site\r\n", 403),
        ("POST", decisions, boss, plain, 415),
        ("POST", decisions, boss, JSON_HEAD, 400),
        ("POST", "/nowhere", boss, JSON_HEAD, 404),
        ("PUT", decisions, boss, JSON_HEAD, 405),
        ("POST", "/v1/experiments?dry_run=maybe", boss, JSON_HEAD, 400),
        ("POST", "/v1/experiments/nowhere/import", boss, csv, 404),
        ("DELETE", f"{PATH}/arms/nobody", boss, JSON_HEAD, 404),
        ("GET", PATH, boss, "", 200),
    ]:
        # A few bytes are there with the head, many come later.
        for body in [TRAP, TRAP * 25_000]:
            said = guarded.raw(head(method, path, length=len(body), token=token, more=more) + body + LAST)
            heads = split(said)
            assert [status for status, _ in heads] == [expected, 200], (method, path, len(body))
            assert "connection: close" not in heads[0][1]


def test_what_is_too_long_ends_the_connection(guarded):
    """Whoever sends more than is read for nothing is told that the connection ends."""
    body = TRAP * 600_000
    with guarded.socket() as plain:
        with contextlib.suppress(OSError):
            plain.sendall(head("POST", f"{PATH}/decisions", length=len(body)) + body + LAST)
        said = receive_all(plain)
    heads = split(said)
    # If the answer came while we were still sending, it may be lost with the connection.
    assert len(heads) <= 1
    for status, text in heads:
        assert status == 401 and "connection: close" in text


def test_whoever_waits_for_a_word_is_refused_without_it(guarded):
    for length in [2, 1_000_000, 99_000_000]:
        more = JSON_HEAD + "expect: 100-continue\r\n"
        for token, expected in [(None, 401), (guarded.tokens["guest"], 403)]:
            # No body is sent: nothing more comes than the one answer.
            said = guarded.raw(head("POST", f"{PATH}/decisions", length=length, token=token, more=more))
            [(status, text)] = split(said)
            assert status == expected and "connection: close" in text


def test_a_body_that_does_not_come_ends_the_connection(guarded):
    [(status, text)] = split(guarded.raw(head("POST", f"{PATH}/decisions", length=100_000) + TRAP))
    assert status == 401 and "connection: close" in text


def test_refusals_for_lack_of_a_token_say_how_to_send_one(guarded):
    for sent, error in [(None, ""), ("Basic eA==", ""), ("Bearer wrong", ', error="invalid_token"')]:
        guarded.token = None
        answer = guarded.get(PATH, headers={"authorization": sent})
        answer.problem(401)
        assert answer.headers["www-authenticate"] == f'Bearer realm="banister"{error}'
    answer = guarded.post(f"{PATH}/decisions", {}, token=guarded.tokens["guest"])
    answer.problem(403)
    assert "www-authenticate" not in answer.headers


def test_too_many_requests_keep_the_connection_in_step(serve):
    server = serve("--rate", "0.001")
    server.post("/v1/experiments", ARMS).ok(201)
    for body in [TRAP, TRAP * 25_000]:
        heads = split(server.raw(head("POST", f"{PATH}/decisions", length=len(body)) + body + LAST))
        assert [status for status, _ in heads] == [429, 200]
        assert "retry-after: " in heads[0][1]
