"""Backends that decide and learn: an agent in this process, or the decision service."""

from __future__ import annotations

import logging
import queue
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from ..._agent import Agent
from ..._native import Decision
from ...client import (
    BudgetError,
    Client,
    ConflictError,
    NotFoundError,
    RefusedError,
    ServiceError,
    UnavailableError,
)
from ...client.types import Decision as ServiceDecision
from ...offline import PolicyClass

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class PolicyDecision:
    """A decision on a policy: the arm that it has in the context, and what all policies play there.

    Every arm of the class stands in `policy`, also with probability 0. So whether a decision counts, as the router can
    play all of them, does not depend on the policy drawn: else it would be learned where it plays what is healthy.
    """

    action: str
    policy: dict[str, float]
    inner: Decision | ServiceDecision

    @property
    def certificate(self) -> Any:
        """The certificate, of the mean over all contexts."""
        return self.inner.certificate


AnyDecision: TypeAlias = Decision | ServiceDecision | PolicyDecision

#: Outcomes that wait for a service that does not answer; beyond, they are dropped.
MAX_QUEUED = 100_000
#: Decisions on a policy that wait for the outcome of an earlier one; beyond, that is given up.
MAX_EXPECTED = 1000


class Backend(Protocol):
    """Decisions and their outcomes."""

    #: True if `decide` may wait for another machine.
    remote: bool

    def decide(self, id: str, where: Mapping[str, Any]) -> AnyDecision | None:
        """Returns a decision, in a `segment` or a `context`; None if there is none: play the safe arm.

        Raises `BudgetError` if not even that may be played.
        """

    def learns(self, decision: AnyDecision, arm: str) -> bool:
        """Returns True if the outcome of `arm`, played at this decision, can be learned."""

    def expect(self, decision: AnyDecision) -> None:
        """Records that the outcome of a decision will be learned."""

    def learn(self, decision: AnyDecision, arm: str, reward: float | None, costs: Mapping[str, float]) -> None:
        """Learns what came of a decision; without a reward, a service charges the costs to its budgets."""

    def tell(self, arm: str, weights: Mapping[str, Mapping[str, float]]) -> bool:
        """Sets the weights of an arm; False if they were not received: then nothing is decided either."""

    def alarms(self, decision: AnyDecision | None) -> list[str]:
        """Returns the alarms of now; `decision` is the last."""

    def forces_safe(self, decision: AnyDecision | None) -> bool:
        """Returns True while an alarm forces the safe arm; warnings never do."""

    def certified(self, decision: AnyDecision | None) -> dict[str, float]:
        """Returns the arms that keep every guardrail by themselves, with their costs under the first one."""

    def close(self, timeout: float) -> None:
        """Waits until outcomes are delivered."""


class AgentBackend:
    """An agent in this process."""

    remote = False

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def decide(self, id: str, where: Mapping[str, Any]) -> AnyDecision | None:
        return self.agent.decide(**where)

    def learns(self, decision: AnyDecision, arm: str) -> bool:
        return True

    def expect(self, decision: AnyDecision) -> None:
        pass

    def learn(self, decision: AnyDecision, arm: str, reward: float | None, costs: Mapping[str, float]) -> None:
        if reward is None:
            return
        assert isinstance(decision, Decision)
        if decision.action == arm:
            self.agent.observe(decision, reward, costs)
        else:
            # The outcome of an arm that was not drawn is that arm's, and not the decision's.
            own, context = decision.segment, None if self.agent.context is None else decision.features
            self.agent.observe(arm, reward, costs, context=context, segment=None if own is None else own.name)

    def tell(self, arm: str, weights: Mapping[str, Mapping[str, float]]) -> bool:
        self.agent.set_weights(arm, weights)
        return True

    def alarms(self, decision: AnyDecision | None) -> list[str]:
        return [one.message for one in self.agent.alarms]

    def forces_safe(self, decision: AnyDecision | None) -> bool:
        return any(one.forces_safe for one in self.agent.alarms)

    def certified(self, decision: AnyDecision | None) -> dict[str, float]:
        if self.agent._segment_fields is not None or self.agent.context is not None:
            return {}
        table = self.agent.estimates()
        ends = [table[f"{name}_{end}"] for name in self.agent.guardrails for end in ("lower", "upper")]
        rows = zip(*ends, strict=True)
        pairs = [list(zip(row[::2], row[1::2], strict=True)) for row in rows]
        return _certified(dict(zip(table["arm"], pairs, strict=True)), self.agent.problem["guardrails"])

    def close(self, timeout: float) -> None:
        pass


