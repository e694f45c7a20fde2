"""The routing strategy: an arm for every call, and the outcome of every call for its arm."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import logging
import math
import numbers
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from typing import Any, Literal, TypeAlias, TypeVar

import litellm
from litellm import Router
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.router import CustomRoutingStrategyBase, RouterRateLimitError

from ..._agent import Agent
from ..._agents import Opb
from ..._guardrail import Guardrail
from ..._types import SegmentLike
from ...client import ServiceBudgetError
from .backends import AgentBackend, AnyDecision, Backend, ServiceBackend, check_same
from .calls import JUDGE_FAILED, NO_BUDGET, REFUSED, REPLACED, TOO_LONG, UNDECIDED, Call, Calls
from .prices import Prices, read_prices
from .savings import Savings, compare

log = logging.getLogger(__name__)

Judge: TypeAlias = Callable[[dict[str, Any], Any], "float | Awaitable[float | None] | None"]
"""From LiteLLM's details of a call (`messages`, `model`, …) and its response to a quality."""

#: Key of a call's id in the `model_info` of its deployment. LiteLLM copies that for every attempt,
#: whereas the `metadata` of a request is one dictionary for all its attempts.
ID_KEY = "banister"
#: Keys of a request that the Router removes when it looks for deployments.
ROUTER_KEYS = ("_target_order", "_excluded_deployment_ids", "_retry_skipped_deployment_ids")
#: Methods of a Router that a strategy replaces.
STRATEGY = ("get_available_deployment", "async_get_available_deployment")
#: Seconds between two warnings of a judge that fails.
QUIET = 60.0
OUTPUT_LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
V = TypeVar("V")


