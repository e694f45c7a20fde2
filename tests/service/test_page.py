"""The page in a real browser: creating, trying, and watching an experiment."""

import json
import re

from playwright.sync_api import expect

from .browser import painted, percent, shown
from .experiments import chances, get, play
from .server import wait_for

ARMS = {"control": (0.5, 0.02, 0.5), "bold": (0.65, 0.05, 0.6), "wild": (0.9, 0.4, 0.7)}
GUARDRAILS = [
    {"name": "complaints", "at_most": 0.1, "safe_cost": 0.02},
    {"name": "conversion", "at_least": 0.8, "relative": True, "safe_cost": 0.5},
]
COSTS = [guardrail["name"] for guardrail in GUARDRAILS]


def make(service, name="checkout", **more):
    declared = {"name": name, "arms": list(ARMS), "safe": "control", "guardrails": GUARDRAILS, "confidence": 0.9}
    return service.post("/v1/experiments", declared | more).ok(201)


def beside(locator):
    """The problem that is shown with a field."""
    return locator.locator("xpath=ancestor::div[contains(@class,'field')][1]").locator(".problem")


def declared_in(page):
    """Returns the request of the form, from the command that it shows."""
    command = page.locator("aside code").text_content()
    return json.loads(re.search(r"-d '(.*)'$", command, re.S).group(1))


