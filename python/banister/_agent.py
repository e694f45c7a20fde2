"""The base class of all agents: snapshots, logged data, and the methods of scikit-learn."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from . import _html, _native
from ._features import Features, by_name
from ._tables import lift_columns
from ._types import ContextsLike, CostsLike, SegmentsLike
from .offline import replays
from .offline.log import LogLike

A = TypeVar("A", bound="Agent")

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lambda: _native._forked(False), after_in_child=lambda: _native._forked(True))

#: The class of each kind of agent; filled from the registry.
CLASSES: dict[str, type[Agent]] = {}


@dataclass(frozen=True)
class Alarm:
    """An alarm: an assumption that certificates rest on is false, at the level of its test."""

    #: "breach" (the decisions' observed costs are above the threshold), "breach_warning" (they may be,
    #: on evidence that is not enough to act on: a warning), "refuted" (an arm's cost lies beyond its
    #: interval: its mean changed), "changed" (its reward does, or its cost where nothing rests on it: a warning, and it
    #: is learned anew), "drift" (its mean moves faster than declared), "safe_cost" (the safe action costs other
    #: than was declared), "model_refuted" (a part of the outcomes costs other than the model of the
    #: features allows), "range" (a cost lies outside its declared range), "reward_range" (a reward
    #: does: a warning), "missing" (outcomes are missing more often in a segment, or of some arms, than
    #: elsewhere: a warning) or "segments" (nearly as many names of segments were seen as there is room
    #: for: a warning).
    kind: Literal[
        "breach", "breach_warning", "refuted", "changed", "drift", "safe_cost", "model_refuted", "range",
        "reward_range", "missing", "segments",
    ]  # fmt: skip
    #: The guardrail that it is about; None if it is about none.
    guardrail: str | None
    #: The arm that it is about, by name or number; None if it is about all decisions.
    arm: Any
    #: Outcomes taken when it was raised.
    outcome: int
    #: Outcomes that the evidence rests on; of segments the number of names.
    outcomes: int
    #: Mean of the guardrail's signal over those; of a signal outside its range, the value reported.
    mean: float
    #: Strength of the evidence as a likelihood ratio.
    evidence: float
    #: True if the safe action is forced until `agent.acknowledge()`.
    forces_safe: bool
    #: All of it in a sentence.
    message: str
    #: The segment that it is about; None if it is about all of them.
    segment: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the alarm as a dictionary of plain values."""
        return asdict(self)