class BanisterRouting(CustomRoutingStrategyBase, CustomLogger):  # type: ignore[misc]
    """A routing strategy for `litellm.Router`: most quality under a dollar ceiling, or least cost over a
    quality floor.

    The arms are the models of one model group: deployments with the same `model` (or the same `arm` in
    their `model_info`) are one arm. Other groups are routed as before.

    Parameters:
        router: the Router.
        safe: the arm that keeps the guardrail by itself: cheap enough, or good enough.
        ceiling: most dollars per call on average; among policies that keep it, quality is maximised.
        floor: least quality on average; among policies that keep it, cost is minimised.
        relative: True if `ceiling` or `floor` is a factor of the safe arm's own mean.
        quality: judges a call: `quality(request, response)`, async or not. None, or a judge that returns
            None: `report` says it later. A call that failed has the lowest quality.
        quality_range: lowest and highest quality.
        share: fraction of calls to judge and learn from, drawn at random, failures among them.
        group: the model group; needed if the router has several.
        max_tokens: most output tokens of a call; requests that ask for more are limited to it.
        max_input_tokens: most input tokens; longer requests go to the safe arm and are not learned from.
        worst_cost: dollars of the dearest possible call by arm, for those that LiteLLM has no prices of.
        safe_cost: the safe arm's mean of the guarded signal, if it is known.
        slow_after: seconds after which a call is slow; with it comes a second guardrail.
        slow_at_most: largest fraction of slow calls; both are given, or none.
        confidence: with which all guardrails are kept at all times.
        on_breach: reaction to an alarm: "safe" (the safe arm alone, until somebody acknowledges it), "relearn" or
            "alert".
        when_safe_is_down: what is played if only the safe arm may be and none of its deployments is healthy:
            "cheapest_certified" (the arm with the lowest proven cost among those that keep every guardrail by
            themselves; without one the Router's error), "error" (always that), or the name of an arm, whose costs
            are then yours to answer for.
        give_up_after: seconds after which a call that LiteLLM never told the end of counts as failed, at its worst
            cost: a stream that nobody reads to its end, a call that was cancelled.
        agent: an agent of an earlier process: `banister.load(path)`; or one with segments, with `segment`.
        segment: from a request (`messages`, `input`, `request_kwargs`) to its segment, for an agent that tells
            segments apart.
        seed: of the agent and of the choice among equal deployments.
        experiment: an experiment of the decision service, which then decides in place of an agent of this
            process; made if it is missing.
        service: URL of the service; else the environment's `BANISTER_URL`, else `http://127.0.0.1:8787`.
        budget: most dollars per hour, day, week or month, of an experiment that is made: `{"amount": 50,
            "per": "day", "when_exhausted": "refuse"}`. Only the service keeps budgets.
        token: of the service; else the environment's `BANISTER_TOKEN`.
        timeout: seconds that a decision of the service may take; then the safe arm is played.
        pause: seconds without a request to a service that failed.
    """

    def __init__(
        self,
        router: Router,
        *,
        safe: str,
        ceiling: float | None = None,
        floor: float | None = None,
        relative: bool = False,
        quality: Judge | None = None,
        quality_range: Sequence[float] = (0.0, 1.0),
        share: float = 1.0,
        group: str | None = None,
        max_tokens: int | None = None,
        max_input_tokens: int | None = None,
        worst_cost: Mapping[str, float] | None = None,
        safe_cost: float | None = None,
        slow_after: float | None = None,
        slow_at_most: float | None = None,
        confidence: float = 0.99,
        on_breach: Literal["safe", "relearn", "alert"] | None = None,
        when_safe_is_down: str = "cheapest_certified",
        give_up_after: float = 600.0,
        agent: Agent | None = None,
        segment: Callable[[Mapping[str, Any]], SegmentLike] | None = None,
        seed: int | None = None,
        experiment: str | None = None,
        service: str | None = None,
        budget: Mapping[str, Any] | None = None,
        token: str | None = None,
        timeout: float = 0.5,
        pause: float = 5.0,
    ) -> None:
        super().__init__()
        given = {"ceiling": ceiling, "floor": floor, "safe_cost": safe_cost, "share": share, "confidence": confidence}
        times = {"slow_after": slow_after, "slow_at_most": slow_at_most, "timeout": timeout, "pause": pause}
        times["give_up_after"] = give_up_after
        limits = {"max_tokens": max_tokens, "max_input_tokens": max_input_tokens}
        costs = {f"worst_cost[{arm!r}]": cost for arm, cost in (worst_cost or {}).items()}
        for name, value in {**given, **times, **limits, **costs}.items():
            if value is not None and not isinstance(value, numbers.Real):
                raise ValueError(f"`{name}` is {value!r}: must be a number")
            if name in limits and value is not None and value < 1:
                raise ValueError(f"`{name}` is {value}: must be at least 1")
        if (ceiling is None) == (floor is None):
            raise ValueError(f"`ceiling` is {ceiling} and `floor` is {floor}: give one of them")
        if not 0 < share <= 1:
            raise ValueError(f"`share` is {share}: must be above 0 and at most 1")
        if quality is not None and not callable(quality):
            raise ValueError(f"`quality` is {quality!r}: must be callable, as `quality(request, response)`")
        if share < 1 and quality is None:
            raise ValueError(
                f"`share` is {share} without `quality`: it is the share that is judged; `report` needs none"
            )
        if floor is not None and quality is None:
            log.warning("`floor` without `quality`: the safe arm is played until `report` has told enough qualities")
        if (slow_after is None) != (slow_at_most is None):
            raise ValueError(f"`slow_after` is {slow_after} and `slow_at_most` is {slow_at_most}: give both or none")
        is_served = experiment is not None or service is not None
        if is_served and agent is not None:
            raise ValueError("`agent` and `experiment` are both given: one of them decides")
        if agent is not None and on_breach is not None and agent.config.get("on_breach") != on_breach:
            raise ValueError(f"`on_breach` is {on_breach!r}: `agent` has its own, {agent.config.get('on_breach')!r}")
        if (segment is not None) != (agent is not None and agent._segment_fields is not None):
            raise ValueError(
                "`segment` is for an `agent` that tells segments apart, such as banister.Segmented: give both or none"
            )
        if budget is not None and not is_served:
            raise ValueError("`budget` without `experiment`: only the service keeps budgets over time")
        if budget is not None and ceiling is None:
            raise ValueError("`budget` without `ceiling`: only the costs of a guardrail have a budget")
        #: Without an attribute of its own, LiteLLM takes a second logger for the first.
        self.id = uuid.uuid4().hex
        self.router = router
        self.group = _checked_group(router, group)
        self.safe = safe
        self._ceiling = ceiling
        self._quality, self._quality_range = quality, (float(quality_range[0]), float(quality_range[1]))
        self._share = share
        self._max_tokens, self._max_input_tokens = max_tokens, max_input_tokens
        self._slow_after = slow_after
        self._when_safe_is_down, self._give_up_after, self._segment = when_safe_is_down, give_up_after, segment
        self._random = random.Random(seed)

        self._deployments: dict[str, list[dict[str, Any]]] = {}
        for deployment in router.model_list:
            if deployment["model_name"] == self.group:
                self._deployments.setdefault(arm_of(deployment), []).append(deployment)
        if safe not in self._deployments:
            raise ValueError(
                f"`safe` is {safe!r}: must be one of {sorted(self._deployments)}, models of {self.group!r}"
            )
        allowed = ["error", "cheapest_certified", *sorted(set(self._deployments) - {safe})]
        if when_safe_is_down not in allowed:
            raise ValueError(f"`when_safe_is_down` is {when_safe_is_down!r}: must be one of {allowed}")
        unknown = sorted(set(worst_cost or ()) - set(self._deployments))
        if unknown:
            raise ValueError(f"`worst_cost` has {unknown}: must be of {sorted(self._deployments)}")
        self._prices: dict[str, Prices] = {}
        self._worst: dict[str, float] = {}
        for arm, deployments in self._deployments.items():
            if arm in (worst_cost or {}):
                self._worst[arm] = float((worst_cost or {})[arm])
            else:
                prices = [read_prices(router, one, max_input_tokens, max_tokens) for one in deployments]
                self._prices[arm] = max(prices, key=lambda one: one.worst)
                # A range has a length, also for models that cost nothing.
                self._worst[arm] = max(self._prices[arm].worst, 1e-12)

        dearest = max(self._worst, key=self._worst.__getitem__)
        if ceiling is not None and not relative and ceiling >= self._worst[dearest]:
            raise ValueError(
                f"`ceiling` is {ceiling:g} dollars per call: must be below {self._worst[dearest]:g}, the most that a "
                "call can cost. For dollars per day there is `budget`"
            )
        if ceiling is not None and not relative and self._worst[dearest] > 100 * ceiling:
            log.warning(
                "a call of %s can cost $%g, and the ceiling is $%g: it will be learned slowly. "
                "Lower `max_tokens` and `max_input_tokens` if calls are shorter",
                *(dearest, self._worst[dearest], ceiling),
            )
        declaration = self._declare(ceiling, floor, relative, safe_cost, slow_at_most)
        self._backend: Backend
        if is_served:
            name = self.group if experiment is None else experiment
            declaration["confidence"] = confidence
            if on_breach is not None:
                declaration["agent"] = {"kind": "opb", "on_breach": on_breach}
            if budget is not None:
                declaration["budgets"] = {"dollars": dict(budget)}
            options: dict[str, Any] = {"token": token, "timeout": timeout, "pause": pause}
            self._backend = ServiceBackend(service, name, **options, declaration=declaration)
        else:
            if agent is None:
                agent = Opb(**declaration, delta=1 - confidence, on_breach=on_breach, seed=seed)
            elif set(agent.arms) != set(self._deployments) or agent.safe != safe:
                raise ValueError(f"`agent` has arms {agent.arms}, {agent.safe!r} safe: must be those of the router")
            else:
                check_same("`agent` is of an earlier process, and its", **_signals(agent), wanted=declaration)
            self._backend = AgentBackend(agent)

        self._calls = Calls(list(self._deployments))
        self._last: AnyDecision | None = None
        self._alarms: list[str] = []
        self._warn_at = 0.0
        self._replaced: dict[str, Any] = {}
        atexit.register(self.close)

    def _declare(
        self,
        ceiling: float | None,
        floor: float | None,
        relative: bool,
        safe_cost: float | None,
        slow_at_most: float | None,
    ) -> dict[str, Any]:
        known: dict[str, Any] = {"relative": relative, "safe_cost": safe_cost}
        if ceiling is not None:
            ranges = {arm: [0.0, worst] for arm, worst in self._worst.items()}
            guardrails = [Guardrail("dollars", at_most=ceiling, range=ranges, **known)]
            reward: dict[str, Any] = {"range": list(self._quality_range)}
        else:
            guardrails = [Guardrail("quality", at_least=floor, range=list(self._quality_range), **known)]
            reward = {"range": {arm: [-worst, 0.0] for arm, worst in self._worst.items()}}
        if self._slow_after is not None:
            guardrails.append(Guardrail("slow", at_most=slow_at_most))
        return {"arms": list(self._deployments), "safe": self.safe, "guardrails": guardrails, "reward": reward}

    # Lifecycle

    def install(self) -> BanisterRouting:
        """Makes it the strategy of its router: `router.set_custom_routing_strategy`."""
        if not self._is_installed():
            replaced = {name: vars(self.router)[name] for name in STRATEGY if name in vars(self.router)}
            if any(isinstance(getattr(one, "__self__", None), BanisterRouting) for one in replaced.values()):
                raise ValueError("`router` has another BanisterRouting: close that first")
            self._replaced = replaced
        self.router.set_custom_routing_strategy(self)
        return self

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

    def close(self, timeout: float = 5.0) -> None:
        """Gives the router its own strategy back, and waits until the service has all outcomes."""
        atexit.unregister(self.close)
        if self._is_installed():
            for name in STRATEGY:
                delattr(self.router, name)
            vars(self.router).update(self._replaced)
        litellm.logging_callback_manager.remove_callback_from_all_lists(self)
        self._backend.close(timeout)

    def __enter__(self) -> BanisterRouting:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_installed(self) -> bool:
        return getattr(vars(self.router).get(STRATEGY[0]), "__self__", None) is self

    def _is_open(self) -> bool:
        return self._calls.sums()[1]["open"] > 0

    def _pauses(self, timeout: float) -> Iterator[float]:
        end = time.monotonic() + timeout
        while self._is_open() and time.monotonic() < end:
            yield 0.02

    @property
    def agent(self) -> Agent | None:
        """The agent of this process, to look at or to save; None if the service decides."""
        return self._backend.agent if isinstance(self._backend, AgentBackend) else None

    # Deployments for calls

    async def async_get_available_deployment(
        self,
        model: str,
        messages: list[dict[str, str]] | None = None,
        input: str | list[Any] | None = None,
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Returns the deployment for a call."""
        request: dict[str, Any] = {} if request_kwargs is None else request_kwargs
        query: dict[str, Any] = {"model": model, "messages": messages, "input": input, "request_kwargs": request}
        own = type(self.router).async_get_available_deployment
        if specific_deployment or not self._is_routed(model):
            return await own(self.router, **query, specific_deployment=specific_deployment)
        router_keys = {key: request[key] for key in ROUTER_KEYS if key in request}
        healthy = await self.router.async_get_healthy_deployments(**query)
        if isinstance(healthy, dict):
            return healthy
        id = uuid.uuid4().hex
        if self._backend.remote:
            decision = await asyncio.to_thread(self._decide, id, query)
        else:
            decision = self._decide(id, query)
        arm, candidates = self._choose(decision, healthy)
        if not candidates:
            # Nothing may be played that is healthy: the Router says so in its own words.
            self._restrict_to(arm, request, router_keys)
            candidates = [await own(self.router, **query)]
        return self._start(id, arm, decision, candidates, query)

    def get_available_deployment(
        self,
        model: str,
        messages: list[dict[str, str]] | None = None,
        input: str | list[Any] | None = None,
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Returns the deployment for a call."""
        request: dict[str, Any] = {} if request_kwargs is None else request_kwargs
        query: dict[str, Any] = {"model": model, "messages": messages, "input": input, "request_kwargs": request}
        own = type(self.router).get_available_deployment
        if specific_deployment or not self._is_routed(model):
            return own(self.router, **query, specific_deployment=specific_deployment)
        router_keys = {key: request[key] for key in ROUTER_KEYS if key in request}
        healthy = []
        # The Router tells a blocking caller of one deployment at a time: it is asked for each arm.
        for one in self._deployments:
            self._restrict_to(one, request, router_keys)
            try:
                healthy.append(own(self.router, **query))
            except RouterRateLimitError as error:
                unhealthy = error
        if not healthy:
            raise unhealthy
        id = uuid.uuid4().hex
        decision = self._decide(id, query)
        arm, candidates = self._choose(decision, healthy)
        if not candidates:
            self._restrict_to(arm, request, router_keys)
            candidates = [own(self.router, **query)]
        return self._start(id, arm, decision, candidates, query)

    def _is_routed(self, model: str) -> bool:
        return (self.router.get_model_from_alias(model=model) or model) == self.group

    def _decide(self, id: str, query: Mapping[str, Any]) -> AnyDecision | None:
        """Returns a decision; None for a call that goes to the safe arm without one."""
        if not self._fits(query):
            self._calls.count(TOO_LONG)
            return None
        try:
            decision = self._backend.decide(id, None if self._segment is None else self._segment(query))
        except ServiceBudgetError as error:
            # Not even the safe arm is paid for. The Router takes this for a group that is down, and falls back.
            if self._calls.count(NO_BUDGET) == 1:
                log.warning("calls are refused: %s", error)
            raise RouterRateLimitError(
                model=self.group,
                cooldown_time=error.retry_after or 0.0,
                enable_pre_call_checks=self.router.enable_pre_call_checks,
                cooldown_list=[],
            ) from error
        if decision is None:
            self._calls.count(UNDECIDED)
        return decision

    def _fits(self, query: Mapping[str, Any]) -> bool:
        """Returns False for a request longer than declared."""
        messages, text, tools = query["messages"], query["input"], query["request_kwargs"].get("tools")
        # A token has at least a byte, so most requests need not be counted.
        if self._max_input_tokens is None or len(f"{messages}{text}{tools}".encode()) <= self._max_input_tokens:
            return True
        what = {"messages": messages, "tools": tools} if text is None else {"text": text}
        return bool(litellm.token_counter(model=self.safe, **what) <= self._max_input_tokens)

    def _restrict_to(self, arm: str, request: dict[str, Any], router_keys: Mapping[str, Any]) -> None:
        """Excludes all other arms from the Router's next answer."""
        others = [one["model_info"]["id"] for one in self.router.model_list if arm_of(one) != arm]
        request |= router_keys
        request["_excluded_deployment_ids"] = [*others, *(router_keys.get("_excluded_deployment_ids") or ())]

    def _choose(
        self, decision: AnyDecision | None, healthy: Sequence[dict[str, Any]]
    ) -> tuple[str, list[dict[str, Any]]]:
        """Returns the arm to play and its healthy deployments.

        The certificate is about the policy, not about the arm drawn: with one of its arms missing, what
        is left of it may break the guardrail. Then the safe arm alone is played, whatever was drawn.
        """
        by_arm: dict[str, list[dict[str, Any]]] = {}
        for deployment in healthy:
            by_arm.setdefault(arm_of(deployment), []).append(deployment)
        whole = decision is not None and by_arm.keys() >= decision.policy.keys()
        arm: str = decision.action if decision is not None and whole else self.safe
        if arm == self.safe and self.safe not in by_arm:
            arm = self._in_place_of_safe(decision, by_arm.keys())
        return arm, by_arm.get(arm, [])

    def _in_place_of_safe(self, decision: AnyDecision | None, healthy: Set[str]) -> str:
        """Returns the arm that is played while the safe one is down; the safe one if there is none.

        An arm whose pessimistic cost keeps every threshold is a certified policy by itself.
        """
        if self._when_safe_is_down in self._deployments:
            return self._when_safe_is_down
        if self._when_safe_is_down == "error" or self._backend.alarms(decision):
            return self.safe
        certified = self._backend.certified(decision)
        return min(healthy & certified.keys(), key=certified.__getitem__, default=self.safe)

    def _start(
        self,
        id: str,
        arm: str,
        decision: AnyDecision | None,
        candidates: Sequence[dict[str, Any]],
        query: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Records a call that begins; returns its deployment with the call's id in it."""
        weights = [one["litellm_params"].get("weight") or 1 for one in candidates]
        deployment = self._random.choices(candidates, weights)[0]
        request = query["request_kwargs"]
        own = {key: request.get(key) or deployment["litellm_params"].get(key) for key in OUTPUT_LIMITS}
        limits = {key: most for key, most in own.items() if most is not None} or {"max_tokens": self._max_tokens}
        # Only a chat is limited unasked: calls of other kinds have no such parameter, or another one.
        if self._max_tokens is not None and (query["messages"] is not None or not limits.keys().isdisjoint(request)):
            request |= {key: min(most, self._max_tokens) for key, most in limits.items()}
        if self not in litellm.callbacks:
            litellm.logging_callback_manager.add_litellm_callback(self)
        if decision is not None:
            self._last = decision
            self._watch()
            if decision.action != arm:
                self._calls.count(REPLACED)
        for late in self._calls.overdue(self._give_up_after):
            late.dollars = self._worst[late.arm]
            if late.is_learned:
                self._learn(late, self._quality_range[0])
            else:
                self._charge(late)
        is_learned = (
            decision is not None and self._backend.learns(decision, arm) and self._random.random() < self._share
        )
        self._calls.begin(id, Call(arm, decision, is_learned))
        return {**deployment, "model_info": {**deployment["model_info"], ID_KEY: id}}

    # Outcomes of calls

    def log_success_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Records a response, or the end of a stream, and judges it."""
        call = self._end(kwargs, response_obj, start_time, end_time)
        if call is not None and call.is_learned:
            quality = None
            try:
                quality = _quality(self._judge(kwargs, response_obj))
            except Exception as error:
                self._judge_failed(error)
            finally:
                self._judged(call, kwargs, quality)

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Records a response, or the end of a stream, and judges it."""
        call = self._end(kwargs, response_obj, start_time, end_time)
        if call is not None and call.is_learned:
            quality = None
            try:
                if inspect.iscoroutinefunction(self._quality):
                    quality = _quality(await self._quality(kwargs, response_obj))
                else:
                    quality = _quality(await asyncio.to_thread(self._judge, kwargs, response_obj))
            except Exception as error:
                self._judge_failed(error)
            finally:
                # Also if LiteLLM has no more patience with the judge: the quality may still be reported.
                self._judged(call, kwargs, quality)

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

    def savings(self, against: str | None = None) -> Savings:
        """Returns what was spent by this process, beside what one arm alone would have cost.

        That is estimated from the mean cost of its own calls; without any, from the tokens of the others.

        Parameters:
            against: the arm to compare with; the one with the highest estimate unless given.
        """
        totals, counts = self._calls.sums()
        if isinstance(self._backend, ServiceBackend):
            counts["undelivered"] = self._backend.undelivered
        certificate = None if self._last is None else self._last.certificate
        return compare(totals, counts, self._prices, certificate, against, self._backend.alarms(self._last))

    def _end(self, kwargs: dict[str, Any], response: Any, start: Any, end: Any) -> Call | None:
        """Returns the call that an event is about, once; None for all other calls, and for repeated events."""
        parameters = kwargs.get("litellm_params") or {}
        id = str((parameters.get("model_info") or {}).get(ID_KEY))
        cost = kwargs.get("response_cost")
        if response is None and kwargs.get("stream"):
            cost = _cost_of_part(kwargs)
        call = self._calls.end(id, response, cost, (end - start).total_seconds())
        if call is not None and math.isnan(call.dollars):
            # Nobody knows what it cost, and it was not free.
            call.dollars = self._worst[call.arm]
        if call is not None and not call.is_learned:
            self._charge(call)
        return call

    def _judge(self, kwargs: dict[str, Any], response: Any) -> float | None:
        if self._quality is None:
            return None
        answer = self._quality(kwargs, response)
        return asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer

    def _judged(self, call: Call, kwargs: dict[str, Any], quality: float | None) -> None:
        quality = self._calls.judged(str(kwargs.get("litellm_call_id")), call, quality)
        if quality is not None:
            self._learn(call, float(quality))
        else:
            self._charge(call)

    def _judge_failed(self, error: Exception) -> None:
        count, now = self._calls.count(JUDGE_FAILED), time.monotonic()
        if now >= self._warn_at:
            self._warn_at = now + QUIET
            log.warning("the judge failed, %d times so far: %r", count, error, exc_info=error if count == 1 else None)

    def _watch(self) -> None:
        """Warns of alarms that went off since the last decision."""
        before, self._alarms = self._alarms, self._backend.alarms(self._last)
        for message in self._alarms:
            if message not in before:
                log.warning("alarm: %s", message)

    def _costs(self, call: Call) -> dict[str, float]:
        """Returns the costs that are known without a quality."""
        costs = {} if self._ceiling is None else {"dollars": call.dollars}
        if self._slow_after is not None:
            costs["slow"] = float(call.seconds > self._slow_after)
        return costs

    def _charge(self, call: Call) -> None:
        """Tells a service the dollars of a call whose quality comes later or never: a budget waits for them."""
        decision = call.decision if self._ceiling is not None else None
        if decision is not None and self._backend.learns(decision, call.arm):
            self._backend.learn(decision, call.arm, None, self._costs(call))

    def _learn(self, call: Call, quality: float) -> bool:
        """Learns the outcome of a call. One outside its range raises an alarm, in the agent or the service."""
        assert call.decision is not None
        if not (math.isfinite(call.dollars) and math.isfinite(quality)):
            self._calls.count(REFUSED)
            log.warning(
                "not learned: a call of %s cost $%g with quality %g: only finite numbers are",
                *(call.arm, call.dollars, quality),
            )
            return False
        by_quality = self._ceiling is not None
        reward = quality if by_quality else -call.dollars
        costs = self._costs(call) if by_quality else {"quality": quality, **self._costs(call)}
        self._backend.learn(call.decision, call.arm, reward, costs)
        self._calls.learned(call, quality)
        return True


def arm_of(deployment: Mapping[str, Any]) -> str:
    """Returns the arm of a deployment: the `arm` of its `model_info`, else its model."""
    arm = (deployment.get("model_info") or {}).get("arm")
    return str(deployment["litellm_params"]["model"] if arm is None else arm)


def call_id(response: Any) -> str:
    """Returns the id under which the quality of a response may be reported later."""
    known = getattr(response, "_hidden_params", None) or {}
    if "litellm_call_id" not in known:
        raise ValueError(f"`response` is {response!r}: must be a response of the router, or its `call_id`")
    return str(known["litellm_call_id"])


def _checked_group(router: Router, group: str | None) -> str:
    groups = sorted({str(one["model_name"]) for one in router.model_list})
    if group is None and len(groups) == 1:
        return groups[0]
    if group is None or group not in groups:
        told = "missing" if group is None else repr(group)
        raise ValueError(f"`group` is {told}: must be one of {groups}, the model groups of the router")
    return group


def _signals(agent: Agent) -> dict[str, Any]:
    return {key: agent.problem.get(key) for key in ("guardrails", "reward")}


def _quality(answer: Any) -> float | None:
    if answer is not None and not isinstance(answer, numbers.Real):
        raise TypeError(f"the judge returned {answer!r}: must return a number, or None")
    return answer  # type: ignore[return-value]


def _cost_of_part(kwargs: Mapping[str, Any]) -> float:
    """Returns the dollars of a stream that broke, by the tokens that were seen; NaN if nobody knows."""
    messages, model = kwargs.get("messages"), str(kwargs.get("model"))
    try:
        chunks = getattr(kwargs.get("litellm_logging_obj"), "streaming_chunks", None) or []
        if not chunks:
            return 0.0 if kwargs.get("completion_start_time") is None else math.nan
        return float(litellm.completion_cost(litellm.stream_chunk_builder(chunks, messages=messages), model=model))
    except Exception:
        return math.nan


async def _awaited(answer: Awaitable[V]) -> V:
    return await answer
