"""Decisions belong to an agent, count once, travel, and are watched."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import banister

SPEND = banister.Guardrail("spend", at_most=0.5, safe_cost=0.1)
DELAY = banister.Guardrail("delay", at_most=0.8, safe_cost=0.2)
ARMS = ["a", "b", "c"]
LOOP = {"kind": "bernoulli", "rewards": [0.1, 0.7], "costs": [[0.1, 0.2]]}


def opb(**more: Any) -> banister.Opb:
    return banister.Opb(ARMS, guardrails=[SPEND], **{"seed": 7, **more})


def two(**more: Any) -> banister.Opb:
    return banister.Opb(ARMS, guardrails=[SPEND, DELAY], seed=7, **more)


def means(agent: banister.Agent, arm: int = 1) -> tuple[float, float]:
    table = agent.estimates()
    return table["spend_mean"][arm], table["delay_mean"][arm]


def breach(agent: banister.Agent, rounds: int = 400) -> None:
    """Every decision costs more than is allowed."""
    for _ in range(rounds):
        agent.observe(agent.decide(), 1.0, 1.0)


def taught(agent: banister.Agent) -> None:
    """It knows that b is good and dear, and plays it about half of the time."""
    arms = ["a"] * 1000 + ["b"] * 1000 + ["c"] * 1000
    agent.fit(arms, np.repeat([0.0, 1.0, 0.0], 1000), np.repeat([0.1, 0.9, 0.9], 1000))


# Whose decision


def test_a_decision_of_another_agent_is_refused() -> None:
    one, other = opb(), opb()
    assert one.id != other.id
    decision = other.decide()
    assert (decision.agent_id, decision.serial) == (other.id, 1)
    before = one.save()
    with pytest.raises(ValueError, match="decision 1 of another agent: give it to the agent that made it"):
        one.observe(decision, 1.0, 0.0)
    with pytest.raises(ValueError, match="`actions` has decision 2 of another agent"):
        one.observe_batch(other.decide_batch(3), np.ones(3), np.zeros(3))
    with pytest.raises(ValueError, match="of another agent"):
        one.observe_batch([other.decide()], [1.0], [0.0])
    assert one.save() == before
    one.observe(decision.action, 1.0, 0.0)
    assert one.outcomes == 1


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a)), lambda a: banister.load(a.save())],
)
def test_copies_keep_the_identity(copied: Callable[[banister.Agent], banister.Agent]) -> None:
    agent = opb()
    decisions = [agent.decide() for _ in range(3)]
    agent.observe(decisions[1], 1.0, 0.0)
    twin = copied(agent)
    assert twin.id == agent.id
    twin.observe(decisions[0], 1.0, 0.0)
    with pytest.raises(ValueError, match="decision 2, whose outcome was taken before"):
        twin.observe(decisions[1], 1.0, 0.0)
    assert twin.decide().serial == 4


def test_outcomes_reach_an_agent_that_was_loaded_from_an_older_snapshot() -> None:
    agent = opb()
    agent.decide()
    text = agent.save()
    lost = [agent.decide() for _ in range(5)]
    again = banister.load(text)
    again.observe(lost[4], 1.0, 0.0)
    assert again.decide().serial == 7
    with pytest.raises(ValueError, match="decision 6, whose outcome"):
        again.observe(lost[4], 1.0, 0.0)


def test_snapshots_of_other_versions_are_refused() -> None:
    saved = json.loads(opb().save())
    for version in (saved["version"] - 1, saved["version"] + 1):
        with pytest.raises(ValueError, match=f"its version is {version}"):
            banister.load(json.dumps({**saved, "version": version}))


@pytest.mark.parametrize("observed", [{"5": 3}, {"1": 4, "3": 5}, {"7": 900}])
def test_snapshots_with_damaged_numbers_are_refused(observed: dict[str, int]) -> None:
    agent = opb()
    agent.decide_batch(100)
    saved = json.loads(agent.save())
    saved["numbers"]["observed"] = observed
    with pytest.raises(ValueError, match="`numbers` of decisions are damaged"):
        banister.load(json.dumps(saved))


# Once


def test_an_outcome_counts_once() -> None:
    agent = opb()
    decision = agent.decide()
    with pytest.raises(ValueError, match="reward"):
        agent.observe(decision, float("nan"), 0.0)
    agent.observe(decision, 1.0, 0.0)
    with pytest.raises(ValueError, match="decision 1, whose outcome was taken before"):
        agent.observe(decision, 1.0, 0.0)
    batch = agent.decide_batch(4)
    with pytest.raises(ValueError, match="taken before"):
        agent.observe_batch([batch[0], batch[1], batch[0]], np.ones(3), np.zeros(3))
    with pytest.raises(ValueError, match="spend"):
        agent.observe_batch(batch, np.ones(4), np.full(4, np.inf))
    agent.observe_batch(batch, np.ones(4), np.zeros(4))
    with pytest.raises(ValueError, match="decision 2, whose outcome was taken before"):
        agent.observe_batch(batch, np.ones(4), np.zeros(4))
    assert agent.outcomes == 5
    agent.reset()
    agent.observe(decision, 1.0, 0.0)
    assert agent.outcomes == 1, "who forgot everything may learn it again"


def test_a_cancelled_decision_has_no_outcome() -> None:
    agent = opb()
    one, two = agent.decide(), agent.decide()
    agent.cancel(one)
    with pytest.raises(ValueError, match="`action` has decision 1, whose outcome was taken before"):
        agent.observe(one, 1.0, 0.0)
    agent.observe(two, 1.0, 0.0)
    with pytest.raises(ValueError, match="`decision` has decision 2, whose outcome"):
        agent.cancel(two)
    with pytest.raises(ValueError, match="`decision` has decision 1 of another agent"):
        agent.cancel(opb().decide())
    assert agent.outcomes == 1


def test_every_decision_of_many_counts_once_in_any_order() -> None:
    agent = opb()
    rng = np.random.default_rng(0)
    waiting: list[banister.Decision] = []
    seen: list[banister.Decision] = []
    for _ in range(3000):
        waiting.append(agent.decide())
        if rng.random() < 0.8:
            seen.append(waiting.pop(int(rng.integers(len(waiting)))))
            agent.observe(seen[-1], 0.0, 0.0)
        if len(seen) % 500 == 250:
            agent = banister.load(agent.save())  # type: ignore[assignment]
    for decision in seen:
        with pytest.raises(ValueError, match="taken before"):
            agent.observe(decision, 0.0, 0.0)
    for decision in waiting:
        agent.observe(decision, 0.0, 0.0)
    assert agent.outcomes == 3000
    assert len(agent.save()) < 20_000, "what is kept does not grow with what was decided"


def test_decisions_of_the_far_past_are_refused_rather_than_counted_twice() -> None:
    agent = opb()
    first, *others = agent.decide_batch(600_000)
    agent.observe_batch(others[1::2], np.ones(300_000 - 1), np.zeros(300_000 - 1))
    with pytest.raises(ValueError, match="older than 262144 others without one"):
        agent.observe(first, 1.0, 0.0)
    agent.observe(others[-1], 1.0, 0.0)
    assert len(agent.save()) < 6_000_000, "what is kept is bounded"


def test_a_late_outcome_is_of_its_own_actions_also_in_a_copy() -> None:
    """Sets of actions are not told apart by how many there were."""
    agent = banister.Oplb(safe_action=[1.0, 0.0], guardrails=[SPEND], parameter_norm=1.0, seed=7)
    twin = copy.copy(agent)
    decision = agent.decide([[0.6, 0.8]])
    twin.decide([[0.8, -0.6]])
    twin.observe_batch([decision, twin.decide([[0.8, -0.6]])], [1.0, 0.0], [0.0, 0.0])
    exact = banister.Oplb(safe_action=[1.0, 0.0], guardrails=[SPEND], parameter_norm=1.0, seed=7)
    exact.observe_batch(features=np.array([decision.features, [1.0, 0.0]]), rewards=[1.0, 0.0], costs=[0.0, 0.0])
    ours, theirs = (json.loads(a.save())["agent"]["learner"]["evidence"] for a in (twin, exact))
    assert ours == theirs


# Labels


@pytest.mark.parametrize(
    "costs",
    [
        pd.Series({"delay": 0.7, "spend": 0.1}),
        pd.Series({"spend": 0.1, "delay": 0.7}),
        pd.Series([0.1, 0.7]),
        pd.DataFrame({"delay": [0.7], "spend": [0.1]}),
        pl.DataFrame({"delay": [0.7], "spend": [0.1]}),
        pl.Series([0.1, 0.7]),
        pd.DataFrame({"delay": [0.7, 0.5], "spend": [0.1, 0.9]}).iloc[0],
    ],
    ids=["other order", "same order", "no labels", "pandas", "polars", "polars series", "row"],
)
def test_costs_of_one_outcome_go_by_label(costs: Any) -> None:
    agent = two()
    agent.observe("b", 1.0, costs)
    assert means(agent) == pytest.approx((0.1, 0.7))


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        (pd.Series({"delay": 0.7, "spent": 0.1}), ["spent", "spend, delay"]),
        (pd.Series({"delay": 0.7}), ["lacks `spend`"]),
        (pd.Series([0.1, 0.2], index=["spend", "spend"]), ["'spend' more than once"]),
        (pd.Series([0.1, 0.7], index=[1, 2]), ["1", "spend, delay"]),
        (pd.DataFrame({"spend": [0.1, 0.1], "delay": [0.1, 0.1]}), ["2 rows", "observe_batch"]),
    ],
)
def test_costs_with_wrong_labels_are_refused(costs: Any, words: list[str]) -> None:
    agent = two()
    with pytest.raises(ValueError) as caught:
        agent.observe("b", 1.0, costs)
    assert all(word in str(caught.value) for word in words), caught.value
    assert agent.outcomes == 0


def test_a_single_labelled_cost_is_not_any_number() -> None:
    with pytest.raises(ValueError, match="other"):
        opb().observe("b", 1.0, pd.Series({"other": 0.1}))


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, pl.DataFrame, dict, lambda d: pl.DataFrame(d).to_arrow()],
    ids=["pandas", "polars", "dict", "arrow"],
)
def test_costs_of_many_outcomes_go_by_column(make: Callable[[Any], Any]) -> None:
    agent = two()
    agent.observe_batch(["b", "b"], [1.0, 0.0], make({"delay": [0.7, 0.5], "spend": [0.1, 0.3]}))
    assert means(agent) == pytest.approx((0.2, 0.6))
    with pytest.raises(ValueError, match="lacks 'spend' and has 'spent'"):
        agent.observe_batch(["b", "b"], [1.0, 0.0], make({"delay": [0.7, 0.5], "spent": [0.1, 0.3]}))
    assert agent.outcomes == 2


def test_tables_without_names_and_single_columns_go_by_position() -> None:
    agent = two()
    agent.observe_batch(["b"], [1.0], pd.DataFrame([[0.1, 0.7]]))
    assert means(agent) == pytest.approx((0.1, 0.7))
    one = opb()
    one.observe_batch(["b", "c"], pd.Series([1.0, 0.0]), pd.Series([0.1, 0.3], name="EUR"))
    assert one.estimates()["spend_mean"][1:].tolist() == [0.1, 0.3]


def test_rows_in_another_order_are_refused() -> None:
    frame = pd.DataFrame({"arm": ["b", "c"], "reward": [1.0, 0.0], "spend": [0.1, 0.3]})
    agent = opb()
    with pytest.raises(ValueError, match=r"`rewards` and `costs` .* align them"):
        agent.observe_batch(frame["arm"], frame["reward"], frame.sort_values("spend", ascending=False)[["spend"]])
    with pytest.raises(ValueError, match="`rewards` and `actions`"):
        agent.observe_batch(frame["arm"][::-1], frame["reward"], frame[["spend"]])
    agent.observe_batch(frame["arm"], frame["reward"], frame[["spend"]])
    assert agent.outcomes == 2


# Predict


def test_predict_does_not_guess_what_rows_are() -> None:
    agent = banister.Oplb(safe_action=[1.0, 0.0], guardrails=[SPEND], parameter_norm=1.0, seed=7)
    with pytest.raises(ValueError, match=r"shape \(5, 2\): 5 actions of one round, or 5 rounds\?.*decide\(actions"):
        agent.predict(np.ones((5, 2)))
    assert len(agent.predict(np.ones((5, 1, 2)) * [1.0, 0.0])) == 5
    with pytest.raises(TypeError, match="takes no feature vectors"):
        opb().predict(np.ones((5, 3, 2)))


# Forks


def in_child(work: Callable[[], Any]) -> Any:
    """Returns the result of work in a forked process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, pickle.dumps(work()))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(answer)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("seed", [None, 7])
