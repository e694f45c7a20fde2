"""Sessions of LiteLLM's own Router: one arm, one outcome; and calls that a cache makes cheaper."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import litellm
import pytest
from gateways import CHEAP, DEAR, HELLO, ask, deployment, limited, router, two, wait_for

from banister.integrations.litellm import BanisterRouting, sessions

#: Under this ceiling the dear model may be played alone.
LOOSE = {"ceiling": 5e-4, "unit": "session"}


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Any:
    made: list[BanisterRouting] = []
    install = BanisterRouting.install

    def installed(one: BanisterRouting) -> BanisterRouting:
        made.append(one)
        return install(one)

    monkeypatch.setattr(BanisterRouting, "install", installed)
    # LiteLLM takes a hundred callbacks in a process, and other tests leave theirs.
    litellm.logging_callback_manager._reset_all_callbacks()
    yield
    for one in made:
        one.close()


def told(routing: BanisterRouting) -> dict[str, tuple[int, float | None]]:
    """Outcomes by arm, and their mean quality."""
    assert routing.agent is not None
    table = routing.agent.estimates()
    rows = zip(table["arm"], table["pulls"], table["reward_mean"], strict=True)
    return {arm: (int(pulls), None if mean is None else float(mean)) for arm, pulls, mean in rows}


def outcomes(routing: BanisterRouting) -> int:
    assert routing.agent is not None
    return routing.agent.outcomes


def said(answers: list[Any]) -> set[str]:
    return {one.choices[0].message.content for one in answers}


def test_a_session_keeps_its_arm_and_is_learned_once() -> None:
    gateway = two()
    routing = limited(gateway, **LOOSE)
    kept: dict[str, str] = {}
    for turn in range(4):
        for n in range(40):
            # Also where the first calls of a session come at once.
            (answer,) = said(ask(gateway, 3 if turn == 0 else 1, litellm_session_id=f"s{n}"))
            assert kept.setdefault(f"s{n}", answer) == answer
        assert outcomes(routing) == 0, "nothing before its end"
    assert all(routing.end_session(f"s{n}") for n in range(40))
    wait_for(lambda: outcomes(routing) == 40)
    assert not routing.end_session("s0"), "ended before"
    assert routing.savings().calls == 40 * 6
    for arm, answer in ((CHEAP, "fine"), (DEAR, "excellent")):
        assert told(routing)[arm][0] == list(kept.values()).count(answer)
    # The next call of that name begins another session.
    ask(gateway, 1, litellm_session_id="s0")
    routing.close()
    assert outcomes(routing) == 41, "closing ends all"


def test_the_outcome_of_a_session_is_the_mean_of_its_calls() -> None:
    gateway, qualities = two(), iter([0.2, 0.4, 0.9])
    routing = limited(gateway, **LOOSE, quality=lambda request, response: next(qualities))
    for _ in range(3):
        ask(gateway, 1, user="somebody")
    assert routing.end_session("somebody")
    wait_for(lambda: outcomes(routing) == 1)
    (mean,) = [mean for pulls, mean in told(routing).values() if pulls]
    assert mean == pytest.approx(0.5)


def test_whose_session_it_is() -> None:
    def key(**request: Any) -> str | None:
        return sessions.session_id({"request_kwargs": request})

    everything = {"litellm_session_id": "a", "user": "b", "metadata": {"session_id": "c"}}
    assert key(**everything) == "a"
    assert key(**{**everything, "litellm_session_id": None}) == "b"
    assert key(metadata={"session_id": "c"}) == "c"
    assert key(metadata={"litellm_session_id": 7}, user="b") == "7"
    assert key(metadata=None) is None
    gateway = two()
    routing = limited(gateway, **{**LOOSE, "unit": lambda request: request["request_kwargs"]["metadata"]["thread"]})
    ask(gateway, 2, metadata={"thread": "t"})
    assert routing.end_session("t")
    # A call without a session, or whose function fails, is alone.
    ask(gateway, 1)
    wait_for(lambda: outcomes(routing) == 2)


def test_a_period_ends_a_session_and_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = two()
    routing = limited(gateway, **LOOSE, period=1000.0)
    assert routing._sessions is not None
    ask(gateway, 2, user="a")
    routing._sessions._sessions["a"].began -= 999.0
    ask(gateway, 1, user="a")
    assert outcomes(routing) == 0
    routing._sessions._sessions["a"].began -= 2.0
    ask(gateway, 1, user="a")
    wait_for(lambda: outcomes(routing) == 1)
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 3)
    for n in range(10):
        ask(gateway, 1, user=f"u{n}")
    assert len(routing._sessions._sessions) == 3
    # Those that were put out are learned as they are.
    wait_for(lambda: outcomes(routing) == 1 + 8)


def test_a_session_whose_model_is_down_moves_and_is_not_learned() -> None:
    models = deployment(CHEAP, "fine"), deployment(DEAR, "excellent")
    gateway = router(*models, num_retries=2, allowed_fails=0, cooldown_time=600)
    routing = limited(gateway, **LOOSE)
    assert routing._sessions is not None
    on_dear = []
    for n in range(200):
        if said(ask(gateway, 1, user=f"u{n}")) == {"excellent"}:
            on_dear.append(f"u{n}")
        routing.end_session(f"u{n - 1}")
        if on_dear and on_dear[-1] == f"u{n}":
            break
    assert on_dear, "the dear model is played"
    before = [pulls for pulls, _ in told(routing).values()]
    for own in gateway.model_list:
        if own["litellm_params"]["model"] == DEAR:
            own["litellm_params"]["mock_response"] = "litellm.RateLimitError"
    # The call fails, its deployment cools down, and the retry goes to the safe arm.
    for _ in range(2):
        assert said(ask(gateway, 1, user=on_dear[0])) == {"fine"}
    assert routing._sessions._sessions[on_dear[0]].arm == CHEAP
    assert routing.savings().counts["replaced by the safe arm"] >= 1
    assert routing.end_session(on_dear[0])
    assert [pulls for pulls, _ in told(routing).values()] == before, "a session that moved teaches nothing"


def test_streams_and_blocking_calls_belong_to_sessions() -> None:
    gateway = two()
    routing = limited(gateway, **LOOSE, quality=lambda request, response: 0.5)

    async def stream() -> None:
        chunks = await gateway.acompletion("chat", messages=HELLO, stream=True, litellm_session_id="s")
        # Its outcome comes at its end, also if the session ends before.
        routing.end_session("s")
        assert outcomes(routing) == 0
        async for _ in chunks:
            pass
        await routing.wait_async()

    asyncio.run(stream())
    wait_for(lambda: outcomes(routing) == 1)
    for _ in range(2):
        gateway.completion("chat", messages=HELLO, litellm_session_id="b")
    assert routing.wait()
    routing.end_session("b")
    wait_for(lambda: outcomes(routing) == 2)


def test_a_quality_after_the_session_is_counted_and_not_learned() -> None:
    gateway = two()
    routing = limited(gateway, **LOOSE, quality=None)
    first, second = ask(gateway, 1, user="a") + ask(gateway, 1, user="a")
    assert routing.report(first, 1.0)
    assert routing.end_session("a")
    assert not routing.report(second, 0.0)
    assert routing.savings().counts["after its session"] == 1
    (mean,) = [mean for pulls, mean in told(routing).values() if pulls]
    assert mean == 1.0


def test_what_does_not_go_with_sessions_is_refused() -> None:
    for options, why in (
        ({"unit": 3}, "`unit` is 3"),
        ({"unit": "session", "period": 0}, "`period` is 0"),
        ({"unit": "session", "segment": lambda request: "a"}, "`unit` and `segment`"),
        ({"unit": "session", "over": 100}, "`unit` and `over`"),
        ({"over": 100, "experiment": "x"}, "`over` is given"),
    ):
        with pytest.raises(ValueError, match=why):
            limited(two(), **options)


def test_a_ceiling_over_many_calls_together() -> None:
    gateway = two()
    routing = limited(gateway, over=400, safe_cost=1.35e-5)
    for _ in range(8):
        ask(gateway, 50)
    wait_for(lambda: outcomes(routing) == 400)
    found = routing.savings()
    assert found.dollars <= 400 * 1.2e-4, "the sum is kept, also where calls are under way at once"
    assert found.arms[DEAR].calls > 20, "the dear model is used"


class Cached(litellm.CustomLLM):  # type: ignore[misc]
    """A provider `cached` that reads 80 of 100 tokens from its cache."""

    def completion(self, *_: Any, **__: Any) -> litellm.ModelResponse:
        details = {"cached_tokens": 80}
        usage = litellm.Usage(prompt_tokens=100, completion_tokens=10, total_tokens=110, prompt_tokens_details=details)
        message = {"role": "assistant", "content": "fine"}
        return litellm.ModelResponse(choices=[{"message": message}], usage=usage)

    async def acompletion(self, *_: Any, **__: Any) -> litellm.ModelResponse:
        return self.completion()


@pytest.mark.parametrize("told_prices", [True, False])
def test_cached_tokens_count_at_their_own_price(told_prices: bool) -> None:
    litellm.custom_provider_map = [{"provider": "cached", "custom_handler": Cached()}]
    info = {"input_cost_per_token": 1e-6, "cache_read_input_token_cost": 1e-7, "output_cost_per_token": 2e-6}
    own = {
        "model_name": "chat",
        "litellm_params": {"model": "cached/words", **info},
        "model_info": {"id": "words", **info},
    }
    gateway = router(own, deployment(DEAR, "excellent"))
    options: dict[str, Any] = {"safe": "cached/words", "told_prices": told_prices, "ceiling": 2e-4}
    routing = limited(gateway, **options, quality=lambda request, response: 0.5)
    ask(gateway, 1)
    wait_for(lambda: outcomes(routing) == 1)
    dollars = 20 * 1e-6 + 80 * 1e-7 + 10 * 2e-6
    assert routing.savings().dollars == pytest.approx(dollars)
    assert routing.agent is not None
    table = routing.agent.estimates()
    means = dict(zip(table["arm"], table["dollars_mean"], strict=True))
    assert means["cached/words"] == pytest.approx(dollars)
    logging.getLogger("LiteLLM").setLevel(logging.WARNING)
