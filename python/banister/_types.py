"""Types of arguments: what Python and NumPy have for numbers, arms and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float: TypeAlias = float | np.floating[Any] | np.integer[Any]
"""A number of Python's or NumPy's."""

Int: TypeAlias = int | np.integer[Any]
"""An integer of Python's or NumPy's."""

ArmName: TypeAlias = str | Int
"""An arm's name, or its number."""

ArmsLike: TypeAlias = Int | Sequence[ArmName] | NDArray[Any]
"""The number of arms, or their names."""

_Pair: TypeAlias = Sequence[Float] | NDArray[Any]

RangeLike: TypeAlias = _Pair | Sequence[_Pair] | Mapping[str, _Pair] | Mapping[int, _Pair]
"""`(lo, hi)`, or one such pair for every arm."""


class Labelled(Protocol):
    """A Series or a table of pandas or polars."""

    def to_numpy(self) -> Any: ...


ContextLike: TypeAlias = ArrayLike | Mapping[str, object] | Labelled
"""A context: its numbers, or a row by name."""

ContextsLike: TypeAlias = ArrayLike | Mapping[str, object] | Sequence[Mapping[str, object]] | Labelled
"""Contexts: rows of numbers, or a table by name."""

SegmentLike: TypeAlias = str | Int | Sequence[str | Int | bool] | Mapping[str, object] | Labelled
"""A segment: its name, or the values of the fields that segments are made from."""

SegmentsLike: TypeAlias = ArrayLike | Sequence[object] | Mapping[str, object] | Labelled
"""Segments: a column of names, or a table by field."""

Time: TypeAlias = Float | datetime
"""A time: seconds on a clock, or a datetime with its time zone."""

CostsLike: TypeAlias = ArrayLike | Mapping[str, ArrayLike] | Labelled
"""Costs of many outcomes: an array, a dictionary of columns, or a table."""
