"""Contexts over HTTP: named fields, and a parameter per arm where the safe arm's costs depend on the hour."""

import csv
import io
import random

from playwright.sync_api import expect

from .experiments import FIELDS
from .server import rebuild

DECLARED = {
    "name": "hours",
    "arms": ["control", "bold", "wild"],
    "safe": "control",
    "context": 2,
    "guardrails": [{"name": "complaints", "at_most": 0.5}],
    "agent": {"kind": "oplb", "model": "per_arm", "link": "logistic", "parameter_norm": 4},
}
HOURS = "/v1/experiments/hours"


def test_margins_are_proven_in_every_context(serve):
    server = serve()
    missing = {key: value for key, value in DECLARED.items() if key != "context"}
    assert server.post("/v1/experiments", missing).json()["field"] == "agent.model"
    server.post("/v1/experiments", DECLARED).ok(201)
    source = random.Random(3)

    def play(rounds, contexts):
        played = set()
        for _ in range(rounds):
            context = [1, source.choice(contexts)]
            decision = server.post(f"{HOURS}/decisions", {"context": context}).ok()
            certificate = decision["certificate"]["guardrails"][0]
            assert certificate["pessimistic_cost"] <= certificate["threshold"]
            played.add(decision["action"])
            # Control annoys in the evening, the others in the morning.
            rate = (0.05 + 0.3 * context[1]) if decision["action"] == "control" else 0.2 - 0.1 * context[1]
            report = {
                "decision": decision["id"],
                "reward": float(source.random() < (0.2 if decision["action"] == "control" else 0.8)),
                "costs": {"complaints": float(source.random() < rate)},
            }
            server.post(f"{HOURS}/outcomes", report).ok()
        return played

    # Until its own bound leaves a margin only the safe arm is played.
    assert play(20, [0, 1]) == {"control"}
    assert {"bold", "wild"} & play(400, [0, 1])
    server.request("DELETE", f"{HOURS}/arms/wild").ok(200)
    server.post(f"{HOURS}/arms", {"name": "new"}).ok(201)
    assert "wild" not in play(100, [0, 1])
    refused = server.post(f"{HOURS}/decisions", {"context": [1, 5]})
    assert (refused.status, refused.json()["field"]) == (422, "context")
    head = b"action,reward,complaints,context_0,context_1\n"
    rows = b"new,1,0,1,0.5\nwild,0,1,1,0.5\n"
    server.post(f"{HOURS}/import", head + rows, headers={"content-type": "text/csv"}).ok()
    before = server.post(f"{HOURS}/decisions", {"context": [1, 0.5]}).ok()["certificate"]
    assert "a defect" not in server.log()
    assert server.stop() == 0
    rebuild(server.data_dir)
    again = serve(data_dir=server.data_dir)
    assert again.post(f"{HOURS}/decisions", {"context": [1, 0.5]}).ok()["certificate"] == before


PATH = "/v1/experiments/fields"
GOOD = {"country": "de", "hour": 13, "member": True, "shop": 17}


def test_every_value_is_checked_by_name(serve):
    server = serve()
    server.post("/v1/experiments", FIELDS).ok(201)

    def refused(context, field):
        problem = server.post(f"{PATH}/decisions", {"context": context}).problem(422, field)
        return problem["detail"]

    assert refused(GOOD | {"hour": 25}, "context.hour") == (
        "`context.hour` is 25: must be a number in [0, 24], or missing"
    )
    assert refused(GOOD | {"shop": 4}, "context.shop").endswith("is 4: must be one of 3, 17, or missing")
    assert refused({"country": "de"}, "context.member").endswith("is missing: must be true or false")
    assert "the fields are country, hour, member, shop" in refused(GOOD | {"colour": "red"}, "context.colour")
    assert "an object with the fields country, hour" in refused([1, 2], "context")
    for body in [b'{"context": {"hour": 1, "hour": 2}}', b'{"context": {"hour": [1]}}', b'{"context": 3}']:
        answer = server.post(f"{PATH}/decisions", body, headers={"content-type": "application/json"})
        assert answer.problem(answer.status)["status"] in (400, 422)
    for declared, field in [
        ({"hour": {"kind": "number", "range": [24, 0]}}, "context.hour.range"),
        ({"hour": {"kind": "hour"}}, "context.hour.kind"),
        ({"hour": {"kind": "number"}}, "context.hour"),
        ({}, "context"),
        ("three", "context"),
    ]:
        answer = server.post("/v1/experiments", FIELDS | {"name": "wrong", "context": declared})
        assert answer.problem(answer.status)["field"] == field


def test_names_come_back_and_teach_the_same(serve):
    server = serve()
    for name in ["fields", "copy"]:
        server.post("/v1/experiments", FIELDS | {"name": name}).ok(201)
    rows = [GOOD, {"country": "es", "member": False}]
    for i, row in enumerate(rows):
        server.post(f"{PATH}/decisions", {"id": f"d{i}", "context": row}).ok(200)
        server.post(f"{PATH}/outcomes", {"decision": f"d{i}", "reward": 0.5, "costs": {"cost": 0.1}}).ok(200)
    assert server.get(f"{PATH}/decisions/d0").ok(200)["context"] == GOOD
    # Values that are not listed are one to the model, and in the log.
    rest = {"country": "other", "hour": None, "member": False, "shop": None}
    assert server.get(f"{PATH}/decisions/d1").ok(200)["context"] == rest
    file = server.get(f"{PATH}/export").body
    cells = list(csv.DictReader(io.StringIO(file.decode())))
    names = ["context_country", "context_hour", "context_member", "context_shop"]
    assert [[row[name] for name in names] for row in cells] == [["de", "13", "true", "17"], ["other", "", "false", ""]]
    headers = {"content-type": "text/csv"}
    copy = "/v1/experiments/copy"
    assert server.post(f"{copy}/import", file, headers=headers).ok(200)["outcomes"] == 2
    asked = {"id": "q", "context": GOOD}
    known = []
    for path in [PATH, copy]:
        server.post(f"{path}/decisions", asked).ok(200)
        known.append(server.get(f"{path}/decisions/q").ok(200)["known"])
    assert known[0] == known[1]
    wrong = file.replace(b"true", b"perhaps")
    assert server.post(f"{copy}/import", wrong, headers=headers).problem(422)["field"] == "row 1: context_member"
    assert server.stop() == 0
    rebuild(server.data_dir)


def test_the_page_asks_by_name(service, look):
    service.post("/v1/experiments", FIELDS).ok(201)
    page = look("/#/experiments/fields")
    page.get_by_label("country", exact=True).select_option("fr")
    page.get_by_label("hour", exact=True).fill("6")
    page.get_by_label("member", exact=True).select_option("false")
    page.get_by_label("shop", exact=True).select_option("–")
    page.get_by_test_id("try-decide").click()
    page.get_by_role("link", name="Why is this safe?").click()
    expect(page.get_by_text("country: fr, hour: 6, member: false, shop: missing")).to_be_visible()
