"""Names, ids and queries that nobody should send."""

import pytest

from .experiments import ARMS, create_all
from .log import rebuild
from .server import quoted

ARMS_PATH = "/v1/experiments/arms"


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