class Agent(_native.Agent):
    """An agent: decides, observes, learns. Make one with its class, such as `banister.Opb`.

    Agents may be used from several threads at once; each call does its work alone.
    """

    #: Its name in declarations: "opb".
    kind: ClassVar[str]
    #: The guarantee about its guardrails, with probability 1 − delta: "every_round" (every policy
    #: keeps them in expectation), "per_action" (every single action played does), "cumulative" (they
    #: are kept on average over rounds; single ones may break them) or "unsafe" (nothing).
    guarantee: ClassVar[str]
    #: True if it is for actions with features, which may be others in every round.
    takes_features: ClassVar[bool]

    def __new__(cls: type[A], arms: object = None, **parameters: Any) -> A:
        if isinstance(parameters.get("features"), Features):
            raise TypeError("`features` is a Features, which describes contexts: give it as `context`")
        return super().__new__(cls, arms=arms, **parameters)

    @property
    def features(self) -> Features | None:
        """The Features that contexts are made with; None for agents whose contexts have no names."""
        return None if self._fields is None else Features(self._fields)

    # What arms are worth

    def lift(self) -> dict[str, Any]:
        """Returns the lift of every arm over the safe one: a dictionary of columns, one row per arm and signal.

        `pandas.DataFrame(agent.lift())` shows it. Each interval of `difference` by itself, and with it that in percent,
        holds at all times with probability `confidence`. Signals that drift, and agents other than `Opb`, have none.

        >>> import banister
        >>> agent = banister.Opb(["control", "bold"], delta=0.05)
        >>> agent.observe_batch(["control", "bold"] * 500, [0.2, 0.5] * 500)
        >>> lift = agent.lift()
        >>> lift["arm"], lift["signal"], lift["difference"].round(2).tolist()
        (['bold'], ['reward'], [0.3])
        >>> bool(lift["difference_lower"][0] > 0.2), bool(lift["percent_upper"][0] < 250)
        (True, True)
        """
        return lift_columns(self._lifts(), self.arms)

    def worth_left(self) -> dict[str, Any] | None:
        """Returns a bound on the worth of learning on; None from agents other than `Opb`, and where nothing is proven.

        A dictionary of `per_decision` (at most this much more reward than `guaranteed`), `guaranteed`, `at_most`,
        `policy` (which has the guaranteed reward, from arm to probability) and `confidence`. Means must not drift, and
        the safe arm must have a margin.

        >>> import banister
        >>> agent = banister.Opb(["control", "bold"])
        >>> agent.observe_batch(["control", "bold"] * 500, [0.2, 0.5] * 500)
        >>> left = agent.worth_left()
        >>> left["policy"], 0 < left["per_decision"] < 0.1
        ({'bold': 1.0}, True)
        >>> agent.settle()
        >>> agent.is_settled, agent.decide().policy
        (True, {'bold': 1.0})
        """
        left, arms = self._worth_left(), self.arms
        return left and {**left, "policy": {arms[arm]: p for arm, p in left["policy"]}}

    # Snapshots

    def save(self, path: str | os.PathLike[str] | None = None) -> str:
        """Returns the whole state as JSON, also written to `path` if given: all of it, or nothing.

        A loaded agent goes on as if it had not stopped, also in what it draws.
        """
        text = self.to_json()
        if path is not None:
            target = Path(path)
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(name, target)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        return text

    @classmethod
    def load(cls: type[A], source: str | os.PathLike[str]) -> A:
        """Restores an agent of this class as `save` left it: from a path, or the JSON itself."""
        text = _text(source)
        if not hasattr(cls, "kind"):
            return load(text)  # type: ignore[return-value]
        return cls._restored(text)

    @classmethod
    def _restored(cls: type[A], text: str) -> A:
        return super().__new__(cls, _snapshot=text)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, (type(self), self.to_json()), getattr(self, "__dict__", None) or None)

    def __copy__(self: A) -> A:
        copied = self._restored(self.to_json())
        copied.__dict__.update(self.__dict__)
        return copied

    def __repr__(self) -> str:
        guardrails = ", ".join(self.guardrails)
        return f"{type(self).__name__}({len(self.arms)} arms, guardrails=[{guardrails}], outcomes={self.outcomes})"

    def _repr_html_(self) -> str:
        return _html.agent(self)

    # Logged data

    def warm_start(self, log: LogLike, *, frequencies: Literal["unknown", "same"] = "unknown") -> replays.WarmStart:
        """Learns every outcome of a log. See `banister.offline.warm_start`."""
        return replays.warm_start(self, log, frequencies=frequencies)

    # For people who come from MABWiser and scikit-learn

    def fit(
        self: A,
        decisions: object,
        rewards: ArrayLike,
        costs: CostsLike | None = None,
        contexts: ContextsLike | None = None,
        segments: SegmentsLike | None = None,
    ) -> A:
        """Forgets everything, then learns from outcomes.

        Arms by name or number are taken for another policy's choices: they raise no alarm of a breach.
        `costs`: one column per guardrail, as an array, a dictionary of columns or a table; a plain column
        for a single one. `contexts` (agents made with `context=`) and `segments` (`Segmented`): one row per
        outcome. Segments of outcomes by name or number are not counted: their frequencies may be others.
        """
        # On a copy first: outcomes that are refused must not cost what was learned before.
        trial = self.__copy__()
        trial.reset()
        outcomes: dict[str, Any] = {"contexts": contexts, "segments": segments, "_is_logged": True}
        trial.observe_batch(decisions, rewards, costs, **outcomes)
        # A table that contradicts the declaration is a mistake; what happens later is an alarm.
        for alarm in trial.alarms:
            if alarm.kind in ("range", "reward_range"):
                raise ValueError(alarm.message)
        self.reset()
        self.observe_batch(decisions, rewards, costs, **outcomes)
        return self

    def partial_fit(
        self: A,
        decisions: object,
        rewards: ArrayLike,
        costs: CostsLike | None = None,
        contexts: ContextsLike | None = None,
        segments: SegmentsLike | None = None,
    ) -> A:
        """Learns from more outcomes: `observe_batch`."""
        self.observe_batch(decisions, rewards, costs, contexts=contexts, segments=segments)
        return self

    def predict(self, contexts: ContextsLike | None = None, segments: SegmentsLike | None = None) -> Any:
        """Returns an action, drawn from the policy; a list of them for many contexts or segments.

        `contexts`: one row per decision, for agents made with `context=`; for other linear agents features
        of shape (rounds, actions, features). `segments` (`Segmented`): one, or one per decision.
        Where outcomes come late, `decide` is better: its `Decision` says what they are of.
        """
        if segments is not None or self._segment_fields is not None:
            is_one = self._is_one_segment(segments)
            actions = self._pick(contexts=contexts, segments=[segments] if is_one else segments)
            return actions[0] if is_one else actions
        given = self._as_numbers(contexts)
        shape: tuple[int, ...] = np.shape(given) if given is not None else ()
        if self.context is not None:
            rows = [given] if len(shape) == 1 else given
            actions = self._pick(contexts=rows)
            return actions[0] if len(shape) == 1 else actions
        if contexts is None:
            return self._pick(size=1)[0]
        if self.takes_features and len(shape) == 2:
            raise ValueError(
                f"`contexts` has shape {shape}: {shape[0]} actions of one round, or {shape[0]} rounds? "
                "For one decision among actions use `decide(actions=contexts).action`; for one per "
                "row make the agent with `context=` and named arms, or give (rounds, actions, features)"
            )
        return self._pick(actions=given)

    def _pick(self, **rounds: Any) -> list[Any]:
        """Draws actions whose outcomes come by name or number."""
        return self.decide_batch(**rounds, _is_kept=False).actions

    def predict_expectations(self, contexts: ContextsLike | None = None, segments: SegmentsLike | None = None) -> Any:
        """Returns the estimated mean reward of every arm; NaN for one that was never played.

        `contexts`, for agents made with `context=`: one context, or one row each and then a list comes back.
        `segments`, for `Segmented`, the same.
        """
        if segments is not None or self._segment_fields is not None:
            if segments is None or self._is_one_segment(segments):
                return self._expectations(segments)
            return [self._expectations(name) for name in self._segment_names(segments)]
        if self.context is None:
            if contexts is not None:
                raise TypeError("`contexts` is for agents made with `context=`")
            return self._expectations()
        if contexts is None:
            raise TypeError("`contexts` is missing: what an arm of this agent earns depends on the context")
        given = self._as_numbers(contexts)
        rows = np.atleast_2d(np.asarray(given, dtype=float))
        # A copy: the actions on offer are another decision's business.
        asked = copy.copy(self)
        found = []
        for row in rows:
            asked.decide(context=row)
            found.append(asked._expectations())
        return found[0] if np.ndim(given) == 1 else found

    def _as_numbers(self, contexts: ContextsLike | None) -> Any:
        """Returns contexts as numbers: one that comes by name as a vector, a table as rows."""
        features = self.features
        if features is None or contexts is None:
            return contexts
        is_row = hasattr(contexts, "keys") and not hasattr(contexts, "columns")
        if is_row and not any(np.ndim(value) for value in dict(cast("Any", contexts)).values()):
            return features._fields.vector(contexts, "contexts")
        return by_name(features._fields, contexts, "contexts")

    def _is_one_segment(self, segments: object) -> bool:
        if isinstance(segments, Mapping):
            return not any(np.ndim(value) for value in segments.values())
        return isinstance(segments, (str, int, np.integer)) or bool(
            self._segment_fields and isinstance(segments, tuple)
        )

    def _expectations(self, segment: Any = None) -> dict[Any, float]:
        table = self.estimates(segment)
        return dict(zip(table["arm"], table["reward_mean"].tolist(), strict=True))


