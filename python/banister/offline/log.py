"""Logged rounds: from frames of any library, or from an Open Bandit Pipeline dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _native
from .._features import Features
from .._tables import Table, is_missing, numbers

Arm: TypeAlias = str | int
"""An arm's name, or its number."""


@dataclass(frozen=True, repr=False, eq=False)
class Log:
    """Logged rounds: in each, a logging policy played an arm, and a reward and costs came back.

    Make one with `Log.from_frame` or `Log.from_obp`; columns that are contiguous doubles already are
    not copied. Everything is checked here once: no NaN, no probability outside (0, 1].

    >>> import banister
    >>> log = banister.offline.Log.from_frame(
    ...     {
    ...         "action": ["control", "bold", "bold"],
    ...         "reward": [0.0, 1.0, 1.0],
    ...         "complaints": [0.0, 0.0, 1.0],
    ...         "pscore": [0.5, 0.5, 0.5],
    ...     },
    ...     costs=["complaints"],
    ...     arms=["control", "bold"],
    ... )
    >>> log
    Log(3 rounds, arms=[control, bold], costs=[complaints])
    """

    #: Names of the arms, in the order of their numbers.
    arms: tuple[Arm, ...]
    #: The number of the arm played in each round.
    indices: NDArray[np.uintp]
    #: The reward of each round.
    rewards: NDArray[np.float64]
    #: One row per round, one column per guardrail.
    costs: NDArray[np.float64]
    #: Names of the columns of `costs`.
    guardrails: tuple[str, ...]
    #: The probability with which the arm was played; None if it is not known.
    pscores: NDArray[np.float64] | None = None
    #: Context of each round, one row per round.
    context: NDArray[np.float64] | None = None
    #: Features of all actions of each round: (rounds, arms, features).
    offered: NDArray[np.float64] | None = None
    #: True if the logging policy learned from these outcomes, as an agent does.
    adaptive: bool = False
    #: The place on a page where the arm of each round was shown, from 0; None if there is one place.
    positions: NDArray[np.intp] | None = None
    #: The segment of users or requests of each round; None if there are none.
    segments: tuple[str, ...] | None = None
    #: The request of each round, where several arms answered one; None if every round is one.
    requests: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for kind, names in (("arms", self.arms), ("costs", self.guardrails)):
            if len(set(names)) < len(names):
                raise ValueError(f"`{kind}` is {list(names)}: each name may occur only once")
        if "reward" in self.guardrails:
            raise ValueError("`costs` has a guardrail called 'reward': the reward is called so")
        _native.check_log(self)

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        action: str = "action",
        reward: str = "reward",
        costs: str | Sequence[str] | Mapping[str, str] = (),
        pscore: str | None = "pscore",
        features: Sequence[str] | Features | None = None,
        offered: ArrayLike | None = None,
        arms: int | Sequence[Arm] | None = None,
        adaptive: bool = False,
        segment: str | Sequence[str] | None = None,
        request: str | None = None,
    ) -> Log:
        """Returns a log from the columns of a table.

        Parameters:
            frame: a pandas or polars DataFrame, a dictionary of columns, or anything with
                `__arrow_c_stream__`, such as a pyarrow Table.
            action: the column with the arm played: names, or numbers 0, 1, ...
            reward: the column with the reward.
            costs: the columns with the costs, or a dictionary from guardrails to columns.
            pscore: the column with the probability of the arm played, given what was known; None if
                it was not logged. Only a warm start and the direct method can do without.
            features: columns of numbers that were known before the arm was chosen, or `Features` of them.
            offered: instead, the features of all arms in all rounds: (rounds, arms, features).
            arms: all arms in their order, or how many there are. By default the names that occur,
                sorted, or the numbers from 0 to the largest.
            adaptive: whether the logging policy learned from these outcomes, as an agent does. Rows
                must then be in the order of the decisions, and only "mixture" intervals decide.
            segment: the column with the segment of users or requests, which was known before the arm was
                chosen, or the columns of the fields that make it. Evaluations are then by segment too, and
                warm starts and replays tell it to the agent.
            request: the column with the request, where several arms answered one: its rows stand together. A warm
                start counts its segment once.
        """
        table = Table(frame)
        indices, labels = _numbered(table.column(action, "action"), f"column {action!r}", arms)
        names = _cost_columns(costs)
        columns = [table.numbers(column, f"costs[{name!r}]") for name, column in names.items()]
        return cls(
            arms=labels,
            indices=indices,
            rewards=table.numbers(reward, "reward"),
            costs=_stacked(columns, len(indices)),
            guardrails=tuple(names),
            pscores=None if pscore is None else table.numbers(pscore, "pscore"),
            context=_context(table, frame, features, offered),
            offered=None if offered is None else numbers(offered, "offered"),
            adaptive=adaptive,
            segments=None if segment is None else _segments(table, segment),
            requests=None if request is None else tuple(map(str, table.values(request, "request"))),
        )

    @classmethod
    def from_obp(
        cls,
        bandit_feedback: Mapping[str, Any] | Any,
        *,
        costs: ArrayLike | Mapping[str, ArrayLike] | None = None,
        arms: Sequence[Arm] | None = None,
        position: int | None = None,
        adaptive: bool = False,
    ) -> Log:
        """Returns a log from the dictionary that Open Bandit Pipeline calls `bandit_feedback`.

        `context` becomes the features. A row is a round, also where a page shows several arms at
        once: the arm at one position, with its probability there. Estimates are then means per arm
        shown, right if an outcome does not depend on the other arms of the page.

        Parameters:
            bandit_feedback: what `obtain_batch_bandit_feedback` returns, or obp's dataset itself, such as
                `OpenBanditDataset(behavior_policy="random", campaign="all")`.
            costs: obp has none. An array of shape (n_rounds,) or (n_rounds, m), called "cost" or
                "cost_0", "cost_1", ..., or a dictionary by name.
            arms: names of the actions, in their order.
            position: keeps the rounds of one position, from 0.
            adaptive: as in `from_frame`. Open Bandit's "bts" learned, its "random" did not.

        >>> import banister
        >>> import numpy as np
        >>> feedback = {
        ...     "n_rounds": 2, "n_actions": 2, "context": np.ones((2, 1)), "action_context": None,
        ...     "action": np.array([0, 1]), "position": None, "reward": np.array([0, 1]),
        ...     "expected_reward": None, "pscore": np.array([0.5, 0.5]),
        ... }
        >>> banister.offline.Log.from_obp(feedback, costs={"spend": [0.1, 0.3]})
        Log(2 rounds, arms=[0, 1], costs=[spend], context of 1)
        """
        obtain = getattr(bandit_feedback, "obtain_batch_bandit_feedback", None)
        if obtain is not None:
            bandit_feedback = obtain()
        if not isinstance(bandit_feedback, Mapping):
            raise TypeError(
                f"`bandit_feedback` is {type(bandit_feedback).__name__}: must be the dictionary of "
                "obp's `obtain_batch_bandit_feedback`, or its dataset"
            )
        table = Table(bandit_feedback, "bandit_feedback")
        actions = table.column("action", "action")
        count = _scalar(bandit_feedback, "n_actions")
        if arms is not None and len(arms) != count:
            raise ValueError(f"`arms` has {len(arms)} entries, expected {count}: one per action")
        known = count if arms is None else arms
        indices, labels = _numbered(actions, "`bandit_feedback['action']`", known, by_number=True)
        named = _named_costs(costs, len(indices))
        context = bandit_feedback.get("context")
        log = cls(
            arms=labels,
            indices=indices,
            rewards=table.numbers("reward", "reward"),
            costs=_stacked(list(named.values()), len(indices)),
            guardrails=tuple(named),
            pscores=None if bandit_feedback.get("pscore") is None else table.numbers("pscore", "pscore"),
            context=None if context is None else numbers(context, "context"),
            adaptive=adaptive,
            positions=_positions(bandit_feedback.get("position"), len(indices)),
        )
        return log if position is None else log._at(position)

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        parts = [
            f"{len(self):,} rounds",
            f"arms=[{_short(self.arms)}]",
            f"costs=[{_short(self.guardrails)}]",
        ]
        if self.pscores is None:
            parts.append("no pscores")
        if self.adaptive:
            parts.append("adaptive")
        if self.positions is not None:
            parts.append(f"{len(np.unique(self.positions))} positions")
        if self.segments is not None:
            parts.append(f"{len(set(self.segments))} segments")
        if self.context is not None:
            parts.append(f"context of {self.context.shape[1]}")
        if self.offered is not None:
            parts.append(f"{self.offered.shape[2]} features per action")
        return f"Log({', '.join(parts)})"

    def number(self, arm: object, argument: str = "arm") -> int:
        """Returns the number of an arm, given its name or its number.

        >>> import banister
        >>> frame = {"action": ["a", "b"], "reward": [0, 1]}
        >>> banister.offline.Log.from_frame(frame, pscore=None).number("b")
        1
        """
        if isinstance(arm, np.generic):
            arm = arm.item()
        if arm in self.arms and not isinstance(arm, bool):
            return self.arms.index(arm)
        if isinstance(arm, int) and not isinstance(arm, bool) and isinstance(self.arms[0], str):
            if 0 <= arm < len(self.arms):
                return arm
            raise ValueError(f"`{argument}` is {arm}: arms are numbered 0 to {len(self.arms) - 1}")
        if isinstance(arm, (str, int)) and not isinstance(arm, bool):
            raise ValueError(f"`{argument}` is {arm!r}: the log's arms are {_short(self.arms)}")
        raise TypeError(f"`{argument}` is {arm!r} ({type(arm).__name__}): must be the name of an arm or its number")

    def with_costs(self, names: Sequence[str]) -> Log:
        """Returns the same rounds with these costs alone, in this order."""
        if tuple(names) == self.guardrails:
            return self
        places = [self.guardrails.index(name) for name in names]
        costs = np.ascontiguousarray(self.costs[:, places])
        return replace(self, costs=costs, guardrails=tuple(names))

    def _at(self, position: int) -> Log:
        """Returns the rounds of one position."""
        own = self.positions == position if self.positions is not None else np.full(len(self), position == 0)
        if not own.any():
            known = "0" if self.positions is None else _short(np.unique(self.positions).tolist())
            raise ValueError(f"`position` is {position!r}: `bandit_feedback['position']` has {known}")
        return replace(
            self,
            indices=self.indices[own],
            rewards=self.rewards[own],
            costs=self.costs[own],
            pscores=None if self.pscores is None else self.pscores[own],
            context=None if self.context is None else self.context[own],
            positions=None if self.positions is None else self.positions[own],
        )


