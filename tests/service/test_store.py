"""The file of the log: complete after a stop, copied while it is used, and missed when it is gone."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import threading

import pytest

from .experiments import ARMS
from .log import rebuild
from .server import DEADLINE, banisterd

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
