"""A log that somebody damaged or put back: found out, and mended where that can be."""

import contextlib
import json
import shutil
import signal
import sqlite3
from random import Random

import pytest

from .experiments import ARMS, costs_of, create_all
from .log import rebuild
from .server import banisterd, wait_for

PATH = "/v1/experiments/arms"


@contextlib.contextmanager
def opened(data_dir):
    with contextlib.closing(sqlite3.connect(data_dir / "banister.db")) as file:
        yield file
        file.commit()


@pytest.fixture
def filled(serve):
    """A log with experiments of every kind, and what the server said of them."""
    server = serve()
    create_all(server)
    experiments = server.get("/v1/experiments").ok(200)
    assert server.stop() == 0
    return server.data_dir, experiments


def spoilt(body):
    return f"UPDATE snapshots SET body = CAST({body} AS BLOB) WHERE experiment > 1"


SNAPSHOT_DAMAGE = [
    *map(spoilt, ["x'00ff'", "x''", "substr(body, 1, length(body) / 2)", "replace(body, '0', 'null')"]),
    spoilt("(SELECT body FROM snapshots WHERE experiment = 1)"),
    "DELETE FROM snapshots WHERE experiment > 1",
    "UPDATE snapshots SET number = number + 1000 WHERE experiment > 1",
]


@pytest.mark.parametrize("damage", SNAPSHOT_DAMAGE)
def test_a_damaged_snapshot_is_only_a_detour(filled, serve, damage):
    """Snapshots are short cuts: the log has everything, and nothing is hidden without one."""
    data_dir, experiments = filled
    with opened(data_dir) as file:
        changed = file.execute(damage).rowcount
        assert changed > 3
    rebuilt = rebuild(data_dir)["experiments"]
    assert sum(e["unusable"] is not None for e in rebuilt) == changed
    server = serve(data_dir=data_dir)
    assert server.get("/v1/experiments").ok(200) == experiments
    assert server.log().count("cannot be used") == changed
    server.post(f"{PATH}/decisions", {"id": "after"}).ok(200)
    assert server.get("/readyz").status == 200
    assert server.stop() == 0
    # The end left sound snapshots.
    assert all(e["unusable"] is None for e in rebuild(data_dir)["experiments"])


def test_idle_experiments_do_not_make_a_start_long(serve):
    """A start folds the events after a mark, not those after the oldest snapshot."""
    server = serve("--snapshot-every", "50")
    create_all(server)
    for _ in range(20):
        server.post(f"{PATH}/decisions:batch", {"decisions": [{}] * 20}).ok(200)
    experiments = server.get("/v1/experiments").ok(200)
    server.stop(signal.SIGKILL)
    with opened(server.data_dir) as file:
        (last,) = file.execute("SELECT last FROM counter").fetchone()
        (mark,) = file.execute("SELECT number FROM snapshots WHERE experiment = 0").fetchone()
        oldest = file.execute("SELECT min(number) FROM snapshots WHERE experiment > 0").fetchone()[0]
    assert oldest < last - 200 < mark
    rebuild(server.data_dir)
    again = serve(data_dir=server.data_dir)
    assert again.get("/v1/experiments").ok(200) == experiments
    again.stop(signal.SIGKILL)
    # A mark that is not ours is none.
    with opened(server.data_dir) as file:
        file.execute("UPDATE snapshots SET number = number + 7 WHERE experiment = 0")
    again = serve(data_dir=server.data_dir)
    assert again.get("/v1/experiments").ok(200) == experiments


def test_a_snapshot_that_was_changed_is_not_used(filled):
    data_dir, _ = filled
    with opened(data_dir) as file:
        file.execute("UPDATE snapshots SET body = CAST(substr(body, 1, length(body) - 1) || x'00' AS BLOB)")
    done = banisterd("rebuild", "--json", "--quiet", "--data-dir", data_dir)
    assert '"snapshot":null' in done.stdout and "checksum" in done.stdout


def test_a_snapshot_of_another_log_is_found_out(serve, tmp_path):
    """Its seal is right, and its state is not what the log says."""
    kept = []
    for reward in [0, 1]:
        folder = tmp_path / f"log-{reward}"
        folder.mkdir()
        server = serve(data_dir=folder)
        server.post("/v1/experiments", ARMS).ok(201)
        server.post(f"{PATH}/decisions", {"id": "a"}).ok(200)
        report = {"decision": "a", "reward": reward, "costs": costs_of(ARMS)}
        server.post(f"{PATH}/outcomes", report).ok(200)
        assert server.stop() == 0
        with opened(server.data_dir) as file:
            kept.append(file.execute("SELECT body, experiment FROM snapshots WHERE experiment > 0").fetchall())
    with opened(server.data_dir) as file:
        file.executemany("UPDATE snapshots SET body = ? WHERE experiment = ?", kept[0])
    done = banisterd("rebuild", "--json", "--quiet", "--data-dir", server.data_dir, check=False)
    assert done.returncode == 1 and "snapshot" in done.stderr
    assert '"equal":false' in done.stdout


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM events WHERE number = 20",
        "UPDATE events SET body = x'ff00' WHERE number = 20",
        "UPDATE counter SET last = last + 5",
        "DELETE FROM events WHERE number > 50",
    ],
)
def test_a_damaged_log_is_found_out(filled, serve, damage):
    """Nothing is decided on a log that is not whole."""
    data_dir, _ = filled
    with opened(data_dir) as file:
        assert file.execute(damage).rowcount > 0
        file.execute("DELETE FROM snapshots")
    done = banisterd("rebuild", "--json", "--quiet", "--data-dir", data_dir, check=False)
    reason = done.stderr.removeprefix("banisterd: ").strip()
    assert done.returncode == 1 and "event" in reason
    server = serve(data_dir=data_dir, wait=False)
    wait_for(lambda: server.get("/readyz").problem(503)["detail"].endswith(reason), reason)
    server.post(f"{PATH}/decisions", {"id": "after"}).problem(503)
    assert server.stop() == 0


