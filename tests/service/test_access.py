"""Rights and authors: every route, every role; tokens; authors; and what is told to nobody."""

import base64
import json
import os
import pathlib
import socket

import pytest

from . import routes
from .experiments import ARMS, FLAG, create_all
from .server import banisterd, make_token, rebuild, wait_for

ROUTES = routes.of_source()
#: Role of the token -> what it may do.
ALLOWED = {
    "read": ["read"],
    "report": ["read", "report"],
    "decide-only": ["read", "decide"],
    "decide": ["read", "decide", "report"],
    "admin": routes.RIGHTS,
}


def role_of(server, token):
    """Returns the role of a token as the server says; None: it is not known."""
    answer = server.get("/v1/whoami", token=token)
    if answer.status == 401:
        return None
    return answer.ok(200)["role"]


@pytest.fixture
def guarded(serve):
    """A server with experiments and a token per role."""
    server = serve()
    create_all(server)
    server.post("/v1/experiments", FLAG).ok(201)
    # As long as no token is known everybody is an admin.
    assert role_of(server, None) == role_of(server, "nonsense") == "admin"
    tokens = server.make_tokens({role: role for role in routes.ROLES})
    assert role_of(server, None) is None
    return server, tokens


def test_the_document_lists_exactly_the_table(guarded):
    server, tokens = guarded
    document = server.get("/openapi.json", token=tokens["read"]).ok(200)
    assert set(routes.of_document(document)) == set(ROUTES)
    assert len(ROUTES) == len(set(ROUTES)) == 37


def test_every_route_without_a_token_and_with_a_wrong_one(guarded):
    server, tokens = guarded
    good = tokens["admin"]
    wrong = [
        {},
        {"authorization": "Bearer nonsense"},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": good},
        {"authorization": f"Basic {base64.b64encode(f'me:{good}'.encode()).decode()}"},
        {"authorization": f"Bearer {good[:-1]}"},
        {"authorization": f"Bearer {good}x"},
        {"authorization": f"Bearer {good.upper()}"},
        {"authorization": "Bearer " + "x" * 5000},
        {"authorization": "Bearer \xff\xfe"},
        {"x-api-key": good, "cookie": f"token={good}"},
    ]
    for route in ROUTES:
        for headers in wrong:
            answer = routes.send(server, route, headers=headers)
            if route.role is None:
                assert answer.status == 200, (route, headers)
            else:
                problem = answer.problem(401)
                assert good not in json.dumps(problem) and "arms" not in problem["detail"]
    assert server.get(f"/v1/experiments?token={good}").status == 401


def test_every_route_with_every_role(guarded):
    server, tokens = guarded
    for route in ROUTES:
        # From the smallest role up: what the right one does is done once.
        for role in routes.ROLES:
            answer = routes.send(server, route, token=tokens[role])
            if route.role is None or route.role in ALLOWED[role]:
                assert answer.status not in (401, 403), (route, role, answer)
                assert answer.status < 500, (route, role, answer)
                if role == route.role:
                    assert answer.status in (200, 201), (route, role, answer)
            else:
                problem = answer.problem(403)
                assert role in problem["detail"] and route.role in problem["detail"]


def test_a_role_too_small_changes_nothing(guarded):
    server, tokens = guarded
    before = server.get("/v1/experiments", token=tokens["read"]).body
    for route in ROUTES:
        if route.role not in (None, "read"):
            routes.send(server, route).problem(401)
            routes.send(server, route, token=tokens["read"]).problem(403)
    assert server.get("/v1/experiments", token=tokens["read"]).body == before


def test_other_methods_and_paths_tell_nothing(guarded):
    server, tokens = guarded
    secrets = ["bold", "complaints", *tokens.values()]
    known = {(route.method, route.path) for route in ROUTES}
    for route in ROUTES:
        for method in ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "POST", "GET", "TRACE", "BREW"]:
            if (method, route.path) in known:
                continue
            answer = routes.send(server, route, method=method)
            if method == "HEAD" and ("GET", route.path) in known:
                expected = 200 if route.role is None else 401
                assert (answer.status, answer.body) == (expected, b""), (method, route)
                continue
            assert answer.status == 405, (method, route, answer)
            assert not any(secret.encode() in answer.body for secret in secrets)
            assert "access-control-allow-origin" not in answer.headers
    for path in [
        "/v1",
        "/v1/",
        "/admin",
        "/v1/tokens",
        "/.git/config",
        "/banister.db",
        "/v1/experiments/",
        "//v1/experiments",
        "/v1/../v1/experiments",
        "/v1/experiments/arms/",
        "/V1/experiments",
        "/v1/experiments/arms/nothing",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/v1%2fexperiments",
    ]:
        for token in [None, tokens["admin"]]:
            assert server.get(path, token=token).status == 404, path


