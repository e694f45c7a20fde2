"""The page in a real browser: what it changes, what it warns of, and how it explains a decision."""

import csv
import io
import re

from playwright.sync_api import expect

from .browser import percent, shown
from .experiments import chances, get, play
from .server import wait_for

RAIL = {"name": "complaints", "at_most": 0.2, "safe_cost": 0.05}
CHANCES = {"control": (0.4, 0.05), "bold": (0.7, 0.1)}


def make(service, name="shop", **more):
    declared = {"name": name, "arms": ["control", "bold"], "safe": "control", "guardrails": [RAIL], "confidence": 0.9}
    return service.post("/v1/experiments", declared | more).ok(201)


def confirm(page, button):
    page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_alarm_comes_and_goes(service, look):
    """Nobody said what the safe arm costs: it is played alone until the data prove a margin."""
    make(service, guardrails=[{"name": "complaints", "at_most": 0.5}])
    page = look("/#/experiments/shop")
    expect(page.get_by_test_id("start")).to_be_visible()
    assert page.get_by_role("alert").count() == 0
    play(service, "shop", 1, lambda action: (1, {"complaints": 0}))
    alarm = page.get_by_test_id("alarm")
    expect(alarm.get_by_role("alert")).to_contain_text("Safe action forced")
    told = get(service, "shop", "/state")["alarm"]
    assert told["reason"] == "margin_not_proven" and told["decision"].startswith("@")
    link = alarm.get_by_role("link", name=told["decision"])
    expect(link).to_have_attribute("href", re.compile(re.escape(told["decision"].replace("@", "%40")) + "$"))
    expect(page.get_by_test_id("glance-guardrails")).to_contain_text("Safe action only")
    page.picture("alarm")
    overview = look()
    expect(overview.get_by_test_id("list-guardrails")).to_contain_text("safe action forced: margin not proven")

    def proven():
        play(service, "shop", 50, lambda action: (1, {"complaints": 0}))
        return get(service, "shop", "/state")["alarm"] is None

    wait_for(proven, "margin")
    expect(alarm.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_test_id("glance-guardrails")).to_contain_text("Kept")
    expect(overview.get_by_test_id("list-guardrails")).to_have_text("✓ kept")
    forced = get(service, "shop")["counts"]["forced"]
    assert forced > 0
    expect(page.get_by_test_id("count-forced")).to_have_text(str(forced))


def test_drift_says_what_bounds_rest_on(service, look):
    make(service, guardrails=[RAIL | {"drift": {"by": 0.01, "per": "day"}}])
    page = look("/#/experiments/shop")
    note = page.get_by_test_id("drift-complaints")
    expect(note).to_have_text("complaints may drift by 0.01 per day.")
    play(service, "shop", 300, chances(CHANCES, ["complaints"]))
    bold = get(service, "shop", "/state")["arms"][1]
    assert bold["windows"][0] is None and 0 < bold["windows"][1] <= bold["pulls"]
    told = f"complaints may drift by 0.01 per day: bounds of “bold” use its last {bold['windows'][1]} outcomes."
    expect(note).to_have_text(told)


def test_pause_resume_archive(service, look):
    make(service)
    play(service, "shop", 20, chances(CHANCES, ["complaints"]))
    page = look("/#/experiments/shop")
    page.get_by_test_id("pause").click()
    confirm(page, "Pause")
    expect(page.locator(".pills").first).to_have_text("paused")
    assert get(service, "shop")["status"] == "paused"
    page.get_by_test_id("try-decide").click()
    expect(page.get_by_test_id("alarm")).to_contain_text("Paused")
    page.picture("paused")
    page.get_by_test_id("resume").click()
    expect(page.locator(".pills").first).to_have_text("running")
    assert get(service, "shop")["status"] == "running"
    page.get_by_test_id("archive").click()
    confirm(page, "Archive")
    expect(page.locator(".pills").first).to_have_text("archived")
    expect(page.locator(".try")).to_contain_text("takes no more decisions")
    for gone in ["pause", "resume", "edit", "archive", "add-arm", "learn"]:
        expect(page.get_by_test_id(gone)).to_be_hidden()


