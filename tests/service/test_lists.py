"""The list of experiments, part by part, and without holding up anybody."""

import itertools
import threading

from .experiments import ARMS, create_all
from .routes import Document
from .server import wait_for

LIST = "/v1/experiments"


def parts(server, key="experiments", **query):
    """Every part of the list."""
    after = None
    while True:
        asked = query | ({} if after is None else {"after": after})
        part = server.get(f"{LIST}?{'&'.join(f'{k}={v}' for k, v in asked.items())}").ok(200)
        yield part[key]
        after = part.get("next")
        if after is None:
            return
        assert after == part[key][-1]["name"]


def test_every_experiment_is_visited_once_while_others_are_created(serve):
    server = serve()
    before = [f"old-{i:03}" for i in range(25)]
    for name in before:
        server.post(LIST, ARMS | {"name": name}).ok(201)
    stop, made = threading.Event(), []

    def create():
        while not stop.is_set() and len(made) < 2000:
            name = f"new-{len(made):04}"
            server.post(LIST, ARMS | {"name": name}).ok(201)
            made.append(name)

    creator = threading.Thread(target=create)
    creator.start()
    try:
        wait_for(lambda: made, "new experiment")
        for key, query in [("experiments", {}), ("summaries", {"summary": "true"})]:
            found = []
            for part in parts(server, key, limit=7, **query):
                assert 1 <= len(part) <= 7
                found += [entry["name"] for entry in part]
                # Somebody creates more while the list is read.
                count = len(made)
                if len(found) < len(before):
                    wait_for(lambda: len(made) > count, "new experiment")
            assert len(found) == len(set(found))
            # In the order of their creation, and all that were there at the start.
            expected = before + [f"new-{i:04}" for i in range(len(found))]
            assert found == expected[: len(found)]
            assert len(found) > len(before)
    finally:
        stop.set()
        creator.join(30)
    assert len(server.get(LIST).ok(200)["experiments"]) == min(100, len(before) + len(made))


def test_parts_end_where_the_list_ends(serve):
    server = serve()
    assert server.get(LIST).ok(200) == {"experiments": []}
    assert server.get(f"{LIST}?summary=true").ok(200) == {"summaries": []}
    for name in ["a", "b", "c", "d"]:
        server.post(LIST, ARMS | {"name": name}).ok(201)
    names = [[entry["name"] for entry in part] for part in parts(server, limit=2)]
    assert names == [["a", "b"], ["c", "d"]]
    assert server.get(f"{LIST}?after=d").ok(200) == {"experiments": []}
    assert "next" not in server.get(f"{LIST}?limit=4").ok(200)
    assert server.get(f"{LIST}?limit=3").ok(200)["next"] == "c"


def test_parts_of_large_experiments_are_short(serve):
    server = serve()
    names = [f"e{i}" for i in range(230)]
    for name in names:
        server.post(LIST, ARMS | {"name": name, "description": "😀" * 10_000}).ok(201)
    for key, query in [("experiments", {}), ("summaries", {"summary": "true"})]:
        found = [[entry["name"] for entry in part] for part in parts(server, key, limit=1000, **query)]
        assert len(found) == 2 and list(itertools.chain(*found)) == names


def test_a_list_shows_what_its_experiments_are_now(serve):
    server = serve()
    create_all(server)
    document = Document(server.get("/openapi.json").ok(200))

    def compare():
        for query in ["", "?summary=true", "?limit=3", "?limit=2&after=two&summary=true"]:
            document.check("GET", LIST, server.get(LIST + query)).ok(200)
        for whole, summary in zip(
            server.get(LIST).ok(200)["experiments"],
            server.get(f"{LIST}?summary=true").ok(200)["summaries"],
            strict=True,
        ):
            assert server.get(f"{LIST}/{whole['name']}").ok(200) == whole
            assert summary["arms_offered"] == sum(arm["offered"] for arm in whole["arms"])
            assert summary == {key: whole[key] for key in summary} and "arms" not in summary

    compare()
    server.post(f"{LIST}/arms/decisions", {}).ok(200)
    compare()
    server.request("DELETE", f"{LIST}/arms/arms/brave").ok(200)
    server.request("PATCH", f"{LIST}/two", {"status": "paused", "description": "later"}).ok(200)
    compare()
    listed = {entry["name"]: entry for entry in server.get(LIST).ok(200)["experiments"]}
    assert listed["arms"]["counts"]["decisions"] == 4 and listed["two"]["status"] == "paused"