class ServiceBackend:
    """An experiment of the decision service, made if it is missing.

    Decisions have little time, and none for some seconds after the service did not answer. Outcomes are
    sent by a thread, which tries again until the service has them: reported twice, they count once.
    """

    remote = True

    def __init__(
        self, url: str | None, name: str, *, token: str | None, timeout: float, pause: float, declaration: Any
    ) -> None:
        self.name, self._declaration, self._pause = name, declaration, pause
        self._client = Client(url, token=token, timeout=timeout, retries=1, deadline=timeout, connections=50)
        self._reporter = Client(url, token=token)
        self._is_ready = False
        #: Prices by arm, as the experiment had them or was told.
        self._weights: dict[str, Any] = {}
        self._retry_at = 0.0
        self._outcomes: queue.Queue[dict[str, Any]] = queue.Queue(MAX_QUEUED)
        self.undelivered = 0
        try:
            self._ensure()
        except UnavailableError as error:
            self._back_off(error)
        threading.Thread(target=self._send, name="banister-outcomes", daemon=True).start()

    def decide(self, id: str, where: Mapping[str, Any]) -> AnyDecision | None:
        if time.monotonic() >= self._retry_at:
            try:
                if not self._is_ready:
                    self._ensure()
                # A unit's decision has an id of its own.
                asked: Mapping[str, Any] = where if "unit" in where else {"id": id, **where}
                decision = self._client.decide(self.name, **asked)
                # In shadow mode the service only says what it would do.
                return None if decision.shadow else decision
            except BudgetError:
                raise
            except (ServiceError, ValueError) as error:
                if where.keys() - {"unit"} and self._is_ready and isinstance(error, RefusedError):
                    # It is about this request alone.
                    raise
                self._back_off(error)
        return None

    def learns(self, decision: AnyDecision, arm: str) -> bool:
        return decision.action == arm

    def expect(self, decision: AnyDecision) -> None:
        pass

    def learn(self, decision: AnyDecision, arm: str, reward: float | None, costs: Mapping[str, float]) -> None:
        try:
            outcome: dict[str, Any] = {"decision": decision, "reward": reward, "costs": costs}
            if "unit" in self._declaration:
                # Sent twice, it counts once.
                outcome["report"] = uuid.uuid4().hex
            self._outcomes.put_nowait(outcome)
        except queue.Full:
            self.undelivered += 1

    def tell(self, arm: str, weights: Mapping[str, Mapping[str, float]]) -> bool:
        if time.monotonic() >= self._retry_at:
            try:
                if not self._is_ready:
                    self._ensure()
                # Who may not change an experiment may use one whose prices are right.
                if self._weights.get(arm) != weights:
                    self._client.set_weights(self.name, arm, weights)
                    self._weights[arm] = weights
                return True
            except (ServiceError, ValueError) as error:
                self._back_off(error)
        return False

    def alarms(self, decision: AnyDecision | None) -> list[str]:
        note = f"the safe arm alone is played: see the page of experiment {self.name!r}"
        return [note] if self.forces_safe(decision) else []

    def forces_safe(self, decision: AnyDecision | None) -> bool:
        return decision is not None and decision.certificate.fallback == "alarm"

    def certified(self, decision: AnyDecision | None) -> dict[str, float]:
        if self._declaration.keys() & {"segments", "context"}:
            return {}
        try:
            arms = self._client.state(self.name).arms
        except ServiceError as error:
            self._back_off(error)
            return {}
        pairs = {arm.name: [(one.lower, one.upper) for one in arm.guardrails] for arm in arms if arm.offered}
        return _certified(pairs, [one.to_dict() for one in self._declaration["guardrails"]])

    def close(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        with self._outcomes.all_tasks_done:
            while self._outcomes.unfinished_tasks and (left := end - time.monotonic()) > 0:
                self._outcomes.all_tasks_done.wait(left)
            if self._outcomes.unfinished_tasks:
                log.warning("%d outcomes did not reach the service", self._outcomes.unfinished_tasks)

    def _ensure(self) -> None:
        try:
            known = self._client.experiment(self.name)
        except NotFoundError:
            try:
                known = self._client.create(self.name, **self._declaration)
            except ConflictError:  # Another gateway was faster.
                known = self._client.experiment(self.name)
        wanted = self._declaration
        arms = {arm.name for arm in known.arms if arm.offered}
        if arms != set(wanted["arms"]) or known.safe != wanted["safe"]:
            raise ValueError(
                f"`experiment` is {self.name!r}, whose arms are {sorted(arms)} with {known.safe!r} safe: "
                f"must be {sorted(wanted['arms'])} with {wanted['safe']!r} safe; give it another name"
            )
        if (known.unit is None) != ("unit" not in wanted):
            raise ValueError(
                f"`experiment` is {self.name!r}, whose unit is {known.unit}: give `unit` here and there, or not"
            )
        whose, signals = f"`experiment` is {self.name!r}, whose", known.signals
        check_same(whose, known.guardrails, known.reward, signals, wanted)
        for guardrail, budget in (wanted.get("budgets") or {}).items():
            own = known.budgets.get(guardrail, ())
            kept = own if isinstance(own, tuple) else (own,)
            same = [all(getattr(one, key, None) == value for key, value in budget.items()) for one in kept]
            if not any(same):
                log.warning("`budget` is %s, and experiment %r keeps its own: %s", budget, self.name, own or None)
        self._weights = {arm.name: arm.weights for arm in known.arms}
        self._is_ready = True

    def _back_off(self, error: Exception) -> None:
        self._retry_at = time.monotonic() + self._pause
        log.warning("the safe arm is played for %g s: %s", self._pause, error)

    def _send(self) -> None:
        while True:
            batch = [self._outcomes.get()]
            while len(batch) < 1000 and not self._outcomes.empty():
                batch.append(self._outcomes.get())
            while True:
                try:
                    refusals = self._reporter.report_batch(self.name, batch).errors
                    break
                except ServiceError as error:
                    log.warning("%d outcomes wait for the service: %s", len(batch), error)
                    time.sleep(self._pause)
            for refusal in refusals.values():
                self.undelivered += 1
                log.warning("the service refused an outcome: %s", refusal)
            for _ in batch:
                self._outcomes.task_done()


class PolicyBackend:
    """Another backend that decides on policies; an outcome is that of the policy drawn.

    A policy's mean is over all contexts, and dear models may answer later than cheap ones. So its outcomes are learned
    in the order of its decisions: those that come first would be cheap ones.
    """

    def __init__(self, inner: AgentBackend | ServiceBackend, policies: PolicyClass) -> None:
        self.inner, self._policies, self.remote = inner, policies, inner.remote
        self._lock = threading.Lock()
        #: By policy: decisions whose outcomes are to be learned, in their order, with the outcomes that came.
        self._expected: dict[str, dict[AnyDecision, tuple[float, Mapping[str, float]] | None]] = {}

    def decide(self, id: str, where: Mapping[str, Any]) -> AnyDecision | None:
        # The policy is drawn without a look at the context.
        arms = self._policies.arms_in(where["context"])
        decision = self.inner.decide(id, {})
        if decision is None:
            return None
        assert not isinstance(decision, PolicyDecision)
        played = dict.fromkeys(self._policies.arms, 0.0)
        for name, probability in decision.policy.items():
            played[arms[name]] += probability
        return PolicyDecision(arms[str(decision.action)], played, decision)

    def learns(self, decision: AnyDecision, arm: str) -> bool:
        return decision.action == arm

    def expect(self, decision: AnyDecision) -> None:
        assert isinstance(decision, PolicyDecision)
        with self._lock:
            self._expected.setdefault(str(decision.inner.action), {})[decision] = None

    def learn(self, decision: AnyDecision, arm: str, reward: float | None, costs: Mapping[str, float]) -> None:
        assert isinstance(decision, PolicyDecision)
        policy = str(decision.inner.action)
        if reward is None:
            self.inner.learn(decision.inner, policy, None, costs)
            return
        with self._lock:
            expected = self._expected.get(policy, {})
            if decision in expected:
                expected[decision] = (reward, costs)
            while expected:
                first = next(iter(expected))
                outcome = expected[first]
                # A quality that is never reported does not hold up the others for ever.
                if outcome is None and len(expected) <= MAX_EXPECTED:
                    break
                del expected[first]
                assert isinstance(first, PolicyDecision)
                if outcome is not None:
                    self.inner.learn(first.inner, policy, *outcome)

    def tell(self, arm: str, weights: Mapping[str, Mapping[str, float]]) -> bool:
        return True

    def alarms(self, decision: AnyDecision | None) -> list[str]:
        return self.inner.alarms(decision)

    def forces_safe(self, decision: AnyDecision | None) -> bool:
        return self.inner.forces_safe(decision)

    def certified(self, decision: AnyDecision | None) -> dict[str, float]:
        return {}

    def close(self, timeout: float) -> None:
        self.inner.close(timeout)


def _certified(
    ends: Mapping[str, Sequence[tuple[float, float]]], guardrails: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """Returns the arms whose intervals keep every threshold, with their costs under the first guardrail."""
    if any(one.get("relative") for one in guardrails):
        # A factor of the safe arm's mean: an arm without it proves nothing.
        return {}

    def cost(guardrail: Mapping[str, Any], lower: float, upper: float) -> float:
        at_least = guardrail.get("at_least")
        return float(upper - guardrail["at_most"] if at_least is None else at_least - lower)

    excess = {arm: [cost(g, *pair) for g, pair in zip(guardrails, own, strict=True)] for arm, own in ends.items()}
    return {arm: own[0] for arm, own in excess.items() if all(one <= 0 for one in own)}


def check_same(
    whose: str,
    guardrails: Sequence[Mapping[str, Any]],
    reward: Mapping[str, Any] | None,
    signals: Mapping[str, Any] | None,
    wanted: Mapping[str, Any],
) -> None:
    """Raises an error that names the first bound or range in which a declaration differs from the one wanted."""
    known = _fields(guardrails, {"reward": reward, **(signals or {})}, wanted["arms"])
    own = [one.to_dict() for one in wanted["guardrails"]]
    ours = _fields(own, {"reward": wanted["reward"], **wanted.get("signals", {})}, wanted["arms"])
    for name in [*ours, *known]:
        if known.get(name) != ours.get(name):
            raise ValueError(
                f"{whose} {name} is {known.get(name)}: must be {ours.get(name)}, as declared here; start a new one"
            )


def _fields(guardrails: Sequence[Mapping[str, Any]], signals: Mapping[str, Any], arms: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in guardrails:
        found |= {f"`{key}` of {one['name']}": one.get(key) or None for key in ("at_most", "at_least", "relative")}
    # The range of a sum is made from those of its signals, and its weights are told.
    ranges = {one["name"]: one for one in guardrails if not (one.get("weights") or one.get("expression"))}
    for name, signal in {**signals, **ranges}.items():
        declared = (signal or {}).get("range") or [0.0, 1.0]
        by_arm = declared if isinstance(declared, Mapping) else dict.fromkeys(arms, declared)
        found |= {f"`range` of {name} for {arm}": [float(end) for end in by_arm.get(arm) or ()] for arm in arms}
    return found
