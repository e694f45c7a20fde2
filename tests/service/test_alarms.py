"""Alarms over HTTP and on the page, outcomes that wait for their time to live, and one's own export."""

import math
import re

import pytest
from playwright.sync_api import expect

from .experiments import get, play
from .server import wait_for

CSV = {"content-type": "text/csv"}


def make(service, name="shop", **more):
    declared = {
        "name": name,
        "arms": ["control", "bold"],
        "safe": "control",
        "guardrails": [{"name": "complaints", "at_most": 0.12, "safe_cost": 0.02}],
    }
    return service.post("/v1/experiments", declared | more).ok(201)


def drift(service, name="shop"):
    """Control keeps its declared cost exactly; everything else never complains, then every time."""

    def means(dear):
        return lambda action: (0.5, {"complaints": 0.02}) if action == "control" else (1, {"complaints": dear})

    def acting():
        return [alarm for alarm in get(service, name)["alarms"] if alarm["forces_safe"]]

    def raised():
        play(service, name, 100, means(1))
        return acting()

    play(service, name, 400, means(0))
    assert not acting()
    wait_for(raised, "an alarm")
    return acting()[0]


def test_an_alarm_is_shown_counted_and_acknowledged(service, look):
    # The other arm is played from the start: it may be worth more.
    reward = {"range": {"control": [0, 1], "bold": [0, 1.1]}}
    made = make(service, reward=reward, agent={"kind": "opb", "alarm_delta": 0.5, "on_breach": "safe"})
    assert any(a["watched"] for a in made["rests_on"]) and not all(a["watched"] for a in made["rests_on"])
    alarm = drift(service)
    # Which of the two sees it first depends on how often bold was drawn.
    title = {"breach": "Guardrail breached", "refuted": "An arm has changed"}[alarm["kind"]]
    assert alarm["guardrail"] == "complaints"
    # One line says what and why, to whoever reads only the service's own log.
    (line,) = [line for line in service.log().splitlines() if " alarm " in line and alarm["message"] in line]
    assert "ERROR" in line and 'experiment="shop"' in line
    decision = service.post("/v1/experiments/shop/decisions", {}).ok(200)
    assert decision["certificate"]["fallback"] == "alarm" and decision["safe"]
    assert decision["certificate"]["rests_on"] == made["rests_on"]
    state = get(service, "shop", "/state")
    assert state["evidence"][0]["points"] and state["evidence"][0]["alarm_at"] == pytest.approx(math.log10(2))
    raised = r'banister_alarms{experiment="shop"} [1-9]'
    wait_for(lambda: re.search(raised, service.get("/metrics").body.decode()), "metric")

    page = look("/#/experiments/shop")
    panel = page.get_by_test_id("alarms")
    expect(panel).to_contain_text(title)
    expect(panel).to_contain_text("Only the safe action is played until somebody acknowledges it.")
    expect(page.get_by_test_id("glance-guardrails")).to_contain_text("Alarm")
    if alarm["kind"] == "breach":
        expect(panel.get_by_role("img")).to_have_count(1)
    page.picture("alarms")
    page.get_by_test_id("acknowledge").click()
    page.get_by_test_id("acknowledge-note").fill("the mail server was down")
    page.get_by_role("dialog").get_by_role("button", name="Acknowledge", exact=True).click()
    expect(panel).to_be_hidden()
    assert get(service, "shop")["alarms"] == []
    past = get(service, "shop", "/history")["alarms"]
    assert alarm["kind"] in [a["kind"] for a in past] and all(a["acknowledged"] for a in past)
    answer = service.post("/v1/experiments/nope/alarms:acknowledge", {})
    assert answer.status == 404
    answer = service.post("/v1/experiments/shop/alarms:acknowledge", {"notes": 1})
    assert answer.status == 422


WARNINGS = {
    "reward_range": "Warning: a reward left its declared range",
    "missing": "Warning: outcomes are missing, not at random",
    "segments": "Warning: nearly as many segments as there is room for",
}


def test_warnings_inform_and_are_no_alarms(service, look):
    make(service)
    play(service, "shop", 1, lambda action: (5, {"complaints": 0.02}))
    (raised,) = get(service, "shop")["alarms"]
    assert raised["kind"] == "reward_range" and not raised["forces_safe"]
    page = look()

    def add(route):
        """The same warning of every kind."""
        answer = route.fetch()
        known = answer.json()
        known["alarms"] = [raised | {"kind": kind, "number": i} for i, kind in enumerate(WARNINGS)]
        route.fulfill(response=answer, json=known)

    page.route(re.compile("/v1/experiments/shop(/state)?$"), add)
    page.goto(f"{service.url}/#/experiments/shop")
    panel = page.get_by_test_id("alarms")
    expect(panel.get_by_role("heading")).to_have_text("Warnings")
    for sentence in WARNINGS.values():
        expect(panel).to_contain_text(sentence)
    expect(panel.get_by_text("Decisions go on.")).to_have_count(3)
    expect(page.get_by_test_id("glance-guardrails")).not_to_contain_text("Alarm")
    expect(page.get_by_test_id("glance-guardrails").locator("dd span").first).not_to_be_empty()


def test_a_report_waits_for_the_time_to_live(service):
    make(service, ttl_seconds=3600, default_outcome={"reward": 0, "costs": {"complaints": 0}})
    service.post("/v1/experiments/shop/decisions", {"id": "early"}).ok(200)
    report = {"decision": "early", "reward": 1, "costs": {"complaints": 0}}
    told = service.post("/v1/experiments/shop/outcomes", report).ok(200)
    assert told["status"] == "pending" and told["reward"] == 1
    assert get(service, "shop", "/decisions/early")["status"] == "pending"
    assert get(service, "shop")["counts"]["outcomes"] == 0
    # A file of it teaches nobody else before its time either.
    rows = service.get("/v1/experiments/shop/export").body.decode()
    assert ",pending," in rows
    make(service, "other")
    answer = service.post("/v1/experiments/other/import", rows.encode(), headers=CSV)
    assert answer.status == 422


def test_an_experiments_own_export_is_not_learned_twice(service):
    make(service)
    play(service, "shop", 30, lambda action: (1, {"complaints": 0.02}))
    rows = service.get("/v1/experiments/shop/export").body.decode()
    answer = service.post("/v1/experiments/shop/import", rows.encode(), headers=CSV)
    assert answer.status == 409 and "all 30 rows" in answer.json()["detail"]
    assert get(service, "shop")["counts"]["imported"] == 0
    # Rows of others among them are taken, and the rest is counted.
    head, first, *_ = rows.splitlines()
    foreign = first.replace(first.split(",")[0], "somebody else's", 1)
    mixed = "\n".join([head, first, foreign]) + "\n"
    told = service.post("/v1/experiments/shop/import", mixed.encode(), headers=CSV).ok(200)
    assert told["outcomes"] == 1 and told["skipped"] == 1
    # Another experiment may learn from it.
    make(service, "other")
    told = service.post("/v1/experiments/other/import", rows.encode(), headers=CSV).ok(200)
    assert told["outcomes"] == 30 and told["skipped"] == 0
