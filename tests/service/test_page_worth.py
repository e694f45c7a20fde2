"""Lifts and health: two panels of the page, and the report to print."""

import html
import re

from playwright.sync_api import expect

from .browser import painted, shown, significant
from .experiments import chances, get, play
from .server import wait_for

EVIL = "<script>window.caught = 1</script>"
ARMS = {"control": (0.4, 0.05), EVIL: (0.8, 0.1)}
RAIL = {"name": "<i>complaints", "at_most": 0.3, "safe_cost": 0.05}
CHANCES = chances(ARMS, [RAIL["name"]])
LIGHTS = {"green": "✓ fine", "amber": "⚠ look", "red": "✕ wrong"}


def make(service, **more):
    declared = {"name": "shop", "arms": list(ARMS), "safe": "control", "guardrails": [RAIL], "confidence": 0.9}
    service.post("/v1/experiments", declared | more).ok(201)


def three(x):
    """Three digits, as the report and percents of the page have them."""
    return f"{significant(x, 3).normalize():f}".replace("-", "−")


def signed(x):
    return f"{'+' if x > 0 else ''}{three(x)}"


def test_worth_and_trust(service, look):
    make(service)

    def played():
        play(service, "shop", 200, CHANCES)
        return len(get(service, "shop", "/history")["points"]) >= 4

    wait_for(played, "history")
    page = look("/#/experiments/shop")
    worth, trust = page.get_by_test_id("worth"), page.get_by_test_id("trust")
    lift = get(service, "shop", "/lift")
    expect(worth).to_contain_text(f"{lift['enough'].capitalize()}.")
    assert {own["signal"] for own in lift["lifts"]} == {"reward", RAIL["name"]}
    for own in lift["lifts"]:
        worth.get_by_label("Signal").select_option(own["signal"])
        by, percent = own["difference"], own["percent"]
        row = worth.locator("tbody tr")
        expect(row).to_have_count(1)
        expect(row.get_by_role("rowheader")).to_have_text(EVIL)
        words = f"{shown(by['estimate'])} in [{shown(by['lower'])}, {shown(by['upper'])}]"
        expect(row.get_by_role("img", name=words, exact=True)).to_be_visible()
        expect(row.locator(".iv-forbidden")).to_be_hidden()
        ends = percent and [signed(percent[key]) for key in ["estimate", "lower", "upper"]]
        expect(row).to_contain_text("{}% ({}% to {}%)".format(*ends) if ends else "–")
    # The band over time is that of the arm, and ends with what the history knows.
    expect(worth.get_by_test_id("chart-lift")).to_contain_text(f"Lift of {EVIL[:20]}")
    [[arm, last]] = get(service, "shop", "/history")["points"][-1]["lifts"]
    assert arm == EVIL
    expect(worth.locator(".readout")).to_contain_text(f"[{shown(last['lower'])}, {shown(last['upper'])}]")
    wait_for(lambda: painted(page, "chart-lift", "--c1") > 60, "line of the lift")
    # Without a time to live nobody notices what never comes: the light is amber, and the panel open.
    health = get(service, "shop", "/health")
    assert health["light"] == "amber"
    expect(trust).to_contain_text("Somebody should look")
    lines = [f"{LIGHTS[check['light']]}{check['name']}: {check['reason']}" for check in health["checks"]]
    expect(trust.get_by_role("listitem")).to_have_text(lines)
    page.picture("worth")


def test_units_and_a_green_light(service, look):
    make(service, unit={"name": "user", "period": "7d"})
    service.post("/v1/experiments/shop/decisions", {"unit": "anna"}).ok(200)
    assert get(service, "shop", "/health")["light"] == "green"
    page = look("/#/experiments/shop")
    trust = page.get_by_test_id("trust")
    expect(trust).to_contain_text("Nothing speaks against it")
    expect(trust.locator("details")).not_to_have_attribute("open", "")
    expect(trust.get_by_role("list")).to_be_hidden()
    trust.locator("summary").press("Enter")
    expect(trust.get_by_role("list")).to_be_visible()
    expect(page.get_by_test_id("glance-reward")).to_contain_text("reward of one user and period of 7 d")
    expect(page.get_by_test_id("worth")).to_contain_text("of one user and period of 7 d, to control")
    expect(page.locator(".declared")).to_contain_text(get(service, "shop")["certified"])


def test_a_unit_is_tried_from_the_page(service, look):
    signals = {"revenue": [0, 50], "orders": [0, 5], "refunds": [0, 5], "wait": [0, "inf"]}
    guardrails = [
        {"name": "refund rate", "ratio": ["refunds", "orders"], "at_most": 0.3},
        {"name": "p95", "signal": "wait", "quantile": 0.95, "at_most": 30},
    ]
    make(
        service,
        unit={"name": "user"},
        ttl_seconds=3600,
        signals=signals,
        reward={"signal": "revenue"},
        guardrails=guardrails,
    )
    page = look("/#/experiments/shop")
    expect(page.locator(".declared")).to_contain_text("revenue")
    page.get_by_label("unit: the user").fill("anna")
    page.get_by_test_id("try-decide").click()
    expect(page.locator(".answer")).to_contain_text("Play ")
    page.get_by_test_id("try-reward").fill("12.5")
    for place, value in enumerate(["2", "1", "7"]):
        page.get_by_test_id("try-cost").nth(place).fill(value)
    page.get_by_test_id("try-report").click()
    expect(page.get_by_text("Partial: the rest is awaited.")).to_be_visible()
    outcome = get(service, "shop", "/decisions/anna")["outcome"]
    assert outcome == {"reward": 12.5, "costs": {"orders": 2.0, "refunds": 1.0, "wait": 7.0}}


def test_the_report(service, look):
    make(service, description="<b>Which</b> & why?")
    play(service, "shop", 2000, CHANCES)
    token = service.make_token("admin", "boss")
    page = look(f"/#token={token}&/experiments/shop")
    # A link cannot carry the token, and yet it leads to the report.
    with page.expect_popup() as opened:
        page.get_by_test_id("worth").get_by_role("link", name="Report").click()
    paper = opened.value
    found = service.get("/v1/experiments/shop/report", token=token).ok(200)
    [own] = [lift for lift in found["lift"]["lifts"] if lift["signal"] == "reward"]
    by = [three(own["percent"][key]) for key in ["estimate", "lower", "upper"]]
    words = "earned {}% more reward per decision than control ({}% to {}%), and every guardrail held.".format(*by)
    expect(paper.locator(".answer")).to_have_text(f"{EVIL} {words}")
    body = paper.locator("body")
    # In sum: the difference times the outcomes of the only other arm.
    total = [f"{own['outcomes'] * own['difference'][key]:.0f}" for key in ["estimate", "lower", "upper"]]
    expect(body).to_contain_text("{} ({} to {})".format(*total))
    wanted = [f"{RAIL['name']}: at most 0.3", "✓\u00a0held", "<b>Which</b> & why?", found["lift"]["enough"]]
    wanted += [check["reason"] for check in found["health"]["checks"]]
    wanted += [assumption["text"] for assumption in found["experiment"]["rests_on"]]
    for words in wanted:
        expect(body).to_contain_text(words)
    expect(body.locator("svg")).to_have_count(1)
    assert paper.locator("script, i, u, p > b > *").count() == 0
    assert paper.evaluate("window.caught") is None


def test_the_report_tells_of_alarms(service):
    make(service)
    play(service, "shop", 300, lambda _: (0.5, {RAIL["name"]: 1.0}))
    [alarm, *_] = [own for own in get(service, "shop", "/report")["alarms"] if own["forces_safe"]]
    message = html.escape(alarm["message"])
    token = service.make_token("admin", "boss")

    def report():
        return service.get("/v1/experiments/shop/report?format=html", token=token).body.decode()

    held = "this did not hold: &lt;i&gt;complaints"
    assert RAIL["name"] not in report() and held in report()
    assert f"<td>{message}<td>nobody yet" in report()
    service.post("/v1/experiments/shop/alarms:acknowledge", {"note": "seen"}, token=token).ok(200)
    assert held not in report()
    assert re.search(rf"<td>{re.escape(message)}<td>\S+ \S+ UTC by boss", report())
