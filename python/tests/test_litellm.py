"""The gateway: LiteLLM's own Router with answers that need no network."""

from __future__ import annotations

import asyncio
import logging
import math
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import litellm
import pytest
from gateways import (
    CHEAP,
    CHEAP_COST,
    DEAR,
    DEAR_COST,
    HELLO,
    TOKENS,
    Stream,
    ask,
    deployment,
    judge,
    limited,
    router,
    two,
    wait_for,
)
from litellm.types.router import Deployment

import banister
from banister.integrations.litellm import BanisterRouting, call_id, prompt_length
from banister.integrations.litellm.backends import AgentBackend, PolicyBackend, PolicyDecision
from banister.integrations.litellm.models import Prices, read_prices


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Strategies of earlier tests hear nothing."""
    made: list[BanisterRouting] = []
    install = BanisterRouting.install

    def noted(routing: BanisterRouting) -> BanisterRouting:
        made.append(routing)
        return install(routing)

    monkeypatch.setattr(BanisterRouting, "install", noted)
    yield
    for one in made:
        one.close()


def outcomes(routing: BanisterRouting) -> int:
    assert routing.agent is not None
    return routing.agent.outcomes


def pulls(routing: BanisterRouting) -> dict[str, int]:
    assert routing.agent is not None
    table = routing.agent.estimates()
    return dict(zip(table["arm"], (int(n) for n in table["pulls"]), strict=True))


def test_most_quality_under_a_ceiling() -> None:
    gateway = two()
    routing = limited(gateway)
    for _ in range(8):
        assert all(isinstance(one.choices[0].message.content, str) for one in ask(gateway, 50))
    wait_for(lambda: outcomes(routing) == 400)
    found = routing.savings()
    assert (found.calls, found.against) == (400, DEAR)
    cheap, dear = found.arms[CHEAP], found.arms[DEAR]
    assert dear.calls > 20, "the dear model is used"
    assert found.dollars / 400 <= 1.2e-4, "under the ceiling"
    assert found.dollars == pytest.approx(cheap.calls * CHEAP_COST + dear.calls * DEAR_COST)
    assert found.saved == pytest.approx(cheap.calls * (DEAR_COST - CHEAP_COST))
    assert dear.quality / dear.judged == pytest.approx(0.9)
    assert found.certificate is not None
    assert found.certificate["guardrails"][0]["slack"] >= 0
    assert pulls(routing) == {CHEAP: cheap.calls, DEAR: dear.calls}
    assert "saved about $" in str(found)
    assert found.to_dict()["arms"][DEAR]["calls"] == dear.calls


def test_least_cost_over_a_floor() -> None:
    gateway = two()
    routing = limited(gateway, safe=DEAR, floor=0.9, relative=True)
    for _ in range(8):
        ask(gateway, 50)
    wait_for(lambda: outcomes(routing) == 400)
    found = routing.savings()
    # A third of the cheap model's calls leaves nine tenths of the dear model's quality.
    assert 0 < found.arms[CHEAP].calls < 140
    assert found.saved > 0
    quality = sum(one.quality for one in found.arms.values()) / found.calls
    assert quality >= 0.9 * 0.9


def test_threads() -> None:
    gateway = two()
    routing = limited(gateway)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: gateway.completion("chat", messages=HELLO), range(200)))
    wait_for(lambda: outcomes(routing) == 200)
    assert routing.savings().calls == 200


def test_a_failed_call_is_an_outcome_and_its_retry_a_decision() -> None:
    gateway = router(
        deployment(CHEAP, "fine"),
        deployment(DEAR, "litellm.InternalServerError"),
        num_retries=20,
        disable_cooldowns=True,
    )
    routing = limited(gateway)
    for _ in range(4):
        answers = ask(gateway, 50)
        assert {one.choices[0].message.content for one in answers} == {"fine"}
    found = routing.savings()
    dear = found.arms[DEAR]
    assert dear.calls == dear.failures > 0
    assert (dear.dollars, dear.quality) == (0.0, 0.0)
    assert found.arms[CHEAP].calls == 200
    assert outcomes(routing) == 200 + dear.failures
    assert found.counts["open"] == 0


def test_fallbacks_to_other_groups_are_not_ours() -> None:
    gateway = router(
        deployment(CHEAP, "litellm.InternalServerError"),
        deployment(DEAR, "litellm.InternalServerError"),
        deployment("openai/gpt-4.1", "from the backup", group="backup"),
        fallbacks=[{"chat": ["backup"]}],
        disable_cooldowns=True,
    )
    routing = limited(gateway, group="chat")
    answers = ask(gateway, 10)
    assert {one.choices[0].message.content for one in answers} == {"from the backup"}
    assert outcomes(routing) == 10
    assert sum(one.failures for one in routing.savings().arms.values()) == 10
    with pytest.raises(ValueError, match="`group` is missing: must be one of"):
        BanisterRouting(gateway, safe=CHEAP, ceiling=1.0)


def test_where_an_arm_of_the_policy_is_missing_the_safe_arm_alone_is_played() -> None:
    middle = "openai/gpt-4.1-mini"
    gateway = router(deployment(CHEAP, "fine"), deployment(middle, "good"), deployment(DEAR, "excellent"))
    routing = limited(gateway)
    assert routing.agent is not None
    arms, qualities = [CHEAP, middle, DEAR], [0.1, 0.8, 0.95]
    routing.agent.fit(arms * 300, qualities * 300, [TOKENS] * 900)
    assert set(routing.agent.decide().policy) == {middle, DEAR}
    cool(gateway, gateway.model_list[1])
    answers = ask(gateway, 40) + [gateway.completion("chat", messages=HELLO) for _ in range(10)]
    # What is left of the policy, the dear model, would cost too much.
    assert {one.choices[0].message.content for one in answers} == {"fine"}
    wait_for(lambda: outcomes(routing) == 950)
    assert pulls(routing) == {CHEAP: 350, middle: 300, DEAR: 300}, "learned as what was played"
    assert routing.savings().counts["replaced by the safe arm"] == 50


def test_without_a_healthy_safe_arm_the_routers_own_error_is_raised() -> None:
    gateway = two(cooldown_time=600)
    routing = limited(gateway, ceiling=1.4e-5)
    cool(gateway, gateway.model_list[0])
    errors = ask(gateway, 5)
    assert {type(one).__name__ for one in errors} == {"RouterRateLimitError"}
    with pytest.raises(ValueError, match="No deployments available"):
        gateway.completion("chat", messages=HELLO)
    assert routing.savings().counts["open"] == routing.savings().calls == 0


def test_while_the_safe_arm_is_down_the_cheapest_certified_one_is_played() -> None:
    middle = "openai/gpt-4.1-mini"
    gateway = router(deployment(CHEAP, "fine"), deployment(middle, "good"), deployment(DEAR, "excellent"))
    arms, qualities = [CHEAP, middle, DEAR], [0.1, 0.8, 0.95]
    cool(gateway, gateway.model_list[0])
    # A reward beyond its range is a warning, a cost is an alarm: the bounds of all arms are then in doubt.
    fine, warning, alarm = (0.8, TOKENS), (7.0, TOKENS), (0.8, (10, 1e6))
    for choice, last, answers in [
        ("cheapest_certified", fine, {"good"}),
        ("cheapest_certified", warning, {"good"}),
        ("cheapest_certified", alarm, {None}),
        (DEAR, fine, {"excellent"}),
        ("error", fine, {None}),
    ]:
        routing = limited(gateway, when_safe_is_down=choice)
        assert routing.agent is not None
        routing.agent.fit(arms * 300, qualities * 300, [TOKENS] * 900)
        routing.agent.observe(middle, *last)
        # Forced to the safe arm: longer than declared.
        long = [{"role": "user", "content": "word " * 300}]
        try:
            found = {gateway.completion("chat", messages=long).choices[0].message.content}
        except ValueError:
            found = {None}
        assert found == answers, (choice, last)
        routing.close()
    for wrong in ("nobody", CHEAP):
        with pytest.raises(ValueError, match="`when_safe_is_down` is"):
            limited(gateway, when_safe_is_down=wrong)


def test_a_call_that_never_ends_counts_as_failed_at_its_worst() -> None:
    gateway = two()
    routing = limited(gateway, give_up_after=0.0)

    async def abandon() -> None:
        async for _ in await gateway.acompletion("chat", messages=HELLO, stream=True):
            break

    asyncio.run(abandon())
    assert outcomes(routing) == 0 and routing.savings().counts["open"] == 1
    ask(gateway)
    wait_for(lambda: outcomes(routing) == 2)
    assert routing.savings().counts["given up"] == 1
    assert routing.agent is not None
    assert routing.agent.estimates()["dollars_mean"][0] > CHEAP_COST, "at its worst"


def test_an_agent_with_segments_routes_by_a_function_of_the_request() -> None:
    gateway = two()
    plain = limited(gateway)
    assert plain.agent is not None
    declared = {key: plain.agent.problem[key] for key in ("arms", "safe", "guardrails", "signals", "reward")}
    plain.close()
    agent = banister.Segmented(**declared, seed=1)
    seen: list[str] = []

    def segment(request: Any) -> str:
        seen.append(request["messages"][0]["content"])
        return "greeting"

    routing = limited(gateway, agent=agent, segment=segment)
    answers = ask(gateway, 5)
    assert all(one.choices[0].message.content for one in answers)
    wait_for(lambda: outcomes(routing) == 5)
    assert seen == ["hello"] * 5 and sum(one.contexts for one in agent.segments()) == 5
    routing.close()
    with pytest.raises(ValueError, match="`segment` is for"):
        limited(gateway, agent=agent)
    with pytest.raises(ValueError, match="`segment` is for"):
        limited(gateway, agent=limited(gateway).agent, segment=segment)


FIELDS = banister.Features(
    {
        "kind": {"kind": "category", "values": ["code", "talk"]},
        "length": {"kind": "number", "range": [0, 14], "outside": "clip"},
    }
)


def fields(request: Any) -> dict[str, Any]:
    """The kind of a request by its metadata, and its length."""
    kind = request["request_kwargs"]["metadata"]["kind"]
    return {"kind": kind, "length": prompt_length(request)}


class Heard:
    """A judge that keeps the kind of every request and the arm that answered it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def __call__(self, request: dict[str, Any], response: Any) -> float:
        kind = request["litellm_params"]["metadata"]["kind"]
        arm = DEAR if response.choices[0].message.content == "excellent" else CHEAP
        self.calls.append((kind, arm))
        return self.quality(kind, arm)

    @staticmethod
    def quality(kind: str, arm: str) -> float:
        return {("code", DEAR): 0.9, ("code", CHEAP): 0.2}.get((kind, arm), 0.6)