def test_a_name_that_is_not_there_is_not_told_to_strangers(guarded):
    server, _ = guarded
    there = server.get("/v1/experiments/arms").problem(401)
    away = server.get("/v1/experiments/no-such").problem(401)
    assert there["detail"] == away["detail"]


def test_secrets_are_not_kept(guarded):
    server, tokens = guarded
    files = [p for p in pathlib.Path(server.data_dir).rglob("*") if p.is_file()]
    assert any(p.name == "banister.db" for p in files)
    for file in files:
        content = file.read_bytes()
        for secret in tokens.values():
            assert secret.encode() not in content, file
            assert secret.removeprefix("bnst_").encode() not in content, file
    for secret in tokens.values():
        assert secret not in server.log()


def test_token_commands(serve):
    server = serve()
    folder = server.data_dir
    said = banisterd("token", "list", "--data-dir", folder).stdout
    assert "No tokens" in said
    secret = server.make_token("decide", "shop")
    assert server.get("/v1/whoami").status == 401
    assert server.get("/v1/whoami", token=secret).ok(200) == {"role": "decide", "token": "shop"}
    said = banisterd("token", "list", "--data-dir", folder).stdout
    assert "shop" in said and "decide" in said and secret not in said
    again = banisterd("token", "create", "--role", "read", "shop", "--data-dir", folder, check=False)
    assert again.returncode == 2 and "shop" in again.stderr
    other = server.make_token("read", "other")
    assert role_of(server, other) == "read"
    assert "shop" in banisterd("token", "revoke", "shop", "--data-dir", folder).stdout
    wait_for(lambda: role_of(server, secret) is None, "end of the token", deadline=10)
    assert role_of(server, other) == "read"
    gone = banisterd("token", "revoke", "shop", "--data-dir", folder, check=False)
    assert gone.returncode == 2 and "shop" in gone.stderr
    # The name is an author's, and stays that of one token.
    again = banisterd("token", "create", "--role", "read", "shop", "--data-dir", folder, check=False)
    assert again.returncode == 2 and "was a token" in again.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--role", "king", "name"],
        ["--role", "", "name"],
        ["name"],
        ["--role", "read", ""],
        ["--role", "read", "a b"],
        ["--role", "read", "x" * 65],
        ["--role", "Admin", "name"],
        ["--role", "read", "anonymous"],
        ["--role", "read", "banister"],
        ["--role", "read", "--experiments", "a b", "name"],
        ["--role", "read", "--experiments", "", "name"],
        ["--role", "read", "--expires", "soon", "name"],
        ["--role", "read", "--expires", "2020-01-01T00:00:00Z", "name"],
        ["--role", "read", "--rate", "-1", "name"],
    ],
)
def test_token_commands_that_are_wrong(tmp_path, arguments):
    done = banisterd("token", "create", *arguments, "--data-dir", tmp_path, check=False)
    assert done.returncode == 2 and done.stderr and not done.stdout, done


