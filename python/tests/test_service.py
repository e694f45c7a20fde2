"""The real service, from one end to the other, through both clients."""

from __future__ import annotations

import io
import itertools
import queue
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fake_service import GUARDRAIL, Make
from served import PATIENCE, make_token, running

import banister
from banister.client.types import BudgetState, Decision

NAMES = (f"experiment-{i}" for i in itertools.count())
CONVERSION = banister.Guardrail("conversion", at_least=0.9, relative=True)


@pytest.fixture(name="url", scope="module")
def _url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("data")) as url:
        yield url


@pytest.fixture(name="live")
def _live(make: Make, url: str) -> Any:
    """A client of the real service: sync, then async."""
    return make(url)


def create(live: Any, **declared: Any) -> str:
    """An experiment under a name of its own."""
    name = next(NAMES)
    if "context" in declared:
        declared = {"agent": {"kind": "oplb", "parameter_norm": 2}, **declared}
    live.create(name, **{"arms": ["control", "bold"], "guardrails": [GUARDRAIL], **declared})
    return name


def play(live: Any, name: str, rounds: int, seed: int = 0) -> list[Decision]:
    """Rounds in batches, with outcomes; the decisions."""
    rng = np.random.default_rng(seed)
    means = {"control": (0.2, 0.05), "bold": (0.8, 0.1)}
    decisions: list[Decision] = []
    for _ in range(rounds // 100):
        batch = list(live.decide_batch(name, 100))
        reports = []
        for decision in batch:
            reward, cost = means[decision.action]
            drawn = {"reward": rng.random() < reward, "costs": rng.random() < cost}
            reports.append({"decision": decision, **drawn})
        assert not live.report_batch(name, reports).errors
        decisions += batch
    return decisions


def test_it_lives(live: Any) -> None:
    assert live.health()
    assert live.ready()


def test_a_declaration_is_checked_made_and_found(live: Any) -> None:
    name = next(NAMES)
    declared: dict[str, Any] = {
        "arms": ["control", "bold"],
        "guardrails": [GUARDRAIL, CONVERSION],
        "confidence": 0.95,
        "description": "a test",
    }
    assert live.check(name, **declared).name == name
    with pytest.raises(banister.client.NotFoundError, match=name):
        live.experiment(name)
    made = live.create(name, **declared)
    assert (made.status, made.safe, made.confidence, made.description) == ("running", "control", 0.95, "a test")
    assert [arm.name for arm in made.arms] == ["control", "bold"]
    assert [guardrail["name"] for guardrail in made.guardrails] == ["complaints", "conversion"]
    assert made.agent["kind"] == "opb"
    assert live.experiment(name).created == made.created
    assert name in [one.name for one in live.experiments()]
    with pytest.raises(banister.client.ConflictError):
        live.create(name, **declared)


def test_refusals_name_the_field(live: Any) -> None:
    with pytest.raises(ValueError) as caught:
        live.create(next(NAMES), arms=["a", "b"], guardrails=[{"name": "c", "at_most": 0.5, "safe_cost": 0.7}])
    assert isinstance(caught.value, banister.client.RefusedError)
    assert caught.value.field == "guardrails[0].safe_cost"
    assert caught.value.request_id
    with pytest.raises(banister.client.RefusedError, match="safe"):
        live.create(next(NAMES), arms=["a", "b"], safe="c", guardrails=[GUARDRAIL])
    name = create(live)
    with pytest.raises(banister.client.RefusedError) as refused:
        live.report(live.decide(name), reward=1e200)
    assert refused.value.field == "reward"
    (alarm,) = live.report(live.decide(name), reward=3.0).alarms
    assert alarm.kind == "reward_range" and not alarm.forces_safe
    with pytest.raises(banister.client.NotFoundError):
        live.report(name, "nobody", reward=1.0)


def test_a_decision_is_made_once_and_learned_from_once(live: Any) -> None:
    name = create(live)
    decision = live.decide(name, id="order/17 ä")
    assert live.decide(name, id="order/17 ä") == decision
    assert sum(decision.policy.values()) == pytest.approx(1)
    assert decision.policy[decision.action] == decision.probability
    later = [live.decide(name) for _ in range(3)]
    for one in reversed(later):
        live.report(one, reward=0.0, costs=0.0)
    first = live.report(decision, reward=1.0, costs={"complaints": 0.0})
    assert first.status == "complete"
    assert live.report(decision, reward=1.0, costs=0.0) == first
    with pytest.raises(banister.client.ConflictError):
        live.report(decision, reward=0.0)
    counts = live.experiment(name).counts
    assert (counts.decisions, counts.outcomes) == (4, 4)


def test_an_id_stands_for_one_request(live: Any) -> None:
    name = create(live, context=2)
    live.decide(name, id="a", context=[0.1, 0.2])
    with pytest.raises(banister.client.ConflictError):
        live.decide(name, id="a", context=[0.2, 0.1])


def test_outcomes_in_parts(live: Any) -> None:
    name = create(live, guardrails=[GUARDRAIL, CONVERSION])
    decision = live.decide(name)
    part = live.report(decision, reward=1.0)
    assert (part.status, part.costs) == ("partial", {"complaints": None, "conversion": None})
    assert live.report(decision, costs={"conversion": 1.0}).status == "partial"
    assert live.state(name).outcomes == 0
    assert live.report(decision, costs={"complaints": 0.0}).status == "complete"
    assert live.state(name).outcomes == 1
    kinds = [event.kind for event in live.decision(name, decision.id).events]
    assert kinds[0] == "decision"
    assert "part" in kinds


def test_batches_keep_going_past_a_refusal(live: Any) -> None:
    name = create(live)
    batch = live.decide_batch(name, [{"id": "a"}, {"id": "@no"}, {"id": "b"}])
    assert list(batch.errors) == [1]
    assert [batch[0].id, batch[2].id] == ["a", "b"]
    reports = [{"decision": id, "reward": 1.0, "costs": {"complaints": 0.0}} for id in ("a", "who", "b")]
    done = live.report_batch(name, reports)
    assert list(done.errors) == [1]
    with pytest.raises(banister.client.NotFoundError):
        done[1]
    assert live.experiment(name).counts.outcomes == 2


def test_it_learns_and_every_policy_has_its_certificate(live: Any) -> None:
    name = create(live)
    decisions = play(live, name, 3000)
    for decision in decisions:
        certificate = decision.certificate["complaints"]
        assert certificate.threshold == 0.2
        assert certificate.pessimistic_cost <= certificate.threshold + 1e-9
        assert decision.certificate.fallback is None
    assert decisions[-1].policy["bold"] > 0.5
    state = live.state(name)
    assert state.outcomes == 3000
    assert state.alarm is None
    arms = {arm.name: arm for arm in state.arms}
    assert state.estimates.safe == arms["control"].reward
    assert state.estimates.reward.mean > state.estimates.safe.mean
    assert sum(arm.pulls for arm in state.arms) == 3000
    assert arms["bold"].reward.lower < 0.8 < arms["bold"].reward.upper
    assert arms["bold"].guardrails[0].lower < 0.1 < arms["bold"].guardrails[0].upper
    history = live.history(name)
    assert sum(minute.decisions for minute in history.per_minute) == 3000
    assert history.points == tuple(sorted(history.points, key=lambda point: point.time))


def test_what_is_not_proven_is_an_alarm(live: Any) -> None:
    name = create(live, guardrails=[CONVERSION])
    decision = live.decide(name)
    assert decision.is_safe
    assert decision.certificate.fallback == "margin_not_proven"
    experiment = live.experiment(name)
    assert experiment.alarm.reason == "margin_not_proven"
    assert live.decision(name, experiment.alarm.decision).id == decision.id
    assert experiment.counts.forced == 1


def test_agents_as_the_package_has_them(live: Any) -> None:
    name = create(live, agent=banister.Opb(2, intervals="kl"), confidence=0.95)
    made = live.experiment(name)
    assert (made.agent["intervals"], made.confidence) == ("kl", 0.95)
    with pytest.raises(banister.client.RefusedError) as refused:
        create(live, agent=banister.Opb(2, log_term=0.1))
    assert refused.value.field == "agent.log_term"


def test_a_batch_of_nothing_is_nothing(live: Any) -> None:
    name = create(live)
    assert len(live.decide_batch(name, 0)) == 0
    assert len(live.report_batch(name, [])) == 0


def test_a_batch_may_be_longer_than_a_request(live: Any) -> None:
    name = create(live)
    decisions = list(live.decide_batch(name, [{"id": str(i)} for i in range(2500)]))
    assert [decision.id for decision in decisions] == [str(i) for i in range(2500)]
    done = live.report_batch(name, [{"decision": one, "reward": 0.0, "costs": 0.0} for one in decisions])
    assert [one.decision for one in done] == [str(i) for i in range(2500)]
    long = create(live, context=200)
    context = np.full(200, 1 / 3000)
    assert len(list(live.decide_batch(long, [{"context": context}] * 550))) == 550, "more than 2 MiB"


def test_a_pause_is_safe_and_the_end_is_final(live: Any) -> None:
    name = create(live)
    play(live, name, 1000)
    open_decision = live.decide(name)
    assert live.pause(name).status == "paused"
    for decision in live.decide_batch(name, 20):
        assert decision.is_safe
        assert decision.certificate.fallback == "paused"
    assert live.report(open_decision, reward=1.0, costs=0.0).status == "complete"
    alarm = live.state(name).alarm
    assert (alarm.reason, alarm.decision) == ("paused", None), "no decision was the reason"
    assert live.experiment(name).alarm == alarm
    resumed = live.resume(name)
    assert (resumed.status, resumed.alarm) == ("running", None)
    assert live.decide(name).certificate.fallback is None
    assert live.archive(name).status == "archived"
    with pytest.raises(banister.client.ConflictError):
        live.decide(name)


def test_arms_come_and_go(live: Any) -> None:
    name = create(live)
    assert [arm.name for arm in live.add_arm(name, "wild").arms] == ["control", "bold", "wild"]
    with pytest.raises(banister.client.ConflictError):
        live.add_arm(name, "wild")
    retired = live.retire_arm(name, "bold")
    assert [arm.offered for arm in retired.arms] == [True, False, True]
    for decision in live.decide_batch(name, 50):
        assert decision.policy.get("bold", 0.0) == 0.0


def test_a_shadow_only_watches(live: Any) -> None:
    name = create(live, shadow=True)
    decision = live.decide(name, taken="bold", propensity=0.5)
    assert decision.shadow
    live.report(decision, reward=1.0, costs=0.0)
    audit = live.decision(name, decision.id)
    assert (audit.taken, audit.propensity, audit.status) == ("bold", 0.5, "complete")
    arms = {arm.name: arm.pulls for arm in live.state(name).arms}
    assert arms == {"control": 0, "bold": 1}, "what was done is learned from, not what would have been"


def test_an_audit_tells_why(live: Any) -> None:
    name = create(live)
    decision = play(live, name, 500)[-1]
    audit = live.decision(name, decision.id)
    assert (audit.action, audit.policy, audit.certificate) == (
        decision.action,
        decision.policy,
        decision.certificate,
    )
    assert 0 <= audit.draw < 1
    assert {known.action for known in audit.known} == {*audit.policy, "control"}
    assert audit.outcome.reward in (0.0, 1.0)
    listed = live.decisions(name, limit=10)
    assert listed[0].id == decision.id
    older = live.decisions(name, limit=10, before=listed[-1].number)
    assert max(one.number for one in older) < listed[-1].number


def test_a_log_comes_out_and_goes_in(live: Any) -> None:
    name = create(live)
    decisions = play(live, name, 2000)
    live.decide(name)
    log = live.export_log(name)
    assert (len(log), log.arms, log.guardrails) == (2000, ("control", "bold"), ("complaints",))
    assert [log.arms[i] for i in log.indices] == [decision.action for decision in decisions]
    assert log.pscores is not None
    np.testing.assert_allclose(log.pscores, [decision.probability for decision in decisions])
    # The service draws from the machine's randomness: at 95% one test in twenty would fail.
    evaluation = banister.offline.evaluate(log, "bold", guardrails=GUARDRAIL, confidence=0.999999)
    assert evaluation.reward.lower < 0.8 < evaluation.reward.upper
    table = pd.read_parquet(io.BytesIO(live.export(name)))
    assert {"action", "reward", "pscore", "complaints"} <= set(table.columns)
    text = pd.read_csv(io.BytesIO(live.export(name, format="csv")))
    assert len(text) == len(table)

    warm = create(live)
    assert live.import_log(warm, log).outcomes == 2000
    assert live.experiment(warm).counts.imported == 2000
    pulls = {arm.name: arm.pulls for arm in live.state(name).arms}
    assert {arm.name: arm.pulls for arm in live.state(warm).arms} == pulls
    assert live.decide(warm).policy["bold"] > 0.5
    frame = pd.DataFrame({"action": ["bold"], "reward": [1.0], "pscore": [0.5], "complaints": [0.0]})
    assert live.import_log(warm, frame).outcomes == 1
    with pytest.raises(banister.client.RefusedError):
        live.import_log(warm, frame.assign(action="nobody"))


def test_a_log_of_guardrails_with_the_names_of_columns(live: Any) -> None:
    guardrails = [banister.Guardrail(name, at_most=0.2) for name in ("status", "context_0")]
    name, warm = (create(live, guardrails=guardrails) for _ in range(2))
    for decision in live.decide_batch(name, 5):
        live.report(decision, reward=1.0, costs=[0.0, 1.0])
    log = live.export_log(name)
    assert log.guardrails == ("status", "context_0")
    assert log.costs.tolist() == [[0.0, 1.0]] * 5
    assert live.import_log(warm, log).outcomes == 5
    # The same outcomes in another form are answered the same, and counted once.
    assert live.import_log(warm, live.export(name)).outcomes == 5
    assert live.import_log(warm, live.export(name, format="csv")).outcomes == 5
    assert live.experiment(warm).counts.imported == 5
    state = live.state(warm)
    assert [one.mean for one in state.arms[0].guardrails] == [0.0, 1.0]


def test_a_log_of_a_shadow_has_the_callers_propensities_or_none(live: Any) -> None:
    name = create(live, shadow=True)
    for propensity in (0.5, 0.25):
        decision = live.decide(name, taken="bold", propensity=propensity)
        live.report(decision, reward=1.0, costs=0.0)
    assert live.export_log(name).pscores.tolist() == [0.5, 0.25]
    live.report(live.decide(name), reward=1.0, costs=0.0, taken="control")
    log = live.export_log(name)
    assert [log.arms[i] for i in log.indices] == ["bold", "bold", "control"]
    assert log.pscores is None


def test_a_log_of_contexts(live: Any) -> None:
    name, warm = (create(live, context=2) for _ in range(2))
    for context in ([1.0, 0.0], [0.0, 1.0]):
        live.report(live.decide(name, context=context), reward=1.0, costs=0.0)
    log = live.export_log(name, features=["context_0", "context_1"])
    assert log.context is not None
    assert log.context.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert live.import_log(warm, live.export(name)).outcomes == 2


def test_contexts_and_candidates(live: Any) -> None:
    rng = np.random.default_rng(1)
    name = create(live, context=3)
    for _ in range(20):
        decision = live.decide(name, context=rng.dirichlet(np.ones(3)))
        assert decision.action in {"control", "bold"}
        live.report(decision, reward=0.5, costs=0.0)
    assert live.state(name).outcomes == 20
    with pytest.raises(banister.client.RefusedError):
        live.decide(name, context=[0.1])

    free = next(NAMES)
    linear = {"kind": "oplb", "parameter_norm": 1}
    live.create(free, dimension=2, safe_action=np.array([1.0, 0.0]), guardrails=[GUARDRAIL], agent=linear)
    decision = live.decide(free, actions=np.array([[0.6, 0.8], [0.8, -0.6]]))
    assert set(decision.policy) <= {"0", "1", "safe"}
    live.report(decision, reward=1.0, costs=0.0)
    named = live.decide(free, actions={"sofa": [0.6, 0.8], "lamp": [0.8, -0.6]})
    assert set(named.policy) <= {"sofa", "lamp", "safe"}


def test_segments(live: Any) -> None:
    fields = {"fields": ["country", "device"], "known": [{"country": "de", "device": "mobile"}]}
    name, product = create(live, segments=["de", "fr"]), create(live, segments=fields)
    assert live.experiment(name).agent["kind"] == "segmented"
    assert live.experiment(product).segments == fields
    decision = live.decide(product, segment={"device": "mobile", "country": "de"})
    assert decision.segment.name == "country=de, device=mobile"
    batch = list(live.decide_batch(name, [{"segment": s} for s in ("de", "fr", "de", "fr")]))
    assert [one.segment.contexts for one in batch[:2]] == [0, 0]
    for one in batch:
        live.report(one, reward=1.0, costs=0.0)
    (*_, pool) = live.segments(name)
    assert pool.name is None and sum(arm.probability for arm in pool.arms) == pytest.approx(1.0)
    with pytest.raises(banister.client.RefusedError, match="segment"):
        live.decide(name)
    with pytest.raises(TypeError, match="segment"):
        live.decide(name, segment=5)
    log = live.export_log(name)
    assert log.segments == ("de", "fr", "de", "fr")
    found = banister.offline.evaluate(log, "control")
    assert {s: one.reward.n for s, one in found.segments.items()} == {"de": 2, "fr": 2}
    imported = live.import_log(create(live, segments=[]), log)
    assert imported.outcomes == 4 and len(imported.not_taught) == 2
    sampled = live.import_log(create(live, segments=[]), log, frequencies="same")
    assert not any("frequencies" in text for text in sampled.not_taught)


def test_an_outcome_that_never_comes(live: Any) -> None:
    outcome = {"reward": 0.0, "costs": {"complaints": 0.0}}
    name = create(live, ttl_seconds=0.1, default_outcome=outcome)
    decision = live.decide(name)
    end = time.monotonic() + PATIENCE
    while not live.experiment(name).counts.expired and time.monotonic() < end:
        time.sleep(0.05)
    audit = live.decision(name, decision.id)
    assert (audit.status, audit.outcome.to_dict()) == ("expired", outcome)
    assert audit.events[-1].kind == "default"
    assert live.update(name, ttl_seconds=None).ttl_seconds is None


def test_a_budget_over_time(live: Any) -> None:
    budget = {"amount": 2, "per": "month", "when_exhausted": "refuse", "pacing": False}
    name = create(live, budgets={"complaints": budget})
    first = live.decide(name)
    known = live.experiment(name).budgets["complaints"]
    assert isinstance(known, BudgetState)
    assert (known.amount, known.per, known.spent, known.reserved, known.remaining) == (2, "month", 0, 1, 1)
    assert known.period_start < first.time < known.period_end
    live.decide(name)
    # Until the next month there is nothing to wait for: no attempt is repeated.
    with pytest.raises(banister.client.BudgetError, match="budget of `complaints` is exhausted"):
        live.decide(name)
    live.report(first, reward=1, costs=0.25)
    assert live.experiment(name).budgets["complaints"].spent == 0.25
    assert live.update(name, budgets={"complaints": {**budget, "amount": 5}}).budgets["complaints"].remaining == 3.75
    assert live.update(name, budgets=None).budgets == {}


def test_nothing_is_forgotten_over_a_restart(make: Make, tmp_path: Path) -> None:
    with running(tmp_path) as url:
        live = make(url)
        name = create(live)
        play(live, name, 500)
        open_decision = live.decide(name, id="open")
        before = live.state(name)
    with running(tmp_path) as url:
        again = make(url)
        assert again.state(name).policy == before.policy
        assert again.state(name).certificate == before.certificate
        assert again.decide(name, id="open") == open_decision
        assert again.report(open_decision, reward=1.0, costs=0.0).status == "complete"


def test_tokens_open_what_their_role_may(make: Make, tmp_path: Path) -> None:
    with running(tmp_path) as url:
        name = create(make(url))
    admin, decide, read = (make_token(tmp_path, role, role) for role in ("admin", "decide", "read"))
    with running(tmp_path) as url:
        nobody = make(url)
        assert nobody.health()
        with pytest.raises(banister.client.AuthError) as caught:
            nobody.experiments()
        assert caught.value.status == 401
        with pytest.raises(banister.client.AuthError):
            make(url, token="unknown").experiments()
        reader = make(url, token=read)
        assert [one.name for one in reader.experiments()] == [name]
        with pytest.raises(banister.client.AuthError) as caught:
            reader.decide(name)
        assert caught.value.status == 403
        decider = make(url, token=decide)
        decider.report(decider.decide(name), reward=1.0, costs=0.0)
        with pytest.raises(banister.client.AuthError):
            decider.pause(name)
        assert make(url, token=admin).pause(name).status == "paused"


def test_a_restart_is_not_noticed(tmp_path: Path) -> None:
    done: queue.Queue[str] = queue.Queue()
    stop = threading.Event()

    def work(client: banister.client.Client, name: str) -> None:
        while not stop.is_set():
            decision = client.decide(name)
            client.report(decision, reward=1.0, costs=0.0)
            done.put(decision.id)

    with ThreadPoolExecutor(4) as pool:
        try:
            with running(tmp_path) as url:
                client = banister.client.Client(url, retries=100, deadline=PATIENCE)
                name = create(client)
                workers = [pool.submit(work, client, name) for _ in range(4)]
                ids = [done.get(timeout=PATIENCE) for _ in range(20)]
            port = int(url.rsplit(":", 1)[1])
            with running(tmp_path, port=port):
                ids += [done.get(timeout=PATIENCE) for _ in range(20)]
                stop.set()
                for worker in workers:
                    worker.result(PATIENCE)
                ids += [done.get() for _ in range(done.qsize())]
                counts = client.experiment(name).counts
                assert (counts.decisions, counts.outcomes) == (len(ids), len(ids)), "nothing lost, nothing twice"
                client.close()
        finally:
            stop.set()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT], ids=["terminated", "ctrl-c"])
def test_it_ends_when_it_is_told_to(stop: signal.Signals, tmp_path: Path) -> None:
    with running(tmp_path, stop) as url, banister.client.Client(url) as client:
        assert client.ready()