def test_a_function_of_the_request_makes_an_agent_with_segments() -> None:
    gateway, judge = two(), Heard()
    routing = limited(gateway, quality=judge, segment=lambda request: fields(request)["kind"])
    agent = routing.agent
    assert isinstance(agent, banister.Segmented) and agent.problem["signals"], "tokens are learned"
    for kind in ("code", "talk", "code"):
        ask(gateway, 30, metadata={"kind": kind})
    wait_for(lambda: outcomes(routing) == 90)
    assert sum(one.contexts for one in agent.segments()) == 90
    for kind in ("code", "talk"):
        table = agent.estimates(kind)
        assert dict(zip(table["arm"], table["pulls"], strict=True)) == {
            arm: judge.calls.count((kind, arm)) for arm in (CHEAP, DEAR)
        }


def test_features_of_the_request_make_a_linear_agent_per_arm() -> None:
    gateway, judge = two(), Heard()

    async def context(request: Any) -> dict[str, Any]:
        return fields(request)

    routing = limited(gateway, quality=judge, context=context, features=FIELDS, parameter_norm=2)
    agent = routing.agent
    assert isinstance(agent, banister.Oplb) and agent.config["model"] == "per_arm"
    for kind in ("code", "talk", "code"):
        ask(gateway, 30, metadata={"kind": kind})
    gateway.completion("chat", messages=HELLO, metadata={"kind": "talk"})
    cool(gateway, gateway.model_list[1])
    ask(gateway, 40, metadata={"kind": "code"})
    wait_for(lambda: outcomes(routing) == 131)
    assert routing.savings().counts["replaced by the safe arm"] > 0, "learned in their contexts too"
    declared = {key: agent.problem[key] for key in ("arms", "safe", "guardrails", "reward")}
    twin = banister.Oplb(**declared, context=FIELDS, model="per_arm", parameter_norm=2)
    for kind, arm in judge.calls:
        cost = {CHEAP: CHEAP_COST, DEAR: DEAR_COST}[arm]
        where = {"kind": kind, "length": math.log(6)}
        twin.observe(arm, judge.quality(kind, arm), cost, context=where)
    for kind in ("code", "talk"):
        decision = agent.decide(context={"kind": kind, "length": math.log(6)})
        twin.decide(context={"kind": kind, "length": math.log(6)})
        assert decision.certificate["dollars"].pessimistic_cost <= 1.2e-4
        for column in ("reward_mean", "dollars_mean"):
            assert agent.estimates()[column] == pytest.approx(twin.estimates()[column], rel=1e-6)


