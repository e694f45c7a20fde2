"""The log as it lies on the disk."""

import contextlib
import json
import sqlite3

from .server import banisterd


def rebuild(data_dir):
    """What `banisterd rebuild` says of the log."""
    rebuilt = json.loads(banisterd("rebuild", "--json", "--quiet", "--data-dir", data_dir).stdout)
    assert rebuilt["equal"] is True, rebuilt
    assert all(experiment["equal"] for experiment in rebuilt["experiments"])
    return rebuilt


def check_file(data_dir):
    """Events without a gap, one outcome per decision; gives the last number."""
    with contextlib.closing(sqlite3.connect(data_dir / "banister.db")) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        count, first, last = file.execute("SELECT count(*), min(number), max(number) FROM events").fetchone()
        (counter,) = file.execute("SELECT last FROM counter").fetchone()
        assert (count, first, last) == (counter, 1, counter)
        twice = "SELECT decision FROM events WHERE kind = 5 GROUP BY decision HAVING count(*) > 1"
        assert file.execute(twice).fetchall() == []
        twice = "SELECT id FROM events WHERE id IS NOT NULL GROUP BY experiment, id HAVING count(*) > 1"
        assert file.execute(twice).fetchall() == []
    return counter
