"""Agents with a policy for every segment, and their segments as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, overload

from . import _html
from ._agent import Agent
from ._extra import extra
from ._types import SegmentLike

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SegmentCertificate", "SegmentTable", "SegmentView"]

#: Name under which the pool is shown.
POOL = "(pool)"


@dataclass(frozen=True, repr=False)
class SegmentCertificate:
    """A segment's own part of a certificate, in the units of the signals."""

    #: The segment.
    name: str
    #: True if it shares the policy of rare segments: a guardrail of scope "each" is then kept on average over
    #: those only.
    pooled: bool
    #: Decisions seen in it before this one.
    contexts: int
    #: Share of all decisions that had this policy.
    frequency: float
    #: Pessimistic cost of the segment's own policy, by guardrail.
    costs: dict[str, float]
    #: Part of each guardrail's pessimistic cost that is there because frequencies of segments are not known
    #: exactly.
    by_frequencies: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Returns the same as a dictionary."""
        return asdict(self)

    def __repr__(self) -> str:
        costs = ", ".join(f"{name}: {cost:.6g}" for name, cost in self.costs.items())
        return (
            f'SegmentCertificate(name="{self.name}", pooled={self.pooled}, contexts={self.contexts}, '
            f"frequency={self.frequency:.6g}, costs={{{costs}}})"
        )


@dataclass(frozen=True)
class SegmentView:
    """A segment that has a policy of its own, or the pool of those that share one."""

    #: Its name; None for the pool.
    name: str | None
    #: Segments of the pool, those seen most often first, at most 20; empty for others.
    pooled: list[str]
    #: Decisions seen in it.
    contexts: int
    #: Share of all decisions.
    frequency: float
    #: The policy in force, from arm to probability, without zeros.
    policy: dict[Any, float]
    #: Pessimistic cost of its policy, by guardrail.
    costs: dict[str, float]
    #: Reward that one more unit of a guardrail's threshold would earn, spent here.
    prices: dict[str, float]
    #: Estimates of every arm in it, by column; see `Agent.estimates`.
    estimates: dict[str, Any] = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the same as a dictionary of plain values. The policy is a list of pairs."""
        estimates = {name: getattr(column, "tolist", lambda c=column: c)() for name, column in self.estimates.items()}
        return {**asdict(self), "policy": list(self.policy.items()), "estimates": estimates}


class SegmentTable(Sequence[SegmentView]):
    """The segments of an agent: those with a policy of their own, and the pool of all others last.

    A sequence of `SegmentView`, and one of them by its name: `table["de"]`, the pool by `table["(pool)"]`.
    """

    def __init__(self, views: Sequence[SegmentView], guardrails: Sequence[str]) -> None:
        self._views = tuple(views)
        self._guardrails = tuple(guardrails)

    @overload
    def __getitem__(self, key: int | str) -> SegmentView: ...
    @overload
    def __getitem__(self, key: slice) -> SegmentTable: ...
    def __getitem__(self, key: int | str | slice) -> SegmentView | SegmentTable:
        if isinstance(key, slice):
            return SegmentTable(self._views[key], self._guardrails)
        if isinstance(key, str):
            found = [view for view in self._views if (view.name or POOL) == key]
            if not found:
                raise KeyError(f"no segment {key!r} has a policy of its own: see the pool, or `agent.policy`")
            return found[0]
        return self._views[key]

    def __len__(self) -> int:
        return len(self._views)

    def __iter__(self) -> Iterator[SegmentView]:
        return iter(self._views)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SegmentTable) and self._views == other._views

    __hash__ = None  # type: ignore[assignment]

    def columns(self) -> dict[str, list[Any]]:
        """Returns the segments as columns: with the probability of every arm, and each guardrail's cost and price."""
        arms = list(self._views[0].estimates["arm"]) if self._views else []
        table: dict[str, list[Any]] = {
            "segment": [view.name or POOL for view in self._views],
            "contexts": [view.contexts for view in self._views],
            "frequency": [view.frequency for view in self._views],
        }
        table |= {f"policy_{arm}": [view.policy.get(arm, 0.0) for view in self._views] for arm in arms}
        for name in self._guardrails:
            table[f"{name}_cost"] = [view.costs[name] for view in self._views]
            table[f"{name}_price"] = [view.prices[name] for view in self._views]
        return table

    def to_pandas(self) -> pd.DataFrame:
        """Returns the columns as a pandas DataFrame."""
        with extra("pandas"):
            import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.columns())
        return frame

    def _rows(self) -> list[list[object]]:
        rows: list[list[object]] = []
        for view in self._views:
            row: list[object] = [view.name or POOL, view.contexts, view.frequency, _html.policy(view.policy)]
            for name in self._guardrails:
                row += [view.costs[name], view.prices[name]]
            rows.append(row)
        return rows

    def _head(self) -> list[str]:
        each = [f"{name}{end}" for name in self._guardrails for end in (", pessimistic", " price")]
        return ["segment", "decisions", "frequency", "policy", *each]

    def __repr__(self) -> str:
        cells = [[_html.cell(entry) for entry in row] for row in self._rows()]
        return "\n".join([f"SegmentTable({len(self)} rows", *_html.aligned([self._head(), *cells])]) + ")"

    def _repr_html_(self) -> str:
        pooled = [name for view in self._views for name in view.pooled]
        notes = [f"in the pool: {', '.join(pooled)}"] if pooled else []
        return _html.page("Segments", self._head(), self._rows(), notes)


class SegmentedAgent(Agent):
    """An agent with a policy for every segment of users or requests."""

    def policy(self, segment: SegmentLike) -> dict[Any, float]:
        """Returns the policy in force in a segment, from arm to probability. No decision is made, and none counted.

        >>> import banister
        >>> agent = banister.Segmented(["control", "bold"], segments=["de"])
        >>> sum(agent.policy("de").values())
        1.0
        """
        return self._policy_in(segment)

    def segments(self) -> SegmentTable:
        """Returns every segment that has a policy of its own, and the pool of all others last.

        >>> import banister
        >>> agent = banister.Segmented(["control", "bold"])
        >>> agent.decide(segment="de").segment.name
        'de'
        >>> agent.segments()["(pool)"].pooled
        ['de']
        """
        return SegmentTable([SegmentView(**view) for view in self._segments()], self.guardrails)

    @property
    def segment_fields(self) -> list[str]:
        """Fields that segments are made from; empty where segments have plain names."""
        return self._segment_fields or []

    def _repr_html_(self) -> str:
        alarms = "".join(_html.note(f"alarm: {alarm.message}") for alarm in self.alarms)
        return _html.note(repr(self)) + self.segments()._repr_html_() + alarms