def logged(ceiling: float) -> banister.offline.PolicyClass:
    """Policies made from a log in which the dear model is better at code alone."""
    kinds = ["code", "talk"] * 600
    qualities = {arm: [Heard.quality(kind, arm) for kind in kinds] for arm in (CHEAP, DEAR)}
    dollars = {CHEAP: [CHEAP_COST] * len(kinds), DEAR: [DEAR_COST] * len(kinds)}
    contexts = {"kind": kinds, "length": [math.log(6)] * len(kinds)}
    return banister.offline.PolicyClass.fit(contexts, qualities, dollars, safe=CHEAP, ceiling=ceiling, features=FIELDS)


def test_policies_are_arms_and_their_outcomes_are_learned() -> None:
    gateway, judge = two(), Heard()
    policies = logged(1.2e-4)
    routing = limited(gateway, quality=judge, context=fields, policies=policies)
    agent = routing.agent
    assert isinstance(agent, banister.Opb) and set(agent.arms) == set(policies.names) == {CHEAP, *policies.names[1:]}
    known = outcomes(routing)
    assert known == len(policies.held_out.decisions)
    for kind in ("code", "talk", "code"):
        ask(gateway, 40, metadata={"kind": kind})
    wait_for(lambda: outcomes(routing) == known + 120)
    by_kind = {kind: [arm for one, arm in judge.calls if one == kind] for kind in ("code", "talk")}
    assert by_kind["code"].count(DEAR) > 50, "the budget goes to code"
    assert by_kind["talk"].count(DEAR) < 5
    found = routing.savings()
    assert found.certificate is not None and found.certificate["guardrails"][0]["pessimistic_cost"] <= 1.2e-4
    assert (found.arms[DEAR].calls, found.calls) == (sum(arm == DEAR for _, arm in judge.calls), 120)

    # With one of the models down no policy is known: nothing is learned, whatever the policy would have played.
    cool(gateway, gateway.model_list[1])
    assert {one.choices[0].message.content for one in ask(gateway, 30, metadata={"kind": "talk"})} == {"fine"}
    assert routing.savings().counts["replaced by the safe arm"] == 30
    assert routing.wait() and outcomes(routing) == known + 120
    routing.close()

    again = banister.offline.PolicyClass.from_dict(policies.to_dict())
    assert limited(two(), context=fields, policies=again, agent=agent).agent is agent
    for wrong, words in (
        ({}, "needs a `context`"),
        ({"context": fields, "relative": True, "ceiling": 2.0}, "needs a `context`"),
        ({"context": fields, "parameter_norm": 2}, "`parameter_norm` is given"),
        ({"context": fields, "safe": DEAR, "ceiling": 1e-3}, "`policies` has 'openai/gpt-4o-mini'"),
        ({"context": fields, "ceiling": 1.1e-4, "agent": agent}, "`at_most` of dollars is 0.00012"),
    ):
        with pytest.raises(ValueError, match=words):
            limited(two(), **{"policies": policies, **wrong})
    more = router(deployment(CHEAP, "fine"), deployment(DEAR, "excellent"), deployment("openai/gpt-4.1", "good"))
    with pytest.raises(ValueError, match="`policies` has arms"):
        limited(more, context=fields, policies=policies)


