"""Experiments declared at random: refused with the field's name, or run with sound answers."""

import json
import random

import pytest

from .log import rebuild
from .schemas import Document
from .server import LONG

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