@pytest.mark.parametrize("damage", ["DELETE FROM events WHERE number = 1", "UPDATE counter SET last = last - 1"])
def test_snapshots_do_not_hide_damage(filled, serve, damage):
    data_dir, _ = filled
    with opened(data_dir) as file:
        assert file.execute(damage).rowcount > 0
    done = banisterd("rebuild", "--json", "--quiet", "--data-dir", data_dir, check=False)
    reason = done.stderr.removeprefix("banisterd: ").strip()
    assert done.returncode == 1 and "event" in reason
    server = serve(data_dir=data_dir, wait=False)
    wait_for(lambda: server.get("/readyz").problem(503)["detail"].endswith(reason), reason)


def test_no_bit_flips_unnoticed(filled, serve, tmp_path):
    """Of the whole file, one bit at a time: what was learned is the same, or somebody is told, by both."""
    data_dir, _ = filled
    sound = rebuild(data_dir)
    learned = [(e["name"], e["digest"]) for e in sound["experiments"]]
    content = (data_dir / "banister.db").read_bytes()
    random = Random(7)
    found = []
    for trial in range(80):
        flipped = bytearray(content)
        place = random.randrange(100, len(content))
        flipped[place] ^= 1 << random.randrange(8)
        folder = tmp_path / str(trial)
        folder.mkdir()
        (folder / "banister.db").write_bytes(flipped)
        done = banisterd("rebuild", "--json", "--quiet", "--data-dir", folder, check=False)
        if done.returncode == 0:
            rebuilt = json.loads(done.stdout)
            assert rebuilt["events"] == sound["events"], place
            assert [(e["name"], e["digest"]) for e in rebuilt["experiments"]] == learned, place
        else:
            found.append((folder, done.stderr.removeprefix("banisterd: ").strip()))
    assert len(found) > 5
    # Of a file that cannot even be opened, it is told at the start.
    opened = [(folder, reason) for folder, reason in found if reason.startswith(("event", "the file is damaged"))]
    for folder, reason in opened[:6]:
        server = serve(data_dir=folder, wait=False)
        # From the first request on.
        assert server.post(f"{PATH}/decisions", {}).status == 503, reason
        wait_for(lambda: server.get("/readyz").status == 503, reason)
        server.stop()


def test_a_backup_put_back_under_the_running_server(filled, serve, tmp_path):
    """It starts again from what is there, and gives no number twice within that log."""
    data_dir, experiments = filled
    backup = shutil.copytree(data_dir, tmp_path / "backup")
    server = serve(data_dir=data_dir)
    for i in range(30):
        server.post(f"{PATH}/decisions", {"id": f"lost-{i}"}).ok(200)
    for file in data_dir.iterdir():
        file.unlink(missing_ok=True)
    for file in backup.iterdir():
        shutil.copy(file, data_dir / file.name)

    def is_back():
        answer = server.get("/v1/experiments")
        return answer.status == 200 and answer.json() == experiments

    wait_for(is_back, "older log")
    server.ready()
    server.get(f"{PATH}/decisions/lost-0").problem(404)
    decision = server.post(f"{PATH}/decisions", {"id": "new"}).ok(200)
    assert server.get(f"{PATH}/decisions/new").ok(200)["number"] == decision["number"]
    assert server.stop() == 0
    rebuild(data_dir)
    with opened(data_dir) as file:
        assert file.execute("SELECT count(*) FROM events WHERE id = 'new'").fetchone() == (1,)
        assert file.execute("SELECT count(*) FROM events WHERE id LIKE 'lost-%'").fetchone() == (0,)


def test_a_file_that_is_deleted(filled, serve):
    """Nothing is acknowledged into a file that is gone; and it is not mistaken for a new log."""
    data_dir, _ = filled
    server = serve(data_dir=data_dir)
    for file in data_dir.iterdir():
        file.unlink(missing_ok=True)
    wait_for(lambda: server.get("/readyz").status == 503, "notice of the loss")
    server.post(f"{PATH}/decisions", {"id": "nowhere"}).problem(503)
    server.stop()
