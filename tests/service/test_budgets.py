"""Budgets over HTTP: callers at once, replicas and kills, and the sum of true costs stays within the amount."""

import concurrent.futures
import http.client
import itertools
import random
import re
import signal
import threading
from datetime import datetime, timezone

import pytest
from playwright.sync_api import expect

from .callers import PATIENCE, eventually
from .experiments import get
from .postgres import temporary
from .server import rebuild

WORST = {"control": 0.5, "bold": 2.0, "brave": 1.0}
AMOUNT = 40
PATH = "/v1/experiments/shop"
SHOP = {
    "name": "shop",
    "arms": list(WORST),
    "safe": "control",
    "guardrails": [
        {"name": "spend", "at_most": 0.6, "safe_cost": 0.1, "range": {arm: [0, most] for arm, most in WORST.items()}}
    ],
    # A month, so that no test sees its end but one that starts in its last minute.
    "budgets": {"spend": {"amount": AMOUNT, "per": "month", "when_exhausted": "refuse", "pacing": False}},
}
#: The safe arm earns nothing, so that the others are tried.
KNOWN = "action,reward,spend\n" + "control,0,0\ncontrol,0,0.2\n" * 200
THREADS = 6
ASKED = 60


def create(server):
    server.post("/v1/experiments", SHOP).ok(201)
    server.post(f"{PATH}/import", KNOWN.encode(), headers={"content-type": "text/csv"}).ok(200)


class Spenders:
    """Callers who decide, and report what it cost; each request until it is answered."""

    def __init__(self, replicas):
        self.replicas, self.lock = replicas, threading.Lock()
        #: (action, its cost once that is acknowledged) by decision; refused decisions; answers so far.
        self.made, self.refused, self.answered = {}, 0, 0
        #: True while something happens that they must not stop before.
        self.go_on = False

    def ask(self, chance, path, body):
        while True:
            try:
                answer = chance.choice(self.replicas).post(path, body)
            except (OSError, http.client.HTTPException):
                continue
            if answer.status != 503:
                with self.lock:
                    self.answered += 1
                return answer

    def spend(self, name):
        chance = random.Random(name)
        for i in itertools.count():
            if i >= ASKED and not self.go_on:
                return
            id = f"{name}-{i}"
            answer = self.ask(chance, f"{PATH}/decisions", {"id": id})
            if answer.status == 429:
                problem = answer.problem(429)
                assert "the budget of `spend` is exhausted" in problem["detail"]
                assert problem["type"] == "urn:banister:budget-exhausted"
                assert 1 <= int(answer.headers["retry-after"]) <= 31 * 86400
                with self.lock:
                    self.refused += 1
                continue
            action = answer.ok(200)["action"]
            with self.lock:
                self.made[id] = (action, None)
            if chance.random() < 0.1:
                continue
            # Seldom the worst, and now and then in parts or twice.
            cost = round(WORST[action] * chance.random() ** 3, 3)
            whole = {"decision": id, "reward": 1, "costs": {"spend": cost}}
            parts = [{"decision": id, "costs": {"spend": cost}}, {"decision": id, "reward": 1}]
            for body in chance.choice([[whole], [whole, whole], parts]):
                self.ask(chance, f"{PATH}/outcomes", body).ok(200)
            with self.lock:
                self.made[id] = (action, cost)

    def run(self, meanwhile=lambda: None):
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            self.go_on = True
            running = [pool.submit(self.spend, f"s{n}") for n in range(THREADS)]
            try:
                meanwhile()
            finally:
                self.go_on = False
            for one in running:
                one.result(2 * PATIENCE)

    def check(self):
        """Acknowledged decisions cost no more than the amount, and every replica has the same sums."""
        spent = sum(cost for _, cost in self.made.values() if cost is not None)
        reserved = sum(WORST[action] for action, cost in self.made.values() if cost is None)
        assert spent + reserved <= AMOUNT + 1e-9, (spent, reserved)
        assert self.refused > 0 and any(action != "control" for action, _ in self.made.values())

        def agrees(replica):
            budget = get(replica, "shop")["budgets"]["spend"]
            return (
                budget["spent"] == pytest.approx(spent, abs=1e-9)
                and budget["reserved"] == pytest.approx(reserved, abs=1e-9)
                and budget["remaining"] == pytest.approx(AMOUNT - spent - reserved, abs=1e-9)
                and budget["decisions"] == len(self.made)
                and budget["beyond"] == 0
            )

        for replica in self.replicas:
            eventually(lambda: agrees(replica), "the same sums")