def test_creating_through_the_form(service, look):
    page = look()
    page.watch.allow("status of 422")
    expect(page.get_by_test_id("welcome")).to_contain_text("curl -X POST")
    page.picture("welcome")
    page.get_by_role("link", name="Create the first one").click()
    name, value = page.get_by_test_id("field-name"), page.get_by_test_id("guardrail-value")
    cost = page.get_by_test_id("guardrail-safe-cost")

    def refused(field):
        """The message beside the field is the service's own, word for word."""
        problem = service.post("/v1/experiments?dry_run=true", declared_in(page)).problem(422)
        expect(beside(field)).to_have_text(problem["detail"])
        expect(field).to_have_attribute("aria-invalid", "true")
        return problem["field"]

    name.fill("no spaces, please")
    page.get_by_test_id("arms-row").nth(1).get_by_label("Arm’s name").fill("bold")
    page.get_by_test_id("guardrail-name").fill("complaints")
    value.fill("a lot")
    value.blur()
    assert refused(value) == "guardrails[0].at_most"
    value.fill("0.1")
    assert refused(name) == "name"
    name.fill("checkout")
    page.get_by_test_id("guardrail-known").check()
    cost.fill("0.3")
    cost.blur()
    assert refused(cost) == "guardrails[0].safe_cost"
    # What was refused while typing is refused when sent, and nothing is created.
    page.get_by_test_id("submit-create").click()
    expect(cost).to_be_focused()
    assert service.get("/v1/experiments").ok(200) == {"experiments": []}
    page.picture("create-refused")
    cost.fill("0.02")
    expect(page.locator(".check-line")).to_contain_text("would accept this")
    # Parameters of agents come from the service; one that was not touched is not sent.
    page.get_by_text("Advanced: the agent").click()
    kinds = service.get("/v1/agents").ok(200)["oneOf"]
    for kind in kinds:
        page.get_by_test_id("agent-kind").select_option(kind["properties"]["kind"]["const"])
        assert declared_in(page)["agent"] == {"kind": kind["properties"]["kind"]["const"]}
        for parameter in set(kind["properties"]) - {"kind", "delta", "label"}:
            label = page.get_by_test_id("advanced").get_by_label(parameter, exact=True)
            expect(label.locator("visible=true")).to_have_count(1)
    page.get_by_test_id("agent-kind").select_option("opb")
    page.get_by_label("rho", exact=True).fill("2")
    assert declared_in(page)["agent"] == {"kind": "opb", "rho": 2}
    page.get_by_test_id("field-confidence").fill("0.95")
    page.get_by_test_id("submit-create").click()
    expect(page).to_have_url(re.compile("#/experiments/checkout$"))
    made = get(service, "checkout")
    assert made["guardrails"] == [{"name": "complaints", "at_most": 0.1, "safe_cost": 0.02}]
    assert (made["confidence"], made["agent"]["rho"], made["safe"]) == (0.95, 2, "control")
    page.get_by_role("link", name="Experiments").click()
    row = page.locator(".experiments tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("checkout")
    expect(row).to_contain_text("running")
    expect(row).to_contain_text("2 arms")


def test_a_decision_and_its_outcome(service, look):
    make(service)
    page = look("/#/experiments/checkout")
    expect(page.get_by_test_id("start")).to_contain_text("/v1/experiments/checkout/decisions")
    page.get_by_label("id (optional)").fill("order-1")
    page.get_by_test_id("try-decide").click()
    answer = page.locator(".answer")
    expect(answer).to_contain_text("Play ")
    decided = get(service, "checkout", "/decisions/order-1")
    expect(answer.locator("b")).to_have_text(decided["action"])
    expect(answer).to_contain_text(percent(decided["probability"]))
    expect(page.get_by_test_id("count-decisions")).to_have_text("1")
    page.get_by_test_id("try-reward").fill("0.75")
    page.get_by_test_id("try-cost").nth(0).fill("0")
    page.get_by_test_id("try-cost").nth(1).fill("1")
    page.get_by_label("only the reward now").check()
    page.get_by_test_id("try-report").click()
    expect(page.get_by_text("Partial: the rest is awaited.")).to_be_visible()
    page.get_by_label("only the reward now").uncheck()
    page.get_by_test_id("try-report").click()
    expect(page.get_by_text("Complete: the outcome was taken")).to_be_visible()
    assert get(service, "checkout", "/decisions/order-1")["outcome"] == {
        "reward": 0.75,
        "costs": {"complaints": 0, "conversion": 1},
    }
    expect(page.get_by_test_id("count-outcomes")).to_have_text("1")
    # The service's refusal is shown where it was asked.
    page.watch.allow("status of 409")
    page.get_by_test_id("try-reward").fill("0.25")
    page.get_by_test_id("try-report").click()
    expect(page.locator(".try .problem:visible")).to_contain_text("order-1")


def same_as_the_service(service, page, name="checkout"):
    """Waits until the page shows the counts of the service, then compares the rest."""
    experiment, state = get(service, name), get(service, name, "/state")
    for key, count in experiment["counts"].items():
        expect(page.get_by_test_id(f"count-{key}")).to_have_text(f"{count:,}")
    estimate = state["estimates"]["reward"]
    expect(page.get_by_test_id("glance-reward").locator("dd span").first).to_have_text(shown(estimate["mean"]))
    # `complaints`, the first upper bound: what the outcomes cost, and would have with the dearest arm alone.
    first = next(i for i, rail in enumerate(experiment["guardrails"]) if "at_most" in rail)
    costs = [(arm["pulls"], arm["guardrails"][first]["mean"], arm["name"]) for arm in state["arms"] if arm["pulls"]]
    dearest = max(costs, key=lambda arm: arm[1])
    spent, pulls = sum(n * mean for n, mean, _ in costs), sum(n for n, _, _ in costs)
    savings = page.get_by_test_id("glance-savings")
    if len(costs) > 1 and pulls * dearest[1] > spent:
        share = 100 * (1 - spent / (pulls * dearest[1]))
        digits = 2 if share > 99 or share < 10 else 1
        expect(savings).to_contain_text(f"less ({share:.{digits}f}%) than with {dearest[2]} alone")
    else:
        expect(savings).to_be_hidden()
    bars = page.get_by_test_id("policy-bars").locator("li")
    policy = sorted(state["policy"], key=lambda entry: -entry["probability"])
    expect(bars).to_have_count(len(policy))
    for i, entry in enumerate(policy):
        expect(bars.nth(i).locator(".clip")).to_have_text(entry["action"])
        expect(bars.nth(i).locator("b")).to_have_text(percent(entry["probability"]))
        fill = bars.nth(i).locator(".bar i")
        page.wait_for_function(
            "([fill, share]) => Math.abs(fill.offsetWidth - Math.max(2, share * fill.parentElement.offsetWidth)) <= 1",
            arg=[fill.element_handle(), entry["probability"]],
        )
    for i, certified in enumerate(state["certificate"]["guardrails"]):
        legend = page.get_by_test_id(f"chart-guardrail-{certified['name']}").locator(".readout")
        expect(legend).to_contain_text(f"estimate {shown(state['estimates']['guardrails'][i]['mean'])}")
        expect(legend).to_contain_text(f"threshold {shown(certified['threshold'])}")
        expect(legend).to_contain_text(f"pessimistic cost {shown(certified['pessimistic_cost'])}")
    for i, arm in enumerate(state["arms"]):
        row = page.get_by_test_id("arms-table").locator("tbody tr").nth(i)
        expect(row.locator("th .clip")).to_have_text(arm["name"])
        expect(row.locator("td").nth(0)).to_have_text(percent(arm["probability"]))
        expect(row.locator("td").nth(1)).to_have_text(f"{arm['pulls']:,}")


CHARTS = {
    "chart-reward": "--c1",
    "chart-guardrail-complaints": "--c2",
    "chart-guardrail-conversion": "--c2",
    "chart-price": "--c2",
    "chart-rate": "--c3",
}


def test_charts_and_bars_follow_the_service(service, look):
    make(service)
    page = look("/#/experiments/checkout")
    expect(page.get_by_test_id("start")).to_be_visible()
    expect(page.get_by_test_id("chart-reward")).to_be_hidden()
    outcome = chances(ARMS, COSTS)

    def played(points):
        """Plays until the history has so many points."""
        play(service, "checkout", 100, outcome)
        return len(get(service, "checkout", "/history")["points"]) >= points

    wait_for(lambda: played(4), "history")
    same_as_the_service(service, page)
    expect(page.get_by_test_id("start")).to_be_hidden()
    for chart, colour in CHARTS.items():
        expect(page.get_by_test_id(chart).locator("canvas")).to_be_visible()
        enough = 60 if chart != "chart-rate" else 0
        wait_for(lambda: painted(page, chart, colour) > enough, f"line in {chart}")
    for chart in ["chart-guardrail-complaints", "chart-guardrail-conversion"]:
        wait_for(lambda: painted(page, chart, "--threshold") > 60, f"threshold in {chart}")

    def drawn(chart):
        return page.get_by_test_id(chart).locator("canvas").evaluate("canvas => canvas.toDataURL()")

    before = {chart: drawn(chart) for chart in CHARTS}
    page.picture("first-minute")
    wait_for(lambda: played(8), "history")
    same_as_the_service(service, page)
    for chart in CHARTS:
        wait_for(lambda: drawn(chart) != before[chart], f"news in {chart}")
    expect(page.get_by_test_id("glance-guardrails")).to_contain_text("Both kept")
    expect(page.get_by_test_id("glance-guardrails")).to_contain_text("90% confidence")
    page.picture("experiment")


def test_a_reader_is_not_disturbed(service, look):
    """While the page follows the service, focus, what is typed, and what is looked at stay."""
    make(service)
    play(service, "checkout", 50, chances(ARMS, COSTS))
    page = look("/#/experiments/checkout")
    expect(page.get_by_test_id("count-decisions")).to_have_text("50")
    canvas = page.get_by_test_id("chart-reward").locator("canvas").element_handle()
    field = page.get_by_label("id (optional)")
    field.fill("half a na")
    at = field.bounding_box()["y"]
    assert page.evaluate("scrollY") > 0
    for rounds in [100, 150]:
        play(service, "checkout", 50, chances(ARMS, COSTS))
        expect(page.get_by_test_id("count-decisions")).to_have_text(str(rounds))
    expect(field).to_be_focused()
    assert field.input_value() == "half a na"
    assert abs(field.bounding_box()["y"] - at) <= 2
    assert canvas.evaluate("canvas => canvas.isConnected")
