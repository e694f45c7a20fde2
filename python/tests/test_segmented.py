"""The agent with a policy for every segment: what it takes, shows, keeps and refuses."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import banister

SPEND = banister.Guardrail("spend", at_most=0.3, safe_cost=0.1)
EACH = banister.Guardrail("spend", at_most=0.3, safe_cost=0.1, scope="each")
#: Mean spend of "bold", by segment.
MEANS = {"de": 0.1, "fr": 0.9, "us": 0.4}
FIELDS = {"fields": ["country", "device"], "known": [("de", "mobile")]}


def made(**more: Any) -> banister.Segmented:
    more = {"segments": ["de", "fr"], "guardrails": [SPEND], "seed": 7, **more}
    return banister.Segmented(["control", "bold"], **more)


def outcome(rng: np.random.Generator, arm: str, segment: str) -> tuple[float, float]:
    reward, cost = (0.3, 0.1) if arm == "control" else (0.8, MEANS[segment])
    return float(rng.random() < reward), float(rng.random() < cost)


def play(agent: banister.Segmented, rounds: int, segments: str = "de fr us", seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        segment = str(rng.choice(segments.split()))
        decision = agent.decide(segment=segment)
        agent.observe(decision, *outcome(rng, decision.action, segment))


def named(decision: banister.Decision) -> str:
    assert decision.segment is not None
    return decision.segment.name


@pytest.fixture(scope="module")
def played() -> banister.Segmented:
    agent = made()
    play(agent, 4000)
    return agent


def test_the_budget_is_spent_where_it_earns_most(played: banister.Segmented) -> None:
    assert played.policy("de")["bold"] > 0.9 > 0.5 > played.policy("fr")["bold"]
    table = played.segments()
    spent = sum(view.frequency * view.costs["spend"] for view in table)
    decision = played.decide(segment="de")
    own = decision.certificate
    assert decision.segment is not None
    # Frequencies are not known exactly, which the budget pays for.
    assert spent + decision.segment.by_frequencies["spend"] == pytest.approx(own["spend"].pessimistic_cost, abs=0.01)
    assert own["spend"].pessimistic_cost <= 0.3
    assert own["spend"].price > 0


def test_a_decision_shows_its_segment(played: banister.Segmented) -> None:
    decision = played.decide(segment="fr")
    assert 'segment="fr"' in repr(decision)
    own = decision.segment
    assert own is not None
    assert (own.name, own.pooled) == ("fr", False)
    assert own.contexts == played.segments()["fr"].contexts - 1
    assert own.frequency == pytest.approx(1 / 3, abs=0.03)
    assert set(own.costs) == set(own.by_frequencies) == {"spend"}
    again = pickle.loads(pickle.dumps(decision))
    assert again.to_dict() == decision.to_dict()
    assert json.loads(json.dumps(decision.to_dict()))["segment"] == own.to_dict()
    assert pickle.loads(pickle.dumps(own)).to_dict() == own.to_dict()
    assert "segment fr" in decision._repr_html_()
    assert banister.Opb(2).decide().segment is None


def test_segments_can_be_read(played: banister.Segmented) -> None:
    table = played.segments()
    assert {view.name for view in table} == {"de", "fr", "us", None}
    assert table[-1].name is None and table["(pool)"] is table[-1]
    assert sum(view.contexts for view in table) == sum(table.columns()["contexts"])
    assert isinstance(table[:2], banister.segments.SegmentTable) and len(table[:2]) == 2
    assert table["de"].policy == played.policy("de")
    assert table["de"].estimates["pulls"].tolist() == played.estimates("de")["pulls"].tolist()
    frame = table.to_pandas().set_index("segment")
    assert frame.loc["de", "policy_bold"] == table["de"].policy["bold"]
    assert frame.loc["fr", "spend_price"] == table["fr"].prices["spend"]
    for shown in (table._repr_html_(), played._repr_html_()):
        assert "<td" in shown and "spend, pessimistic" in shown and "bold" in shown
    assert json.dumps(table["fr"].to_dict())
    assert repr(table).startswith("SegmentTable(4 rows\n")
    with pytest.raises(KeyError, match="'es'"):
        table["es"]


def test_rare_segments_share_a_pool() -> None:
    agent = made(segments=None, pool_until=50)
    play(agent, 60, "de fr")
    pool = agent.segments()["(pool)"]
    assert len(agent.segments()) == 1 and sorted(pool.pooled) == ["de", "fr"]
    assert pool.contexts == 60 and pool.frequency == 1
    decision = agent.decide(segment="new")
    assert decision.segment is not None and decision.segment.pooled


def test_a_context_counts_once() -> None:
    """Twice as many would make frequencies look better known than they are."""
    agent = made(guardrails=[EACH])
    for _ in range(3):
        agent.observe(agent.decide(segment="de"), 1.0, 0.1)
        agent.observe(agent.decide(segment="de").action, 1.0, 0.1, segment="de")
    agent.observe("control", 1.0, 0.1, segment="fr")
    agent.partial_fit(agent.predict(segments=["fr"] * 4), [1.0] * 4, [0.1] * 4, segments=["fr"] * 4)
    late = agent.decide_batch(segments=["us"] * 5)
    agent = banister.load(agent.save())  # type: ignore[assignment]
    agent.observe_batch(["control"] * 2, [1.0] * 2, [0.1] * 2, segments=["us"] * 2)
    agent.observe_batch([late[i] for i in range(3)], [1.0] * 3, [0.1] * 3)
    agent.observe("bold", 1.0, 0.1, segment="us")
    table = agent.segments()
    assert (table["de"].contexts, table["fr"].contexts) == (6, 5)
    assert table["(pool)"].contexts == 6
    assert agent.outcomes == 17


def test_logs_with_segments_teach_and_replay() -> None:
    rng = np.random.default_rng(3)
    n = 4000
    country = rng.choice(["de", "us"], n)
    arms = rng.choice(["control", "bold"], n)
    cost = rng.random(n) < np.where(arms == "control", 0.05, np.where(country == "de", 0.02, 0.6))
    frame = {"action": arms, "reward": np.where(arms == "bold", 0.8, 0.2), "spend": cost.astype(float)}
    columns = {**frame, "pscore": np.full(n, 0.5), "country": country, "device": ["phone"] * n}
    log = banister.offline.Log.from_frame(columns, costs=["spend"], segment="country", arms=["control", "bold"])
    guardrail = banister.Guardrail("spend", at_most=0.2, safe_cost=0.05)
    agent = banister.Segmented(["control", "bold"], guardrails=guardrail, seed=1)
    assert banister.offline.warm_start(agent, log).outcomes == n
    means = {name: agent.predict_expectations(segments=name)["bold"] for name in ("de", "us")}
    assert means == pytest.approx({"de": 0.8, "us": 0.8})
    fresh = banister.Segmented(["control", "bold"], guardrails=guardrail, seed=1)
    replayed = banister.offline.replay(log, fresh, progress=False)
    assert replayed.accepted == fresh.outcomes > n / 4
    assert replayed.costs["spend"].lower < 0.2
    both = banister.offline.Log.from_frame(columns, costs=["spend"], segment=["country", "device"])
    assert set(both.segments or ()) == {"country=de, device=phone", "country=us, device=phone"}
    fields = banister.Segmented(["control", "bold"], guardrails=guardrail, segments={"fields": ["country", "device"]})
    assert banister.offline.warm_start(fields, both).outcomes == n
    seen = fields.predict_expectations(segments={"country": "us", "device": "phone"})
    assert seen["bold"] == pytest.approx(0.8)


def test_a_log_of_the_same_traffic_teaches_frequencies() -> None:
    rng = np.random.default_rng(5)
    n = 500
    country = np.repeat(rng.choice(["de", "us"], n), 2)
    frame = {
        "id": np.repeat(np.arange(n), 2),
        "action": ["control", "bold"] * n,
        "reward": np.tile([0.2, 0.8], n),
        "spend": (rng.random(2 * n) < 0.1).astype(float),
        "country": country,
    }

    def made(**more: object) -> tuple[banister.Segmented, banister.offline.WarmStart]:
        named: dict[str, object] = {"costs": ["spend"], "pscore": None, "segment": "country", "request": "id"}
        log = banister.offline.Log.from_frame(frame, **(named | more))  # type: ignore[arg-type]
        guardrail = banister.Guardrail("spend", at_most=0.3)
        agent = banister.Segmented(["bold", "control"], safe="control", guardrails=guardrail, seed=1)
        return agent, agent.warm_start(log, frequencies="same")

    agent, taught = made()
    assert taught == banister.offline.WarmStart(2 * n, ())
    assert agent.decide(segment="de").certificate["spend"].slack >= 0
    decision = agent.decide(segment="us")
    assert decision.certificate.fallback is None and decision.policy["bold"] > 0.5
    assert decision.segment is not None and decision.segment.contexts == (country == "us").sum() / 2
    # Every row a request: the log does not show how arms were chosen.
    agent, taught = made(request=None)
    assert len(taught.not_taught) == 2 and "`bold`" in taught.not_taught[0]
    with pytest.raises(ValueError, match="stand together"):
        frame["id"] = np.tile(np.arange(n), 2)
        made()
    with pytest.raises(ValueError, match="`frequencies` is same: needs an agent that tells segments apart"):
        banister.Opb(2).warm_start({"action": [0, 1], "reward": [0.0, 1.0]}, frequencies="same")
    with pytest.raises(ValueError, match="frequencies"):
        banister.Opb(2).warm_start({"action": [0, 1], "reward": [0.0, 1.0]}, frequencies="equal")  # type: ignore[arg-type]


def test_late_outcomes_go_to_their_segments() -> None:
    agent = made()
    batch = agent.decide_batch(segments=pd.Series(["de", "fr", "de"]))
    assert batch.segments == ["de", "fr", "de"]
    assert banister.Opb(2).decide_batch(2).segments is None
    single = agent.decide(segment="us")
    agent.observe_batch(batch, [1.0, 0.0, 1.0], [0.1, 0.2, 0.1])
    agent.observe(pickle.loads(pickle.dumps(single)), 1.0, 0.2)
    assert agent.estimates("de")["pulls"].sum() == 2
    assert agent.estimates("fr")["pulls"].sum() == 1
    with pytest.raises(ValueError, match="outcome was taken before"):
        agent.observe(single, 1.0, 0.2)


def test_it_is_kept(played: banister.Segmented, tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    played.save(path)
    for again in (banister.Segmented.load(path), banister.load(path), copy.copy(played)):
        assert isinstance(again, banister.Segmented)
        assert json.loads(again.save())["agent"] == json.loads(played.save())["agent"]
        # The table of policies is made anew.
        assert again.policy("fr")["control"] == pytest.approx(played.policy("fr")["control"], abs=0.02)
    fields = banister.Segmented(2, segments=FIELDS)
    again = pickle.loads(pickle.dumps(fields))
    assert again.segment_fields == ["country", "device"]
    assert again.problem == fields.problem
    damaged = json.loads(fields.save())
    damaged["interface"]["segment_fields"] = ["a b"]
    with pytest.raises(ValueError, match="`segment_fields` do not suit"):
        banister.load(json.dumps(damaged))


def test_segments_of_several_fields_have_one_name() -> None:
    agent = banister.Segmented(["control", "bold"], segments=FIELDS)
    name = "country=de, device=mobile"
    for given in (
        {"device": "mobile", "country": "de"},
        ("de", "mobile"),
        name,
        pd.Series(dict(country="de", device="mobile")),
    ):
        assert named(agent.decide(segment=given)) == name
    assert agent.segments()["(pool)"].pooled == [name] and agent.segments()["(pool)"].contexts == 4
    assert agent.policy(name) == agent.policy(("de", "mobile"))
    assert named(agent.decide(segment=("a,b", "c\\d"))) == "country=a\\,b, device=c\\\\d"
    assert named(agent.decide(segment={"country": 49, "device": True})) == "country=49, device=true"
    rows = {"country": ["de", "fr"], "device": ["mobile", "desktop"], "other": [1, 2]}
    names = [name, "country=fr, device=desktop"]
    for frame in (
        rows,
        pd.DataFrame(rows),
        pl.DataFrame(rows),
        [{"country": "de", "device": "mobile"}, ("fr", "desktop")],
    ):
        assert agent.decide_batch(segments=frame).segments == names
    assert agent.predict(segments=("de", "mobile")) in ("control", "bold")
    assert len(agent.predict(segments=rows)) == 2
    assert len(agent.predict_expectations(segments=rows)) == 2


@pytest.mark.parametrize("kind", [pd.Series, pl.Series, np.array, list, tuple])
def test_columns_of_any_library(kind: Any) -> None:
    agent = made()
    agent.observe_batch(["control", "bold"], [1.0, 0.0], [0.1, 0.2], segments=kind(["de", "fr"]))
    assert agent.estimates("fr")["pulls"].tolist() == [0, 1]
    assert agent.decide_batch(segments=kind([1, 2])).segments == ["1", "2"]


def test_it_learns_from_tables() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"arm": rng.choice(["control", "bold"], 600), "segment": rng.choice(["de", "fr"], 600)})
    signals = [outcome(rng, arm, segment) for arm, segment in zip(frame["arm"], frame["segment"], strict=True)]
    frame["reward"], frame["spend"] = np.array(signals).T
    agent = made().fit(frame["arm"], frame["reward"], frame[["spend"]], segments=frame["segment"])
    assert agent.outcomes == 600
    expected = frame[frame["segment"] == "fr"].groupby("arm")["reward"].mean()
    assert agent.predict_expectations(segments="fr") == pytest.approx(expected.to_dict())
    both = agent.predict_expectations(segments=["fr", "de"])
    assert both[0]["bold"] == expected["bold"] != both[1]["bold"]
    assert agent.segments()["(pool)"].contexts == 0, "a log's segments may have other frequencies"
    assert agent.predict(segments="fr") in ("control", "bold")
    with pytest.raises(ValueError, match="different order"):
        agent.partial_fit(frame["arm"], frame["reward"], frame["spend"], segments=frame["segment"][::-1])


def test_scopes() -> None:
    assert EACH.to_dict()["scope"] == "each"
    agent = made(guardrails=[EACH])
    assert [view.name for view in agent.segments()] == ["de", "fr", None], "declared ones are told apart at once"
    play(agent, 3000)
    for view in agent.segments():
        assert view.costs["spend"] <= 0.3 + 1e-9
    assert agent.policy("de")["bold"] > 0.5 > agent.policy("fr").get("bold", 0.0)
    with pytest.raises(ValueError, match=r'`guardrails\[0\].scope` is "each": .* banister.Segmented'):
        banister.Opb(2, guardrails=[EACH])


def test_an_alarm_names_its_segment() -> None:
    each = banister.Guardrail("spend", at_most=0.3, scope="each")
    agent = made(guardrails=[each])
    for _ in range(300):
        agent.observe(agent.decide(segment="de"), 1.0, 0.0)
    for _ in range(300):
        agent.observe(agent.decide(segment="de"), 1.0, 1.0)
    about = [alarm for alarm in agent.alarms if alarm.segment is not None]
    assert about[0].segment == "de" and about[0].message.startswith("in the segment de, ")
    decision = pickle.loads(pickle.dumps(agent.decide(segment="de")))
    assert decision.alarm.to_dict() == agent.alarms[0].to_dict()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a: a.decide(), TypeError, "`segment` is missing"),
        (lambda a: a.observe("bold", 1.0, 0.1), TypeError, "`segment` is missing"),
        (lambda a: a.observe(a.decide(segment="de"), 1.0, 0.1, segment="de"), TypeError, "the decision has its own"),
        (lambda a: a.decide_batch(3), TypeError, "`segments` is missing"),
        (lambda a: a.decide_batch(3, segments=["de"]), TypeError, "beside `segments`"),
        (lambda a: a.observe_batch(["bold"], [1.0], [0.1]), TypeError, "`segments` is missing"),
        (lambda a: a.observe_batch(["bold"], [1.0], [0.1], segments=["a", "b"]), ValueError, "has 2 entries"),
        (lambda a: a.decide(segment=None), TypeError, "`segment` is missing"),
        (lambda a: a.decide(segment=float("nan")), TypeError, '`segment` is nan .*such as "unknown"'),
        (lambda a: a.decide(segment=""), ValueError, "`segment` is empty"),
        (lambda a: a.decide(segment="x" * 300), ValueError, "at most 200 characters"),
        (lambda a: a.decide_batch(segments=["de", None]), TypeError, r"`segments\[1\]` is None"),
        (lambda a: a.decide_batch(segments="de"), TypeError, "`segments` is 'de'"),
        (lambda a: a.decide(segment=("de", "mobile")), TypeError, "plain names"),
        (lambda a: a.decide([[1.0]], segment="de"), TypeError, "`actions` is given"),
        (lambda a: a.estimates(), TypeError, "`segment` is missing"),
        (lambda a: a.predict(), TypeError, "`segments`"),
        (lambda a: a.warm_start({"action": ["bold"], "reward": [1.0], "spend": [0.1]}), ValueError, "tells segments"),
        (lambda a: banister.Opb(2).decide(segment="de"), TypeError, "`segment` is given"),
        (lambda a: banister.Opb(2).observe(0, 1.0, segment="de"), TypeError, "`segment` is given"),
        (lambda a: banister.Opb(2).decide_batch(segments=["de"]), TypeError, "`segments` is given"),
        (lambda a: banister.Opb(2).observe_batch([0], [1.0], segments=["de"]), TypeError, "`segments` is given"),
        (lambda a: banister.Opb(2).predict(segments="de"), TypeError, "`segments` is given"),
        (lambda a: banister.agents()["opb"](2, segments=["de"]), TypeError, "`segments` is given"),
        (lambda a: made(segments="de"), TypeError, "`segments` is 'de'"),
        (lambda a: made(segments=["de", "de"]), ValueError, "a name of its own"),
        (lambda a: made(segments={"fields": []}), ValueError, "must be 1 to 16 names"),
        (lambda a: made(segments={"fields": ["a=b"]}), ValueError, "must be letters"),
        (lambda a: made(segments={"names": ["a"]}), TypeError, "`segments` is"),
        (lambda a: made(segments=FIELDS).decide(segment="de"), TypeError, "a value of country, device"),
        (lambda a: made(segments=FIELDS).decide(segment={"country": "de"}), ValueError, 'has no "device"'),
        (lambda a: made(segments=FIELDS).decide(segment={"os": "x"}), ValueError, "has 'os'"),
        (lambda a: made(segments=FIELDS).decide(segment=("de",)), TypeError, "a value of country, device"),
    ],
)
def test_refusals(call: Any, error: type[Exception], message: str) -> None:
    agent = made()
    with pytest.raises(error, match=message):
        call(agent)
    assert agent.outcomes == 0


# Simulations


def test_simulated_worlds_have_segments() -> None:
    world = {
        "kind": "segmented",
        "segments": ["de", "fr"],
        "frequencies": [0.5, 0.5],
        "rewards": [[0.3, 0.8], [0.3, 0.8]],
        "costs": [[[0.1, 0.1], [0.1, 0.9]]],
    }
    result = banister.simulate(
        world, ["segmented", "opb"], guardrails=[SPEND], horizon=3000, runs=4, progress=False
    ).to_pandas("runs")
    assert result["violations"].sum() == 0
    regret = result.groupby("agent")["regret"].mean()
    assert regret["segmented"] < regret["opb"]


def test_tables_have_segments() -> None:
    rng = np.random.default_rng(3)
    segment = rng.choice(["de", "fr"], 2000)
    frame = pd.DataFrame({"segment": segment, "good_a": 0.3, "good_b": 0.8, "spend_a": 0.1})
    frame["spend_b"] = np.where(segment == "de", 0.1, 0.9)
    kept = {}
    for declared in (True, False):
        table = banister.simulation.TableEnvironment(
            frame,
            rewards={"a": "good_a", "b": "good_b"},
            costs={"spend": ["spend_a", "spend_b"]},
            segment="segment",
            declared=declared,
        )
        result = banister.simulate(
            table, ["segmented"], guardrails=[SPEND], horizon=2000, runs=2, progress=False
        ).to_pandas("runs")
        assert result["violations"].sum() == 0
        kept[declared] = result["regret"].mean()
    assert kept[True] != kept[False]
    with pytest.raises(TypeError, match="`declared` is given without `segment`"):
        banister.simulation.TableEnvironment(frame, rewards=["good_a", "good_b"], declared=False)