def test_forked_processes_draw_other_actions(seed: int | None) -> None:
    agent = opb(seed=seed)
    taught(agent)
    assert len(agent.decide().policy) == 2
    before = agent.save()

    def draw() -> list[int]:
        return [agent.decide().index for _ in range(200)]

    def grandchild() -> Any:
        return in_child(draw)

    drawn = [in_child(draw), in_child(draw), in_child(grandchild), draw()]
    assert len({tuple(actions) for actions in drawn}) == 4
    # The parent goes on as if it had not forked.
    agent = banister.load(before)  # type: ignore[assignment]
    assert draw() == drawn[3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_takes_the_outcomes_of_before_but_not_of_its_siblings() -> None:
    agent = opb()
    earlier = agent.decide()

    def work() -> banister.Decision:
        agent.observe(earlier, 1.0, 0.0)
        return agent.decide()

    theirs = in_child(work)
    assert theirs.agent_id != agent.id
    with pytest.raises(ValueError, match="in the process that made it"):
        agent.observe(theirs, 1.0, 0.0)
    agent.observe(earlier, 1.0, 0.0)


@pytest.mark.skipif("thompson" not in banister.agents() or not hasattr(os, "fork"), reason="nothing samples")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_agents_that_sample_sample_anew_in_forks() -> None:
    agent = banister.agents()["thompson"](8, guardrails=[SPEND], seed=7)

    def draw() -> list[int]:
        return [agent.decide().index for _ in range(40)]

    assert len({tuple(in_child(draw)) for _ in range(3)}) == 3


# Travel

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def decisions() -> list[banister.Decision]:
    alarmed = opb()
    breach(alarmed)
    linear = banister.Oplb(safe_action=[1.0, 0.0], guardrails=[SPEND], parameter_norm=1.0, seed=7)
    infinite = banister.Opb(2, guardrails=[{**SPEND.to_dict(), "sub_gaussian": 1.0}], reward={"sub_gaussian": 1.0})
    return [
        two().decide(),
        alarmed.decide(),
        linear.decide([[0.6, 0.8]]),
        infinite.decide(),
    ]


@pytest.mark.parametrize("decision", decisions(), ids=["arms", "alarm", "features", "infinite"])
def test_decisions_travel(decision: banister.Decision) -> None:
    everything = decision.to_dict()
    for twin in [copy.deepcopy(decision), *(pickle.loads(pickle.dumps(decision, p)) for p in PROTOCOLS)]:
        assert type(twin) is banister.Decision
        assert twin.to_dict() == everything
        assert repr(twin) == repr(decision)
        assert twin.probabilities.tolist() == decision.probabilities.tolist()
        assert twin.alarm == decision.alarm
    certificate = pickle.loads(pickle.dumps(decision.certificate))
    assert certificate.to_dict() == decision.certificate.to_dict()
    part = pickle.loads(pickle.dumps(decision.certificate["spend"]))
    assert part.to_dict() == decision.certificate["spend"].to_dict()
    with pytest.raises(ValueError, match="pickle"):
        banister.Decision(b"nonsense")


@pytest.mark.parametrize("decision", decisions(), ids=["arms", "alarm", "features", "infinite"])
def test_dictionaries_are_complete(decision: banister.Decision) -> None:
    def properties(thing: Any) -> set[str]:
        cls = type(thing)
        return {n for n in dir(cls) if not n.startswith("_") and not callable(getattr(cls, n))}

    everything = json.loads(json.dumps(decision.to_dict()))
    # `probabilities` is `policy` with zeros.
    assert set(everything) == properties(decision) - {"probabilities"}
    certificate = everything["certificate"]
    assert set(certificate) == set(banister.Certificate.__dataclass_fields__)
    assert set(certificate["guardrails"][0]) == set(banister.decisions.GuardrailCertificate.__dataclass_fields__)
    assert (everything["alarm"] is None) == (decision.alarm is None)


def test_late_outcomes_of_decisions_that_travelled() -> None:
    agent = banister.Oplb(safe_action=[1.0, 0.0], guardrails=[SPEND], parameter_norm=1.0, seed=7)
    batch = agent.decide_batch(actions=np.array([[[0.6, 0.8]], [[0.8, -0.6]]]))
    twin = pickle.loads(pickle.dumps(batch))
    assert twin.to_dict() == batch.to_dict()
    assert [d["serial"] for d in json.loads(json.dumps(twin.to_dict()))["decisions"]] == [1, 2]
    agent.observe(twin[1], 1.0, 0.0)
    with pytest.raises(ValueError, match="taken before"):
        agent.observe_batch(batch, [1.0, 1.0], [0.0, 0.0])
    agent.observe(pickle.loads(pickle.dumps(batch[0])), 1.0, 0.0)
    assert agent.outcomes == 2
    assert len(pickle.loads(pickle.dumps(opb().decide_batch(100_000)))) == 100_000


def test_results_travel() -> None:
    small: dict[str, Any] = {"guardrails": SPEND, "horizon": 200, "runs": 2, "progress": False}
    simulated = banister.simulate(LOOP, "opb", **small)
    swept = banister.sweep(LOOP, ["opb"], grid={"agents.delta": [0.1, 0.01]}, executor="threads", **small)
    compared = banister.compare(
        {"environment": LOOP, "guardrail": SPEND}, ["opb", "ucb1"], horizon=200, runs=2, progress=False
    )
    for result in (simulated, swept, compared):
        everything = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert set(everything) >= {"instances", *result._TABLES}
        for twin in [copy.deepcopy(result), *(pickle.loads(pickle.dumps(result, p)) for p in PROTOCOLS)]:
            assert type(twin) is type(result)
            assert repr(twin) == repr(result)
            assert twin.to_dict() == result.to_dict()
            assert twin.table("runs").to_csv() == result.table("runs").to_csv()
    table = pickle.loads(pickle.dumps(simulated.table("runs")))
    assert table.to_parquet() == simulated.table("runs").to_parquet()
    assert set(everything) >= {"points", "leaderboard", "traces", "left_out"}


def test_results_on_logs_travel(log: banister.offline.Log) -> None:
    judged = banister.offline.evaluate(log, 0, guardrails=banister.Guardrail("spend", at_most=0.9))
    assert pickle.loads(pickle.dumps(judged)) == judged
    assert json.loads(json.dumps(judged.to_dict()))["is_safe"] == judged.is_safe
    plain = banister.offline.Log.from_frame({"action": [0, 1] * 50, "reward": [0.2, 0.8] * 50, "pscore": [0.5] * 100})
    replayed = banister.offline.replay(plain, banister.Opb(2), progress=False)
    text = json.loads(json.dumps(replayed.to_dict()))
    assert text["curves"]["round"] == replayed.curves["round"].tolist()
    assert pickle.loads(pickle.dumps(replayed)).to_dict() == replayed.to_dict()


# Alarms


def test_alarms_are_raised_shown_and_acknowledged() -> None:
    agent = two(on_breach="safe")
    assert agent.alarms == [] == [d for d in [agent.decide().alarm] if d]
    for _ in range(400):
        agent.observe(agent.decide(), 1.0, {"spend": 0.9, "delay": 0.1})
    kinds = {alarm.kind for alarm in agent.alarms}
    assert kinds == {"breach", "safe_cost"}
    alarm = next(alarm for alarm in agent.alarms if alarm.kind == "breach")
    assert (alarm.guardrail, alarm.arm, alarm.forces_safe) == ("spend", None, True)
    assert alarm.mean == pytest.approx(0.9)
    assert alarm.evidence >= 1 / agent.config.get("alarm_delta", 0.001)
    assert "spend averaged 0.9" in alarm.message
    other = next(alarm for alarm in agent.alarms if alarm.kind == "safe_cost")
    assert other.arm == "a" and other.message.startswith("a averaged 0.9 of spend")
    decision = agent.decide()
    assert decision.is_safe
    assert decision.certificate.fallback == "alarm"
    assert decision.alarm == agent.alarms[0]
    assert agent.alarms[0].message in decision._repr_html_()
    trace = agent.evidence("spend")
    assert trace.shape[1] == 2 and trace[-1, 1] > trace[0, 1]
    assert agent.evidence(1)[:, 1].max(initial=0.0) < trace[-1, 1]
    assert banister.load(agent.save()).alarms == agent.alarms
    agent.acknowledge()
    assert agent.alarms == []
    assert agent.decide().certificate.fallback is None
    with pytest.raises(ValueError, match="the guardrails are spend, delay"):
        agent.evidence("cost")


def test_assumptions_are_listed_with_what_watches_them() -> None:
    assumptions = dict(two().assumptions)
    assert assumptions["means do not change"]
    assert assumptions["the safe action's mean spend is 0.1"]
    assert not assumptions["outcomes arrive independently of their value"]
    assert banister.rivals.Ucb1(2).assumptions == [] == banister.rivals.Ucb1(2).alarms


@pytest.mark.parametrize("how", ["one by one", "batch"])
def test_late_outcomes_are_watched_in_any_order(how: str) -> None:
    """Where the dear arm's outcomes come first, every policy is safe all the same; one that is not is found."""

    def life(later: float) -> set[str]:
        agent = opb(on_breach="alert")
        taught(agent)
        rng = np.random.default_rng(7)
        for turn in range(10):
            waiting = list(agent.decide_batch(2000)) if how == "batch" else [agent.decide() for _ in range(400)]
            waiting.sort(key=lambda decision: -decision.index)
            means = (0.1, 0.9, 0.9) if turn < 5 else (later, 0.9, 0.9)
            costs = [float(rng.random() < means[decision.index]) for decision in waiting]
            rewards = [float(decision.index == 1) for decision in waiting]
            if how == "batch":
                agent.observe_batch(waiting, rewards, costs)
            else:
                for decision, reward, cost in zip(waiting, rewards, costs, strict=True):
                    agent.observe(decision, reward, cost)
        return {alarm.kind for alarm in agent.alarms}

    assert life(later=0.1) == set()
    assert "breach" in life(later=0.9)


def test_a_look_at_the_policy_holds_up_no_alarm() -> None:
    agent = opb()
    for _ in range(400):
        agent.decide()
        decision = agent.decide()
        agent.decide_batch(3)
        agent.observe(decision, 1.0, 1.0)
    assert "breach" in {alarm.kind for alarm in agent.alarms}


def test_decisions_that_were_pickled_and_dropped_are_waited_for() -> None:
    agent = opb()
    kept = [pickle.dumps(agent.decide()) for _ in range(400)]
    for text in kept:
        agent.observe(pickle.loads(text), 1.0, 1.0)
    assert "breach" in {alarm.kind for alarm in agent.alarms}


@pytest.mark.parametrize("size", [1000, 5000])
@pytest.mark.parametrize("how", ["batch", "list", "loop"])
def test_batches_are_watched(size: int, how: str) -> None:
    agent = opb()
    batch = agent.decide_batch(size)
    if how == "loop":
        for decision in batch:
            agent.observe(decision, 1.0, 1.0)
    else:
        agent.observe_batch(batch if how == "batch" else list(batch), np.ones(size), np.ones(size))
    assert "breach" in {alarm.kind for alarm in agent.alarms}


def test_what_another_policy_did_raises_no_alarm_of_a_breach() -> None:
    rows = 2000
    frame: dict[str, Any] = {"action": ["b"] * rows, "reward": [1.0] * rows, "spend": [1.0] * rows}
    log = banister.offline.Log.from_frame(frame, costs=["spend"], pscore=None, arms=ARMS)
    warm, fitted, observed = opb(), opb(), opb()
    assert warm.warm_start(log).outcomes == rows
    fitted.fit(frame["action"], frame["reward"], frame["spend"])
    assert warm.alarms == fitted.alarms == []
    assert warm.outcomes == fitted.outcomes == rows
    # Of the arm that its decision claimed to cost 0.1.
    observed.decide()
    observed.observe_batch(["a"] * rows, frame["reward"], frame["spend"])
    assert "breach" in {alarm.kind for alarm in observed.alarms}


def test_predictions_hold_up_no_alarm() -> None:
    agent = opb()
    for _ in range(400):
        agent.observe(agent.predict(), 1.0, 1.0)
    assert agent.alarms
    late = opb()
    for _ in range(300):
        late.predict()
    breach(late)
    assert late.alarms


def test_a_reset_clears_alarms_and_takes_late_outcomes() -> None:
    agent = opb()
    late = [agent.decide() for _ in range(50)]
    breach(agent)
    assert agent.alarms
    agent.reset()
    assert agent.alarms == []
    for decision in late:
        agent.decide()
        agent.observe(decision, 1.0, 1.0)
    assert agent.outcomes == 50
    assert {a.kind for a in agent.alarms} <= {"safe_cost"}, "decisions of before are not watched"
    breach(agent)
    assert "breach" in {a.kind for a in agent.alarms}


def test_simulations_show_when_alarms_came() -> None:
    drift = {
        "kind": "bernoulli",
        "rewards": [0.2, 0.6],
        "costs": [[0.1, 0.2]],
        "changes": [{"round": 2000, "costs": [[0.1, 0.9]]}],
    }
    result = banister.simulate(drift, ["opb", "ucb1"], horizon=4000, runs=3, guardrails=SPEND, progress=False)
    table = result.to_pandas("alarms")
    assert table.columns.tolist() == [
        "instance",
        "agent",
        "run",
        "first_change",
        "first_alarm",
        "rounds_until_alarm",
        "violations_before_alarm",
        "violations_after_alarm",
    ]
    watched, blind = (table[table["agent"] == agent] for agent in ("opb", "ucb1"))
    assert (watched["first_change"] == 2000).all()
    assert (watched["first_alarm"] == 2000 + watched["rounds_until_alarm"]).all()
    assert (watched["rounds_until_alarm"] < 500).all()
    assert (watched["violations_after_alarm"] == 0).all()
    runs = result.to_pandas("runs").query("agent == 'opb'")["violations"]
    assert (watched["violations_before_alarm"].to_numpy() == runs.to_numpy()).all()
    assert blind["first_alarm"].isna().all()
    assert result.alarms["run"].tolist() == [0, 1, 2, 0, 1, 2]
    assert result.instances[0]["changes"] == [2000]
    assert "first_alarm" not in result.runs, "its columns are those of runs.csv"


def test_drift_by_the_clock_needs_times_that_are_seconds_or_datetimes() -> None:
    drifting = {"name": "spend", "at_most": 0.5, "safe_cost": 0.1, "drift": {"by": 0.05, "per": "hour"}}
    origin = datetime(2026, 3, 2, tzinfo=timezone.utc)

    def played(at: Callable[[float], Any]) -> banister.Opb:
        agent = banister.Opb(["control", "bold"], guardrails=[drifting], seed=5)
        waiting = []
        for t in range(400):
            waiting.append(agent.decide(time=at(10.0 * t)))
            if t % 3:
                agent.observe(waiting.pop(0), 0.5, 0.125)
        agent.observe_batch(waiting, [0.5] * len(waiting), [0.125] * len(waiting))
        agent.observe("bold", 0.5, 0.125, time=at(4000.0))
        return agent

    by_number, by_datetime = played(lambda t: t), played(lambda t: origin + timedelta(seconds=t))
    times: list[tuple[banister.Opb, Any]] = [(by_number, 7600.0), (by_datetime, origin + timedelta(seconds=7600))]
    for agent, later in times:
        before = agent.estimates()["spend_upper"][1]
        loaded = banister.load(agent.save())
        assert loaded.decide(time=later).policy == agent.decide(time=later).policy
        assert agent.estimates()["spend_upper"][1] - before == pytest.approx(0.05, abs=0.0011)
    assert by_number.estimates()["spend_upper"].tolist() == by_datetime.estimates()["spend_upper"].tolist()

    agent = banister.Opb(["control", "bold"], guardrails=[drifting])
    with pytest.raises(ValueError, match="`time` is absent"):
        agent.decide()
    with pytest.raises(ValueError, match="`time` is absent"):
        agent.observe("bold", 0.5, 0.1)
    with pytest.raises(ValueError, match="`time` is .* needs its time zone"):
        agent.decide(time=datetime(2026, 3, 2))
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="`time`"):
            agent.decide(time=bad)
    with pytest.raises(TypeError, match="`time`"):
        agent.decide(time="monday")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`time` is given: the decision has its own"):
        agent.observe(agent.decide(time=1.0), 0.5, 0.1, time=2.0)
    assert len(agent.decide_batch(10, time=3.0)) == 10
    with pytest.raises(ValueError, match="drift.*a simulation has no clock"):
        banister.simulate(
            {"kind": "bernoulli", "rewards": [0.2, 0.6], "costs": [[0.1, 0.2]]},
            ["opb"],
            horizon=10,
            runs=1,
            guardrails=[drifting],
            progress=False,
        )


