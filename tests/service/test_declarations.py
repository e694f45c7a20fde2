"""Declarations, at random: refused with the field's name, or run with sound answers; ranges by arm and caps."""

import json
import random

import pytest

from .routes import Document
from .server import LONG, rebuild

COUNT = 2000 if LONG else 150
ROUNDS = 12
SIZES = [0, 1e-12, 1e-6, 0.01, 0.1, 0.5, 0.9, 1, 2, 10, 1e3, 1e6, 1e12, 1e60]


class Maker:
    """Declarations that are mostly valid, with numbers of every size."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def maybe(self, probability=0.5):
        return self.chance.random() < probability

    def number(self, low=0.0):
        return self.chance.choice([max(low, self.chance.choice(SIZES)), self.chance.random()])

    def signal(self):
        """A range, and a value within it."""
        if self.maybe():
            return {}, 0.0, 1.0
        low = self.chance.choice([0, -1, -1e6, self.chance.random()])
        high = low + max(self.number(), 1e-6)
        return {"range": [low, high]}, low, high

    def guardrail(self, i):
        signal, low, high = self.signal()
        at = low + (high - low) * self.chance.random()
        relative = self.maybe(0.3)
        made = {"name": f"g{i}", **signal}
        made[self.chance.choice(["at_most", "at_least"])] = self.number() if relative else at
        if relative:
            made["relative"] = True
        elif self.maybe():
            made["safe_cost"] = low + (high - low) * self.chance.random()
        return made

    def agent(self, linear):
        made = {"kind": "oplb" if linear else self.chance.choice(["opb", "oplb"])}
        if self.maybe(0.3):
            made["delta"] = self.chance.choice([1e-9, 0.01, 0.5, 0.999])
        if made["kind"] == "opb":
            options = {
                "intervals": ["mixture", "kl", "subgaussian", "paper"],
                "horizon": [1, 5, 1000],
                "optimism": ["paper", "least", "index"],
                "intersect": [True, False],
                "rho": [1e-6, 1, 1e6],
                "unknown_safe_cost": ["interval", "paper"],
            }
        else:
            options = {
                "lambda": [1e-6, 1, 1e6],
                "long_features": ["error", "clip"],
                "solver": ["linearised", "exact"],
                "radius": ["logdet", "paper"],
                "horizon": [5, 1000],
                "norm": [0.1, 1, 100],
                "model": ["shared", "per_arm"],
                "link": ["identity", "logistic"],
            }
            if self.maybe(0.9):
                made["parameter_norm"] = self.chance.choice([1, 2, 100])
        for key, values in options.items():
            if self.maybe(0.15):
                made[key] = self.chance.choice(values)
        return made

    def declaration(self, name):
        kind = self.chance.choice(["arms", "features", "context", "dimension"])
        count = self.chance.randrange(1, 7)
        d = self.chance.randrange(1, 4)
        names = [f"a{i}" for i in range(count)]
        made = {"name": name, "guardrails": [self.guardrail(i) for i in range(self.chance.randrange(4))]}
        if kind == "dimension":
            made |= {"dimension": d, "safe_action": self.features(d)}
        else:
            made |= {"arms": names, "safe": self.chance.choice(names)}
            if kind == "features":
                made["arms"] = [{"name": own, "features": self.features(d)} for own in names]
            if kind == "context":
                made["context"] = d
        if self.maybe():
            made["reward"] = self.signal()[0]
        if self.maybe(0.5 if kind == "arms" else 0.95):
            made["agent"] = self.agent(kind != "arms")
        if self.maybe(0.2):
            made["confidence"] = self.chance.choice([0.001, 0.5, 0.99, 0.999999])
        return made

    def features(self, d):
        return [self.chance.choice([0, 1, -1, self.chance.uniform(-1, 1)]) for _ in range(d)]

    def request(self, declaration):
        if "context" in declaration:
            return {"context": self.features(declaration["context"])}
        if "dimension" in declaration:
            count = self.chance.randrange(1, 5)
            return {"actions": [self.features(declaration["dimension"]) for _ in range(count)]}
        return {}

    def within(self, signal):
        low, high = signal.get("range") or (0, 1)
        value = self.chance.choice([low, high, low + (high - low) * self.chance.random()])
        return min(max(value, low), high)


def check_sound(decision, declaration):
    shares = decision["policy"]
    assert abs(sum(share["probability"] for share in shares) - 1) < 1e-9
    assert all(0 <= share["probability"] <= 1 for share in shares)
    drawn = [share for share in shares if share["index"] == decision["index"]]
    assert drawn and drawn[0]["probability"] == decision["probability"] > 0
    certificate = decision["certificate"]
    assert [g["name"] for g in certificate["guardrails"]] == [g["name"] for g in declaration["guardrails"]]
    if certificate["fallback"]:
        assert decision["safe"] and decision["probability"] == 1
        return
    for own, declared in zip(certificate["guardrails"], declaration["guardrails"], strict=True):
        assert own["slack"] >= 0 and own["price"] >= 0
        # No policy that was not forced is certified to cross a threshold.
        side = -1 if "at_least" in declared else 1
        size = max(1, abs(own["threshold"]), *map(abs, declared.get("range") or [1]))
        assert side * (own["pessimistic_cost"] - own["threshold"]) <= 1e-9 * size, (own, declared)


@pytest.mark.parametrize("seed", range(3))
def test_experiments_at_random(serve, seed):
    server, maker = serve("--snapshot-every", "50"), Maker(seed)
    document = Document(server.get("/openapi.json").ok(200))
    connection = server.connect()
    made = refused = decided = 0
    for i in range(COUNT // 3):
        declaration = maker.declaration(f"e{i}")
        answer = server.post("/v1/experiments", declaration, connection=connection)
        shown = json.dumps(declaration)
        if answer.status != 201:
            assert answer.status == 422, (shown, answer)
            assert answer.problem(422)["field"], shown
            refused += 1
            continue
        made += 1
        path = f"/v1/experiments/e{i}"
        for _ in range(ROUNDS):
            answer = server.post(f"{path}/decisions", maker.request(declaration), connection=connection)
            if answer.status != 200:
                # Features that are longer than declared, and horizons that are over.
                assert answer.status in (409, 422), (shown, answer)
                answer.problem(answer.status)
                continue
            decision = answer.json()
            document.check("POST", f"{path}/decisions", answer)
            check_sound(decision, declaration)
            decided += 1
            report = {
                "decision": decision["id"],
                "reward": maker.within(declaration.get("reward", {})),
                "costs": {g["name"]: maker.within(g) for g in declaration["guardrails"]},
            }
            answer = server.post(f"{path}/outcomes", report, connection=connection)
            assert answer.status in (200, 409, 422), (shown, report, answer)
        for rest in ["", "/state", "/history"]:
            document.check("GET", path + rest, server.get(path + rest, connection=connection)).ok(200)
    connection.close()
    assert made >= 10 and refused >= 10 and decided > made
    assert "a defect" not in server.log() and "panicked" not in server.log()
    experiments = server.get("/v1/experiments").ok(200)
    assert server.stop() == 0
    rebuild(server.data_dir)
    # Folded anew it is the same.
    assert serve(data_dir=server.data_dir).get("/v1/experiments").ok(200) == experiments


DECLARED = {
    "name": "calls",
    "arms": ["cheap", "dear"],
    "safe": "cheap",
    "guardrails": [
        {"name": "dollars", "at_most": 0.5, "range": {"cheap": [0, 0.1], "dear": [0, 2]}},
        {"name": "seconds", "at_most": 2, "cap": 5, "safe_cost": 0.5},
    ],
}
CALLS = "/v1/experiments/calls"
CSV = {"content-type": "text/csv"}


@pytest.fixture
def server(serve):
    server = serve()
    server.post("/v1/experiments", DECLARED).ok(201)
    yield server
    assert "a defect" not in server.log()
    assert server.stop() == 0
    rebuild(server.data_dir)


def decide_until(server, action):
    """The id of a decision for this action; others get a harmless outcome."""
    for _ in range(2000):
        decision = server.post(f"{CALLS}/decisions", {}).ok()
        if decision["action"] == action:
            return decision["id"]
        report = {"decision": decision["id"], "reward": 0, "costs": {"dollars": 0, "seconds": 0}}
        server.post(f"{CALLS}/outcomes", report).ok()
    raise AssertionError(f"{action} never came up")


def test_ranges_by_arm_are_declared_reported_and_imported(server):
    shown = server.get(CALLS).ok(200)
    assert shown["arms"][0]["ranges"] == {"dollars": [0, 0.1]}
    assert shown["guardrails"][0]["range"] == {"cheap": [0, 0.1], "dear": [0, 2]}
    missing = {**DECLARED, "name": "other", "arms": ["cheap", "dear", "odd"]}
    assert server.post("/v1/experiments", missing).json()["field"] == "guardrails[0].range.odd"
    cheap = decide_until(server, "cheap")
    outcome = {"decision": cheap, "reward": 1, "costs": {"dollars": 0.2, "seconds": 1}}
    # Beyond what was declared: it is stored, somebody is told, and the safe action is played until then.
    answer = server.post(f"{CALLS}/outcomes", outcome).ok(200)
    assert answer["status"] == "complete" and answer["costs"]["dollars"] == 0.2
    (alarm,) = answer["alarms"]
    assert (alarm["kind"], alarm["guardrail"], alarm["arm"], alarm["forces_safe"]) == (
        "range",
        "dollars",
        "cheap",
        True,
    )
    assert "such as [0, 0.2]" in alarm["message"]
    assert server.post(f"{CALLS}/decisions", {}).ok()["certificate"]["fallback"] == "alarm"
    assert [one["kind"] for one in server.get(CALLS).ok(200)["alarms"]] == ["range"]
    server.post(f"{CALLS}/alarms:acknowledge", {"note": "a new price"}).ok(200)
    head = b"action,reward,dollars,seconds\n"
    wrong = server.post(f"{CALLS}/import", head + b"dear,1,1.5,1\ncheap,1,1.5,1\n", headers=CSV)
    assert wrong.json()["field"].startswith("row 2: ")
    server.post(f"{CALLS}/import", head + b"dear,1,1.5,80\ncheap,1,0.1,1\n", headers=CSV).ok(200)


def test_added_arms_bring_ranges_and_last(server):
    for body, field in [
        ({"name": "new"}, "ranges.dollars"),
        ({"name": "new", "ranges": {"dollars": [0, 8], "seconds": [0, 1]}}, "ranges.seconds"),
        ({"name": "new", "ranges": {"dollars": [-1, 8]}}, "ranges.dollars"),
        ({"name": "new", "ranges": {"dollars": [8, 0]}}, "ranges.dollars"),
    ]:
        assert server.post(f"{CALLS}/arms", body).json()["field"] == field
    added = server.post(f"{CALLS}/arms", {"name": "new", "ranges": {"dollars": [0, 8]}}).ok(201)
    assert added["arms"][2]["ranges"] == {"dollars": [0, 8]}
    assert server.stop() == 0
    server.start()
    server.ready()
    assert server.get(CALLS).ok(200)["arms"] == added["arms"]
    head = b"action,reward,dollars,seconds\n"
    server.post(f"{CALLS}/import", head + b"new,1,7.5,1\n", headers=CSV).ok(200)
    wrong = server.post(f"{CALLS}/import", head + b"new,1,8.5,1\n", headers=CSV)
    assert wrong.json()["field"].startswith("row 1: ")


def test_certificates_say_capped(server):
    decision = server.post(f"{CALLS}/decisions", {}).ok()
    dollars, seconds = decision["certificate"]["guardrails"]
    assert seconds["capped"] is True and "capped" not in dollars
    said = [entry["text"] for entry in decision["certificate"]["rests_on"]]
    assert "the mean of seconds capped at 5, not the mean itself, is kept at most 2" in said
    costs = {"dollars": 0.05, "seconds": 80}
    report = {"decision": decision["id"], "reward": 1, "costs": costs}
    # As reported, whatever counts.
    assert server.post(f"{CALLS}/outcomes", report).ok()["costs"] == costs


@pytest.mark.parametrize("value", [True, "unknown", 0, -1])
def test_an_unknown_constant_is_refused_with_advice(server, value):
    declared = {**DECLARED, "name": "other", "reward": {"sub_gaussian": value}}
    refused = server.post("/v1/experiments", declared)
    assert refused.status == 422 or refused.status == 400
    assert refused.json()["field"] == "reward.sub_gaussian"
    assert "cap" in refused.json()["detail"] and "voids the certificate" in refused.json()["detail"]
