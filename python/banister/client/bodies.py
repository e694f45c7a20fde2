"""Bodies of requests to the decision service, from Python's objects."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike

from .._agent import Agent
from .._agent import declaration as agent_declaration
from .._features import Features, given_as_context
from .._guardrail import GuardrailLike, RewardLike, listed
from .answers import DecisionMethods
from .codec import number, numbers, plain

if TYPE_CHECKING:
    from typing_extensions import Unpack

ArmsLike: TypeAlias = Sequence[str] | Sequence[Mapping[str, Any]] | Mapping[str, ArrayLike]
"""Names of arms; or dictionaries with `name` and `features`; or features by name."""

AgentLike: TypeAlias = str | Mapping[str, Any] | type[Agent] | Agent
"""A kind of agent, such as "opb"; a dictionary with its `kind` and parameters; or an agent, whose
parameters are taken."""

CostsLike: TypeAlias = float | Sequence[float] | Mapping[str, float]
"""Costs by guardrail; with a decision at hand also a sequence in the order of the guardrails, or the
number of a single one."""


SegmentLike: TypeAlias = str | Mapping[str, str]
"""A segment by name; or a value of every field, where segments are made from fields."""

SegmentsLike: TypeAlias = Sequence[str] | Mapping[str, Any]
"""Names of segments; or a dictionary with the `fields` they are made from, and those `known`."""


BudgetLike: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A budget, with `amount` and `per`; or several with different periods."""


class Declaration(TypedDict, total=False):
    """The declaration of an experiment, beside its name."""

    arms: ArmsLike | None
    safe: str | None
    guardrails: GuardrailLike | Sequence[GuardrailLike]
    context: int | Features | Mapping[str, Mapping[str, Any]] | None
    dimension: int | None
    safe_action: ArrayLike | None
    segments: SegmentsLike | None
    reward: RewardLike | None
    signals: Mapping[str, Any] | None
    confidence: float | None
    agent: AgentLike | None
    description: str
    shadow: bool
    ttl_seconds: float | None
    default_outcome: Mapping[str, Any] | None
    budgets: Mapping[str, BudgetLike] | None
    unit: Mapping[str, Any] | None
    stop_when: Mapping[str, float] | None
    rollout: Mapping[str, Any] | None
    flag: Mapping[str, Any] | None
    a_a: bool


#: Most entries of a batch that the service takes by default, and half of the longest body.
MOST_ENTRIES, MOST_BYTES = 1000, 2**20


class _Unchanged:
    """Stands for an omitted argument where None has a meaning."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Any = _Unchanged()


def segment(text: str, argument: str) -> str:
    """Returns a name as a part of a path."""
    if not isinstance(text, str):
        raise TypeError(f"`{argument}` is {text!r} ({type(text).__name__}): must be a str")
    if not text:
        raise ValueError(f"`{argument}` is empty: must have a character")
    # Dots alone would be taken for steps in the path.
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


def declaration(name: str, **given: Unpack[Declaration]) -> dict[str, Any]:
    """Returns an experiment's declaration, without what has its default."""
    unknown = given.keys() - Declaration.__annotations__.keys()
    if unknown:
        raise TypeError(f"an experiment has no `{min(unknown)}`")
    segment(name, "name")
    arms = _arms(given.get("arms"))
    safe = given.get("safe")
    if safe is None and arms:
        safe = arms[0] if isinstance(arms[0], str) else arms[0].get("name")
    fields = {
        **given,
        "name": name,
        "arms": arms,
        "context": given_as_context(given.get("context")),
        "safe": safe,
        "guardrails": listed(given.get("guardrails")),
        "agent": _agent(given.get("agent")),
        "description": given.get("description") or None,
        "shadow": given.get("shadow") or None,
    }
    return {key: plain(value, key) for key, value in fields.items() if value is not None}


def _arms(arms: ArmsLike | None) -> list[Any] | None:
    if arms is None:
        return None
    if isinstance(arms, (str, bytes, int)):
        raise TypeError(f"`arms` is {arms!r}: must be a list of names")
    if isinstance(arms, Mapping):
        named = arms.items()
        return [{"name": arm, "features": numbers(row, f"arms[{arm!r}]")} for arm, row in named]
    every = list(plain(arms, "arms"))
    for arm in every:
        if not isinstance(arm, (str, Mapping)):
            raise TypeError(f"`arms` has {arm!r}: arms of the service have text as names, such as {str(arm)!r}")
    return every


def _agent(agent: AgentLike | None) -> Mapping[str, Any] | None:
    declared = agent_declaration(agent)
    if declared is None or isinstance(declared, Mapping):
        return declared
    raise TypeError(f"`agent` is {agent!r}: must be a kind of agent, or a dictionary with `kind`")


def change(**fields: Any) -> dict[str, Any]:
    """Returns the fields of a change that are given."""
    given = {key: plain(value, key) for key, value in fields.items() if value is not UNCHANGED}
    if not given:
        raise TypeError("nothing to change: give at least one argument")
    return given


def decision_request(
    *,
    id: str | None = None,
    unit: str | None = None,
    context: ArrayLike | Mapping[str, object] | None = None,
    actions: Any = None,
    segment: SegmentLike | None = None,
    taken: str | None = None,
    propensity: float | None = None,
) -> dict[str, Any]:
    """Returns a request for a decision. It always has an id or a unit: to ask again is to ask for the same decision."""
    if id is not None and not isinstance(id, str):
        raise TypeError(f"`id` is {id!r} ({type(id).__name__}): must be a str")
    fields = {
        "id": uuid.uuid4().hex if id is None and unit is None else id,
        "unit": unit,
        "context": None if context is None else _context(context),
        "actions": None if actions is None else _actions(actions),
        "segment": None if segment is None else _segment(segment),
        "taken": taken,
        "propensity": None if propensity is None else number(propensity, "propensity"),
    }
    return {key: value for key, value in fields.items() if value is not None}


