"""The same request again: at the same time, later, and after everything around it has changed."""

import threading

import pytest

from .experiments import ALL, ARMS, REQUESTS, costs_of, create_all
from .server import rebuild, wait_for

PATH = "/v1/experiments/arms"


def at_once(*calls):
    """Calls, all at the same time; their results in order."""
    barrier = threading.Barrier(len(calls))
    results, faults = [None] * len(calls), []

    def run(i, call):
        try:
            barrier.wait(30)
            results[i] = call()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=run, args=item) for item in enumerate(calls)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert faults == []
    return results


def test_one_id_many_callers(serve):
    server = serve()
    server.post("/v1/experiments", ARMS).ok(201)
    for round in range(20):
        calls = [lambda: server.post(f"{PATH}/decisions", {"id": f"r{round}"})] * 8
        answers = at_once(*calls)
        assert {answer.status for answer in answers} == {200}
        assert len({answer.body for answer in answers}) == 1
    assert server.get(PATH).ok(200)["counts"]["decisions"] == 20


def test_contradicting_reports_at_once(serve):
    server = serve()
    server.post("/v1/experiments", ARMS).ok(201)
    for round in range(20):
        id = f"r{round}"
        server.post(f"{PATH}/decisions", {"id": id}).ok(200)

        def report(reward):
            body = {"decision": id, "reward": reward, "costs": {"complaints": 0.5}}
            return lambda: server.post(f"{PATH}/outcomes", body)

        answers = at_once(*[report(i % 4 / 4) for i in range(8)])
        taken = {answer.json()["reward"] for answer in answers if answer.status == 200}
        assert len(taken) == 1
        assert [answer.status for answer in answers].count(200) == 2
        [answer.problem(409) for answer in answers if answer.status != 200]
        assert server.get(f"{PATH}/decisions/{id}").ok(200)["outcome"]["reward"] in taken
    assert server.get(PATH).ok(200)["counts"]["outcomes"] == 20
    assert server.stop() == 0
    assert [e["outcomes"] for e in rebuild(server.data_dir)["experiments"]] == [20]


def test_parts_at_once(serve):
    """Parts that come at the same time make one whole."""
    server = serve()
    names = [f"g{i}" for i in range(6)]
    guardrails = [{"name": name, "at_most": 0.5, "safe_cost": 0.1} for name in names]
    server.post("/v1/experiments", ARMS | {"guardrails": guardrails}).ok(201)
    for _round in range(20):
        id = server.post(f"{PATH}/decisions", {}).ok(200)["id"]
        parts = [{"reward": 0.5}, *({"costs": {name: 0.25}} for name in names)] * 2
        calls = [lambda p=part: server.post(f"{PATH}/outcomes", {"decision": id, **p}).ok(200) for part in parts]
        assert [answer["status"] for answer in at_once(*calls)].count("complete") >= 1
        audit = server.get(f"{PATH}/decisions/{id}").ok(200)
        assert audit["outcome"] == {"reward": 0.5, "costs": dict.fromkeys(names, 0.25)}
        assert [event["kind"] for event in audit["events"]].count("outcome") == 1
    assert server.get(PATH).ok(200)["counts"]["outcomes"] == 20


def test_one_name_many_creators(serve):
    server = serve()
    for round in range(10):
        calls = [lambda: server.post("/v1/experiments", ARMS | {"name": f"e{round}"}).status] * 6
        assert sorted(at_once(*calls)) == [201] + [409] * 5
        path = f"/v1/experiments/e{round}"
        calls = [lambda: server.post(f"{path}/arms", {"name": "new"}).status] * 6
        assert sorted(at_once(*calls))[:2] in ([201, 409], [201, 422])
        assert [arm["name"] for arm in server.get(path).ok(200)["arms"]].count("new") == 1


@pytest.mark.parametrize("declaration", ALL, ids=lambda d: d["name"])
def test_the_answer_stays_the_same_whatever_changes(serve, declaration):
    server = serve("--snapshot-every", "10")
    create_all(server)
    name = declaration["name"]
    path = f"/v1/experiments/{name}"
    request = REQUESTS[name] | {"id": "kept"}
    decided = server.post(f"{path}/decisions", request).body
    report = {"decision": "kept", "reward": 0.5, "costs": costs_of(declaration, 0.25)}
    reported = server.post(f"{path}/outcomes", report).body
    audited = server.get(f"{path}/decisions/kept").body

    def same(server):
        assert server.post(f"{path}/decisions", request).body == decided
        assert server.post(f"{path}/outcomes", report).body == reported
        assert server.get(f"{path}/decisions/kept").body == audited
        other = request | {"id": "kept", "context": [9, 9, 9], "taken": "nobody"}
        server.post(f"{path}/decisions", other).problem(409)
        server.post(f"{path}/outcomes", report | {"reward": 0.25}).problem(409)

    same(server)
    arms = [arm["name"] for arm in server.get(path).ok(200)["arms"] if not arm["safe"]]
    changes = [
        lambda: server.request("PATCH", path, {"status": "paused"}),
        lambda: server.request("PATCH", path, {"status": "running", "shadow": name != "shadow"}),
        lambda: server.post(f"{path}/decisions:batch", {"decisions": [REQUESTS[name]] * 30}),
    ]
    if arms:
        features = {"features": [0.2, 0.2]} if name == "features" else {}
        changes.append(lambda: server.post(f"{path}/arms", {"name": "late", **features}))
        changes.append(lambda: server.request("DELETE", f"{path}/arms/{arms[0]}"))
    changes.append(lambda: server.request("PATCH", path, {"status": "archived"}))
    for change in changes:
        assert change().status < 500
        same(server)
    assert server.stop() == 0
    rebuild(server.data_dir)
    same(serve(data_dir=server.data_dir))


def test_a_request_that_was_given_up_can_be_repeated(serve):
    """The shortest time limit there is: many answers never come, but no decision is made twice."""
    server = serve("--timeout", "0.001")

    def insist(method, path, body):
        return wait_for(lambda: (a := server.request(method, path, body)).status != 503 and a, "answer")

    insist("POST", "/v1/experiments", ARMS)
    for i in range(50):
        decision = insist("POST", f"{PATH}/decisions", {"id": str(i)}).ok(200)
        report = {"decision": str(i), "reward": 1, "costs": {"complaints": 0}}
        assert insist("POST", f"{PATH}/outcomes", report).ok(200)["status"] == "complete"
        assert insist("POST", f"{PATH}/decisions", {"id": str(i)}).ok(200) == decision
    counts = insist("GET", PATH, None).ok(200)["counts"]
    assert (counts["decisions"], counts["outcomes"]) == (50, 50)
    assert server.stop() == 0
    rebuild(server.data_dir)