def test_a_token_has_a_scope_an_end_and_limits(serve):
    server = serve()
    for name in ["arms", "checkout-1", "checkout-2"]:
        server.post("/v1/experiments", ARMS | {"name": name}).ok(201)
    admin = server.make_token("admin", "the-admin")
    flags = ["--experiments", "checkout-*,new", "--rate", "1000"]
    # Ends while the test looks on.
    brief = make_token(server.data_dir, "read", "brief", "--expires", "4s")
    scoped = make_token(server.data_dir, "admin", "scoped", *flags, "--expires", "2999-01-01T00:00:00Z")
    wait_for(lambda: role_of(server, scoped) == "admin", "the token")
    assert role_of(server, brief) == "read"
    known = server.get("/v1/whoami", token=scoped).ok(200)
    assert known["experiments"] == "checkout-*,new" and known["expires"].startswith("2999-")
    # What it may not see is refused whether it is there or not.
    for name in ["arms", "nowhere"]:
        for path in [f"/v1/experiments/{name}", f"/v1/experiments/{name}/decisions", f"/v1/experiments?after={name}"]:
            server.get(path, token=scoped).problem(403)
        server.post(f"/v1/experiments/{name}/decisions", {}, token=scoped).problem(403)
        server.post("/v1/experiments", ARMS | {"name": name}, token=scoped).problem(403)
        server.post("/v1/experiments?dry_run=true", ARMS | {"name": name}, token=scoped).problem(403)
    server.post("/v1/experiments/checkout-1/decisions", {}, token=scoped).ok(200)
    server.post("/v1/experiments", ARMS | {"name": "new"}, token=scoped).ok(201)

    def names(path, token):
        shown = server.get(path, token=token).ok(200)
        return [e["name"] for e in shown.get("experiments", shown.get("summaries"))], shown.get("next")

    assert names("/v1/experiments", scoped) == (["checkout-1", "checkout-2", "new"], None)
    assert names("/v1/experiments?summary=true&limit=2", scoped) == (["checkout-1", "checkout-2"], "checkout-2")
    assert names("/v1/experiments", admin) == (["arms", "checkout-1", "checkout-2", "new"], None)

    def measured(token):
        text = server.get("/metrics", token=token).body.decode()
        return {line.split('"')[1] for line in text.splitlines() if line.startswith("banister_decisions{")}

    assert measured(scoped) == {"checkout-1", "checkout-2", "new"} == measured(admin) - {"arms"}
    wait_for(lambda: role_of(server, brief) is None, "end of the token")
    assert "expired" in server.get("/v1/whoami", token=brief).problem(401)["detail"]
    head, *rows = banisterd("token", "list", "--data-dir", server.data_dir).stdout.splitlines()
    columns = ["name", "role", "experiments", "expires", "rate", "created"]
    assert head.split() == columns
    table = {row.split()[0]: row for row in rows}
    assert "(over)" in table["brief"] and "checkout-*,new" in table["scoped"] and "1000" in table["scoped"]


def test_a_token_can_be_required_from_the_start(serve):
    server = serve("--require-token")
    server.get("/v1/whoami").problem(401)
    server.post("/v1/experiments", ARMS).problem(401)
    token = server.make_token("admin", "a-admin")
    assert role_of(server, token) == "admin"
    server.post("/v1/experiments", ARMS, token=token).ok(201)


def test_the_last_token_revoked_does_not_open_a_server_that_requires_one(serve):
    server = serve("--require-token")
    token = server.make_token("admin", "a-admin")
    assert role_of(server, token) == "admin"
    banisterd("token", "revoke", "a-admin", "--data-dir", server.data_dir)
    wait_for(lambda: role_of(server, token) is None, "end of the token", deadline=10)
    server.get("/v1/whoami").problem(401)


def test_others_are_not_served_without_tokens(tmp_path, serve):
    for listen in ["0.0.0.0:0", "[::]:0"]:
        done = banisterd("serve", "--listen", listen, "--data-dir", tmp_path, check=False)
        assert done.returncode == 2, done
        assert "listen" in done.stderr and listen in done.stderr and "token" in done.stderr
    token = make_token(tmp_path, "read", "a-read")
    server = serve(data_dir=tmp_path, host="0.0.0.0")
    wait_for(lambda: role_of(server, token) == "read", "token")
    banisterd("token", "revoke", "a-read", "--data-dir", tmp_path)
    wait_for(lambda: role_of(server, token) is None, "end of the token", deadline=10)
    server.get("/v1/whoami").problem(401)