def test_outcomes_of_a_policy_are_learned_in_the_order_of_its_decisions() -> None:
    policies = logged(1.2e-4)
    guardrail = banister.Guardrail(
        "dollars", at_most=1.2e-4, range=policies.ranges({CHEAP: [0, 1e-4], DEAR: [0, 2e-3]})
    )
    agent = banister.Opb(policies.names, safe=CHEAP, guardrails=[guardrail], seed=1).fit(*policies.held_out)
    learned: list[float] = []

    class Inner(AgentBackend):
        def learn(self, decision: Any, arm: str, reward: float | None, costs: Any) -> None:
            assert decision.action == arm and reward is not None
            learned.append(reward)

    backend = PolicyBackend(Inner(agent), policies)
    decisions: list[Any] = []
    while len(decisions) < 4:
        one = backend.decide("", {"context": {"kind": "code", "length": 2.0}})
        assert isinstance(one, PolicyDecision) and set(one.policy) == {CHEAP, DEAR}
        assert sum(one.policy.values()) == pytest.approx(1)
        if one.inner.action != CHEAP and (not decisions or one.inner.action == decisions[0].inner.action):
            backend.expect(one)
            decisions.append(one)
    for late, expected in ((2, []), (0, [0.0]), (1, [0.0, 0.1, 0.2]), (3, [0.0, 0.1, 0.2, 0.3])):
        backend.learn(decisions[late], decisions[late].action, late / 10, {"dollars": 0.0})
        assert learned == expected, "none before an earlier one"
    backend.learn(decisions[0], decisions[0].action, 0.9, {"dollars": 0.0})
    assert len(learned) == 4, "once"


def test_requests_without_features_go_to_the_safe_arm(caplog: pytest.LogCaptureFixture) -> None:
    gateway = two()
    options: dict[str, Any] = {"features": FIELDS, "parameter_norm": 2}
    routing = limited(gateway, context=fields, **options)
    with caplog.at_level(logging.WARNING):
        assert {one.choices[0].message.content for one in ask(gateway, 20)} == {"fine"}, "the function fails"
        assert {one.choices[0].message.content for one in ask(gateway, 20, metadata={"kind": "poetry"})} == {"fine"}
    assert routing.savings().counts["without features"] == 40 and outcomes(routing) == 0
    warnings = [one.getMessage() for one in caplog.records if "had no `context`" in one.getMessage()]
    assert len(warnings) == 6, "1, 2, 4, 8, 16, 32"
    assert "poetry" in warnings[-1]
    for wrong, words in (
        ({"context": fields}, "`features` is absent"),
        ({"context": fields, "features": FIELDS}, "`parameter_norm` is absent"),
        ({"features": FIELDS}, "`features` is given"),
        ({"context": fields, "segment": fields, **options}, "both given"),
        ({"context": 3, **options}, "`context` is 3: must be callable"),
        ({"context": fields, **options, "told_prices": True}, "`context` is given, with which dollars are learned"),
        ({"context": fields, "features": FIELDS, "parameter_norm": "2"}, "`parameter_norm` is '2': must be a number"),
    ):
        with pytest.raises(ValueError, match=words):
            limited(two(), **wrong)


def test_lengths_of_prompts() -> None:
    parts = [{"type": "text", "text": "abc"}, {"type": "image_url", "image_url": {"url": "…"}}]
    for request, characters in (
        ({"messages": HELLO, "input": None}, 5),
        ({"messages": [*HELLO, {"role": "user", "content": parts}, {"role": "assistant", "content": None}]}, 8),
        ({"messages": None, "input": ["ab", "c"]}, 3),
        ({"messages": None, "input": [1, 2]}, 0),
    ):
        assert prompt_length(request) == pytest.approx(math.log(1 + characters))