def test_callers_at_once_never_spend_more_than_there_is(serve, tmp_path):
    service = serve("--snapshot-every", "40")
    create(service)
    spenders = Spenders([service])
    spenders.run()
    spenders.check()
    metrics = service.get("/metrics").body.decode()
    assert f'banister_budget_amount{{experiment="shop",guardrail="spend",per="month"}} {AMOUNT}' in metrics
    batch = {"decisions": [{"id": f"late-{i}"} for i in range(3)]}
    results = service.post(f"{PATH}/decisions:batch", batch).ok(200)["results"]
    assert {entry["status"] for entry in results} <= {200, 429}
    late = [entry["problem"]["retry_after"] for entry in results if entry["status"] == 429]
    assert all(1 <= seconds <= 31 * 86400 for seconds in late)
    labels = 'experiment="shop",guardrail="spend"'
    refused = f"banister_budget_refused_total{{{labels}}} {spenders.refused + len(late)}\n"
    metrics = service.get("/metrics").body.decode()
    assert refused in metrics and f'banister_budget_beyond{{{labels},per="month"}} 0.0\n' in metrics
    service.stop()
    rebuild(tmp_path / "data")


def test_replicas_and_kills_never_spend_more_than_there_is(serve):
    with temporary() as postgres:
        database = postgres.database()
        replicas = [serve("--snapshot-every", "40", "--database", database.url()) for _ in range(2)]
        create(replicas[0])
        eventually(lambda: replicas[1].get(PATH).status == 200, "the experiment")
        spenders = Spenders(replicas)

        def kill():
            for n in range(4):
                enough = spenders.answered + 30
                eventually(lambda: spenders.answered >= enough, "load")
                replicas[n % 2].stop(signal.SIGKILL)
                replicas[n % 2].start().ready()

        spenders.run(kill)
        spenders.check()
        database.rebuild()


def test_budgets_are_refused_by_field_and_changed(service):
    def refused(field, **budget):
        wrong = SHOP | {"budgets": {"spend": SHOP["budgets"]["spend"] | budget}}
        return service.post("/v1/experiments", wrong).problem(422, field)

    refused("budgets.spend.amount", amount=0)
    assert "up to 1 at least" in refused("budgets.spend.amount", amount=0.75)["detail"]
    none = service.post("/v1/experiments", SHOP | {"name": "free", "budgets": None}).ok(201)
    assert none["budgets"] == {}
    refused("budgets.spend.per", per="year")
    refused("budgets.spend.when_exhausted", when_exhausted="ignore")
    refused("budgets.spend.daily", daily=True)
    create(service)
    lower = {"budgets": {"spend": {"amount": 0.25, "per": "month", "when_exhausted": "refuse"}}}
    changed = service.request("PATCH", PATH, lower).ok(200)["budgets"]["spend"]
    assert (changed["amount"], changed["pacing"], changed["remaining"]) == (0.25, True, 0.25)
    service.post(f"{PATH}/decisions", {}).problem(429)
    lower["budgets"]["spend"]["when_exhausted"] = "safe"
    service.request("PATCH", PATH, lower).ok(200)
    forced = service.post(f"{PATH}/decisions", {}).ok(200)
    assert (forced["action"], forced["certificate"]["fallback"]) == ("control", "budget_exhausted")
    service.request("PATCH", PATH, {"budgets": None}).ok(200)
    assert get(service, "shop")["budgets"] == {}
    assert service.post(f"{PATH}/decisions", {}).ok(200)["certificate"]["fallback"] is None


def test_a_week_and_a_month_on_one_guardrail(service, look):
    one = {"when_exhausted": "refuse", "pacing": False}
    both = [one | {"amount": 2, "per": "week"}, one | {"amount": 100, "per": "month"}]
    service.post("/v1/experiments", SHOP | {"budgets": {"spend": both}}).ok(201)
    service.post(f"{PATH}/decisions", {"id": "d"}).ok(200)
    week, month = get(service, "shop")["budgets"]["spend"]
    assert (week["per"], month["per"]) == ("week", "month") and week["reserved"] == month["reserved"] == 0.5
    twice = {"budgets": {"spend": [both[0], both[0]]}}
    service.request("PATCH", PATH, twice).problem(422, "budgets.spend[1].per")
    service.request("PATCH", PATH, {"budgets": {"spend": [5]}}).problem(422, "budgets.spend[0]")
    page = look("/#/experiments/shop")
    rows = page.get_by_test_id("budgets").get_by_role("listitem")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("at most 100 per month")
    page.get_by_test_id("edit").click()
    page.get_by_label("Budget of spend per month").fill("0.5")
    page.get_by_label("Reaction to alarms").select_option("alert")
    page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    expect(rows.nth(1)).to_contain_text("✕ refuses decisions")
    expect(rows.nth(0)).not_to_contain_text("refuses")
    expect(page.get_by_test_id("changes")).to_contain_text("set the reaction to alarms to alert")
    assert [b["amount"] for b in get(service, "shop")["budgets"]["spend"]] == [2, 0.5]
    assert get(service, "shop")["on_breach"] == "alert"
    service.post(f"{PATH}/decisions/d/cancel").ok(200)
    service.post(f"{PATH}/decisions", {}).ok(200)
    service.request("PATCH", PATH, {"on_breach": "relearn"}).ok(200)


