"""Prices that are told: guardrails that are weighted sums of reported signals."""

import random

from playwright.sync_api import expect

from .experiments import get, play
from .server import rebuild

PRICES = {"small": {"input": 1e-7, "output": 4e-7}, "large": {"input": 1e-6, "output": 4e-6}}
DECLARED = {
    "name": "models",
    "arms": ["small", "large"],
    "safe": "small",
    "signals": {"input": [0, 1000], "output": {"range": [0, 500]}},
    "guardrails": [{"name": "dollars", "at_most": 5e-4, "weights": PRICES}],
}
ARM = "/v1/experiments/models/arms"


def answers(seed=1):
    chance = random.Random(seed)

    def outcome(action):
        reward = float(chance.random() < (0.9 if action == "large" else 0.4))
        return reward, {"input": chance.uniform(200, 400), "output": chance.uniform(50, 150)}

    return outcome


def tell(service, arm, weights):
    return service.request("PUT", f"{ARM}/{arm}/weights", weights)


def share(service):
    policy = service.post("/v1/experiments/models/decisions", {}).ok(200)["policy"]
    return {one["action"]: one["probability"] for one in policy}.get("large", 0.0)


def large(service):
    (arm,) = (arm for arm in get(service, "models", "/state")["arms"] if arm["name"] == "large")
    return arm["guardrails"][0]["upper"]


def test_a_price_counts_from_the_next_decision(service, look):
    made = service.post("/v1/experiments", DECLARED).ok(201)
    assert [arm["weights"] for arm in made["arms"]] == [{"dollars": PRICES["small"]}, {"dollars": PRICES["large"]}]
    assert any("charged by the weights" in one["text"] for one in made["rests_on"])
    play(service, "models", 1000, answers())
    before, known = share(service), large(service)
    assert before > 0.5
    dearer = {"dollars": {"input": 3e-6, "output": 1.2e-5}}
    changed = tell(service, "large", dearer).ok(200)
    assert changed["arms"][1]["weights"] == dearer
    after = share(service)
    assert 0 < after < 0.5 * before and abs(large(service) / known - 3) < 1e-9
    assert get(service, "models")["alarms"] == []
    # To tell the same again writes nothing.
    number = get(service, "models")["number"]
    assert tell(service, "large", dearer).ok(200)["number"] == number
    told = get(service, "models", "/changes")["changes"][0]
    assert (told["kind"], told["change"]) == ("weights_told", {"name": "large", "weights": dearer})
    assert service.stop() == 0
    service.start()
    assert get(service, "models")["arms"][1]["weights"] == dearer
    assert share(service) == after
    assert service.stop() == 0
    rebuild(service.data_dir)
    service.start()

    page = look("/#/experiments/models")
    # Outcomes bring the signals, and not their weighted sum.
    heads = page.get_by_test_id("decisions-table").get_by_role("columnheader")
    expect(heads).to_have_text(["decision", "when", "action", "probability", "outcome", "reward", "input", "output"])
    row = page.get_by_test_id("arms-table").get_by_role("row").filter(has_text="large")
    row.get_by_role("button", name="Weights").click()
    page.get_by_test_id("weight-dollars-input").fill("1e-6")
    page.get_by_test_id("weight-dollars-output").fill("4e-6")
    page.picture("weights")
    page.get_by_role("dialog").get_by_role("button", name="Tell", exact=True).click()
    expect(page.get_by_text("The weights are told.")).to_be_visible()
    assert get(service, "models")["arms"][1]["weights"] == {"dollars": PRICES["large"]}
    assert share(service) > 0.9 * before
    expect(page.get_by_test_id("changes")).to_contain_text("told weights of large: dollars (input 0.000001")

    listed = get(service, "models", "/decisions")["decisions"]
    (known, *_) = (one["id"] for one in listed if one["status"] == "complete")
    page = look(f"/#/experiments/models/decisions/{known}")
    expect(page.locator("dl.figures dt")).to_contain_text(["reward", "input", "output"])
    expect(page.get_by_text("awaited")).to_have_count(0)


def test_arms_that_are_added_bring_their_prices(service):
    service.post("/v1/experiments", DECLARED).ok(201)
    answer = service.post(ARM, {"name": "middle"})
    answer.problem(422, "weights.dollars")
    middle = {"dollars": {"input": 2e-7, "output": 8e-7}}
    made = service.post(ARM, {"name": "middle", "weights": middle}).ok(201)
    assert made["arms"][2]["weights"] == middle
    play(service, "models", 300, answers())
    # Offered again, with another price.
    service.request("DELETE", f"{ARM}/middle").ok(200)
    cheaper = {"dollars": {"input": 1e-7, "output": 1e-7}}
    service.post(ARM, {"name": "middle", "weights": cheaper}).ok(201)
    assert get(service, "models")["arms"][2]["weights"] == cheaper
    assert service.stop() == 0
    rebuild(service.data_dir)


def test_errors(service):
    service.post("/v1/experiments", DECLARED).ok(201)
    for body, field in [
        ({}, "weights"),
        ({"dollars": {"input": 1e-6}}, "weights.dollars.output"),
        ({"dollars": {"input": 1e-6, "output": -1}}, "weights.dollars.output"),
        ({"dollars": {"input": 1e-6, "output": 1e300}}, "weights.dollars"),
        ({"euros": {"input": 1e-6, "output": 1e-6}}, "weights.euros"),
        ({"dollars": {"input": 1e-6, "output": 1e-6, "cached": 1e-7}}, "weights.dollars.cached"),
    ]:
        tell(service, "large", body).problem(422, field)
    assert tell(service, "nobody", {"dollars": PRICES["large"]}).status == 404
    assert tell(service, "large", {"dollars": {"input": "a", "output": 1}}).status == 422
    decided = service.post("/v1/experiments/models/decisions", {}).ok(200)
    report = {"decision": decided["id"], "reward": 1, "costs": {"dollars": 1e-4}}
    refused = service.post("/v1/experiments/models/outcomes", report).problem(422, "costs.dollars")
    assert "input, output" in refused["detail"]
    for more, field in [
        ({"signals": {}}, "guardrails[0].expression.input"),
        ({"signals": {"input": [0, 10], "output": [0, -1]}}, "signals.output.range"),
        ({"budgets": {"dollars": {"amount": 5, "per": "day"}}}, "guardrails[0].expression"),
    ]:
        service.post("/v1/experiments", DECLARED | {"name": "other"} | more).problem(422, field)
