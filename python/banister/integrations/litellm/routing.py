"""The routing strategy: an arm for every call of a model group."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import logging
import random
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, Literal

import litellm
from litellm import Router
from litellm.types.router import CustomRoutingStrategyBase, RouterRateLimitError

from ..._agent import Agent
from ..._features import Features
from ..._types import ContextLike, SegmentLike
from ...client import BudgetError
from ...offline import PolicyClass
from .backends import AgentBackend, AnyDecision, PolicyBackend, PolicyDecision, ServiceBackend, check_same
from .calls import NO_BUDGET, NO_FEATURES, REPLACED, TOO_LONG, UNDECIDED
from .declaration import agent_of, check_arguments, declare, tells_prices
from .models import Models, arm_of
from .outcomes import ID_KEY, Judge, OutcomeLogger
from .savings import Savings, compare
from .sessions import Session, Unit

log = logging.getLogger(__name__)

#: Keys of a request that the Router removes when it looks for deployments.
ROUTER_KEYS = ("_target_order", "_excluded_deployment_ids", "_retry_skipped_deployment_ids")
#: Methods of a Router that a strategy replaces.
STRATEGY = ("get_available_deployment", "async_get_available_deployment")
OUTPUT_LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens")


class BanisterRouting(CustomRoutingStrategyBase, OutcomeLogger):  # type: ignore[misc]
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
        told_prices: True to learn the tokens of calls and to follow LiteLLM's prices, which then count from the next
            decision on, whenever they change; False to learn dollars. By default True where it can be: with `ceiling`,
            prices of all models, and neither `safe_cost` nor `budget`. An `agent` is as it was declared.
        slow_after: seconds after which a call is slow; with it comes a second guardrail.
        slow_at_most: largest fraction of slow calls; both are given, or none.
        confidence: with which all guardrails are kept at all times.
        on_breach: reaction to an alarm: "relearn" (what changed is forgotten and learned anew), "safe" (the safe arm
            alone, until it is acknowledged) or "alert". None: the agent's own, "relearn" for `opb`.
        when_safe_is_down: what is played if only the safe arm may be and none of its deployments is healthy:
            "cheapest_certified" (the arm with the lowest proven cost among those that keep every guardrail by
            themselves; without one the Router's error), "error" (always that), or the name of an arm, whose costs
            are then yours to answer for.
        give_up_after: seconds after which a call whose end LiteLLM never reported counts as failed, at its worst
            cost: a stream that is not read to its end, a call that was cancelled.
        unit: "session" to have one decision and one outcome for all calls of a session, which is the
            `litellm_session_id` of a request, else its `user`, else the `session_id` of its `metadata`; or a function
            from a request to its session. A session's outcome is the mean of its calls.
        period: seconds from a session's first call to its end, unless `end_session` ends it.
        over: calls over which `ceiling` is kept together: the mean of every stretch of that many, and not that of every
            policy. For an agent of this process.
        segment: from a request (`messages`, `input`, `request_kwargs`) to its class, async or not: every class has a
            policy of its own, and all together keep the guardrail.
        context: from a request to its features, async or not: numbers, such as an embedding, or fields by name. Every
            context keeps the guardrail, if means are linear in it for every arm. A request without a class or
            features, since the function failed, goes to the safe arm and is not learned from.
        features: what `context` returns: `banister.Features`, or how many numbers, an intercept 1 among them.
        parameter_norm: S, the most that a parameter of `context` is long, in units of each arm's range.
        policies: policies that choose an arm by `context`, made from a log (`banister.offline.PolicyClass.fit`): all
            requests together keep the ceiling, whatever means depend on. An agent that is made here learns the
            outcomes that they held out, unless `slow_after` is given, of which those say nothing.
        agent: an agent of an earlier process, `banister.load(path)`, or one of your own; with `segment` or `context` as
            it needs.
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
        told_prices: bool | None = None,
        slow_after: float | None = None,
        slow_at_most: float | None = None,
        confidence: float = 0.99,
        on_breach: Literal["safe", "relearn", "alert"] | None = None,
        when_safe_is_down: str = "cheapest_certified",
        give_up_after: float = 600.0,
        unit: Literal["session"] | Unit | None = None,
        period: float = 3600.0,
        over: int | None = None,
        segment: Callable[[Mapping[str, Any]], SegmentLike | Awaitable[SegmentLike]] | None = None,
        context: Callable[[Mapping[str, Any]], ContextLike | Awaitable[ContextLike]] | None = None,
        features: Features | int | None = None,
        parameter_norm: float | None = None,
        policies: PolicyClass | None = None,
        agent: Agent | None = None,
        seed: int | None = None,
        experiment: str | None = None,
        service: str | None = None,
        budget: Mapping[str, Any] | None = None,
        token: str | None = None,
        timeout: float = 0.5,
        pause: float = 5.0,
    ) -> None:
        given = dict(locals())
        check_arguments(given)
        self.router, self.safe = router, safe
        self._models = Models(router, given)
        self.group = self._models.group
        allowed = ["error", "cheapest_certified", *sorted(set(self._models.deployments) - {safe})]
        if when_safe_is_down not in allowed:
            raise ValueError(f"`when_safe_is_down` is {when_safe_is_down!r}: must be one of {allowed}")
        self._when_safe_is_down = when_safe_is_down
        self._features = ("segment", segment) if context is None else ("context", context)
        self._share, self._max_tokens, self._random = share, max_tokens, random.Random(seed)
        given["told_prices"] = tells_prices(given, self._models)
        declaration = declare(given, self._models)
        backend: AgentBackend | ServiceBackend
        if experiment is not None or service is not None:
            name = self.group if experiment is None else experiment
            declaration["confidence"] = confidence
            kind, parameters = agent_of(given)
            if segment is not None:
                declaration["segments"] = []
            if parameters:
                declaration["agent"] = {"kind": kind.kind, **parameters}
            if unit is not None:
                # A session's last call may be given up after its end; then its outcome is told.
                longest = period + give_up_after
                declaration["unit"] = {"name": "session", "period": longest, "outcomes": "mean"}
            if budget is not None:
                declaration["budgets"] = {"dollars": dict(budget)}
            options: dict[str, Any] = {"token": token, "timeout": timeout, "pause": pause}
            backend = ServiceBackend(service, name, **options, declaration=declaration)
        else:
            if agent is None:
                kind, parameters = agent_of(given)
                agent = kind(**declaration, **parameters, delta=1 - confidence, seed=seed)
                if policies is not None and policies.held_out.decisions and slow_after is None:
                    agent.fit(*policies.held_out)
            elif set(agent.arms) != set(declaration["arms"]) or agent.safe != safe:
                raise ValueError(f"`agent` has arms {agent.arms}, {agent.safe!r} safe: must be those of the router")
            else:
                signals: dict[str, Any] = {key: agent.problem.get(key) for key in ("guardrails", "reward", "signals")}
                check_same("`agent` is of an earlier process, and its", **signals, wanted=declaration)
            backend = AgentBackend(agent)
        self._inner = backend
        if policies is not None:
            super().__init__(PolicyBackend(backend, policies), self._models, given)
        else:
            super().__init__(backend, self._models, given)
        self._told: dict[str, dict[str, float]] = {}
        self._last: AnyDecision | None = None
        self._alarms: list[str] = []
        self._replaced: dict[str, Any] = {}
        atexit.register(self.close)

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

    def close(self, timeout: float = 5.0) -> None:
        """Gives the router its own strategy back, and waits until the service has all outcomes."""
        atexit.unregister(self.close)
        if self._is_installed():
            for name in STRATEGY:
                delattr(self.router, name)
            vars(self.router).update(self._replaced)
        litellm.logging_callback_manager.remove_callback_from_all_lists(self)
        if self._sessions is not None:
            self._sessions.end_all()
            self._teach()
        self._backend.close(timeout)

    def __enter__(self) -> BanisterRouting:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_installed(self) -> bool:
        return getattr(vars(self.router).get(STRATEGY[0]), "__self__", None) is self

    @property
    def agent(self) -> Agent | None:
        """The agent of this process, to look at or to save; None if the service decides."""
        return self._inner.agent if isinstance(self._inner, AgentBackend) else None

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
        if specific_deployment or not self._models.is_routed(model):
            return await own(self.router, **query, specific_deployment=specific_deployment)
        router_keys = {key: request[key] for key in ROUTER_KEYS if key in request}
        healthy = await self.router.async_get_healthy_deployments(**query)
        if isinstance(healthy, dict):
            return healthy
        id = uuid.uuid4().hex
        where = await self._awaited(self._place(query))
        if self._backend.remote:
            arm, candidates, decision, session = await asyncio.to_thread(self._assign, id, where, healthy, query)
        else:
            arm, candidates, decision, session = self._assign(id, where, healthy, query)
        if not candidates:
            # Nothing may be played that is healthy: the Router says so in its own words.
            self._models.restrict_to(arm, request, router_keys)
            candidates = [await own(self.router, **query)]
        return self._start(id, arm, decision, candidates, query, session)

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
        if specific_deployment or not self._models.is_routed(model):
            return own(self.router, **query, specific_deployment=specific_deployment)
        router_keys = {key: request[key] for key in ROUTER_KEYS if key in request}
        healthy = []
        # The Router tells a blocking caller of one deployment at a time: it is asked for each arm.
        for one in self._models.deployments:
            self._models.restrict_to(one, request, router_keys)
            try:
                healthy.append(own(self.router, **query))
            except RouterRateLimitError as error:
                unhealthy = error
        if not healthy:
            raise unhealthy
        id = uuid.uuid4().hex
        where = self._place(query)
        if where and any(inspect.isawaitable(one) for one in where.values()):
            # A blocking caller may sit in an event loop, which cannot run another.
            with ThreadPoolExecutor(1) as thread:
                where = thread.submit(asyncio.run, self._awaited(where)).result()
        arm, candidates, decision, session = self._assign(id, where, healthy, query)
        if not candidates:
            self._models.restrict_to(arm, request, router_keys)
            candidates = [own(self.router, **query)]
        return self._start(id, arm, decision, candidates, query, session)

    def _assign(
        self,
        id: str,
        where: Mapping[str, Any] | None,
        healthy: Sequence[dict[str, Any]],
        query: Mapping[str, Any],
    ) -> tuple[str, list[dict[str, Any]], AnyDecision | None, Session | None]:
        """Returns the arm of a call, its healthy deployments, the decision, if that counts, and its session."""
        sessions = self._sessions
        if sessions is None or where is None:
            return *self._choose(self._decide(id, where), healthy), None
        key = sessions.key(query)
        if self._backend.remote:
            # One arm for a session from all gateways, also if two of its calls are the first.
            where = {**where, "unit": id if key is None else key}
        with nullcontext() if self._backend.remote else sessions.turn:
            session = sessions.find(key)
            is_kept = session is not None and not self._backend.remote
            decision = session.decision if session is not None and is_kept else self._decide(id, where)
            if session is not None:
                return *self._keep(session, decision, healthy), session
            arm, candidates, decision = self._choose(decision, healthy)
            return arm, candidates, decision, None if key is None else sessions.begin(key, arm, decision)

    def _keep(
        self, session: Session, decision: AnyDecision | None, healthy: Sequence[dict[str, Any]]
    ) -> tuple[str, list[dict[str, Any]], AnyDecision | None]:
        """Returns the arm of a session, its healthy deployments, and the decision, unless it does not count.

        It keeps the arm of its first call, whatever policies are by now. Where that is down, or an alarm or the service
        forces another, it is moved: then it is closed, and teaches nothing.
        """
        own = [one for one in healthy if arm_of(one) == session.arm]
        is_forced = session.arm != self.safe and self._backend.forces_safe(decision or self._last)
        is_moved = self._backend.remote and decision is not None and decision.action != session.arm
        if own and not is_forced and not (is_moved and session.decision is not None):
            return session.arm, own, session.decision
        arm, candidates, _ = self._choose(decision if is_moved else None, healthy)
        self._calls.count(REPLACED)
        if self._sessions is not None:
            self._sessions.move(session, arm)
        return arm, candidates, None

    def _place(self, query: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns the segment or the context of a request, which may be awaited; None for one without a decision."""
        if not self._models.fits(query):
            self._calls.count(TOO_LONG)
            return None
        name, function = self._features
        try:
            return {} if function is None else {name: function(query)}
        except Exception as error:
            self._without_features(error)
            return None

    async def _awaited(self, where: dict[str, Any] | None) -> dict[str, Any] | None:
        try:
            return where and {key: await one if inspect.isawaitable(one) else one for key, one in where.items()}
        except Exception as error:
            self._without_features(error)
            return None

    def _without_features(self, error: Exception) -> None:
        """Counts a request without features, which goes to the safe arm; warns when their number has doubled."""
        count = self._calls.count(NO_FEATURES)
        if count & (count - 1) == 0:
            log.warning("the safe arm is played: %d requests had no `%s`: %r", count, self._features[0], error)

    def _decide(self, id: str, where: Mapping[str, Any] | None) -> AnyDecision | None:
        """Returns a decision; None for a call that goes to the safe arm without one."""
        if where is None:
            return None
        self._tell_prices()
        try:
            decision = self._backend.decide(id, where)
        except (TypeError, ValueError) as error:
            # The agent refuses the features, and nothing else of a decision.
            if not where:
                raise
            self._without_features(error)
            return None
        except BudgetError as error:
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

    def _tell_prices(self) -> None:
        """Tells prices that have changed in LiteLLM's table, before the next decision."""
        if not self._tells_prices:
            return
        self._models.follow()
        for arm, prices in self._models.prices.items():
            if self._told.get(arm) != prices.weights and self._backend.tell(arm, {"dollars": prices.weights}):
                self._told[arm] = prices.weights

    def _choose(
        self, decision: AnyDecision | None, healthy: Sequence[dict[str, Any]]
    ) -> tuple[str, list[dict[str, Any]], AnyDecision | None]:
        """Returns the arm to play, its healthy deployments, and the decision, unless it does not count.

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
        if isinstance(decision, PolicyDecision) and not whole:
            self._calls.count(REPLACED)
            decision = None
        return arm, by_arm.get(arm, []), decision

    def _in_place_of_safe(self, decision: AnyDecision | None, healthy: Set[str]) -> str:
        """Returns the arm that is played while the safe one is down; the safe one if there is none.

        An arm whose pessimistic cost keeps every threshold is a certified policy by itself. Not while an alarm
        forces the safe arm: the bounds of the others are then in doubt. Warnings force nothing, nor does an alarm
        after which the agent learns again.
        """
        if self._when_safe_is_down in self._models.deployments:
            return self._when_safe_is_down
        if self._when_safe_is_down == "error" or self._backend.forces_safe(decision):
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
        session: Session | None,
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
        self._begin(id, arm, decision, is_judged=self._random.random() < self._share, session=session)
        return {**deployment, "model_info": {**deployment["model_info"], ID_KEY: id}}

    def savings(self, against: str | None = None) -> Savings:
        """Returns what was spent by this process, beside what one arm alone would have cost.

        That is estimated from the mean cost of its own calls; without any, from the tokens of the others.

        Parameters:
            against: the arm to compare with; the one with the highest estimate unless given.
        """
        totals, counts = self._calls.sums()
        if isinstance(self._inner, ServiceBackend):
            counts["undelivered"] = self._inner.undelivered
        certificate = None if self._last is None else self._last.certificate
        return compare(totals, counts, self._models.prices, certificate, against, self._backend.alarms(self._last))

    def _watch(self) -> None:
        """Warns of alarms that went off since the last decision."""
        before, self._alarms = self._alarms, self._backend.alarms(self._last)
        for message in self._alarms:
            if message not in before:
                log.warning("alarm: %s", message)
