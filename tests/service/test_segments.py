"""Segments: declared, decided in, listed, exported and imported; the same after a kill."""

import csv
import io
import re
import signal

import pytest
from playwright.sync_api import expect

from .callers import eventually
from .experiments import ARMS, SEGMENTS
from .log import rebuild
from .server import Server

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