@pytest.mark.parametrize(
    ("segments", "own", "other"),
    [
        (["greeting", "question"], "greeting", "question"),
        ({"fields": ["kind", "language"]}, {"language": "en", "kind": "greeting"}, ("question", "en")),
    ],
)
def test_what_is_played_in_place_of_a_choice_is_learned_in_its_segment(segments: Any, own: Any, other: Any) -> None:
    gateway = two()
    with limited(gateway) as plain:
        assert plain.agent is not None
        declared = {key: plain.agent.problem[key] for key in ("arms", "safe", "guardrails", "signals", "reward")}
    declared["guardrails"][0]["scope"] = "each"
    agent = banister.Segmented(**declared, segments=segments, seed=1)
    for segment in [own, other] * 500:
        decision = agent.decide(segment=segment)
        agent.observe(decision, 0.6 if decision.action == CHEAP else 0.9, TOKENS)
    assert DEAR in agent.policy(own) and len(agent.segments()) == 3
    routing = limited(gateway, agent=agent, segment=lambda request: own)
    cool(gateway, gateway.model_list[1])

    def counts() -> list[int]:
        """Calls of the cheap model in this segment and in the other, and decisions in all of them."""
        pulls = (agent.estimates(segment)["pulls"][0] for segment in (own, other))
        return [*map(int, pulls), sum(one.contexts for one in agent.segments())]

    before = counts()
    assert {one.choices[0].message.content for one in ask(gateway, 60)} == {"fine"}
    assert routing.savings().counts["replaced by the safe arm"] > 0
    assert [now - then for now, then in zip(counts(), before, strict=True)] == [60, 0, 60]


def test_the_reaction_to_alarms_is_an_argument() -> None:
    routing = limited(two(), on_breach="alert", worst_cost={CHEAP: 1e-5})
    assert routing.agent is not None and routing.agent.config["on_breach"] == "alert"
    ask(routing.router, 2)
    (alarm,) = routing.agent.alarms
    assert alarm.kind == "range" and not alarm.forces_safe


def cool(gateway: Any, one: Any) -> None:
    gateway.cooldown_cache.add_deployment_to_cooldown(
        model_id=one["model_info"]["id"], original_exception=Exception("down"), exception_status=500, cooldown_time=600
    )


def test_streams() -> None:
    gateway = two()
    routing = limited(gateway)

    async def read() -> None:
        async for _ in await gateway.acompletion("chat", messages=HELLO, stream=True):
            assert outcomes(routing) == 0, "not before the end"

    asyncio.run(read_all(read))
    wait_for(lambda: outcomes(routing) == 1)
    for _ in gateway.completion("chat", messages=HELLO, stream=True):
        pass
    wait_for(lambda: outcomes(routing) == 2)
    assert routing.savings().dollars > 0


async def read_all(read: Any) -> None:
    await read()
    await asyncio.sleep(0.1)


def means(routing: BanisterRouting) -> dict[str, float]:
    """Mean dollars by arm, as learned."""
    assert routing.agent is not None
    table = routing.agent.estimates()
    return dict(zip(table["arm"], table["dollars_mean"], strict=True))


def test_a_stream_that_breaks_is_charged_by_the_tokens_seen() -> None:
    words = Stream()
    gateway = router(words.deployment(), deployment(DEAR, "excellent"), disable_cooldowns=True)
    routing = limited(gateway, safe=Stream.MODEL)
    worst = 200 * Stream.PRICES[0] + 100 * Stream.PRICES[1]
    seen: list[str] = []

    async def read() -> None:
        async for chunk in await gateway.acompletion("chat", messages=HELLO, stream=True):
            seen.append(chunk.choices[0].delta.content)

    async def run() -> None:
        with pytest.raises(Exception, match="the line is dead"):
            await read()
        assert await routing.wait_async(), "it does not wait to be given up"

    asyncio.run(run())
    assert seen == list(Stream.WORDS)
    found = routing.savings()
    assert (found.arms[Stream.MODEL].failures, outcomes(routing), found.counts["given up"]) == (1, 1, 0)
    assert found.dollars == pytest.approx(words.cost) == pytest.approx(means(routing)[Stream.MODEL])
    assert 0 < words.cost < worst / 2

    # A blocking reader's tokens are not counted by LiteLLM, and were not free.
    with pytest.raises(Exception, match="the line is dead"):
        list(gateway.completion("chat", messages=HELLO, stream=True))
    wait_for(lambda: outcomes(routing) == 2)
    assert means(routing)[Stream.MODEL] == pytest.approx((words.cost + worst) / 2)


def test_a_stream_that_is_cancelled_is_charged_at_its_worst_when_it_is_given_up() -> None:
    gateway = router(Stream(is_silent=True).deployment(), deployment(DEAR, "excellent"))
    (provider,) = (one["custom_handler"] for one in litellm.custom_provider_map)
    routing = limited(gateway, safe=Stream.MODEL, give_up_after=0.0)

    async def read() -> None:
        async for _ in await gateway.acompletion("chat", messages=HELLO, stream=True):
            pass

    async def run() -> None:
        reader = asyncio.create_task(read())
        await provider.said.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        # The next call, which is cancelled, too, finds the first one open for too long.
        provider.said.clear()
        reader = asyncio.create_task(read())
        await provider.said.wait()
        assert outcomes(routing) == routing.savings().counts["given up"] == 1
        reader.cancel()

    asyncio.run(run())
    worst = 200 * Stream.PRICES[0] + 100 * Stream.PRICES[1]
    assert means(routing)[Stream.MODEL] == pytest.approx(worst)
    assert routing.savings().arms[Stream.MODEL].failures == 1


