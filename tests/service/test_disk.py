"""A disk that is full or read-only: said clearly, nothing lost, and over as soon as it is over."""

import time

import pytest

from . import mounts
from .experiments import ARMS
from .log import check_file, rebuild

PATH = "/v1/experiments/arms"


def decide(server, acknowledged, id):
    """One decision with a whole outcome; what was acknowledged is remembered. Gives the answer that failed."""
    answer = server.post(f"{PATH}/decisions", {"id": id})
    if answer.status != 200:
        return answer
    acknowledged[id] = answer.body
    report = {"decision": id, "reward": 0.5, "costs": {"complaints": 0.25}}
    answer = server.post(f"{PATH}/outcomes", report)
    return None if answer.status == 200 else answer


def until_refused(server, acknowledged, prefix, most=20_000):
    for i in range(most):
        if failed := decide(server, acknowledged, f"{prefix}-{i}"):
            return failed
    pytest.fail(f"{most} decisions went into a disk without space")


def check_kept(server, acknowledged, sample=200):
    ids = list(acknowledged)
    for id in ids[:sample] + ids[-sample:]:
        assert server.post(f"{PATH}/decisions", {"id": id}).body == acknowledged[id]
        assert server.get(f"{PATH}/decisions/{id}").ok(200)["id"] == id


def stays_unready(server, seconds=1.5):
    """Not ready as long as the log cannot be written: not only until somebody looks again."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        server.get("/readyz").problem(503)
        assert server.get("/healthz").status == 200
        time.sleep(0.05)


def reads_work(server, acknowledged):
    id = next(iter(acknowledged))
    server.get("/v1/experiments").ok(200)
    server.get(f"{PATH}/state").ok(200)
    server.get(f"{PATH}/history").ok(200)
    assert server.get(f"{PATH}/decisions?limit=5").ok(200)["decisions"]
    assert server.get(f"{PATH}/decisions/{id}").ok(200)["id"] == id
    assert server.get(f"{PATH}/export").status == 200
    assert server.get("/metrics").status == 200


@pytest.fixture
def small(tmp_path):
    with mounts.tmpfs(tmp_path / "small", "6m") as place:
        yield place


@pytest.fixture
def disk(tmp_path):
    disk = mounts.Ext4(tmp_path / "image", tmp_path / "disk")
    try:
        disk.mount()
        yield disk
    finally:
        disk.close()


def test_a_full_disk(small, serve):
    server = serve(data_dir=small)
    server.post("/v1/experiments", ARMS).ok(201)
    acknowledged = {}
    for i in range(50):
        assert decide(server, acknowledged, f"first-{i}") is None
    ballast = mounts.fill(small)

    for round in range(2):
        failed = until_refused(server, acknowledged, f"full-{round}")
        assert "the disk is full" in failed.problem(503)["detail"]
        assert failed.headers["retry-after"]
        stays_unready(server)
        assert "the disk is full" in server.get("/readyz").problem(503)["detail"]
        again = server.post(f"{PATH}/decisions", {"id": f"refused-{round}"}).problem(503)
        assert "the disk is full" in again["detail"]
        batch = {"decisions": [{"id": "b-1"}, {"id": "b-2"}]}
        assert "the disk is full" in server.post(f"{PATH}/decisions:batch", batch).problem(503)["detail"]
        assert "the disk is full" in server.post("/v1/experiments", ARMS | {"name": "more"}).problem(503)["detail"]
        reads_work(server, acknowledged)

        ballast.unlink()
        server.ready()  # without anybody writing
        for i in range(20):
            assert decide(server, acknowledged, f"after-{round}-{i}") is None
        assert server.get(f"{PATH}/decisions/refused-{round}").status == 404
        check_kept(server, acknowledged)
        ballast = mounts.fill(small)

    ballast.unlink()
    assert server.stop() == 0
    check_file(small)
    outcomes = [e["outcomes"] for e in rebuild(small)["experiments"]]
    # Every acknowledged decision but those whose report was refused has its outcome.
    assert len(acknowledged) - 2 <= outcomes[0] <= len(acknowledged)
    check_kept(serve(data_dir=small), acknowledged)


def test_a_server_started_on_a_full_disk(small, serve):
    ballast = mounts.fill(small)
    server = serve(data_dir=small, wait=False)
    # Before the tokens are known, nobody may know the reason but readers of the server's own log.
    assert server.get("/readyz").problem(503)["detail"] == "the service is not ready"
    assert "the disk is full" in server.log()
    server.post("/v1/experiments", ARMS).problem(503)
    ballast.unlink()
    server.ready()
    server.post("/v1/experiments", ARMS).ok(201)
    assert server.stop() == 0
    check_file(small)


def test_a_disk_that_turns_read_only(disk, serve):
    server = serve(data_dir=disk.place)
    server.post("/v1/experiments", ARMS).ok(201)
    acknowledged = {}
    for i in range(50):
        assert decide(server, acknowledged, f"first-{i}") is None
    reads_work(server, acknowledged)
    disk.break_down()
    refused = server.post(f"{PATH}/decisions", {"id": "refused"}).problem(503)
    assert "read-only" in refused["detail"]
    stays_unready(server)
    assert "read-only" in server.get("/readyz").problem(503)["detail"]
    reads_work(server, acknowledged)

    disk.repair()
    server.ready()
    for i in range(20):
        assert decide(server, acknowledged, f"after-{i}") is None
    assert server.get(f"{PATH}/decisions/refused").status == 404
    check_kept(server, acknowledged)
    assert server.stop() == 0
    check_file(disk.place)
    rebuild(disk.place)


@pytest.mark.parametrize("has_log", [False, True], ids=["nothing there", "a log there"])
def test_a_server_started_on_a_read_only_disk(small, serve, has_log):
    acknowledged = {}
    if has_log:
        before = serve(data_dir=small)
        before.post("/v1/experiments", ARMS).ok(201)
        assert decide(before, acknowledged, "before") is None
        assert before.stop() == 0
    made, why = mounts.remount(small, "ro")
    assert made, why
    server = serve(data_dir=small, wait=False)
    refused = server.post("/v1/experiments", ARMS | {"name": "other"}).problem(503)
    # Without a file there are no tokens to know, and so nobody who may know the reason.
    assert ("read-only" in refused["detail"]) == has_log
    stays_unready(server)
    assert ("read-only" in server.get("/readyz").problem(503)["detail"]) == has_log
    assert "read-only" in server.log()

    made, why = mounts.remount(small, "rw")
    assert made, why
    server.ready()
    server.post("/v1/experiments", ARMS | {"name": "other"}).ok(201)
    check_kept(server, acknowledged)
    assert server.stop() == 0
    check_file(small)
    rebuild(small)