def test_arms_come_and_go(service, look):
    make(service)
    page = look("/#/experiments/shop")
    rows = page.get_by_test_id("arms-table").locator("tbody tr")
    expect(rows).to_have_count(2)
    page.watch.allow("status of 4(09|22)")
    page.get_by_test_id("add-arm").click()
    page.get_by_test_id("arm-name").fill("bold")
    page.get_by_role("dialog").get_by_role("button", name="Add arm").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("bold")
    page.get_by_test_id("arm-name").fill("brave")
    confirm(page, "Add arm")
    expect(rows).to_have_count(3)
    expect(rows.nth(2)).to_contain_text("brave")
    expect(rows.nth(0).get_by_role("button", name="Retire")).to_be_hidden()  # the safe one stays
    rows.nth(1).get_by_role("button", name="Retire").click()
    confirm(page, "Retire")
    expect(rows.nth(1)).to_contain_text("retired")
    offered = {arm["name"]: arm["offered"] for arm in get(service, "shop")["arms"]}
    assert offered == {"control": True, "bold": False, "brave": True}


def test_editing(service, look):
    make(service)
    page = look("/#/experiments/shop")
    page.watch.allow("status of 422")
    page.get_by_test_id("edit").click()
    page.get_by_label("Description").fill("what sells")
    page.get_by_label("Time to live, in seconds").fill("-1")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("ttl_seconds")
    page.get_by_label("Time to live, in seconds").fill("60")
    page.get_by_role("dialog").get_by_label("reward").fill("0")
    page.get_by_role("dialog").get_by_label("complaints").fill("0.5")
    confirm(page, "Save")
    expect(page.locator(".lead")).to_have_text("what sells")
    rule = "1 min: outcomes are learned then; the default outcome: reward 0, complaints 0.5"
    expect(page.locator(".declared")).to_contain_text(rule)
    changed = get(service, "shop")
    assert (changed["description"], changed["ttl_seconds"]) == ("what sells", 60)
    assert changed["default_outcome"] == {"reward": 0, "costs": {"complaints": 0.5}}


def test_a_thousand_arms(service, look):
    names = [f"arm-{i}" for i in range(1000)]
    make(service, arms=["control", *names])
    table = {"control": CHANCES["control"]} | dict.fromkeys(names, (0.5, 0.1))
    play(service, "shop", 200, chances(table, ["complaints"]))
    page = look("/#/experiments/shop")
    rows = page.get_by_test_id("arms-table").locator("tbody tr")
    expect(page.get_by_role("button", name="Show all 1,001")).to_be_visible()
    assert 12 <= rows.count() <= 13  # the safe one may come on top
    page.get_by_role("button", name="Show all 1,001").click()
    expect(rows).to_have_count(1001)
    state = get(service, "shop", "/state")
    shares = page.get_by_test_id("policy-bars").locator("li")
    expect(shares).to_have_count(min(12, len(state["policy"])))


def test_the_audit_trail_is_the_service_s(service, look):
    make(service)
    play(service, "shop", 600, chances(CHANCES, ["complaints"]))
    service.post("/v1/experiments/shop/decisions", {"id": "order 17/é"}).ok(200)
    page = look("/#/experiments/shop")
    page.get_by_test_id("decisions-table").get_by_role("link", name="order 17/é").click()
    audit = get(service, "shop", "/decisions/order%2017%2F%C3%A9")
    certified = audit["certificate"]["guardrails"][0]
    trail = page.get_by_test_id("audit")
    expect(trail.get_by_role("heading", level=1)).to_contain_text("order 17/é")
    expect(trail.locator(".lead")).to_contain_text(audit["action"])
    expect(trail.locator(".lead")).to_contain_text(percent(audit["probability"]))
    expect(trail).to_contain_text(f"From {audit['certificate']['outcomes']:,} outcomes")
    known = trail.locator(".known tbody tr")
    expect(known).to_have_count(len(audit["known"]))
    for i, action in enumerate(audit["known"]):
        expect(known.nth(i).locator("th .clip")).to_have_text(action["action"])
        expect(known.nth(i).locator("td").nth(0)).to_have_text(percent(action["probability"]))
        expect(known.nth(i).locator("td").nth(1)).to_have_text(str(action["pulls"]))
        for place, estimate in enumerate([action["reward"], *action["guardrails"]]):
            cell = known.nth(i).locator("td").nth(2 + place)
            expect(cell.locator(".iv-text")).to_have_text(shown(estimate["mean"]))
            ends = f"[{shown(estimate['lower'])}, {shown(estimate['upper'])}]"
            expect(cell.locator(".iv-numbers")).to_have_text(ends)
    expect(trail).to_contain_text(shown(audit["draw"]))
    safe = trail.get_by_test_id("audit-safe")
    expect(safe).to_contain_text(f"threshold {shown(certified['threshold'])}")
    expect(safe).to_contain_text(f"price {shown(certified['price'])}")
    expect(safe.locator(".badge")).to_have_text("✓ kept")
    # The sum can be checked by hand: the safe arm counts with its declared cost.
    terms = re.findall(r"([\d.]+) × ([\d.]+)", safe.locator(".sum code").text_content())
    assert len(terms) == len([entry for entry in audit["policy"] if entry["probability"] > 0])
    total = sum(float(p) * float(cost) for p, cost in terms)
    assert abs(total - certified["pessimistic_cost"]) < 1e-3
    expect(trail).to_contain_text("waiting for its outcome")
    page.picture("audit")
    report = {"decision": "order 17/é", "reward": 0.5, "costs": {"complaints": 0.25}}
    service.post("/v1/experiments/shop/outcomes", report).ok(200)
    expect(trail).to_contain_text("its outcome is known")
    expect(trail.locator(".figures.compact")).to_contain_text("0.25")
    expect(trail.locator(".events li")).to_have_count(2)


