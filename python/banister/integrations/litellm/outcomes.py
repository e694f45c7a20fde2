"""Outcomes of calls: what LiteLLM reports of their end, judged and learned."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import numbers
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from litellm.integrations.custom_logger import CustomLogger

from .backends import AnyDecision, Backend
from .calls import AFTER_SESSION, JUDGE_FAILED, REFUSED, Call, Calls
from .models import Arguments, Models
from .sessions import Session, Sessions

log = logging.getLogger(__name__)

Judge: TypeAlias = Callable[[dict[str, Any], Any], "float | Awaitable[float | None] | None"]
"""From LiteLLM's details of a call (`messages`, `model`, …) and its response to a quality."""

#: Key of a call's id in the `model_info` of its deployment. LiteLLM copies that for every attempt,
#: whereas the `metadata` of a request is one dictionary for all its attempts.
ID_KEY = "banister"
#: Seconds between two warnings of a judge that fails.
QUIET = 60.0


class OutcomeLogger(CustomLogger):  # type: ignore[misc]
    """A logger of LiteLLM that brings the outcome of every call to the backend that decided it."""

    def __init__(self, backend: Backend, models: Models, given: Arguments) -> None:
        super().__init__()
        #: Without an attribute of its own, LiteLLM takes a second logger for the first.
        self.id = uuid.uuid4().hex
        self._backend, self._models = backend, models
        self._tells_prices = bool(given["told_prices"])
        self._quality: Judge | None = given["quality"]
        self._quality_range = [float(end) for end in given["quality_range"]]
        #: True if quality is the reward and dollars are a cost; else the reverse.
        self._is_reward = given["ceiling"] is not None
        self._slow_after, self._give_up_after = given["slow_after"], given["give_up_after"]
        self._calls = Calls(list(models.worst))
        unit = given["unit"]
        self._sessions = None if unit is None else Sessions(unit, given["period"])
        self._warn_at = 0.0

    def wait(self, timeout: float = 10.0) -> bool:
        """Waits until no call is open: all have ended and were judged. Returns False if some still are.

        LiteLLM tells of an async call in the event loop of that call: there, await `wait_async`.
        """
        for seconds in self._pauses(timeout):
            time.sleep(seconds)
        return not self._is_open()

    async def wait_async(self, timeout: float = 10.0) -> bool:
        """Waits like `wait`, in the event loop of the calls."""
        for seconds in self._pauses(timeout):
            await asyncio.sleep(seconds)
        return not self._is_open()

    def _is_open(self) -> bool:
        return self._calls.sums()[1]["open"] > 0

    def _pauses(self, timeout: float) -> Iterator[float]:
        end = time.monotonic() + timeout
        while self._is_open() and time.monotonic() < end:
            yield 0.02

    def _begin(
        self, id: str, arm: str, decision: AnyDecision | None, is_judged: bool, session: Session | None = None
    ) -> None:
        """Records a call that begins, and gives up those that never ended."""
        for late in self._calls.overdue(self._give_up_after):
            late.dollars = self._models.worst[late.arm]
            if late.is_learned:
                self._learn(late, self._quality_range[0])
            else:
                self._charge(late)
        is_learned = is_judged and decision is not None and self._backend.learns(decision, arm)
        if is_learned and decision is not None:
            self._backend.expect(decision)
        if self._sessions is not None and session is not None:
            self._sessions.enter(session)
        self._calls.begin(id, Call(arm, decision, is_learned, session))
        self._teach()

    def end_session(self, id: str) -> bool:
        """Ends a session: its calls so far are learned as one outcome when the last of them has ended.

        The next call of that name begins another one. Returns False if there is no such session.
        """
        ended = self._sessions is not None and self._sessions.end(str(id))
        self._teach()
        return ended

    def _teach(self) -> None:
        """Learns the sessions that are over: the mean of their calls, once."""
        for session in () if self._sessions is None else self._sessions.due():
            assert session.decision is not None
            self._backend.learn(session.decision, session.arm, *session.means())

    def _leave(self, call: Call) -> None:
        """A call of a session has ended, and was judged as far as it was."""
        session, call.session_ended = call.session, True
        if self._sessions is not None and session is not None:
            self._sessions.leave(session)
            self._teach()

    def log_success_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Records a response, or the end of a stream, and judges it."""
        call = self._end(kwargs, response_obj, start_time, end_time)
        if call is not None and call.is_learned:
            with self._judging(call, kwargs) as answers:
                answers.append(self._judge(kwargs, response_obj))

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Records a response, or the end of a stream, and judges it."""
        call = self._end(kwargs, response_obj, start_time, end_time)
        if call is not None and call.is_learned:
            with self._judging(call, kwargs) as answers:
                if inspect.iscoroutinefunction(self._quality):
                    answers.append(await self._quality(kwargs, response_obj))
                else:
                    answers.append(await asyncio.to_thread(self._judge, kwargs, response_obj))

    def log_failure_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Records a call that failed: an outcome like others."""
        call = self._end(kwargs, None, start_time, end_time)
        if call is not None and call.is_learned:
            self._learn(call, self._quality_range[0])

    async def async_log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Records a call that failed: an outcome like others."""
        self.log_failure_event(kwargs, response_obj, start_time, end_time)

    def report(self, response: Any, quality: float) -> bool:
        """Reports the quality of a call, however late; once. Returns True if it was learned at once.

        Parameters:
            response: the response, or its `call_id`.
            quality: in the declared range.
        """
        lowest, highest = self._quality_range
        if not isinstance(quality, numbers.Real) or not lowest <= quality <= highest:
            raise ValueError(f"`quality` is {quality!r}: must lie in [{lowest:g}, {highest:g}]")
        key = response if isinstance(response, str) else call_id(response)
        # LiteLLM may not yet have told of the end of the call: then the quality waits.
        call = self._calls.reported(key, float(quality))
        return call is not None and self._learn(call, float(quality))

    def _end(self, kwargs: dict[str, Any], response: Any, start: Any, end: Any) -> Call | None:
        """Returns the call that an event is about, once; None for all other calls, and for repeated events."""
        parameters = kwargs.get("litellm_params") or {}
        id = str((parameters.get("model_info") or {}).get(ID_KEY))
        cost = kwargs.get("response_cost")
        if response is None and not cost and kwargs.get("completion_start_time") is not None:
            # A stream that broke: LiteLLM counts the tokens that came if it was read in an event loop.
            cost = math.nan
        call = self._calls.end(id, response, cost, (end - start).total_seconds())
        if call is not None and math.isnan(call.dollars):
            # Nobody knows what it cost, and it was not free.
            call.dollars = self._models.worst[call.arm]
        if call is not None and not call.is_learned:
            self._charge(call)
        return call

    def _judge(self, kwargs: dict[str, Any], response: Any) -> float | None:
        if self._quality is None:
            return None
        answer = self._quality(kwargs, response)
        return asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer

    @contextmanager
    def _judging(self, call: Call, kwargs: dict[str, Any]) -> Iterator[list[Any]]:
        """Takes the judge's answer in the block, then learns the quality; without one the call waits for it."""
        quality: float | None = None
        answers: list[Any] = []
        try:
            yield answers
            (answer,) = answers
            if answer is not None and not isinstance(answer, numbers.Real):
                raise TypeError(f"the judge returned {answer!r}: must return a number, or None")
            quality = None if answer is None else float(answer)
        except Exception as error:
            count, now = self._calls.count(JUDGE_FAILED), time.monotonic()
            if now >= self._warn_at:
                self._warn_at = now + QUIET
                first = error if count == 1 else None
                log.warning("the judge failed, %d times so far: %r", count, error, exc_info=first)
        finally:
            # Also if LiteLLM has no more patience with the judge: the quality may still be reported.
            quality = self._calls.judged(str(kwargs.get("litellm_call_id")), call, quality)
            if quality is not None:
                self._learn(call, quality)
            else:
                self._charge(call)

    def _costs(self, call: Call) -> dict[str, float]:
        """Returns the costs that are known without a quality."""
        costs = {}
        if self._tells_prices:
            costs = self._models.prices[call.arm].tokens(call.dollars, call.output_tokens)
        elif self._is_reward:
            costs = {"dollars": call.dollars}
        if self._slow_after is not None:
            costs["slow"] = float(call.seconds > self._slow_after)
        return costs

    def _charge(self, call: Call) -> None:
        """Tells a service the dollars of a call whose quality comes later or never: a budget waits for them."""
        if call.session is not None:
            # Nothing of a session is told before its end.
            self._leave(call)
            return
        decision = call.decision if self._is_reward else None
        if decision is not None and self._backend.learns(decision, call.arm):
            self._backend.learn(decision, call.arm, None, self._costs(call))

    def _learn(self, call: Call, quality: float) -> bool:
        """Learns the outcome of a call, or adds it to that of its session."""
        try:
            return self._take(call, quality)
        finally:
            if call.session is not None and not call.session_ended:
                self._leave(call)

    def _take(self, call: Call, quality: float) -> bool:
        """Learns an outcome. One outside its range raises an alarm, in the agent or the service."""
        assert call.decision is not None
        if not (math.isfinite(call.dollars) and math.isfinite(quality)):
            self._calls.count(REFUSED)
            log.warning(
                "not learned: a call of %s cost $%g with quality %g: only finite numbers are",
                *(call.arm, call.dollars, quality),
            )
            return False
        reward = quality if self._is_reward else -call.dollars
        costs = self._costs(call) if self._is_reward else {"quality": quality, **self._costs(call)}
        if self._sessions is None or call.session is None:
            self._backend.learn(call.decision, call.arm, reward, costs)
        elif not self._sessions.add(call.session, reward, costs):
            self._calls.count(AFTER_SESSION)
            return False
        self._calls.learned(call, quality)
        return True


def call_id(response: Any) -> str:
    """Returns the id under which the quality of a response may be reported later."""
    known = getattr(response, "_hidden_params", None) or {}
    if "litellm_call_id" not in known:
        raise ValueError(f"`response` is {response!r}: must be a response of the router, or its `call_id`")
    return str(known["litellm_call_id"])


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer
