"""Ranges by arm and caps over HTTP: declared, added, reported, imported, and after a restart."""

import pytest

from .log import rebuild

DECLARED = {
    "name": "calls",
    "arms": ["cheap", "dear"],
    "safe": "cheap",
    "guardrails": [
        {"name": "dollars", "at_most": 0.5, "range": {"cheap": [0, 0.1], "dear": [0, 2]}},
        {"name": "seconds", "at_most": 2, "cap": 5, "safe_cost": 0.5},
    ],
}
CALLS = "/v1/experiments/calls"
CSV = {"content-type": "text/csv"}


@pytest.fixture
def server(serve):
    server = serve()
    server.post("/v1/experiments", DECLARED).ok(201)
    yield server
    assert "a defect" not in server.log()
    assert server.stop() == 0
    rebuild(server.data_dir)


def decide_until(server, action):
    """The id of a decision for this action; others get a harmless outcome."""
    for _ in range(2000):
        decision = server.post(f"{CALLS}/decisions", {}).ok()
        if decision["action"] == action:
            return decision["id"]
        report = {"decision": decision["id"], "reward": 0, "costs": {"dollars": 0, "seconds": 0}}
        server.post(f"{CALLS}/outcomes", report).ok()
    raise AssertionError(f"{action} never came up")


def test_ranges_by_arm_are_declared_reported_and_imported(server):
    shown = server.get(CALLS).ok(200)
    assert shown["arms"][0]["ranges"] == {"dollars": [0, 0.1]}
    assert shown["guardrails"][0]["range"] == {"cheap": [0, 0.1], "dear": [0, 2]}
    missing = {**DECLARED, "name": "other", "arms": ["cheap", "dear", "odd"]}
    assert server.post("/v1/experiments", missing).json()["field"] == "guardrails[0].range.odd"
    cheap = decide_until(server, "cheap")
    outcome = {"decision": cheap, "reward": 1, "costs": {"dollars": 0.2, "seconds": 1}}
    # Beyond what was declared: it is stored, somebody is told, and the safe action is played until then.
    answer = server.post(f"{CALLS}/outcomes", outcome).ok(200)
    assert answer["status"] == "complete" and answer["costs"]["dollars"] == 0.2
    (alarm,) = answer["alarms"]
    assert (alarm["kind"], alarm["guardrail"], alarm["arm"], alarm["forces_safe"]) == (
        "range",
        "dollars",
        "cheap",
        True,
    )
    assert "such as [0, 0.2]" in alarm["message"]
    assert server.post(f"{CALLS}/decisions", {}).ok()["certificate"]["fallback"] == "alarm"
    assert [one["kind"] for one in server.get(CALLS).ok(200)["alarms"]] == ["range"]
    server.post(f"{CALLS}/alarms:acknowledge", {"note": "a new price"}).ok(200)
    head = b"action,reward,dollars,seconds\n"
    wrong = server.post(f"{CALLS}/import", head + b"dear,1,1.5,1\ncheap,1,1.5,1\n", headers=CSV)
    assert wrong.json()["field"].startswith("row 2: ")
    server.post(f"{CALLS}/import", head + b"dear,1,1.5,80\ncheap,1,0.1,1\n", headers=CSV).ok(200)


def test_added_arms_bring_ranges_and_last(server):
    for body, field in [
        ({"name": "new"}, "ranges.dollars"),
        ({"name": "new", "ranges": {"dollars": [0, 8], "seconds": [0, 1]}}, "ranges.seconds"),
        ({"name": "new", "ranges": {"dollars": [-1, 8]}}, "ranges.dollars"),
        ({"name": "new", "ranges": {"dollars": [8, 0]}}, "ranges.dollars"),
    ]:
        assert server.post(f"{CALLS}/arms", body).json()["field"] == field
    added = server.post(f"{CALLS}/arms", {"name": "new", "ranges": {"dollars": [0, 8]}}).ok(201)
    assert added["arms"][2]["ranges"] == {"dollars": [0, 8]}
    assert server.stop() == 0
    server.start()
    server.ready()
    assert server.get(CALLS).ok(200)["arms"] == added["arms"]
    head = b"action,reward,dollars,seconds\n"
    server.post(f"{CALLS}/import", head + b"new,1,7.5,1\n", headers=CSV).ok(200)
    wrong = server.post(f"{CALLS}/import", head + b"new,1,8.5,1\n", headers=CSV)
    assert wrong.json()["field"].startswith("row 1: ")


def test_certificates_say_capped(server):
    decision = server.post(f"{CALLS}/decisions", {}).ok()
    dollars, seconds = decision["certificate"]["guardrails"]
    assert seconds["capped"] is True and "capped" not in dollars
    said = [entry["text"] for entry in decision["certificate"]["rests_on"]]
    assert "the mean of seconds capped at 5, not the mean itself, is kept at most 2" in said
    costs = {"dollars": 0.05, "seconds": 80}
    report = {"decision": decision["id"], "reward": 1, "costs": costs}
    # As reported, whatever counts.
    assert server.post(f"{CALLS}/outcomes", report).ok()["costs"] == costs


@pytest.mark.parametrize("value", [True, "unknown", 0, -1])
def test_an_unknown_constant_is_refused_with_advice(server, value):
    declared = {**DECLARED, "name": "other", "reward": {"sub_gaussian": value}}
    refused = server.post("/v1/experiments", declared)
    assert refused.status == 422 or refused.status == 400
    assert refused.json()["field"] == "reward.sub_gaussian"
    assert "cap" in refused.json()["detail"] and "voids the certificate" in refused.json()["detail"]
