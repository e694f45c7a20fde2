"""Segments: declared, decided in, listed, exported and imported; the same after a kill."""

import csv
import io
import json
import re
import signal

import pytest
from playwright.sync_api import expect

from .browser import shown
from .callers import eventually
from .experiments import ARMS, SEGMENTS, get
from .server import Server, rebuild, wait_for

PRODUCT = {
    "name": "product",
    "arms": ["control", "bold"],
    "safe": "control",
    "guardrails": [{"name": "complaints", "at_most": 0.5, "scope": "each"}],
    "segments": {"fields": ["country", "device"], "known": [{"country": "de", "device": "mobile"}]},
}


PLAIN = {"name": "plain", "arms": ["x", "y"], "safe": "x"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("segments")
    server = Server(folder, folder / "server.log").start().ready()
    try:
        for declaration in [SEGMENTS, PRODUCT, PLAIN]:
            server.post("/v1/experiments", declaration).ok(201)
        yield server
    finally:
        server.stop()


def refused(answer, field):
    answer.problem(422, field)


def test_decisions_carry_their_segments_certificate(server):
    path = "/v1/experiments/segments"
    batch = [{"id": f"b{i}", "segment": ["de", "fr", "it"][i % 3]} for i in range(90)]
    answer = server.post(f"{path}/decisions:batch", {"decisions": batch}).ok(200)
    decided = [entry["decision"] for entry in answer["results"]]
    assert [one["segment"]["name"] for one in decided] == [one["segment"] for one in batch]
    reports = [{"decision": one["id"], "reward": 1, "costs": {"complaints": 0}} for one in reversed(decided)]
    answer = server.post(f"{path}/outcomes:batch", {"outcomes": reports}).ok(200)
    assert all(entry["status"] == 200 for entry in answer["results"])
    one = server.post(f"{path}/decisions", {"id": "one", "segment": "de"}).ok(200)
    own = one["segment"]
    assert own["name"] == "de" and own["contexts"] == 30
    assert len(own["costs"]) == len(own["by_frequencies"]) == 1
    # Asked again, it is the same; with another segment it is another request.
    assert server.post(f"{path}/decisions", {"id": "one", "segment": "de"}).ok(200) == one
    assert server.post(f"{path}/decisions", {"id": "one", "segment": "fr"}).status == 409
    audit = server.get(f"{path}/decisions/one").ok(200)
    assert audit["segment"] == own
    assert server.get(f"{path}/decisions").ok(200)["decisions"][0]["segment"] == "de"


def test_segments_are_listed_by_frequency(server):
    path = "/v1/experiments/segments"
    for i in range(40):
        server.post(f"{path}/decisions", {"segment": "de" if i % 2 else "fr"}).ok(200)
    page = server.get(f"{path}/segments").ok(200)
    rows = page["segments"]
    assert page["total"] == len(rows) and rows[-1]["name"] is None
    contexts = [row["contexts"] for row in rows[:-1]]
    assert contexts == sorted(contexts, reverse=True)
    assert sum(row["frequency"] for row in rows) == pytest.approx(1)
    for row in rows:
        assert [arm["name"] for arm in row["arms"]] == ["control", "bold", "brave"]
        assert sum(arm["probability"] for arm in row["arms"]) == pytest.approx(1)
        (guardrail,) = row["guardrails"]
        assert guardrail["scope"] == "overall" and guardrail["threshold"] == 0.5
    last = server.get(f"{path}/segments?limit=1&offset={page['total'] - 1}").ok(200)
    assert last["segments"] == rows[-1:]
    assert server.get(f"{path}/segments?limit=0").status == 400
    assert server.get("/v1/experiments/plain/segments").ok(200)["segments"] == []
    metrics = server.get("/metrics").body.decode()
    assert f'banister_segments{{experiment="segments"}} {page["total"]}' in metrics


def test_segments_made_from_fields(server):
    path = "/v1/experiments/product"
    view = server.get(path).ok(200)
    assert view["agent"]["kind"] == "segmented" and view["segments"] == PRODUCT["segments"]
    assert view["guardrails"][0]["scope"] == "each"
    segment = {"device": "mobile", "country": "de"}
    one = server.post(f"{path}/decisions", {"id": "m", "segment": segment}).ok(200)
    assert one["segment"]["name"] == "country=de, device=mobile"
    assert one["certificate"]["guardrails"][0]["slack"] >= 0
    refused(server.post(f"{path}/decisions", {"segment": "de"}), "segment")
    refused(server.post(f"{path}/decisions", {"segment": {"country": "de"}}), "segment.device")
    refused(server.post(f"{path}/decisions", {"segment": 5}), "segment")


def test_junk_names_give_way_and_somebody_is_told(server):
    agent = {"kind": "segmented", "max_segments": 20}
    server.post("/v1/experiments", SEGMENTS | {"name": "junk", "agent": agent}).ok(201)
    path = "/v1/experiments/junk"

    def decide(names):
        batch = [{"segment": name} for name in names]
        results = server.post(f"{path}/decisions:batch", {"decisions": batch}).ok(200)["results"]
        assert {entry["status"] for entry in results} == {200}

    decide(f"session-{i}" for i in range(200))
    labels = '{experiment="junk"}'
    full = [f"banister_segment_names{labels} 20", f"banister_segment_names_max{labels} 20"]
    eventually(lambda: all(line in server.get("/metrics").body.decode() for line in full), "the gauges")
    # It comes as often as one name in three, and gets a place of its own.
    for i in range(60):
        decide(["us", f"later-{2 * i}", f"later-{2 * i + 1}"])
    own = server.post(f"{path}/decisions", {"segment": "us"}).ok(200)["segment"]
    assert own["contexts"] >= 30
    (warning,) = server.get(path).ok(200)["alarms"]
    assert warning["kind"] == "segments" and not warning["forces_safe"]
    assert "room for 20 (`max_segments`)" in warning["message"]
    for name in ["de\u200b", "\u202eed"]:
        refused(server.post(f"{path}/decisions", {"segment": name}), "segment")


def test_segments_are_refused_elsewhere(server):
    refused(server.post("/v1/experiments/segments/decisions", {}), "segment")
    refused(server.post("/v1/experiments/plain/decisions", {"segment": "de"}), "segment")
    refused(server.post("/v1/experiments/segments/decisions", {"segment": "x" * 201}), "segment")
    opb = SEGMENTS | {"name": "opb", "agent": {"kind": "opb"}}
    refused(server.post("/v1/experiments", opb), "segments")
    each = {"name": "each", "arms": ["x"], "safe": "x", "guardrails": [PRODUCT["guardrails"][0]]}
    refused(server.post("/v1/experiments", each), "guardrails[0].scope")


def test_logs_have_segments(server):
    path = "/v1/experiments/product"
    server.post(f"{path}/decisions", {"id": "done", "segment": {"country": "a, b", "device": "x"}}).ok(200)
    report = {"decision": "done", "reward": 1, "costs": {"complaints": 0}}
    server.post(f"{path}/outcomes", report).ok(200)
    content = server.get(f"{path}/export").body.decode()
    rows = {row["decision"]: row for row in csv.DictReader(io.StringIO(content))}
    assert rows["done"]["segment"] == "country=a\\, b, device=x"

    def learn(text):
        return server.post(f"{path}/import", text.encode(), headers={"content-type": "text/csv"})

    again = learn('action,reward,complaints,segment\nbold,1,0,"country=a\\, b, device=x"\n').ok(200)
    assert again["outcomes"] == 1
    fields = learn("action,reward,complaints,segment_country,segment_device\nbold,1,0,de,mobile\n")
    assert fields.ok(200)["outcomes"] == 1
    refused(learn("action,reward,complaints,segment\nbold,1,0,de\n"), "row 1: segment")
    refused(learn("action,reward,complaints\nbold,1,0\n"), "column segment_country")


def test_what_is_learned_survives_a_kill(server):
    path = "/v1/experiments/segments"

    def learned():
        # Policies stand until there is something new, and are made anew after a restart.
        rows = server.get(f"{path}/segments").ok(200)["segments"]
        arms = [[{k: v for k, v in arm.items() if k != "probability"} for arm in row["arms"]] for row in rows]
        return [(row["name"], row["contexts"], arms) for row, arms in zip(rows, arms, strict=True)]

    before, number = learned(), server.get(path).ok(200)["number"]
    server.stop(signal.SIGKILL)
    server.start().ready()
    assert learned() == before
    assert server.get(path).ok(200)["number"] == number
    rebuild(server.data_dir)


def test_the_page_shows_a_matrix(service, look):
    many = [f"country {i}" for i in range(60)]
    each = [ARMS["guardrails"][0] | {"scope": "each"}]
    service.post("/v1/experiments", SEGMENTS | {"segments": many, "guardrails": each}).ok(201)
    for i in range(3):
        service.post("/v1/experiments/segments/decisions", {"segment": many[7], "id": str(i)}).ok(200)
    page = look("/#/experiments/segments")
    rows = page.get_by_test_id("segments-table").locator("tbody tr")
    expect(rows).to_have_count(51)
    expect(rows.first.locator("th")).to_contain_text("country 7")
    expect(rows.first.locator("td").first).to_have_text("100%")
    expect(rows.last).to_contain_text("all others")
    safe = rows.first.locator("td.share").first
    expect(safe).to_have_attribute("title", re.compile(r"control in country 7: .*\n.*\nreward"))
    page.get_by_test_id("all-segments").click()
    expect(rows).to_have_count(61)
    expect(page.get_by_test_id("all-segments")).to_be_hidden()
    page.get_by_test_id("try-decide").click()
    expect(page.get_by_test_id("decisions-table")).to_contain_text("in country 0")
    page.picture("segments")


BOTH = {
    "name": "both",
    "arms": ["control", "bold"],
    "safe": "control",
    "segments": ["de", "fr"],
    "guardrails": [
        {"name": "complaints", "at_most": 0.5, "safe_cost": 0.1},
        {"name": "refunds", "at_most": 0.5, "safe_cost": 0.1, "scope": "each"},
    ],
}


def live(service, name, segments, reward):
    """A decision and its outcome in every segment given."""
    path = f"/v1/experiments/{name}"
    for segment in segments:
        one = service.post(f"{path}/decisions", {"segment": segment}).ok(200)
        report = {"decision": one["id"], "reward": reward[segment], "costs": {"complaints": 0, "refunds": 0}}
        service.post(f"{path}/outcomes", report).ok(200)


def test_what_is_of_one_segment_says_so(server):
    path = "/v1/experiments/both"
    server.post("/v1/experiments", BOTH).ok(201)
    live(server, "both", ["de", "fr", "new", "de"], {"de": 1, "fr": 0, "new": 0.5})
    assert server.get(f"{path}/state").ok(200)["segment"]["name"] == "de"
    # However soon one follows the other, each segment has a first point, and the pool.
    points = server.get(f"{path}/history").ok(200)["points"]
    assert [point["segment"]["name"] for point in points[:3]] == ["de", "fr", "new"]
    assert [point["segment"]["pooled"] for point in points[:3]] == [False, False, True]
    own = server.get(f"{path}/history?segment=fr").ok(200)["points"]
    assert own == [point for point in points if point["segment"]["name"] == "fr"]
    assert server.get(f"{path}/history?segment=nobody").ok(200)["points"] == []
    assert server.get(f"{path}/history?place=fr").status == 400
    assert "segment" not in server.get("/v1/experiments/plain/state").ok(200)
    for row in server.get(f"{path}/segments").ok(200)["segments"]:
        shares = [arm for arm in row["arms"] if arm["probability"] > 0]
        for end in ["lower", "upper"]:
            total = sum(arm["probability"] * arm["reward"][end] for arm in shares)
            assert row["estimates"]["reward"][end] == pytest.approx(total)
        assert row["estimates"]["safe"] == row["arms"][0]["reward"]


def test_the_history_of_many_segments_is_bounded(server):
    path, many = "/v1/experiments/many", [f"s{i}" for i in range(2500)]
    each = [ARMS["guardrails"][0] | {"scope": "each"}]
    server.post("/v1/experiments", ARMS | {"name": "many", "segments": many, "guardrails": each}).ok(201)
    for start in range(0, 2500, 500):
        batch = [{"segment": name} for name in many[start : start + 500]]
        server.post(f"{path}/decisions:batch", {"decisions": batch}).ok(200)
    points = server.get(f"{path}/history").ok(200)["points"]
    assert 200 < len(points) <= 512
    assert points[-1]["segment"]["name"] == many[-1]


def test_charts_show_the_segment_that_is_picked(service, look):
    service.post("/v1/experiments", BOTH).ok(201)
    service.post("/v1/experiments", PLAIN).ok(201)
    reward = {"de": 1, "fr": 0, "new": 0.5}

    def latest(name):
        return service.get(f"/v1/experiments/both/history?segment={name}").ok(200)["points"][-1]

    def estimated():
        """Plays until the history has an estimate of every segment."""
        live(service, "both", reward, reward)
        return all(latest(name)["reward"]["mean"] is not None for name in reward)

    wait_for(estimated, "estimates")
    page = look("/#/experiments/both")

    def chart(name):
        return page.get_by_test_id(f"chart-{name}")

    picker = page.get_by_test_id("segment-picker")
    expect(picker).to_have_value("all")
    expect(chart("reward")).to_contain_text("pick one")
    expect(chart("guardrail-refunds")).to_contain_text("pick one")
    expect(chart("guardrail-complaints").locator("h3")).to_have_text("complaints over all segments")
    expect(chart("guardrail-complaints").locator(".readout")).to_contain_text("threshold 0.5")
    expect(page.get_by_test_id("glance-reward")).to_contain_text("pick one")
    expect(page.get_by_role("heading", name="Policy of the last decision in new")).to_be_visible()
    for name in ["de", "fr"]:
        picker.select_option(f"={name}")
        last = latest(name)
        assert last["reward"]["mean"] == reward[name]
        expect(chart("reward").locator("h3")).to_have_text(f"Reward in {name}")
        expect(chart("reward").locator(".readout")).to_contain_text(f"estimate {shown(last['reward']['mean'])}")
        complaints = chart("guardrail-complaints").locator(".readout")
        expect(complaints).to_contain_text(f"pessimistic cost {shown(last['segment']['costs'][0])}")
        expect(complaints.get_by_text("threshold")).to_be_hidden()  # of all segments, not of this one
        expect(chart("guardrail-refunds").locator(".readout")).to_contain_text("threshold 0.5")
        expect(chart("rate").locator("h3")).to_have_text("Decisions per minute over all segments")
        expect(page.get_by_role("heading", name=f"Policy in {name}")).to_be_visible()
        expect(page.get_by_test_id("glance-reward").locator("dt")).to_have_text(f"reward of one decision in {name}")
    picker.select_option("pool")
    expect(chart("reward")).to_contain_text("pick one that is in the pool")
    picker.select_option("=new")
    expect(chart("reward").locator(".readout")).to_contain_text("estimate 0.5")
    # Another segment's news do not get into it.
    live(service, "both", ["de"] * 5, reward)
    expect(page.get_by_test_id("count-outcomes")).to_have_text(str(get(service, "both")["counts"]["outcomes"]))
    expect(chart("reward").locator(".readout")).to_contain_text("estimate 0.5")
    page = look("/#/experiments/plain")
    expect(page.get_by_test_id("start")).to_be_visible()
    expect(page.get_by_test_id("segment-picker")).to_have_count(0)


def test_fifty_segments_fit_a_phone(service, look):
    many = [f"country {i}" for i in range(50)]
    each = [BOTH["guardrails"][0] | {"scope": "each"}, BOTH["guardrails"][1]]
    service.post("/v1/experiments", BOTH | {"segments": many, "guardrails": each}).ok(201)
    live(service, "both", many, dict.fromkeys(many, 1))
    page = look("/#/experiments/both", size=(400, 900))
    page.get_by_test_id("segment-picker").select_option("=country 3")
    expect(page.get_by_test_id("chart-reward").locator("canvas")).to_be_visible()
    expect(page.get_by_test_id("segments-table").locator("tbody tr")).to_have_count(51)
    assert page.evaluate("document.documentElement.scrollHeight") < 3700
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    # What is not in sight is reached by keyboard.
    for box in ["Policy by segment", "Recent decisions"]:
        region = page.get_by_role("region", name=box).and_(page.locator(".scrolls"))
        region.focus()
        page.keyboard.press("End")
        page.wait_for_function("box => box.scrollTop > 0", arg=region.element_handle())
    strip = page.locator(".charts").first
    strip.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("strip => strip.scrollLeft > 0", arg=strip.element_handle())
    for fold in ["As declared", "Try it", "Learn from another log", "Changes"]:
        summary = page.locator("summary", has_text=fold)
        summary.focus()
        page.keyboard.press("Enter")
    expect(page.get_by_test_id("try-decide")).to_be_visible()
    page.picture("segments-phone")


def declared_in(page):
    """Returns the request of the form, from the command that it shows."""
    command = page.locator("aside code").text_content()
    return json.loads(re.search(r"-d '(.*)'$", command, re.S).group(1))


def test_segments_are_declared_in_the_form(service, look):
    page = look("/#/new")
    page.watch.allow("status of 422")
    page.get_by_test_id("field-name").fill("countries")
    page.get_by_test_id("arms-row").nth(1).get_by_label("Arm’s name").fill("bold")
    page.get_by_test_id("guardrail-name").fill("complaints")
    page.get_by_test_id("guardrail-value").fill("0.3")
    names, scope = page.get_by_test_id("segments-names"), page.get_by_test_id("guardrail-scope")
    expect(names).to_be_hidden()
    expect(scope).to_be_hidden()

    def refused(field, text):
        problem = service.post("/v1/experiments?dry_run=true", declared_in(page)).problem(422)
        assert text in problem["detail"]
        shown = field.locator("xpath=ancestor::div[contains(@class,'field')][1]").locator(".problem")
        expect(shown).to_have_text(problem["detail"])
        return problem["field"]

    page.get_by_test_id("kind-segments").check()
    scope.select_option("each")
    names.fill(f"de\n\n  fr \n{'x' * 201}")
    names.blur()
    assert refused(names, "200") == "segments[2]"
    names.fill("de\n\n  fr ")
    expect(page.locator(".check-line")).to_contain_text("would accept this")
    sent = declared_in(page)
    assert sent["segments"] == ["de", "fr"] and sent["guardrails"][0]["scope"] == "each"
    # An agent that knows no segments is refused at them.
    page.get_by_text("Advanced: the agent").click()
    page.get_by_test_id("agent-kind").select_option("opb")
    refused(names, "segmented")
    page.get_by_test_id("agent-kind").select_option("segmented")
    page.get_by_test_id("kind-arms").check()  # the agent alone asks for them
    page.get_by_test_id("segments-by").select_option("fields")
    fields, known = page.get_by_test_id("segments-fields"), page.get_by_test_id("segments-known")
    fields.fill("country, device")
    known.fill("de, mobile\nfr")
    known.blur()
    assert refused(known, "a segment has a value of every field") == "segments.known[1].device"
    known.fill("de, mobile\nfr, desktop, more")
    assert refused(known, "country, device").startswith("segments.known[1].")
    known.fill("de, mobile\nfr, desktop")
    fields.fill("country, country")
    fields.blur()
    assert refused(fields, "country").startswith("segments.fields")
    fields.fill("country, device")
    expect(page.locator(".check-line")).to_contain_text("would accept this")
    page.get_by_test_id("submit-create").click()
    expect(page.get_by_test_id("start")).to_contain_text('"segment":{"country":"de","device":"mobile"}')
    made = service.get("/v1/experiments/countries").ok(200)
    pairs = [{"country": "de", "device": "mobile"}, {"country": "fr", "device": "desktop"}]
    assert made["segments"] == {"fields": ["country", "device"], "known": pairs}
    assert made["agent"]["kind"] == "segmented" and made["guardrails"][0]["scope"] == "each"


def test_the_audit_trail_names_the_segment(service, look):
    service.post("/v1/experiments", BOTH).ok(201)
    one = service.post("/v1/experiments/both/decisions", {"segment": "de", "id": "one"}).ok(200)
    page = look("/#/experiments/both/decisions/one")
    trail = page.get_by_test_id("audit")
    expect(trail.locator(".lead")).to_contain_text(f"{one['action']} in de")
    safe = trail.get_by_test_id("audit-safe")
    expect(safe).to_contain_text("at most 0.5 over all segments together")
    expect(safe).to_contain_text("In de alone it would be")