def _unpickled(cls: type[A], text: str) -> A:
    return cls._restored(text)


def _text(source: str | os.PathLike[str]) -> str:
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source
    return Path(source).read_text(encoding="utf-8")


def load(source: str | os.PathLike[str]) -> Agent:
    """Restores any agent as `save` left it: from a path, or the JSON itself.

    >>> import banister
    >>> agent = banister.Opb(3, seed=1)
    >>> agent.observe(2, reward=1.0)
    >>> banister.load(agent.save()).outcomes
    1
    """
    text = _text(source)
    return CLASSES[_native.Agent._kind_of(text)]._restored(text)


def agents() -> dict[str, type[Agent]]:
    """Returns every kind of agent there is, each with its class.

    >>> import banister
    >>> banister.agents()["opb"] is banister.Opb
    True
    >>> banister.Opb.guarantee, banister.Opb.takes_features
    ('every_round', False)
    """
    return dict(CLASSES)


def declaration(agent: object) -> Any:
    """Returns what declares an agent: a dictionary for its kind, its class or one like it; others as they are."""
    if isinstance(agent, str) or (isinstance(agent, type) and issubclass(agent, Agent)):
        return {"kind": getattr(agent, "kind", agent)}
    return agent.config if isinstance(agent, Agent) else agent
