"""Contexts with a parameter per arm over HTTP: the safe arm's costs depend on the hour, and arms come and go."""

import random

from .log import rebuild

DECLARED = {
    "name": "hours",
    "arms": ["control", "bold", "wild"],
    "safe": "control",
    "context": 2,
    "guardrails": [{"name": "complaints", "at_most": 0.5}],
    "agent": {"kind": "oplb", "model": "per_arm", "link": "logistic", "parameter_norm": 4},
}
HOURS = "/v1/experiments/hours"


def test_margins_are_proven_in_every_context(serve):
    server = serve()
    missing = {key: value for key, value in DECLARED.items() if key != "context"}
    assert server.post("/v1/experiments", missing).json()["field"] == "agent.model"
    server.post("/v1/experiments", DECLARED).ok(201)
    source = random.Random(3)

    def play(rounds, contexts):
        played = set()
        for _ in range(rounds):
            context = [1, source.choice(contexts)]
            decision = server.post(f"{HOURS}/decisions", {"context": context}).ok()
            certificate = decision["certificate"]["guardrails"][0]
            assert certificate["pessimistic_cost"] <= certificate["threshold"]
            played.add(decision["action"])
            # Control annoys in the evening, the others in the morning.
            rate = (0.05 + 0.3 * context[1]) if decision["action"] == "control" else 0.2 - 0.1 * context[1]
            report = {
                "decision": decision["id"],
                "reward": float(source.random() < (0.2 if decision["action"] == "control" else 0.8)),
                "costs": {"complaints": float(source.random() < rate)},
            }
            server.post(f"{HOURS}/outcomes", report).ok()
        return played

    # Until its own bound leaves a margin only the safe arm is played.
    assert play(20, [0, 1]) == {"control"}
    assert {"bold", "wild"} & play(400, [0, 1])
    server.request("DELETE", f"{HOURS}/arms/wild").ok(200)
    server.post(f"{HOURS}/arms", {"name": "new"}).ok(201)
    assert "wild" not in play(100, [0, 1])
    refused = server.post(f"{HOURS}/decisions", {"context": [1, 5]})
    assert (refused.status, refused.json()["field"]) == (422, "context")
    head = b"action,reward,complaints,context_0,context_1\n"
    rows = b"new,1,0,1,0.5\nwild,0,1,1,0.5\n"
    server.post(f"{HOURS}/import", head + rows, headers={"content-type": "text/csv"}).ok()
    before = server.post(f"{HOURS}/decisions", {"context": [1, 0.5]}).ok()["certificate"]
    assert "a defect" not in server.log()
    assert server.stop() == 0
    rebuild(server.data_dir)
    again = serve(data_dir=server.data_dir)
    assert again.post(f"{HOURS}/decisions", {"context": [1, 0.5]}).ok()["certificate"] == before
