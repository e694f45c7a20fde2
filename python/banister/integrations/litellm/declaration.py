"""The strategy's arguments as a declaration: their checks, and the problem of the agent or the experiment."""

from __future__ import annotations

import logging
import numbers
from typing import Any

from ..._agent import Agent
from ..._agents import Opb, Oplb, Segmented
from ..._guardrail import Guardrail
from ...offline import PolicyClass
from .models import Arguments, Models

log = logging.getLogger(__name__)

SECONDS = ("timeout", "pause", "give_up_after", "period")
LENGTHS = ("max_tokens", "max_input_tokens")
NUMBERS = ("ceiling", "floor", "safe_cost", "share", "confidence", "slow_at_most", "slow_after", "parameter_norm")


def check_arguments(given: Arguments) -> None:
    """Raises an error that names the first argument that cannot be, alone or with another."""
    costs = {f"worst_cost[{arm!r}]": cost for arm, cost in (given["worst_cost"] or {}).items()}
    for name, value in {**{name: given[name] for name in (*NUMBERS, *SECONDS, *LENGTHS)}, **costs}.items():
        if value is not None and not isinstance(value, numbers.Real):
            raise ValueError(f"`{name}` is {value!r}: must be a number")
        if name in LENGTHS and value is not None and value < 1:
            raise ValueError(f"`{name}` is {value}: must be at least 1")
    ceiling, floor, share, quality, agent = (given[n] for n in ("ceiling", "floor", "share", "quality", "agent"))
    slow_after, slow_at_most, on_breach = given["slow_after"], given["slow_at_most"], given["on_breach"]
    if (ceiling is None) == (floor is None):
        raise ValueError(f"`ceiling` is {ceiling} and `floor` is {floor}: give one of them")
    if not 0 < share <= 1:
        raise ValueError(f"`share` is {share}: must be above 0 and at most 1")
    if quality is not None and not callable(quality):
        raise ValueError(f"`quality` is {quality!r}: must be callable, as `quality(request, response)`")
    if share < 1 and quality is None:
        raise ValueError(f"`share` is {share} without `quality`: it is the share that is judged; `report` needs none")
    if floor is not None and quality is None:
        log.warning("`floor` without `quality`: the safe arm is played until `report` has told enough qualities")
    if (slow_after is None) != (slow_at_most is None):
        raise ValueError(f"`slow_after` is {slow_after} and `slow_at_most` is {slow_at_most}: give both or none")
    is_served = given["experiment"] is not None or given["service"] is not None
    if is_served and agent is not None:
        raise ValueError("`agent` and `experiment` are both given: one of them decides")
    if agent is not None and on_breach is not None and agent.config.get("on_breach") != on_breach:
        raise ValueError(f"`on_breach` is {on_breach!r}: `agent` has its own, {agent.config.get('on_breach')!r}")
    check_prompts(given)
    check_unit(given, is_served)
    if given["budget"] is not None and not is_served:
        raise ValueError("`budget` without `experiment`: only the service keeps budgets over time")
    if given["budget"] is not None and ceiling is None:
        raise ValueError("`budget` without `ceiling`: only the costs of a guardrail have a budget")


def check_unit(given: Arguments, is_served: bool) -> None:
    """Raises an error if calls cannot be learned together, or a sum cannot be kept, as it is asked for."""
    unit, over = given["unit"], given["over"]
    if unit is not None and unit != "session" and not callable(unit):
        raise ValueError(f"`unit` is {unit!r}: must be 'session', or callable, as `unit(request)`")
    if not given["period"] > 0:
        raise ValueError(f"`period` is {given['period']}: must be above 0, in seconds")
    for name in ("segment", "context", "budget", "over"):
        if unit is not None and given[name] is not None:
            raise ValueError(f"`unit` and `{name}` are both given: a session's calls have one decision, without it")
    if over is not None and (given["ceiling"] is None or is_served or given["context"] or given["segment"]):
        raise ValueError("`over` is given: it needs a `ceiling`, and no `experiment`, `segment` or `context`")


