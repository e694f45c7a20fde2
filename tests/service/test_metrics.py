"""/metrics: OpenMetrics, complete, and moving as it should."""

import threading

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from .experiments import ALL, ARMS, create_all
from .server import wait_for

PATH = "/v1/experiments/arms"


def read(server):
    """(name, labels) -> value, of everything; the parser refuses what is not OpenMetrics."""
    answer = server.get("/metrics")
    assert answer.status == 200
    assert answer.kind == "application/openmetrics-text" and "version=1.0.0" in answer.headers["content-type"]
    families = list(text_string_to_metric_families(answer.body.decode()))
    assert len({family.name for family in families}) == len(families)
    assert all(family.documentation for family in families)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def later(server, **expected):
    """Everything, once the numbers of the experiment `arms` are as expected: they may be a second old."""

    def reached():
        metrics = read(server)
        same = all(value(metrics, name, experiment="arms") == number for name, number in expected.items())
        return metrics if same else None

    return wait_for(reached, f"{expected}")


def value(metrics, name, **labels):
    return metrics.get((f"banister_{name}", frozenset(labels.items())))


def test_what_is_counted(serve):
    server = serve()
    server.post("/v1/experiments", ARMS).ok(201)
    before = read(server)
    assert value(before, "decisions", experiment="arms") == 0
    server.post(f"{PATH}/decisions:batch", {"decisions": [{"id": str(i)} for i in range(5)]}).ok(200)
    for i in range(3):
        server.post(f"{PATH}/outcomes", {"decision": str(i), "reward": 1, "costs": {"complaints": 0}}).ok(200)
    server.post(f"{PATH}/outcomes", {"decision": "3", "reward": 1}).ok(200)
    server.get(f"{PATH}/decisions/none").problem(404)
    after = later(server, decisions=5, outcomes=3)
    assert value(after, "fallbacks", experiment="arms") == 0
    assert value(after, "forced", experiment="arms") == 0
    assert 0 <= value(after, "guardrail_slack", experiment="arms", guardrail="complaints") <= 0.5
    assert value(after, "log_lag_events") == 0
    assert value(after, "log_number") > value(before, "log_number")
    assert value(after, "log_failures_total") == 0

    route = {"method": "POST", "route": "/v1/experiments/{name}/outcomes", "status": "200"}
    assert value(after, "http_requests_total", **route) == 4
    missing = {"method": "GET", "route": "/v1/experiments/{name}/decisions/{id}", "status": "404"}
    assert value(after, "http_requests_total", **missing) == 1
    assert value(after, "http_request_seconds_count", operation="report") == 4
    assert value(after, "http_request_seconds_bucket", operation="report", le="+Inf") == 4
    assert value(after, "http_request_seconds_sum", operation="report") > 0
    # One commit for the batch, one per report, at least.
    assert value(after, "commit_seconds_count") - value(before, "commit_seconds_count") == 5
    assert value(after, "commit_events_sum") - value(before, "commit_events_sum") >= 9


def test_fallbacks_and_defaults(serve):
    server = serve()
    brief = ARMS | {"ttl_seconds": 0.001, "default_outcome": {"reward": 0, "costs": {"complaints": 0}}}
    server.post("/v1/experiments", brief).ok(201)
    server.request("PATCH", PATH, {"status": "paused"}).ok(200)
    server.post(f"{PATH}/decisions:batch", {"decisions": [{}] * 4}).ok(200)
    later(server, fallbacks=4, forced=1)
    later(server, expired=4)
    server.request("PATCH", PATH, {"status": "running", "ttl_seconds": None}).ok(200)
    server.post(f"{PATH}/decisions", {}).ok(200)
    later(server, fallbacks=4, forced=0, decisions=5)


def test_every_experiment_has_its_series_whoever_else_reads(serve):
    server = serve()
    create_all(server)
    missing, faults = [], []

    def scrape():
        try:
            for _ in range(100):
                metrics = read(server)
                missing.extend(d["name"] for d in ALL if not value(metrics, "decisions", experiment=d["name"]))
        except BaseException as fault:
            faults.append(fault)

    readers = [threading.Thread(target=scrape) for _ in range(4)]
    [reader.start() for reader in readers]
    [reader.join(60) for reader in readers]
    assert faults == []
    assert missing == []


def test_unknown_paths_make_no_series(serve):
    server = serve()
    names = {name for name, _ in read(server)}
    for i in range(50):
        server.get(f"/unheard-{i}")
        server.get(f"/v1/experiments/unheard-{i}").problem(404)
        server.request(f"METHOD{i}", "/v1/experiments")
    series = read(server)
    labels = {text for _, labels in series for _, text in labels}
    assert not [text for text in labels if "unheard" in text or text.startswith("METHOD")]
    assert {name for name, _ in series} == names


def test_names_are_escaped(serve):
    server = serve()
    odd = 'a"b\\c{d}=,é'
    declaration = ARMS | {"guardrails": [{"name": odd, "at_most": 0.5, "safe_cost": 0.1}]}
    server.post("/v1/experiments", declaration).ok(201)
    server.post(f"{PATH}/decisions", {}).ok(200)
    assert value(read(server), "guardrail_slack", experiment="arms", guardrail=odd) is not None