def _segments(table: Table, segment: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the segment of each row; of several columns, as agents with these fields name it."""
    if isinstance(segment, str):
        return _words(table.values(segment, "segment"), segment)
    fields = [_words(table.values(column, "segment"), column) for column in segment]
    escaped = [[value.replace("\\", "\\\\").replace(",", "\\,") for value in words] for words in fields]
    rows = zip(*escaped, strict=True)
    return tuple(", ".join(f"{name}={value}" for name, value in zip(segment, row, strict=True)) for row in rows)


def _words(values: Sequence[object], column: str) -> tuple[str, ...]:
    for row, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(
                f"`segment` (column {column!r}) is {value!r} ({type(value).__name__}) in row {row}: must be a str"
            )
    return tuple(str(value) for value in values)


def _short(names: Sequence[object]) -> str:
    shown = [str(name) for name in names[:8]]
    return ", ".join(shown if len(names) <= 8 else [*shown, f"… {len(names)} in all"])


def _numbered(
    values: NDArray[Any], where: str, arms: int | Sequence[Arm] | None, by_number: bool = False
) -> tuple[NDArray[np.uintp], tuple[Arm, ...]]:
    """Returns the arm of each row as a number, and the names of the arms."""
    missing = is_missing(values)
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(f"`action` ({where}) is missing in row {row}: drop rows without an arm")
    if isinstance(arms, (str, bytes)):
        raise TypeError(f"`arms` is {arms!r}: must be a number or a list of arms")
    listed = None if arms is None or isinstance(arms, (int, np.integer)) else tuple(arms)
    if listed is not None and not listed:
        raise ValueError("`arms` is empty: must have an arm")
    kinds = {type(value) for value in values.tolist()} if values.dtype.kind == "O" else set()
    is_text = values.dtype.kind in "UT" or kinds == {str}
    is_whole = values.dtype.kind in "iu" or kinds == {int}
    if is_whole and (listed is None or by_number):
        return _by_number(values, where, len(listed) if listed is not None else arms, listed)
    if not (is_text or is_whole):
        example = values.tolist()[0] if len(values) else None
        raise TypeError(
            f"`action` ({where}) has values like {example!r} ({type(example).__name__}): must be names "
            "or numbers of arms"
        )
    found, inverse = np.unique(values.astype(str) if is_text else values, return_inverse=True)
    labels = tuple(found.tolist())
    if listed is None:
        if arms is not None and arms != len(labels):
            raise ValueError(f"`arms` is {arms}: {where} has {len(labels)} names, list them all")
        return inverse.astype(np.uintp), labels
    places = {arm: place for place, arm in enumerate(listed)}
    strange = [label for label in labels if label not in places]
    if strange:
        row = int((inverse == labels.index(strange[0])).argmax())
        raise ValueError(f"`action` ({where}) is {strange[0]!r} in row {row}: `arms` are {_short(listed)}")
    order = np.array([places[label] for label in labels], dtype=np.uintp)
    return order[inverse], listed


def _by_number(
    values: NDArray[Any], where: str, count: Any, listed: tuple[Arm, ...] | None
) -> tuple[NDArray[np.uintp], tuple[Arm, ...]]:
    values = values.astype(np.int64, copy=False)
    arms = int(values.max(initial=0)) + 1 if count is None else int(count)
    if arms < 1:
        raise ValueError(f"`arms` is {arms}: must be at least 1")
    wrong = (values < 0) | (values >= arms)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"`action` ({where}) is {values[row]} in row {row}: arms are numbered 0 to {arms - 1}")
    # Not negative, so the same bits are the same numbers.
    indices = np.ascontiguousarray(values).view(np.uint64).astype(np.uintp, copy=False)
    return indices, listed or tuple(range(arms))


def _cost_columns(costs: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(costs, str):
        return {costs: costs}
    if isinstance(costs, Mapping):
        return dict(costs)
    names = list(costs)
    if len(set(names)) < len(names):
        raise ValueError(f"`costs` is {names}: each name may occur only once")
    return {name: name for name in names}


def _named_costs(costs: ArrayLike | Mapping[str, ArrayLike] | None, rounds: int) -> dict[str, NDArray[np.float64]]:
    if costs is None:
        return {}
    if isinstance(costs, Mapping):
        named = {name: numbers(column, f"costs[{name!r}]") for name, column in costs.items()}
    else:
        array = numbers(costs, "costs")
        named = {f"cost_{i}": column for i, column in enumerate(array.T)} if array.ndim == 2 else {"cost": array}
    for name, column in named.items():
        if column.shape != (rounds,):
            raise ValueError(f"`costs` ({name}) has shape {column.shape}, expected ({rounds},): one per round")
    return named


def _stacked(columns: list[NDArray[np.float64]], rounds: int) -> NDArray[np.float64]:
    if not columns:
        return np.empty((rounds, 0))
    if len(columns) == 1:
        return np.ascontiguousarray(columns[0]).reshape(-1, 1)
    return np.column_stack(columns)


def _context(
    table: Table, frame: object, features: Sequence[str] | Features | None, offered: ArrayLike | None
) -> NDArray[np.float64] | None:
    if features is None:
        return None
    if offered is not None:
        raise TypeError("`features` and `offered` are both given: give one of them")
    if isinstance(features, Features):
        return features.transform(frame)
    if isinstance(features, str):
        raise TypeError(f"`features` is {features!r}: must be a list of columns")
    columns = [table.numbers(column, f"features[{column!r}]") for column in features]
    if not columns:
        raise ValueError("`features` is empty: leave it out, or list columns")
    return np.column_stack(columns)


def _positions(position: Any, rounds: int) -> NDArray[np.intp] | None:
    if position is None:
        return None
    values = np.asarray(position)
    where = "`bandit_feedback['position']`"
    if values.shape != (rounds,):
        raise ValueError(f"{where} has shape {values.shape}, expected ({rounds},): one per round")
    if values.dtype.kind not in "iu":
        raise TypeError(f"{where} holds {values.dtype.name}: must be whole numbers")
    if rounds and values.min() < 0:
        row = int(values.argmin())
        raise ValueError(f"{where} is {values[row]} in row {row}: positions are numbered from 0")
    return values.astype(np.intp, copy=False)


def _scalar(feedback: Mapping[str, Any], key: str) -> int:
    value = feedback.get(key)
    if isinstance(value, (int, np.integer)) and value > 0:
        return int(value)
    raise ValueError(f"`bandit_feedback[{key!r}]` is {value!r}: must be a positive integer")


LogLike: TypeAlias = Log | Mapping[str, Any] | Any
"""A `Log`; a frame with the columns action, reward, pscore and one column per guardrail; or obp's
`bandit_feedback`, with the costs as further keys."""


def as_log(log: LogLike, guardrails: Sequence[str], arms: Sequence[Arm] | None = None) -> Log:
    """Returns the log itself, or one from a frame with the usual columns, or from obp's dictionary.

    A guardrail's costs are in the column of its name; those of a single one also in `costs` or `cost`.
    For other columns there is `Log.from_frame`.
    """
    if isinstance(log, Log):
        return log
    table = Table(log, "log")
    costs = _columns_of(table.names, guardrails)
    if isinstance(log, Mapping) and {"n_rounds", "n_actions"} <= set(log):
        values = {name: table.numbers(column, "log") for name, column in costs.items()}
        return Log.from_obp(log, costs=values or None)
    pscore = "pscore" if "pscore" in table.names else None
    named = arms if arms and list(arms) != list(range(len(arms))) else None
    return Log.from_frame(log, costs=costs, pscore=pscore, arms=named)


def _columns_of(columns: Sequence[str], guardrails: Sequence[str]) -> dict[str, str]:
    """Returns the column of each guardrail's costs, as far as there is one."""
    found = {name: name for name in guardrails if name in columns}
    if not found and len(guardrails) <= 1:
        only = [column for column in ("cost", "costs") if column in columns]
        found = {guardrails[0] if guardrails else "cost": column for column in only[:1]}
    return found