def test_without_tokens_a_foreign_host_is_refused(serve):
    server = serve()
    for host in [
        "evil.example",
        "evil.example:8787",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "0.0.0.0",
        "[2001:db8::1]:80",
        "localhost:80:80",
        "",
        "127.0.0.1@evil.example",
    ]:
        for path in ["/v1/experiments", "/metrics", "/openapi.json"]:
            problem = server.get(path, headers={"host": host}).problem(403, field="host")
            assert "token" in problem["detail"]
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1", "127.1.2.3:80", "[::1]:8787"]:
        assert server.get("/v1/experiments", headers={"host": host}).status == 200, host
    # Open routes have nothing to hide.
    assert server.get("/healthz", headers={"host": "evil.example"}).status == 200
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain:
        plain.sendall(b"GET http://evil.example/v1/experiments HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert plain.recv(64).split()[1] in (b"400", b"403")


def test_the_page_may_only_do_what_it_needs(serve):
    page = serve().get("/")
    assert page.status == 200 and page.kind == "text/html"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["referrer-policy"] == "no-referrer"


def test_reasons_of_an_outage_are_for_readers(serve):
    server = serve("--require-token")
    tokens = server.make_tokens({"guest": "read", "till": "decide"})
    (server.data_dir / "banister.db").unlink()
    wait_for(lambda: server.get("/readyz").status == 503, "notice of the loss")
    for token in [None, "wrong"]:
        problem = server.get("/readyz", token=token).problem(503)
        assert problem["detail"] == "the service is not ready"
        assert server.get("/healthz", token=token).ok(200) == {"status": "ok"}
    for token in tokens.values():
        problem = server.get("/readyz", token=token).problem(503)
        assert problem["detail"].startswith("the log is not available: ")


@pytest.mark.skipif(os.name != "posix", reason="files have no modes")
def test_the_files_are_nobody_elses_business(serve):
    """Not a rule of the service, but it must work with the strictest folder."""
    server = serve()
    os.chmod(server.data_dir, 0o700)
    create_all(server)
    assert (server.data_dir / "banister.db").stat().st_mode & 0o002 == 0


PATH = "/v1/experiments/arms"
WHOLE = {"reward": 1, "costs": {"complaints": 0}}


@pytest.fixture
def tokens(serve):
    """A server where ids belong to tokens, and the tokens."""
    server = serve("--own-ids", "--log-format", "json")
    roles = {"ann": "admin", "shop": "decide", "app": "decide", "pipeline": "report", "viewer": "read"}
    tokens = server.make_tokens(roles)
    server.post("/v1/experiments", ARMS, token=tokens["ann"]).ok(201)
    return server, tokens


def test_changes_have_authors(tokens):
    server, by = tokens
    server.request("PATCH", PATH, {"status": "paused"}, token=by["ann"]).ok(200)
    server.post(f"{PATH}/arms", {"name": "green"}, token=by["ann"]).ok(201)
    changes = server.get(f"{PATH}/changes", token=by["viewer"]).ok(200)["changes"]
    assert [(c["author"], c["kind"]) for c in changes] == [
        ("ann", "arm_added"),
        ("ann", "changed"),
        ("ann", "created"),
    ]
    assert changes[1]["change"] == {"status": "paused"}
    assert changes[2]["change"]["name"] == "arms"
    server.request("PATCH", PATH, {"status": "running"}, token=by["ann"]).ok(200)
    rows = b"action,reward,complaints\ncontrol,1,0\nbold,0,0\n"
    headers = {"content-type": "text/csv"}
    server.request("POST", f"{PATH}/import", rows, headers=headers, token=by["ann"]).ok(200)
    newest = server.get(f"{PATH}/changes?limit=1", token=by["viewer"]).ok(200)["changes"]
    assert [(c["author"], c["kind"], c["change"]) for c in newest] == [("ann", "imported", {"outcomes": 2})]
    older = server.get(f"{PATH}/changes?limit=1&before={changes[1]['number']}", token=by["viewer"]).ok(200)
    assert older["changes"] == changes[2:]
    # The service's own log has a line each, with the token, the experiment and the change.
    lines = [json.loads(line) for line in server.log().splitlines() if '"changed"' in line]
    lines = [line for line in lines if line.get("token") == "ann" and line.get("experiment") == "arms"]
    assert [line["kind"] for line in lines] == ["created", "changed", "arm_added", "changed", "imported"]
    assert [line["number"] for line in lines[:2]] == [1, 2]
    assert json.loads(lines[1]["change"]) == {"status": "paused"}


def test_ids_belong_to_the_token_that_chose_them(tokens):
    server, by = tokens
    decided = server.post(f"{PATH}/decisions", {"id": "order-1"}, token=by["shop"]).ok(200)
    refused = server.post(f"{PATH}/decisions", {"id": "order-1"}, token=by["app"]).problem(403)
    assert "another token" in refused["detail"] and str(decided["probability"]) not in refused["detail"]
    report = {"decision": "order-1", **WHOLE}
    server.post(f"{PATH}/outcomes", report, token=by["app"]).problem(403)
    batch = server.post(f"{PATH}/decisions:batch", {"decisions": [{"id": "order-1"}, {"id": "a"}]}, token=by["app"])
    assert [entry["status"] for entry in batch.ok(200)["results"]] == [403, 200]
    # Its own, and whoever may report on any.
    assert server.post(f"{PATH}/decisions", {"id": "order-1"}, token=by["shop"]).ok(200) == decided
    server.post(f"{PATH}/outcomes", report, token=by["pipeline"]).ok(200)
    server.post(f"{PATH}/outcomes", {"decision": "a", **WHOLE}, token=by["app"]).ok(200)
    events = server.get(f"{PATH}/decisions/order-1", token=by["viewer"]).ok(200)["events"]
    assert [(event["kind"], event["author"]) for event in events] == [("decision", "shop"), ("outcome", "pipeline")]
    assert server.stop() == 0
    rebuild(server.data_dir)


def test_a_decision_is_cancelled_by_whoever_made_it(tokens):
    server, by = tokens
    server.post(f"{PATH}/decisions", {"id": "order-1"}, token=by["shop"]).ok(200)
    where = f"{PATH}/decisions/order-1/cancel"
    for stranger in ["app", "pipeline", "viewer"]:
        server.post(where, token=by[stranger]).problem(403)
    for _ in range(2):
        assert server.post(where, token=by["shop"]).ok(200) == {"decision": "order-1"}
    audit = server.get(f"{PATH}/decisions/order-1", token=by["viewer"]).ok(200)
    assert audit["status"] == "cancelled"
    assert [(event["kind"], event["author"]) for event in audit["events"]] == [
        ("decision", "shop"),
        ("cancelled", "shop"),
    ]
    server.post(f"{PATH}/outcomes", {"decision": "order-1", **WHOLE}, token=by["shop"]).problem(409)
    server.post(f"{PATH}/decisions", {"id": "order-2"}, token=by["shop"]).ok(200)
    server.post(f"{PATH}/decisions/order-2/cancel", token=by["ann"]).ok(200)
    server.post(f"{PATH}/decisions/nobody/cancel", token=by["ann"]).problem(404)
    counts = server.get(PATH, token=by["viewer"]).ok(200)["counts"]
    assert (counts["decisions"], counts["missing"]) == (2, 2)
    assert server.stop() == 0
    rebuild(server.data_dir)


def test_the_page_shows_who_paused_it(service, look):
    service.post("/v1/experiments", ARMS).ok(201)
    service.request("PATCH", PATH, {"status": "paused"}).ok(200)
    page = look("/#/experiments/arms")
    changes = page.get_by_test_id("changes").get_by_role("listitem")
    changes.filter(has_text="paused it").filter(has_text="anonymous").wait_for()


def test_features_are_bounded_unless_declared(service):
    """One long vector weighs as much as many outcomes: whoever decides must not bring one by accident."""
    declaration = {"name": "x", "dimension": 2, "safe_action": [1, 0], "agent": {"kind": "oplb", "parameter_norm": 1}}
    made = service.post("/v1/experiments", declaration).ok(201)
    assert made["agent"]["norm"] == 1
    service.post("/v1/experiments/x/decisions", {"actions": [[0.6, 0.8]]}).ok(200)
    refused = service.post("/v1/experiments/x/decisions", {"actions": [[0.6, 0.8], [6, 8]]}).problem(422)
    assert refused["field"] == "actions[1]" and "norm" in refused["allowed"]
    # With a context of d numbers, each of them up to 1; and whatever is declared.
    context = {"name": "y", "arms": ["a", "b"], "safe": "a", "context": 4, "agent": declaration["agent"]}
    assert service.post("/v1/experiments", context).ok(201)["agent"]["norm"] == 2
    longer = {**declaration, "name": "z", "agent": {**declaration["agent"], "norm": 10}}
    service.post("/v1/experiments", longer).ok(201)
    service.post("/v1/experiments/z/decisions", {"actions": [[6, 8]]}).ok(200)
