"""The file of the log: complete after a stop, copied while used, missed when gone, on full disks, and damaged."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import threading
import time
from random import Random

import pytest

from . import sandbox
from .experiments import ARMS, costs_of, create_all
from .server import DEADLINE, banisterd, check_file, rebuild, wait_for

PATH = "/v1/experiments/arms"
STOPS = 8


def test_a_clean_stop_leaves_a_complete_file(serve, tmp_path):
    server = serve()
    server.post("/v1/experiments", ARMS | {"ttl_seconds": 3600}).ok(201)
    for stop in range(STOPS):
        for i in range(3):
            server.post(f"{PATH}/decisions", {"id": f"{stop}-{i}"}).ok(200)
        # Readers of every kind have a connection.
        assert server.get(f"{PATH}/decisions").ok(200)["decisions"]
        assert server.get(f"{PATH}/export").status == 200
        assert server.stop() == 0
        assert not (server.data_dir / "banister.db-wal").exists()
        copy = tmp_path / f"copy-{stop}"
        copy.mkdir()
        shutil.copy(server.data_dir / "banister.db", copy)
        rebuilt = rebuild(copy)
        assert rebuilt == rebuild(server.data_dir) and rebuilt["events"] >= 3 * (stop + 1)
        server.start().ready()


def backup(server, to, **more):
    return banisterd("backup", to, "--data-dir", server.data_dir, **more)


def test_a_backup_is_whole_while_the_service_writes(serve, tmp_path):
    server = serve()
    server.post("/v1/experiments", ARMS).ok(201)
    stop = threading.Event()

    def decide():
        connection = server.connect()
        while not stop.is_set():
            server.post(f"{PATH}/decisions", {}, connection=connection).ok(200)

    copies = [tmp_path / f"copy-{i}.db" for i in range(5)]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        writing = pool.submit(decide)
        try:
            said = [backup(server, copy).stdout for copy in copies]
        finally:
            stop.set()
        writing.result(DEADLINE)
    events = [int(text.split()[0]) for text in said]
    assert events == sorted(events) and events[0] < events[-1]
    for copy, count in zip(copies, events, strict=True):
        assert copy.stat().st_mode & 0o777 == 0o600
        done = banisterd("rebuild", "--json", "--quiet", "--database", copy)
        assert json.loads(done.stdout)["events"] == count
    assert {path.name for path in tmp_path.glob("copy*")} == {copy.name for copy in copies}
    before = copies[0].read_bytes()
    done = backup(server, copies[0], check=False)
    assert done.returncode == 2 and "exists already" in done.stderr
    assert copies[0].read_bytes() == before
    done = backup(server, tmp_path / "nowhere" / "copy.db", check=False)
    assert done.returncode == 1 and "folder does not exist" in done.stderr

    # The copy is a log like any other.
    place = tmp_path / "restored"
    place.mkdir()
    shutil.copy(copies[-1], place / "banister.db")
    restored = serve(data_dir=place)
    assert len(restored.get(f"{PATH}/decisions?limit=1000").ok(200)["decisions"]) > 0
    restored.post(f"{PATH}/decisions", {}).ok(200)


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM events WHERE number = 3", "UPDATE events SET id = 'other' WHERE number = 3"],
)
def test_a_damaged_log_is_not_backed_up(serve, tmp_path, damage):
    """A rotation must not replace good copies by bad ones."""
    server = serve()
    server.post("/v1/experiments", ARMS).ok(201)
    for i in range(4):
        server.post(f"{PATH}/decisions", {"id": f"d{i}"}).ok(200)
    assert server.stop() == 0
    with contextlib.closing(sqlite3.connect(server.data_dir / "banister.db")) as file:
        assert file.execute(damage).rowcount == 1
        file.commit()
    done = banisterd("backup", tmp_path / "copy.db", "--data-dir", server.data_dir, check=False)
    assert done.returncode != 0 and "event" in done.stderr
    assert not list(tmp_path.glob("copy*"))


def test_a_backup_of_postgresql_is_its_own(tmp_path):
    url = "postgres://ann:s3cret@db.example/log"
    done = banisterd("backup", tmp_path / "x", "--database", url, check=False)
    assert done.returncode == 2 and "pg_dump -Fc" in done.stderr.replace("\n", " ") and "s3cret" not in done.stderr


def empty(file):
    file.write_bytes(b"")


def without_tables(file):
    """As a copy of a file is whose events were all in the one beside it."""
    file.unlink()
    with contextlib.closing(sqlite3.connect(file)) as made:
        made.execute("PRAGMA journal_mode = wal")


def another(file):
    file.unlink()
    name = file.parent / "banister.db.id"
    name.rename(file.parent / "away")
    banisterd("token", "create", "--role", "read", "x", "--database", file)
    (file.parent / "away").rename(name)


@pytest.mark.parametrize("lose", [pathlib.Path.unlink, empty, without_tables, another])
def test_a_log_that_is_lost_is_not_begun_anew(serve, tmp_path, lose):
    server = serve()
    server.post("/v1/experiments", ARMS).ok(201)
    assert server.stop() == 0
    file = server.data_dir / "banister.db"
    shutil.copy(file, tmp_path / "backup.db")
    lose(file)
    commands = [["serve", "--listen", "127.0.0.1:0"], ["token", "list"]]
    if lose is not another:
        commands += [["rebuild"], ["backup", tmp_path / "x"]]
    for command in commands:
        done = banisterd(*command, "--data-dir", server.data_dir, check=False)
        said = " ".join(done.stderr.split())
        assert done.returncode != 0 and "the log is lost" in said and "banister.db.id" in said, command
    # A backup is taken for what it is.
    for path in server.data_dir.glob("banister.db*"):
        if path.suffix != ".id":
            path.unlink()
    shutil.copy(tmp_path / "backup.db", file)
    server.start().ready()
    assert server.get(PATH).status == 200
    assert server.stop() == 0
    # Whoever removes the name begins anew.
    file.unlink()
    (server.data_dir / "banister.db.id").unlink()
    server.start().ready()
    assert server.get(PATH).status == 404


def test_the_files_are_nobody_else_s(serve):
    before = os.umask(0)
    try:
        server = serve()
    finally:
        os.umask(before)
    server.post("/v1/experiments", ARMS).ok(201)
    files = sorted(server.data_dir.iterdir())
    assert [file.name.removeprefix("banister.db") for file in files] == ["", "-shm", "-wal", ".id"]
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    assert server.stop() == 0 and "other users" not in server.log()
    (server.data_dir / "banister.db").chmod(0o644)
    server.start().ready()
    assert server.stop() == 0 and "other users may read this file" in server.log()


def test_a_layout_of_the_future_is_refused_by_every_command(serve, tmp_path):
    server = serve()
    server.post("/v1/experiments", ARMS).ok(201)
    assert server.stop() == 0
    file = server.data_dir / "banister.db"
    with contextlib.closing(sqlite3.connect(file)) as changed:
        changed.execute("PRAGMA user_version = 99")
    before = file.read_bytes()
    tokens = [["token", "create", "--role", "read", "x"], ["token", "list"], ["token", "revoke", "x"]]
    for command in [["serve", "--listen", "127.0.0.1:0"], ["rebuild"], ["backup", tmp_path / "copy"], *tokens]:
        done = banisterd(*command, "--data-dir", server.data_dir, check=False)
        assert done.returncode != 0 and "layout 99" in " ".join(done.stderr.split()), command
    assert file.read_bytes() == before and not (tmp_path / "copy").exists()


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
    with sandbox.tmpfs(tmp_path / "small", "6m") as place:
        yield place


@pytest.fixture
def disk(tmp_path):
    disk = sandbox.Ext4(tmp_path / "image", tmp_path / "disk")
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
    ballast = sandbox.fill(small)

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
        ballast = sandbox.fill(small)

    ballast.unlink()
    assert server.stop() == 0
    check_file(small)
    outcomes = [e["outcomes"] for e in rebuild(small)["experiments"]]
    # Every acknowledged decision but those whose report was refused has its outcome.
    assert len(acknowledged) - 2 <= outcomes[0] <= len(acknowledged)
    check_kept(serve(data_dir=small), acknowledged)


def test_a_server_started_on_a_full_disk(small, serve):
    ballast = sandbox.fill(small)
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
    made, why = sandbox.remount(small, "ro")
    assert made, why
    server = serve(data_dir=small, wait=False)
    refused = server.post("/v1/experiments", ARMS | {"name": "other"}).problem(503)
    # Without a file there are no tokens to know, and so nobody who may know the reason.
    assert ("read-only" in refused["detail"]) == has_log
    stays_unready(server)
    assert ("read-only" in server.get("/readyz").problem(503)["detail"]) == has_log
    assert "read-only" in server.log()

    made, why = sandbox.remount(small, "rw")
    assert made, why
    server.ready()
    server.post("/v1/experiments", ARMS | {"name": "other"}).ok(201)
    check_kept(server, acknowledged)
    assert server.stop() == 0
    check_file(small)
    rebuild(small)


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
    # It would be found out by the last event that the file has.
    (data_dir / "banister.db.id").unlink()
    with opened(data_dir) as file:
        assert file.execute(damage).rowcount > 0
    done = banisterd("rebuild", "--json", "--quiet", "--data-dir", data_dir, check=False)
    reason = done.stderr.removeprefix("banisterd: ").strip()
    assert done.returncode == 1 and "event" in reason
    server = serve(data_dir=data_dir, wait=False)
    wait_for(lambda: server.get("/readyz").problem(503)["detail"].endswith(reason), reason)


def test_a_log_that_was_cut_is_refused(filled):
    data_dir, _ = filled
    with opened(data_dir) as file:
        last = file.execute("SELECT last FROM counter").fetchone()[0]
        file.execute("DELETE FROM events WHERE number = ?", [last])
        file.execute("UPDATE counter SET last = last - 1")
        file.execute("DELETE FROM snapshots")
    done = banisterd("serve", "--listen", "127.0.0.1:0", "--data-dir", data_dir, check=False)
    assert done.returncode != 0
    assert f"ends at event {last - 1}, though event {last} was committed" in done.stderr


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