def test_an_event_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = two()
    routing = limited(gateway)
    events: list[dict[str, Any]] = []
    first = routing.async_log_success_event

    async def noted(**event: Any) -> None:
        events.append(event)
        await first(**event)

    monkeypatch.setattr(routing, "async_log_success_event", noted)
    ask(gateway)
    assert len(events) == 1
    for event in events:
        routing.log_success_event(**event)
        routing.log_failure_event(**event)
    assert outcomes(routing) == 1
    assert routing.savings().calls == 1


def test_strategies_of_two_routers_hear_their_own_calls() -> None:
    gateways = [two(), two()]
    routings = [limited(one) for one in gateways]
    ask(gateways[0], 3)
    ask(gateways[1], 4)
    assert [outcomes(one) for one in routings] == [3, 4]


def test_quality_may_be_reported_later() -> None:
    gateway = two()
    routing = limited(gateway, quality=None)
    early, late, never = ask(gateway, 3)
    assert outcomes(routing) == 0
    assert routing.report(late, 0.5)
    assert not routing.report(late, 0.5), "once"
    assert routing.report(call_id(early), 0.7)
    assert routing.savings().counts["awaiting quality"] == 1
    assert outcomes(routing) == 2
    with pytest.raises(ValueError, match=r"`quality` is 2: must lie in \[0, 1\]"):
        routing.report(never, 2)

    async def before_litellm_knows() -> None:
        answer = await gateway.acompletion("chat", messages=HELLO)
        assert not routing.report(answer, 0.9)
        await asyncio.sleep(0.2)

    asyncio.run(before_litellm_knows())
    wait_for(lambda: outcomes(routing) == 3)


def test_judges(caplog: pytest.LogCaptureFixture) -> None:
    async def patient(request: dict[str, Any], response: Any) -> float:
        await asyncio.sleep(0)
        return judge(request, response)

    gateway = two()
    routing = limited(gateway, quality=patient)
    ask(gateway, 5)
    gateway.completion("chat", messages=HELLO)
    wait_for(lambda: outcomes(routing) == 6)

    def confused(request: dict[str, Any], response: Any) -> float:
        raise RuntimeError("no idea")

    routing.close()
    routing = limited(gateway, quality=confused)
    answer, *_ = ask(gateway, 5)
    assert outcomes(routing) == 0
    assert routing.savings().counts["judge failed"] == 5
    assert caplog.text.count("the judge failed") == 1, "and not for every call"
    assert "no idea" in caplog.text
    assert routing.report(answer, 0.5), "somebody else may know"

    routing.close()
    routing = limited(gateway, quality=lambda request, response: "good")
    ask(gateway)
    assert "the judge returned 'good': must return a number" in caplog.text


def test_a_share_is_judged_failures_among_them() -> None:
    failing = "litellm.InternalServerError"
    gateway = router(deployment(CHEAP, failing), deployment(DEAR, failing), disable_cooldowns=True)
    routing = limited(gateway, share=0.5)
    ask(gateway, 60)
    assert 10 < outcomes(routing) < 50
    assert routing.savings().calls == 60


def test_a_price_beyond_its_range_raises_an_alarm(caplog: pytest.LogCaptureFixture) -> None:
    gateway = two()
    routing = limited(gateway, worst_cost={CHEAP: 1e-5})
    with caplog.at_level(logging.WARNING):
        ask(gateway, 3)
        assert outcomes(routing) == 3
        ask(gateway)
    assert routing.savings().counts["refused"] == 0
    assert routing.savings().dollars == pytest.approx(4 * CHEAP_COST), "spent all the same"
    (alarm,) = routing.savings().alarms
    assert f"dollars of {CHEAP} was 0.0000135, outside its declared range [0, 0.00001]" in alarm
    assert alarm in caplog.text


def test_calls_are_as_long_as_declared() -> None:
    gateway = two()
    asked: list[Any] = []
    limits: list[Any] = []

    def watch(request: dict[str, Any], response: Any) -> float:
        asked.append(request["optional_params"].get("max_tokens"))
        limits.append(request["optional_params"].get("max_completion_tokens"))
        return 1.0

    routing = limited(gateway, quality=watch)
    for options in ({}, {"max_tokens": 7}, {"max_tokens": 5000}):
        ask(gateway, **options)
    ask(gateway, max_tokens=5000, max_completion_tokens=9000)
    assert asked == [100, 7, 100, 100]
    assert limits == [None, None, None, 100]
    long = [{"role": "user", "content": "word " * 300}]
    assert gateway.completion("chat", messages=long).choices[0].message.content == "fine"
    wait_for(lambda: routing.savings().calls == 5)
    assert outcomes(routing) == 4
    assert routing.savings().counts["too long"] == 1


def test_slow_calls_have_a_guardrail() -> None:
    gateway = router(deployment(CHEAP, "fine", mock_delay=0.05), deployment(DEAR, "excellent"))
    routing = limited(gateway, slow_after=0.03, slow_at_most=0.5)
    ask(gateway, 3)
    assert routing.agent is not None
    table = routing.agent.estimates()
    assert routing.agent.guardrails == ["dollars", "slow"]
    assert table["slow_mean"][0] == 1.0