def test_learning_from_a_file(service, look, tmp_path):
    make(service)
    play(service, "shop", 120, chances(CHANCES, ["complaints"]))
    make(service, "again")
    page = look("/#/experiments/shop")
    for kind in ["csv", "parquet"]:
        with page.expect_download() as download:
            page.get_by_test_id(f"export-{kind}").click()
        download.value.save_as(tmp_path / f"log.{kind}")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "log.csv").read_text())))
    assert len(rows) == 120 and {"action", "pscore", "reward", "complaints"} <= set(rows[0])
    page = look("/#/experiments/again")
    page.watch.allow("status of 422")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("action,reward\nbold,1\n")
    page.get_by_test_id("learn-file").set_input_files(wrong)
    page.get_by_test_id("learn-send").click()
    expect(page.get_by_test_id("learn-problem")).to_contain_text("column complaints")
    # The same outcomes sent again are answered the same and counted once.
    for name in ["again", "again"]:
        page = look(f"/#/experiments/{name}")
        page.get_by_test_id("learn-file").set_input_files(tmp_path / "log.csv")
        page.get_by_test_id("learn-send").click()
        expect(page.get_by_test_id("learn-said")).to_contain_text("120 outcomes were learned")
        expect(page.get_by_test_id("count-imported")).to_have_text("120")
        assert get(service, name)["counts"]["imported"] == 120


def test_ranges_by_arm_and_caps(service, look):
    page = look("/#/new")
    page.watch.allow("status of 422")
    page.get_by_test_id("field-name").fill("calls")
    page.get_by_test_id("arms-row").nth(1).get_by_label("Arm’s name").fill("dear")
    page.get_by_test_id("guardrail-name").fill("dollars")
    page.get_by_test_id("guardrail-value").fill("0.5")
    rail = page.get_by_test_id("guardrails-row")
    rail.get_by_text("Range", exact=True).first.click()
    ranges = rail.get_by_label("Guardrail: ranges by arm")
    ranges.fill("control: 0, 0.1")
    ranges.blur()
    expect(rail).to_contain_text("`guardrails[0].range.dear` is absent")
    ranges.fill("control: 0, 0.1\ndear: 0, 9")
    rail.get_by_label("Cap", exact=True).fill("2")
    expect(page.locator(".check-line")).to_contain_text("would accept this")
    page.get_by_test_id("submit-create").click()
    expect(page.get_by_test_id("start")).to_be_visible()
    known = get(service, "calls")
    rail = {"name": "dollars", "at_most": 0.5, "range": {"control": [0, 0.1], "dear": [0, 9]}, "cap": 2}
    assert known["guardrails"] == [rail]
    assert [arm["ranges"] for arm in known["arms"]] == [{"dollars": [0, 0.1]}, {"dollars": [0, 2]}]
    expect(page.get_by_text("capped mean at most 0.5").first).to_be_attached()
    expect(page.get_by_text("range by arm: control [0, 0.1], dear [0, 9], more counts as 2")).to_be_attached()
    # An added arm brings its own.
    page.get_by_test_id("add-arm").click()
    page.get_by_test_id("arm-name").fill("odd")
    page.get_by_test_id("arm-range-dollars").fill("0, 1")
    confirm(page, "Add arm")
    assert get(service, "calls")["arms"][2]["ranges"] == {"dollars": [0, 1]}