def test_prices_are_told() -> None:
    prices = {"small": {"in": 1e-7, "out": 3e-7}, "large": {"in": 1e-6, "out": 3e-6}}
    agent = banister.Opb(
        ["small", "large"],
        signals={"in": [0, 1000], "out": {"range": [0, 500]}},
        guardrails=banister.Guardrail("dollars", at_most=5e-4, weights=prices),
        seed=1,
    )
    assert (agent.costs, agent.guardrails) == (["in", "out"], ["dollars"])
    arms, rewards, tokens = ["small", "large"] * 500, [0.3, 0.9] * 500, {"in": [300] * 1000, "out": [100, 150] * 500}
    agent.fit(arms, rewards, tokens)
    before, upper = agent.decide().policy["large"], agent.estimates()["dollars_upper"]
    agent.set_weights("large", {"dollars": {"in": 3e-6, "out": 9e-6}})
    after = agent.decide().policy["large"]
    assert 0 < after < 0.5 * before
    assert agent.estimates()["dollars_upper"] == pytest.approx(upper * np.array([1, 3]))
    assert banister.load(agent.save()).decide().policy["large"] == after
    # What was told stays, whatever is learned anew.
    agent.fit(arms, rewards, tokens)
    assert agent.decide().policy["large"] == after
    agent.add_arm("middle", weights={"dollars": {"in": 2e-7, "out": 6e-7}})
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: agent.add_arm("other"), "`weights.dollars` is absent"),
        (lambda: agent.set_weights("nobody", {}), "nobody"),
        (lambda: agent.set_weights(1, {"dollars": {"in": 1e-6}}), "`weights.dollars.out` is absent"),
        (lambda: agent.set_weights("large", {"dollars": {"in": -1, "out": 0}}), "must be at least 0"),
        (lambda: agent.observe("large", 1.0, {"dollars": 1e-4}), "in, out"),
        (lambda: banister.Opb(2, guardrails={"name": "c", "at_most": 1, "weights": {"x": 1}}), "no `signals`"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()


def test_expressions_of_signals() -> None:
    def agent(**reward: Any) -> banister.Opb:
        return banister.Opb(
            2,
            signals={"revenue": (0, 10), "refunds": (0, 4), "orders": (0, 4)},
            reward=banister.Reward(**reward),
            guardrails=banister.Guardrail("rate", expression=("refunds", "/", "orders"), at_most=0.5),
        )

    made = agent(expression=("revenue", "-", "refunds"))
    for _ in range(20):
        made.observe(0, 8.0, {"orders": 2.0, "refunds": 1.0})
    assert made.estimates()["reward_mean"][0] == pytest.approx(7.0)
    decision = made.decide()
    rate = decision.certificate["rate"]
    assert rate.threshold == 0.5 and rate.pessimistic_cost <= 0.5
    assert made.problem["guardrails"][0]["expression"] == ["refunds", "/", "orders"]
    with pytest.raises(ValueError, match=r"reward\.expression.*one value per outcome"):
        agent(expression=("revenue", "/", "orders"))