def test_equal_deployments_are_one_arm() -> None:
    gateway = router(
        deployment(CHEAP, "east", info={"id": "east"}),
        deployment(CHEAP, "west", info={"id": "west"}),
        deployment(DEAR, "excellent", info={"arm": "dear"}),
    )
    routing = limited(gateway)
    assert {one.choices[0].message.content for one in ask(gateway, 20)} >= {"east", "west"}
    assert list(pulls(routing)) == [CHEAP, "dear"]
    cool(gateway, gateway.model_list[0])
    assert {one.choices[0].message.content for one in ask(gateway, 10)} <= {"west", "excellent"}


def test_models_that_are_added_later_are_not_played() -> None:
    gateway = two()
    limited(gateway)
    gateway.add_deployment(Deployment(**deployment("openai/gpt-4.1", "new")))
    answers = ask(gateway, 20) + [gateway.completion("chat", messages=HELLO) for _ in range(5)]
    assert "new" not in {one.choices[0].message.content for one in answers}


def test_an_agent_of_an_earlier_process_goes_on() -> None:
    gateway = two()
    routing = limited(gateway)
    ask(gateway, 10)
    assert routing.agent is not None
    again = limited(two(), agent=banister.load(routing.agent.save()))
    assert outcomes(again) == 10
    with pytest.raises(ValueError, match="`agent` has arms"):
        limited(two(), agent=banister.Opb(["a", "b"]))
    with pytest.raises(ValueError, match=r"its `at_most` of dollars is 0.00012: must be 0.0001, as declared here"):
        limited(two(), agent=routing.agent, ceiling=1e-4)
    with pytest.raises(ValueError, match=r"its `range` of output_tokens for .* is \[0.0, 100.0\]: must be \[0.0, 200"):
        limited(two(), agent=routing.agent, max_tokens=200)
    with limited(two(), told_prices=False) as learned, pytest.raises(ValueError, match=r"its `range` of dollars for"):
        limited(two(), agent=learned.agent, max_tokens=200)


def test_a_closed_strategy_leaves_the_router_as_it_was() -> None:
    gateway = two()
    with limited(gateway) as routing:
        with pytest.raises(ValueError, match="another BanisterRouting: close that first"):
            limited(gateway)
        assert routing.install() is routing
        ask(gateway, 3)
    ask(gateway, 3)
    gateway.completion("chat", messages=HELLO)
    assert (routing.savings().calls, routing.savings().counts["open"]) == (3, 0)
    assert not {"get_available_deployment", "async_get_available_deployment"} & vars(gateway).keys()
    assert outcomes(limited(gateway)) == 0


def test_waiting_for_open_calls() -> None:
    async def slow(request: dict[str, Any], response: Any) -> float:
        await asyncio.sleep(0.1)
        return 1.0

    gateway = two()
    routing = limited(gateway, quality=slow)

    async def run() -> None:
        await gateway.acompletion("chat", messages=HELLO)
        assert not await routing.wait_async(timeout=0)
        assert await routing.wait_async()
        assert outcomes(routing) == 1
        await gateway.acompletion("chat", messages=HELLO, stream=True)

    asyncio.run(run())
    assert not routing.wait(timeout=0.05), "nobody reads that stream"


def test_an_alarm_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    gateway = two()
    routing = limited(gateway, ceiling=1e-5, worst_cost={CHEAP: 2e-5})
    for _ in range(60):
        ask(gateway, 10)
        if routing.savings().alarms:
            break
    ask(gateway, 5)
    (message,) = routing.savings().alarms
    assert "beyond its threshold 0.00001" in message
    assert caplog.text.count("alarm: ") == 1
    assert f"threshold 1e-05, mean so far {CHEAP_COST:.4g}" in str(routing.savings())
    assert f"alarm: {message}" in str(routing.savings())


@pytest.mark.parametrize("keeps", [CHEAP, DEAR])
def test_prices_are_followed(keeps: str) -> None:
    """A price that LiteLLM's table changes counts from the next decision on, and nothing is learned anew."""
    gateway = two()
    routing = limited(gateway)
    assert routing.agent is not None
    routing.agent.fit([CHEAP, DEAR] * 300, [0.6, 0.9] * 300, [TOKENS] * 600)
    gateway.completion("chat", messages=HELLO)
    raised = DEAR if keeps == CHEAP else CHEAP
    before, shares = upper_ends(routing)
    entry = litellm.model_cost[raised.removeprefix("openai/")]
    prices = {key: entry[key] for key in ("input_cost_per_token", "output_cost_per_token")}
    try:
        litellm.register_model({raised: {key: 2 * price for key, price in prices.items()}})
        gateway.completion("chat", messages=HELLO)
        after, now = upper_ends(routing)
        wanted = {keeps: before[keeps], raised: 2 * before[raised]}
        assert after == pytest.approx(wanted, rel=0.01), "but for two more outcomes"
        found = routing.savings()
        assert found.certificate is not None and found.certificate["guardrails"][0]["pessimistic_cost"] <= 1.2e-4
        assert now[DEAR] < 0.6 * shares[DEAR] if raised == DEAR else now[DEAR] < shares[DEAR]
        assert not routing.agent.alarms
    finally:
        litellm.register_model({raised: prices})


