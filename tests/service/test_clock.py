"""One clock: a machine whose clock is wrong, jumps, or was mended (libfaketime)."""

import pathlib

import pytest

from .experiments import get, play
from .postgres import temporary
from .server import rebuild, wait_for

LIBRARIES = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
PATH = "/v1/experiments/clock"
DECLARATION = {
    "name": "clock",
    "arms": ["control", "bold"],
    "safe": "control",
    "guardrails": [{"name": "errors", "at_most": 0.5, "safe_cost": 0.1}],
    "ttl_seconds": 2,
}
WHOLE = {"reward": 1, "costs": {"errors": 0}}

pytestmark = pytest.mark.skipif(not LIBRARIES, reason="libfaketime is not installed")


def faked(**more):
    """An environment in which only the clock on the wall is faked, not the one that counts evenly."""
    return {"LD_PRELOAD": str(LIBRARIES[0]), "FAKETIME_DONT_FAKE_MONOTONIC": "1", **more}


def settled(server, decision, status):
    def is_settled():
        return server.get(f"{PATH}/decisions/{decision}").ok(200)["status"] == status

    wait_for(is_settled, f"{status} decision")


def test_a_log_from_the_future_goes_on_when_the_operator_says_so(serve, tmp_path):
    """One event ten years ahead must not stop time for good."""
    wrong = serve(env=faked(FAKETIME="+3650d"))
    wrong.post("/v1/experiments", DECLARATION).ok(201)
    early = wrong.post(f"{PATH}/decisions", {"id": "early"}).ok(200)
    assert early["time"] > "2035"
    # Long enough to be open when the clock is mended.
    wrong.request("PATCH", PATH, {"ttl_seconds": 3600}).ok(200)
    assert wrong.stop() == 0

    mended = serve(wait=False)
    detail = wait_for(lambda: mended.get("/readyz").status == 503 and mended.get("/readyz").json()["detail"], "word")
    assert "--accept-clock" in detail and "2036" in detail
    mended.post(f"{PATH}/decisions", {"id": "refused"}).problem(503)
    # Nothing is hidden meanwhile.
    assert mended.get(PATH).ok(200)["counts"]["decisions"] == 1
    assert mended.stop() == 0

    server = serve("--accept-clock")
    now = server.post(f"{PATH}/decisions", {"id": "now"}).ok(200)
    assert now["time"] < "2030" < early["time"]
    # A report in time is taken, also on what was decided before; the time to live ends when it should.
    assert server.post(f"{PATH}/outcomes", {"decision": "early", **WHOLE}).ok(200)["status"] == "pending"
    server.request("PATCH", PATH, {"ttl_seconds": 1}).ok(200)
    settled(server, "now", "expired")
    settled(server, "early", "complete")
    server.post(f"{PATH}/outcomes", {"decision": "now", **WHOLE}).problem(409)
    assert server.stop() == 0
    rebuild(server.data_dir)
    # Once is enough.
    again = serve()
    assert again.post(f"{PATH}/decisions", {"id": "later"}).ok(200)["time"] > now["time"]


def test_an_idle_hour_makes_bounds_wider(serve):
    """Declared drift is counted by the log's clock, also while the service is down."""
    rail = DECLARATION["guardrails"][0] | {"drift": {"by": 0.01, "per": "hour"}}

    def upper(server):
        return get(server, "clock", "/state")["arms"][1]["guardrails"][0]["upper"]

    server = serve()
    server.post("/v1/experiments", DECLARATION | {"guardrails": [rail], "ttl_seconds": None}).ok(201)
    play(server, "clock", 400, lambda action: (0.5, {"errors": 0}))
    before = upper(server)
    assert before < 0.3
    assert "errors by at most 0.01 per hour" in str(get(server, "clock")["rests_on"])
    assert server.stop() == 0
    later = serve(env=faked(FAKETIME="+3700s"))
    later.post(f"{PATH}/decisions", {"id": "later"}).ok(200)
    assert abs(upper(later) - before - 0.0103) < 0.0012
    assert later.stop() == 0
    rebuild(later.data_dir)


def test_a_start_ten_years_ahead_is_refused(serve):
    server = serve()
    server.post("/v1/experiments", DECLARATION).ok(201)
    server.post(f"{PATH}/decisions", {"id": "open"}).ok(200)
    assert server.stop() == 0
    ahead = serve(env=faked(FAKETIME="+3650d"), wait=False)
    wait_for(lambda: "--accept-clock" in ahead.get("/readyz").problem(503)["detail"], "refusal")
    assert ahead.stop() == 0


@pytest.mark.parametrize("jump", ["+3650d", "+120s", "-120s", "-3650d"])
def test_a_clock_that_jumps_is_refused_until_it_is_mended(serve, tmp_path, jump):
    """No decision expires because a clock jumped, and none of the jump is left when it is mended."""
    file = tmp_path / "time"
    file.write_text("+0s")
    server = serve(env=faked(FAKETIME_TIMESTAMP_FILE=str(file), FAKETIME_NO_CACHE="1"))
    server.post("/v1/experiments", {**DECLARATION, "ttl_seconds": 60}).ok(201)
    before = server.post(f"{PATH}/decisions", {"id": "before"}).ok(200)
    file.write_text(jump)
    wait_for(lambda: b"the clock jumped" in server.get("/readyz").body, "notice of the jump")
    for _ in range(10):
        server.post(f"{PATH}/decisions", {"id": "during"}).problem(503)
    # One outage, however often it is noticed.
    assert server.log().count("the clock jumped") == 1
    lines = server.get("/metrics").body.decode().splitlines()
    (skew,) = [line for line in lines if line.startswith("banister_clock_skew_seconds")]
    assert abs(float(skew.split()[1])) > 60
    file.write_text("+0s")
    server.ready()
    assert server.get(f"{PATH}/decisions/before").ok(200)["status"] == "open"
    assert server.post(f"{PATH}/outcomes", {"decision": "before", **WHOLE}).ok(200)["status"] == "pending"
    after = server.post(f"{PATH}/decisions", {"id": "after"}).ok(200)
    assert before["time"][:4] == after["time"][:4] and before["time"] < after["time"]


def test_replicas_go_by_the_database(serve):
    """A replica two minutes ahead neither expires what is fresh nor refuses the truth about it."""
    with temporary() as postgres:
        url = postgres.database().url()
        right = serve("--database", url)
        ahead = serve("--database", url, env=faked(FAKETIME="+120s"))
        right.post("/v1/experiments", {**DECLARATION, "ttl_seconds": 60}).ok(201)
        first = right.post(f"{PATH}/decisions", {"id": "first"}).ok(200)
        wait_for(lambda: ahead.get(PATH).status == 200, "experiment")
        second = ahead.post(f"{PATH}/decisions", {"id": "second"}).ok(200)
        third = right.post(f"{PATH}/decisions", {"id": "third"}).ok(200)
        assert first["time"] < second["time"] < third["time"]
        for server, decision in [(ahead, "first"), (right, "second"), (ahead, "third")]:
            report = {"decision": decision, **WHOLE}
            assert server.post(f"{PATH}/outcomes", report).ok(200)["status"] == "pending"
        # What is over is over for both.
        right.request("PATCH", PATH, {"ttl_seconds": 0.5}).ok(200)
        for decision in ["first", "second", "third"]:
            settled(right, decision, "complete")
        assert right.get(PATH).ok(200)["counts"]["expired"] == 0
