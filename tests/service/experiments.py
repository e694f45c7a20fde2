"""Experiments of every kind, small and valid, and what is done with them."""

import random

from .server import quoted

ARMS = {
    "name": "arms",
    "arms": ["control", "bold", "brave"],
    "safe": "control",
    "guardrails": [{"name": "complaints", "at_most": 0.5, "safe_cost": 0.1}],
}
TWO = {
    "name": "two",
    "arms": ["control", "bold"],
    "safe": "control",
    "guardrails": [
        {"name": "complaints", "at_most": 0.5, "safe_cost": 0.1},
        {"name": "conversion", "at_least": 0.5, "relative": True},
    ],
}
FEATURES = {
    "name": "features",
    "arms": [{"name": "a", "features": [1, 0]}, {"name": "b", "features": [0.5, 0.5]}],
    "safe": "a",
    "guardrails": [{"name": "cost", "at_most": 0.6, "safe_cost": 0.1}],
    "agent": {"kind": "oplb", "parameter_norm": 2},
}
CONTEXT = {
    "name": "context",
    "arms": ["a", "b"],
    "safe": "a",
    "context": 3,
    "guardrails": [{"name": "cost", "at_most": 0.6, "safe_cost": 0.1}],
    "agent": {"kind": "oplb", "parameter_norm": 2},
}
FIELDS = CONTEXT | {
    "name": "fields",
    "context": {
        "country": {"kind": "category", "values": ["de", "fr"], "unseen": "other"},
        "hour": {"kind": "number", "range": [0, 24], "missing": "indicator"},
        "member": {"kind": "boolean"},
        "shop": {"kind": "category", "values": [3, 17], "missing": "indicator"},
    },
}
CANDIDATES = {
    "name": "candidates",
    "dimension": 2,
    "safe_action": [1, 0],
    "guardrails": [{"name": "cost", "at_most": 0.6, "safe_cost": 0.1}],
    "agent": {"kind": "oplb", "parameter_norm": 2},
}
SEGMENTS = ARMS | {"name": "segments", "segments": ["de", "fr"], "agent": {"kind": "segmented"}}
SHADOW = ARMS | {"name": "shadow", "shadow": True}
LIVES = ARMS | {
    "name": "lives",
    "ttl_seconds": 3600,
    "default_outcome": {"reward": 0, "costs": {"complaints": 0}},
}
PRICED = ARMS | {
    "name": "priced",
    "signals": {"calls": [0, 10]},
    "guardrails": [{"name": "dollars", "at_most": 0.5, "weights": {"calls": 0.01}}],
}
FLAG = ARMS | {
    "name": "flag",
    "unit": {"name": "user", "period": "forever"},
    "flag": {"events": {"bought": {"signal": "reward"}}},
}
BARE = {"name": "bare", "arms": ["x", "y"], "safe": "x", "guardrails": []}
ALL = [ARMS, TWO, FEATURES, CONTEXT, FIELDS, CANDIDATES, SEGMENTS, SHADOW, LIVES, PRICED, BARE]

#: A request for a decision that each of them answers.
REQUESTS = {
    "arms": {},
    "two": {},
    "features": {},
    "context": {"context": [0.1, 0.2, 0.3]},
    "fields": {"context": {"country": "es", "hour": 13, "member": True}},
    "candidates": {"actions": [[0.5, 0.5], {"name": "far", "features": [0, 1]}]},
    "segments": {"segment": "de"},
    "shadow": {"taken": "bold", "propensity": 0.5},
    "lives": {},
    "priced": {},
    "bare": {},
}


def costs_of(declaration, value=0.1):
    names = [guardrail["name"] for guardrail in declaration["guardrails"] if "weights" not in guardrail]
    return dict.fromkeys([*names, *declaration.get("signals", {})], value)


def create_all(server, token=None):
    """All of them, each with a decision that has an outcome, one with a part of it, and an open one."""
    for declaration in ALL:
        server.post("/v1/experiments", declaration, token=token).ok(201)
        path = f"/v1/experiments/{declaration['name']}"
        request = REQUESTS[declaration["name"]]
        for id in ["done", "part", "open"]:
            server.post(f"{path}/decisions", request | {"id": id}, token=token).ok(200)
        whole = {"decision": "done", "reward": 0.5, "costs": costs_of(declaration)}
        server.post(f"{path}/outcomes", whole, token=token).ok(200)
        if declaration["guardrails"]:
            report = {"decision": "part", "reward": 0.25}
            server.post(f"{path}/outcomes", report, token=token).ok(200)


def get(server, name, rest=""):
    """Returns the service's answer about an experiment."""
    return server.get(f"/v1/experiments/{quoted(name)}{rest}").ok(200)


def chances(table, guardrails, seed=1):
    """Outcomes that are 0 or 1, with the probabilities of the table: reward first, then the costs."""
    source = random.Random(seed)

    def outcome(action):
        reward, *costs = (float(source.random() < p) for p in table[action])
        return reward, dict(zip(guardrails, costs))

    return outcome


def play(server, name, rounds, outcome, batch=50):
    """Decides and reports: `outcome(action)` gives the reward and the costs."""
    path = f"/v1/experiments/{quoted(name)}"
    for first in range(0, rounds, batch):
        wanted = {"decisions": [{}] * min(batch, rounds - first)}
        results = server.post(f"{path}/decisions:batch", wanted).ok(200)["results"]
        reports = []
        for result in results:
            reward, costs = outcome(result["decision"]["action"])
            reports.append({"decision": result["decision"]["id"], "reward": reward, "costs": costs})
        results = server.post(f"{path}/outcomes:batch", {"outcomes": reports}).ok(200)["results"]
        assert all(result["status"] == 200 for result in results), results
