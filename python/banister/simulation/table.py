"""Tables of requests with the outcome of every arm, as environments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._features import Features
from .._guardrail import GuardrailLike


class TableEnvironment:
    """Requests with the outcome of *every* arm: one row is one request.

    An agent sees the outcome of the arm it played; the rest of the row is for the judge. True means are
    the table's, so regret and violations are exact.

    Parameters:
        frame: a pandas or polars frame, an Arrow table, a mapping of columns, or the path of a CSV or
            Parquet file. `"banister:routing"` are the requests to three language models that come with
            the package (see `experiments/routing`).
        rewards: column of each arm's reward, as a list or by arm. `"-COLUMN"` changes the sign.
        costs: columns of each arm's cost, by guardrail; one guardrail needs no name.
        arms: names of the arms; by default those of `rewards`.
        safe: the safe arm, by name or number (the first).
        features: columns of numbers that describe a request, or `Features` of a frame: contexts for linear
            agents. Then true means are not
            known, and reward and costs are those that were drawn.
        segment: column of the request's segment, which `segmented` agents know. True means are then by
            segment.
        declared: True if agents know the segments' names before the first round.
        order: "replacement" (every round draws a row), "shuffled" (every row once, in another order in
            each run) or "as_is".
        log: share of the rows, others in each run, that agents learn from before the first round, with the
            outcomes of all arms.

    Example:
        >>> import banister
        >>> requests = {
        ...     "good_a": [0.2, 0.4, 0.3], "good_b": [0.9, 0.6, 0.9],
        ...     "cents_a": [0.1, 0.1, 0.1], "cents_b": [0.4, 0.5, 0.3],
        ... }
        >>> table = banister.simulation.TableEnvironment(
        ...     requests, rewards={"a": "good_a", "b": "good_b"}, costs={"cents": ["cents_a", "cents_b"]}
        ... )
        >>> table.means()["cents"].round(2).tolist()
        [0.1, 0.4]
        >>> result = banister.simulate(
        ...     table, ["opb"], horizon=500, runs=2, progress=False,
        ...     guardrails=[banister.Guardrail("cents", at_most=0.3, safe_cost=0.1)],
        ... )
        >>> result.runs["violations"].sum().item()
        0
    """

    def __init__(
        self,
        frame: Any,
        *,
        rewards: Sequence[str] | Mapping[str, str],
        costs: Sequence[str] | Sequence[Sequence[str]] | Mapping[str, Sequence[str] | Mapping[str, str]] = (),
        arms: Sequence[str] | None = None,
        safe: int | str = 0,
        features: Sequence[str] | Features | None = None,
        segment: str | None = None,
        declared: bool = True,
        order: Literal["replacement", "shuffled", "as_is"] = "replacement",
        log: float | None = None,
    ) -> None:
        if isinstance(rewards, Mapping):
            arms = list(rewards) if arms is None else list(arms)
            rewards = _by_arm("rewards", rewards, arms)
        self.rewards = [str(column) for column in rewards]
        self.arms = self.rewards if arms is None else [str(arm) for arm in arms]
        self.costs = _costs(costs, self.arms)
        self._rest: dict[str, Any] = {"safe": safe, "order": order}
        made: dict[str, list[float]] = {}
        if isinstance(features, Features):
            if isinstance(frame, (str, os.PathLike)):
                raise TypeError("`features` are Features: they need a frame, so read the file first")
            # The environment's contexts have an intercept already.
            columns = list(zip(features.names, features.transform(frame).T, strict=True))[1:]
            made = {f"features[{name!r}]": column.tolist() for name, column in columns}
        elif features is not None:
            self._rest["features"] = list(features)
        if segment is not None:
            self._rest |= {"segment": segment, "declared": declared}
        elif not declared:
            raise TypeError("`declared` is given without `segment`: it is about the names of segments")
        if log is not None:
            self._rest["log"] = float(log)
        if isinstance(frame, (str, os.PathLike)):
            self._source: dict[str, Any] = {"path": os.fspath(frame)}
        else:
            self._source = {"data": self._columns(frame) | made}
        if made:
            self._rest["features"] = list(made)

    def __repr__(self) -> str:
        source = self._source.get("path") or f"{len(next(iter(self._source['data'].values())))} requests"
        return f"TableEnvironment({source}, arms=[{', '.join(self.arms)}], costs=[{', '.join(self.costs)}])"

    def _named(self) -> list[str]:
        """Every column that is named, signs included."""
        costs = [column for columns in self.costs.values() for column in columns]
        segment = self._rest.get("segment")
        return [*self.rewards, *costs, *self._rest.get("features", []), *([segment] if segment else [])]

    def _columns(self, frame: Any) -> dict[str, list[Any]]:
        """Takes the named columns out of a frame."""
        # Of Arrow, of frames, of mappings.
        is_lazy = hasattr(frame, "collect")
        known = None if is_lazy else getattr(frame, "column_names", getattr(frame, "columns", None))
        if known is None and isinstance(frame, Mapping):
            known = frame
        if known is None:
            raise TypeError(
                f"`frame` is a {type(frame).__name__}: must be a pandas or polars frame (of a lazy one, its "
                "`collect()`), an Arrow table, a mapping of columns, or the path of a file"
            )
        names = [str(name) for name in known]
        columns: dict[str, list[Any]] = {}
        for name in self._named():
            plain = name if name in names else name.removeprefix("-")
            if plain not in names:
                shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
                raise ValueError(f"`frame` has no column {plain!r}: its columns are {shown}")
            column = frame[plain]
            values = list(column.to_pylist() if hasattr(column, "to_pylist") else np.asarray(column).tolist())
            if any(isinstance(x, (list, tuple, dict)) for x in values[:1]):
                raise ValueError(f"column {plain!r} holds lists: expected one number per request")
            values = [float(x) if isinstance(x, bool) else x for x in values]
            bad = next((i for i, x in enumerate(values) if x is None or x != x), None)
            if bad is not None:
                raise ValueError(f"row {bad + 1}, column {plain!r}, is {values[bad]}: only finite numbers are allowed")
            columns[plain] = values
        return columns

    def of_guardrails(self, rails: Iterable[GuardrailLike]) -> dict[str, Any]:
        """Returns the environment as a file would declare it, for guardrails in this order."""
        guardrails = [str(rail["name"]) if isinstance(rail, Mapping) else rail.name for rail in rails]
        if set(self.costs) == {""} and len(guardrails) == 1:
            costs = list(self.costs.values())
        elif set(self.costs) == set(guardrails):
            costs = [self.costs[name] for name in guardrails]
        else:
            have = ", ".join(repr(name) for name in self.costs) or "none"
            wanted = ", ".join(map(repr, guardrails))
            wanted = f"the guardrails are {wanted}" if guardrails else "there are no guardrails"
            raise ValueError(f"`costs` has columns for {have}: {wanted}")
        return {
            "kind": "table",
            **self._source,
            "arms": self.arms,
            "rewards": self.rewards,
            "costs": costs,
            **self._rest,
        }

    def means(self) -> dict[str, NDArray[np.float64]]:
        """Returns the true means of every arm: of the reward, and by guardrail."""
        if "data" not in self._source:
            raise TypeError("`means` needs a frame: read the file first")
        data = self._source["data"]

        def mean(name: str) -> float:
            sign = 1.0 if name in data else -1.0
            return sign * float(np.mean(data[name if name in data else name[1:]]))

        rows = {"reward": self.rewards, **{name or "cost": columns for name, columns in self.costs.items()}}
        return {name: np.array([mean(column) for column in columns]) for name, columns in rows.items()}

    def order(
        self, run: int, *, horizon: int, rows: int | None = None, seed: int = 7
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the rows of a run, counted from 0: those that agents learn from before it (none without
        `log`), and those played, in order.

        `rows` is the length of the table, which a frame knows itself.
        """
        if rows is None:
            if "data" not in self._source:
                raise TypeError("`rows` is missing: the length of the file")
            rows = len(next(iter(self._source["data"].values())))
        if run < 0 or horizon < 1:
            raise ValueError(f"`run` is {run} and `horizon` {horizon}: at least 0 and 1")
        declared: dict[str, Any] = {key: self._rest[key] for key in ("order", "log") if key in self._rest}
        logged, played = _native.table_order(declared, rows, horizon, seed, run)
        return np.array(logged, dtype=np.int64), np.array(played, dtype=np.int64)


def _by_arm(what: str, columns: Mapping[str, str], arms: Sequence[str]) -> list[str]:
    if set(columns) != set(arms):
        raise ValueError(f"`{what}` has {', '.join(map(repr, columns))}: expected {', '.join(map(repr, arms))}")
    return [columns[arm] for arm in arms]


def _costs(costs: Any, arms: Sequence[str]) -> dict[str, list[str]]:
    if not isinstance(costs, Mapping):
        rows = list(costs)
        costs = {} if not rows else {"": rows[0] if len(rows) == 1 and not isinstance(rows[0], str) else rows}
    named = {}
    for name, columns in costs.items():
        what = f"costs[{name!r}]" if name else "costs"
        if isinstance(columns, str):
            raise TypeError(f"`{what}` is {columns!r}: expected a list of columns, one per arm")
        listed = _by_arm(what, columns, arms) if isinstance(columns, Mapping) else [str(c) for c in columns]
        if len(listed) != len(arms):
            raise ValueError(f"`{what}` has {len(listed)} columns, expected {len(arms)}: one per arm")
        named[str(name)] = listed
    return named