def upper_ends(routing: BanisterRouting) -> tuple[dict[str, float], dict[str, float]]:
    """What a call costs at most by arm, and the policy."""
    assert routing.agent is not None
    table = routing.agent.estimates()
    return dict(zip(table["arm"], table["dollars_upper"], strict=True)), dict(routing.agent.decide().policy)


def test_tokens_pay_what_a_call_cost() -> None:
    prices = Prices(input=1e-6, output=4e-6, longest_input=1000, longest_output=100)
    for dollars, answered in [(0.0, 0), (5e-4, 50), (1.4e-3, 100), (1.4e-3, 0), (1e-5, 100), (9e-4, 3000)]:
        tokens = prices.tokens(dollars, answered)
        assert sum(prices.weights[name] * count for name, count in tokens.items()) == pytest.approx(dollars)
        assert 0 <= tokens["input_tokens"] <= 1000 and 0 <= tokens["output_tokens"] <= 100
    # Dearer than the longest call: it refutes the declared range.
    assert prices.tokens(2e-3, 100)["output_tokens"] > 100
    assert Prices(0.0, 0.0, 1000, 100).tokens(0.0, 20) == {"input_tokens": 0.0, "output_tokens": 20.0}


def test_prices() -> None:
    own = {"id": "mine", "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
    tiers = {
        "id": "tiers",
        "max_input_tokens": 300_000,
        "max_output_tokens": 1000,
        "input_cost_per_token": 1e-6,
        "input_cost_per_token_above_200k_tokens": 3e-6,
        "output_cost_per_token": 1e-5,
    }
    gateway = router(
        deployment(CHEAP, "fine"),
        deployment("openai/unknown", "?"),
        deployment(DEAR, "fine", info=own),
        deployment("openai/other", "fine", info=tiers),
    )
    table, unknown, priced, tiered = gateway.model_list
    assert read_prices(gateway, table, None, None).worst == pytest.approx(128_000 * 1.5e-7 + 16_384 * 6e-7)
    assert read_prices(gateway, priced, 1000, 100).worst == pytest.approx(1.2e-3)
    assert read_prices(gateway, tiered, None, None).worst == pytest.approx(0.91)
    assert read_prices(gateway, tiered, 200_000, None).input == 1e-6
    with pytest.raises(ValueError, match="the longest call of openai/unknown is not known"):
        read_prices(gateway, unknown, None, None)
    with pytest.raises(ValueError, match="the price of openai/unknown is not in LiteLLM's table"):
        read_prices(gateway, unknown, 1000, 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"safe": "nobody"}, r"`safe` is 'nobody': must be one of \['openai/gpt-4o', 'openai/gpt-4o-mini'\]"),
        ({"floor": 0.5, "ceiling": 1.0}, "give one of them"),
        ({"share": 0.0}, "`share` is 0.0"),
        ({"agent": banister.Opb(2), "experiment": "chat"}, "one of them decides"),
        ({"quality": 0.5}, "`quality` is 0.5: must be callable"),
        ({"slow_after": 1.0}, "`slow_at_most` is None: give both or none"),
        ({"slow_at_most": 0.1}, "`slow_after` is None and"),
        ({"max_tokens": 0}, "`max_tokens` is 0: must be at least 1"),
        ({"share": 0.5, "quality": None}, "`share` is 0.5 without `quality`"),
        ({"ceiling": "0.1"}, "`ceiling` is '0.1': must be a number"),
        ({"group": "chatt"}, r"`group` is 'chatt': must be one of \['chat'\]"),
        ({"worst_cost": {"gpt": 1.0}}, r"`worst_cost` has \['gpt'\]: must be of"),
        ({"ceiling": 50}, "`ceiling` is 50 dollars per call: must be below 0.0015, .* there is `budget`"),
        ({"told_prices": True, "safe_cost": 1e-5}, "`told_prices` is True: `safe_cost` is given"),
        ({"told_prices": True, "worst_cost": {CHEAP: 1e-3}}, "`told_prices` is True: the prices of .* are not known"),
        ({"budget": {"amount": 50, "per": "day"}}, "only the service keeps budgets"),
        ({"budget": {}, "service": "http://127.0.0.1:1", "floor": 0.5}, "`budget` without `ceiling`"),
    ],
)
def test_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        limited(two(), **options)


def test_errors_of_reports_and_savings() -> None:
    routing = limited(two())
    with pytest.raises(ValueError, match="`response` is None: must be a response of the router, or its `call_id`"):
        routing.report(None, 1.0)
    with pytest.raises(ValueError, match="`quality` is '1': must lie in"):
        routing.report("id", "1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"`against` is 'gpt': must be one of .*{CHEAP}"):
        routing.savings(against="gpt")


def test_litellm_is_asked_for_by_name() -> None:
    code = "import sys; sys.modules['litellm'] = None; import banister.integrations.litellm"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'banister[litellm]'" in done.stderr