def test_paused_wins_over_an_exhausted_budget(service):
    """Whoever pauses in an emergency gets the safe action and no errors."""
    budget = SHOP["budgets"]["spend"] | {"amount": 1}
    service.post("/v1/experiments", SHOP | {"budgets": {"spend": budget}}).ok(201)
    for _ in range(2):
        service.post(f"{PATH}/decisions", {}).ok(200)
    service.post(f"{PATH}/decisions", {}).problem(429)
    service.request("PATCH", PATH, {"status": "paused"}).ok(200)
    assert not get(service, "shop").get("refusing")
    decision = service.post(f"{PATH}/decisions", {}).ok(200)
    assert decision["action"] == "control" and decision["certificate"]["fallback"] == "paused"
    service.request("PATCH", PATH, {"status": "running"}).ok(200)
    service.post(f"{PATH}/decisions", {}).problem(429)


def test_the_form_declares_a_budget(service, look):
    page = look("/#/new")
    page.watch.allow("422")
    page.get_by_test_id("field-name").fill("shop")
    page.get_by_test_id("arms-row").nth(1).get_by_label("Arm’s name").fill("bold")
    page.get_by_test_id("guardrail-name").fill("spend")
    page.get_by_test_id("guardrail-value").fill("0.5")
    page.get_by_text("Budget", exact=True).click()
    amount = page.get_by_test_id("budget-amount")
    amount.fill("-1")
    page.get_by_test_id("submit-create").click()
    expect(page.get_by_text("must be above 0, and at most 1e15")).to_be_visible()
    amount.fill("7")
    page.get_by_test_id("submit-create").click()
    expect(page.get_by_test_id("budgets")).to_contain_text("at most 7 per day, spread over the day")
    assert get(service, "shop")["budgets"]["spend"]["amount"] == 7


def test_the_page_shows_what_is_left(service, look):
    safe = {"amount": 3, "per": "month", "when_exhausted": "safe", "pacing": False}
    service.post("/v1/experiments", SHOP | {"budgets": {"spend": safe}}).ok(201)
    for i in range(2):
        service.post(f"{PATH}/decisions", {"id": f"d{i}"}).ok(200)
    service.post(f"{PATH}/outcomes", {"decision": "d0", "reward": 1, "costs": {"spend": 0.25}}).ok(200)
    page = look("/#/experiments/shop")
    budgets = page.get_by_test_id("budgets")
    expect(budgets).to_contain_text("at most 3 per month; then the safe action is played")
    expect(budgets).to_contain_text("0.25 spent and at most 0.5 reserved of 3, 2.25 left; 2 decisions this month")
    page.picture("budget")
    page.get_by_test_id("edit").click()
    page.get_by_label("Budget of spend per month").fill("0.1")
    page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    expect(budgets).to_contain_text("at most 0.5 reserved of 0.1")
    service.post(f"{PATH}/decisions", {}).ok(200)
    expect(page.get_by_test_id("alarm")).to_contain_text("budget exhausted")
    expect(page.get_by_test_id("changes")).to_contain_text("set the budgets to spend 0.1 per month")
    # As soon as there is money again, before the next decision.
    service.request("PATCH", PATH, {"budgets": {"spend": safe | {"amount": 4}}}).ok(200)
    expect(page.get_by_test_id("alarm")).to_be_empty()


def test_the_page_says_that_decisions_are_refused(service, look):
    tight = {"amount": 1, "per": "month", "when_exhausted": "refuse", "pacing": False}
    service.post("/v1/experiments", SHOP | {"budgets": {"spend": tight}}).ok(201)
    for _ in range(2):
        service.post(f"{PATH}/decisions", {}).ok(200)
    until = get(service, "shop")["refusing"]["until"]
    assert until == get(service, "shop")["budgets"]["spend"]["period_end"]
    page = look("/#/experiments/shop")
    refused = re.compile("Decisions are refused until [0-9].*: the budget of spend is exhausted")
    expect(page.get_by_test_id("alarm")).to_contain_text(refused)
    expect(page.get_by_test_id("budgets")).to_contain_text(refused)
    expect(page.locator("main")).not_to_contain_text(re.compile("✓ kept|only the safe action", re.I))
    page.picture("budget-refuses")
    page.goto(page.url.split("#")[0] + "#/")
    expect(page.get_by_test_id("list-guardrails")).to_have_class("bad")
    expect(page.get_by_test_id("list-guardrails")).to_contain_text(refused)


def test_the_page_says_that_it_is_paced(service, look):
    # In a period that goes on for a while, so that many more decisions are expected than there is money for.
    now = datetime.now(timezone.utc)
    per = "month" if now.day < 27 else "day" if now.hour < 21 else "hour"
    paced = {"amount": 30, "per": per}
    service.post("/v1/experiments", SHOP | {"budgets": {"spend": paced}}).ok(201)
    service.post(f"{PATH}/import", KNOWN.encode(), headers={"content-type": "text/csv"}).ok(200)
    for _ in range(12):
        service.post(f"{PATH}/decisions", {}).ok(200)
    assert get(service, "shop")["budgets"]["spend"]["pace"] is not None
    page = look("/#/experiments/shop")
    expect(page.get_by_test_id("budgets")).to_contain_text(
        re.compile("Paced: the rest of the budget allows 0.* per decision")
    )
    page.picture("budget-paced")