def _context(context: ArrayLike | Mapping[str, object]) -> list[float] | dict[str, object]:
    if not isinstance(context, Mapping):
        return numbers(context, "context")
    # Gaps in tables are NaN: the service knows them as null.
    row = {str(name): None if value != value else value for name, value in context.items()}
    return {name: plain(value, f"context.{name}") for name, value in row.items()}


def _segment(segment: SegmentLike) -> str | dict[str, str]:
    if isinstance(segment, str):
        return segment
    if not isinstance(segment, Mapping):
        raise TypeError(f"`segment` is {segment!r} ({type(segment).__name__}): must be a str, or a dict of them")
    for field, value in segment.items():
        if not isinstance(value, str):
            raise TypeError(f"`segment[{field!r}]` is {value!r} ({type(value).__name__}): must be a str")
    return {str(field): value for field, value in segment.items()}


def _actions(actions: Any) -> list[Any]:
    if isinstance(actions, Mapping):
        return [{"name": str(name), "features": numbers(row, f"actions[{name!r}]")} for name, row in actions.items()]
    if not isinstance(actions, (Sequence, np.ndarray)) or isinstance(actions, str):
        raise TypeError(f"`actions` is {type(actions).__name__}: must be rows of features, or features by name")
    return [
        plain(row, f"actions[{i}]") if isinstance(row, Mapping) else numbers(row, f"actions[{i}]")
        for i, row in enumerate(actions)
    ]


def decision_requests(requests: int | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns requests for many decisions: their number, or the arguments of each."""
    if isinstance(requests, (int, np.integer)):
        if requests < 0:
            raise ValueError(f"`requests` is {requests}: must be at least 0")
        return [decision_request() for _ in range(int(requests))]
    return [located(lambda one=one: decision_request(**one), f"requests[{i}]") for i, one in enumerate(requests)]


def located(make: Any, where: str) -> Any:
    """Calls `make`; an error of it says where."""
    try:
        return make()
    except (TypeError, ValueError) as error:
        raise type(error)(f"in `{where}`: {error}") from None


def decision_of(decision: DecisionMethods | str, id: str | None) -> tuple[str, str]:
    """Returns the experiment and the id of a decision that is given, or of both."""
    if isinstance(decision, DecisionMethods):
        if id is not None:
            raise TypeError(f"`id` is {id!r}: the decision that is given has one already")
        return decision.experiment, decision.id
    if id is None:
        raise TypeError("`id` is missing: give a decision, or an experiment and the id")
    return decision, id


def outcome_report(
    decision: DecisionMethods | str = "",
    *,
    unit: str | None = None,
    report: str | None = None,
    reward: float | None = None,
    costs: CostsLike | None = None,
    signals: Mapping[str, float] | None = None,
    taken: str | None = None,
) -> dict[str, Any]:
    """Returns a report of an outcome, or of a part of it; one on a unit has an id, so that it counts once."""
    if not isinstance(decision, (DecisionMethods, str)):
        raise TypeError(f"`decision` is {decision!r} ({type(decision).__name__}): must be a decision or its id")
    which = decision if isinstance(decision, str) else decision.id
    body: dict[str, Any] = {}
    if reward is not None:
        body["reward"] = number(reward, "reward")
    if costs is not None:
        body["costs"] = _costs(decision, costs)
    if signals is not None:
        body["signals"] = {str(key): number(value, f"signals[{key!r}]") for key, value in signals.items()}
    if taken is not None:
        body["taken"] = taken
    if not body:
        raise TypeError("nothing to report: give `reward`, `costs` or both")
    if report is not None or unit is not None or "#" in which:
        body["report"] = uuid.uuid4().hex if report is None else report
    return body | ({"decision": which} if unit is None else {"unit": unit})


def _costs(decision: DecisionMethods | str, costs: CostsLike) -> dict[str, float]:
    if isinstance(costs, Mapping):
        return {str(key): number(cost, f"costs[{key!r}]") for key, cost in costs.items()}
    if isinstance(decision, str):
        raise TypeError(f"`costs` is {costs!r}: with the id alone, must be a dictionary by guardrail")
    names = [guardrail.name for guardrail in decision.certificate.guardrails]
    row = np.atleast_1d(np.asarray(costs)).tolist()
    if len(row) != len(names):
        raise ValueError(
            f"`costs` has {len(row)} entries, expected {len(names)}: one per guardrail ({', '.join(names)})"
        )
    pairs = zip(names, row, strict=True)
    return {name: number(cost, f"costs[{name!r}]") for name, cost in pairs}


def outcome_reports(outcomes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns reports of many outcomes, from dictionaries with the arguments of each."""
    return [located(lambda one=one: outcome_report(**one), f"outcomes[{i}]") for i, one in enumerate(outcomes)]


def pieces(entries: Iterable[dict[str, Any]]) -> Iterator[list[bytes]]:
    """Yields entries of a batch as JSON, n at a time, as many as the service takes in one request."""
    piece: list[bytes] = []
    size = 0
    for entry in entries:
        text = json.dumps(entry, allow_nan=False).encode()
        if piece and (len(piece) == MOST_ENTRIES or size + len(text) > MOST_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(text)
        size += len(text) + 1
    if piece:
        yield piece