def check_prompts(given: Arguments) -> None:
    """Raises an error if what is to be looked at in a request does not fit the agent."""
    agent, segment, context = (given[name] for name in ("agent", "segment", "context"))
    if segment is not None and context is not None:
        raise ValueError("`segment` and `context` are both given: a request has a class, or numbers")
    for name, function in (("segment", segment), ("context", context)):
        if function is not None and not callable(function):
            raise ValueError(f"`{name}` is {function!r}: must be callable, as `{name}(request)`")
    policies = given["policies"]
    if policies is not None:
        if context is None or given["ceiling"] is None or given["relative"]:
            raise ValueError("`policies` is given: it needs a `context`, and a `ceiling` that is not `relative`")
        if policies.safe != given["safe"]:
            raise ValueError(f"`safe` is {given['safe']!r}: `policies` has {policies.safe!r}")
    for name in ("features", "parameter_norm"):
        needed = context is not None and agent is None and policies is None
        if needed and given[name] is None:
            raise ValueError(f"`{name}` is absent: `context` needs `features` and `parameter_norm`, or `policies`")
        if not needed and given[name] is not None:
            raise ValueError(f"`{name}` is given: it declares what `context` returns, for an agent that is made here")
    if agent is not None and policies is None:
        takes = {"segment": agent._segment_fields is not None, "context": agent.context is not None}
        for name, is_taken in takes.items():
            if is_taken != (given[name] is not None):
                kind = "banister.Segmented" if name == "segment" else "banister.Oplb with a context"
                raise ValueError(f"`{name}` is for an `agent` that knows it, such as {kind}: give both or none")


def tells_prices(given: Arguments, models: Models) -> bool:
    """Returns True if the tokens of calls are learned and their prices are given."""
    told, agent, learned = given["told_prices"], given["agent"], None
    if agent is not None:
        return bool(agent.problem.get("signals"))
    for name in ("floor", "safe_cost", "budget", "over"):
        if given[name] is not None:
            learned = f"`{name}` is given, which is about dollars"
    if given["context"] is not None:
        learned = "`context` is given, with which dollars are learned"
    if unknown := sorted(models.worst.keys() - models.prices.keys()):
        learned = f"the prices of {unknown} are not known"
    if learned is not None and told:
        raise ValueError(f"`told_prices` is True: {learned}, and those have to be learned")
    return learned is None and told is not False


def declare(given: Arguments, models: Models) -> dict[str, Any]:
    """Returns the arms, the guardrails and the reward."""
    ceiling, relative, worst = given["ceiling"], given["relative"], models.worst
    dearest = max(worst, key=worst.__getitem__)
    if ceiling is not None and not relative and ceiling >= worst[dearest]:
        raise ValueError(
            f"`ceiling` is {ceiling:g} dollars per call: must be below {worst[dearest]:g}, the most that a "
            "call can cost. For dollars per day there is `budget`"
        )
    if ceiling is not None and not relative and worst[dearest] > 100 * ceiling:
        log.warning(
            "a call of %s can cost $%g, and the ceiling is $%g: it will be learned slowly. "
            "Lower `max_tokens` and `max_input_tokens` if calls are shorter",
            *(dearest, worst[dearest], ceiling),
        )
    policies: PolicyClass | None = given["policies"]
    if policies is not None and set(policies.arms) != worst.keys():
        raise ValueError(f"`policies` has arms {sorted(policies.arms)}: must be those of the router, {sorted(worst)}")
    known: dict[str, Any] = {"relative": relative, "safe_cost": given["safe_cost"]}
    told: dict[str, Any] = {}
    qualities = [float(end) for end in given["quality_range"]]
    if ceiling is not None and given["told_prices"]:
        weights = {arm: own.weights for arm, own in models.prices.items()}
        guardrails = [Guardrail("dollars", at_most=ceiling, relative=relative, weights=weights)]
        tokens = {
            "input_tokens": {arm: [0.0, own.longest_input] for arm, own in models.prices.items()},
            "output_tokens": {arm: [0.0, own.longest_output] for arm, own in models.prices.items()},
        }
        told = {"signals": {name: {"range": own} for name, own in tokens.items()}}
        reward: dict[str, Any] = {"range": qualities}
    elif ceiling is not None:
        ranges = {arm: [0.0, most] for arm, most in worst.items()}
        ranges = ranges if policies is None else policies.ranges(ranges)
        guardrails = [Guardrail("dollars", at_most=ceiling, range=ranges, over=given["over"], **known)]
        reward = {"range": qualities}
    else:
        guardrails = [Guardrail("quality", at_least=given["floor"], range=qualities, **known)]
        reward = {"range": {arm: [-most, 0.0] for arm, most in worst.items()}}
    if given["slow_after"] is not None:
        guardrails.append(Guardrail("slow", at_most=given["slow_at_most"]))
    arms = list(models.deployments) if policies is None else policies.names
    declared = {"arms": arms, "safe": models.safe, "guardrails": guardrails, "reward": reward}
    return {**declared, **told, **({} if given["features"] is None else {"context": given["features"]})}


def agent_of(given: Arguments) -> tuple[type[Agent], dict[str, Any]]:
    """Returns the agent that is made, and its parameters beside the declaration's."""
    parameters = {} if given["on_breach"] is None else {"on_breach": given["on_breach"]}
    if given["context"] is not None and given["policies"] is None:
        return Oplb, {"model": "per_arm", "parameter_norm": float(given["parameter_norm"]), **parameters}
    return (Opb if given["segment"] is None else Segmented), parameters
