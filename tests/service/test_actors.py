"""Known actors: every event has an author, and everybody who may look sees it."""

import json

import pytest

from .experiments import ARMS
from .log import rebuild

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
