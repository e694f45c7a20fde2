"""Tables of any library by column (pandas, polars, dictionaries, Arrow streams), costs by label, and lifts."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray


class Table:
    """A table of any library, read by column."""

    def __init__(self, frame: object, argument: str = "frame") -> None:
        self._frame: Any = frame
        self._argument = argument
        self.names: list[Any]
        if isinstance(frame, Mapping):
            self.names = list(frame)
        elif hasattr(frame, "to_numpy") and hasattr(frame, "columns"):
            self.names = list(frame.columns)
        elif hasattr(frame, "__arrow_c_stream__"):
            self._frame = _from_arrow(frame)
            self.names = list(self._frame)
        else:
            hint = ": call `collect()` on it" if hasattr(frame, "collect") else ""
            raise TypeError(
                f"`{argument}` is {type(frame).__name__}{hint}: must be a pandas or polars DataFrame, "
                "a dictionary of columns, or have `__arrow_c_stream__`"
            )

    def column(self, name: Any, argument: str) -> NDArray[Any]:
        """Returns a column as an array."""
        if name not in self.names:
            known = ", ".join(map(repr, self.names))
            raise ValueError(f"`{argument}` is {name!r}: `{self._argument}` has the columns {known}")
        column = self._frame[name]
        values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
        if values.ndim != 1:
            raise ValueError(f"`{argument}` (column {name!r}) has shape {values.shape}: must have one value per row")
        return cast("NDArray[Any]", values)

    def values(self, name: Any, argument: str) -> list[Any]:
        """Returns a column as Python's own values: NumPy would make texts of a list with texts and gaps."""
        column = self._frame[name] if name in self.names else None
        if isinstance(column, (list, tuple)):
            return list(column)
        values = self.column(name, argument)
        if values.dtype.kind in "mM":
            raise TypeError(
                f"column {name!r} holds dates or times: make numbers or categories of them, such as the hour"
            )
        return cast("list[Any]", values.tolist())

    def numbers(self, name: Any, argument: str) -> NDArray[np.float64]:
        """Returns a column of numbers, none of them missing."""
        values = self.column(name, argument)
        missing = is_missing(values)
        if missing.any():
            row = int(missing.argmax())
            raise ValueError(
                f"`{argument}` (column {name!r}) is missing or NaN in row {row}: drop such rows or fill them in"
            )
        return numbers(values, argument, f" (column {name!r})")


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Marks None, NaN and other missing values of a column."""
    if values.dtype.kind == "f":
        return cast("NDArray[np.bool_]", np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return np.array([is_absent(x) for x in values], bool)


def is_absent(value: Any) -> bool:
    """Returns True for None, NaN and the missing values of pandas."""
    # NaN and pandas' NaT differ from themselves; pandas' NA refuses to be compared.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def numbers(values: Any, argument: str, where: str = "") -> NDArray[np.float64]:
    """Returns real numbers as a contiguous array of doubles: the same memory where it is one already."""
    try:
        array = np.asarray(values)
        # NumPy would read numbers from text, and make NaN of None.
        strange = array.dtype.kind == "O" and any(isinstance(x, str) or x is None for x in array.flat)
        if strange or array.dtype.kind not in "fiubO":
            raise TypeError
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        kind = getattr(getattr(values, "dtype", None), "name", type(values).__name__)
        raise TypeError(f"`{argument}`{where} holds {kind}: must be numbers") from None


def _from_arrow(frame: object) -> dict[str, Any]:
    """Returns the columns of an Arrow stream, by whichever library is there to read it."""
    pyarrow = _imported("pyarrow")
    if pyarrow is None:
        polars = _imported("polars")
        if polars is None:
            raise TypeError(
                f"`frame` is {type(frame).__name__}: reading Arrow tables needs pyarrow or polars "
                "(pip install 'banister[arrow]')"
            )
        read = polars.DataFrame(frame)
        return {name: read.get_column(name) for name in read.columns}
    table = pyarrow.table(frame)
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if pyarrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        columns[name] = column
    return columns


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


# Costs by their labels: a Series by its index, a table by its columns.


def _is_position(labels: list[Any]) -> bool:
    """Returns True for the labels that pandas gives where there are none: 0, 1, ..."""
    return labels == list(range(len(labels))) and not any(isinstance(one, bool) for one in labels)


def _once(labels: list[Any]) -> None:
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(f"`costs` has the label {label!r} more than once: each may occur once")


def row(costs: Any) -> object:
    """Returns the costs of one outcome: a dictionary by label, or an array where there are no labels."""
    if isinstance(costs, Mapping):
        return dict(costs)
    if hasattr(costs, "columns"):
        labels = list(costs.columns)
        if len(costs) != 1:
            raise ValueError(
                f"`costs` is a table with {len(costs)} rows: one outcome has one row; for many use `observe_batch`"
            )
        values = [costs[label].to_list()[0] for label in labels] if len(set(labels)) == len(labels) else []
    elif hasattr(costs, "index") and not callable(costs.index):
        labels, values = list(costs.index), costs.tolist()
    else:
        # A Series of polars has no labels.
        return np.asarray(costs)
    if _is_position(labels):
        return np.asarray(costs, dtype=float).reshape(-1)
    _once(labels)
    return dict(zip(labels, values, strict=True))


def columns(costs: Any, guardrails: list[str]) -> object:
    """Returns the costs of many outcomes with one column per guardrail, in their order."""
    is_table = hasattr(costs, "columns") or hasattr(costs, "__arrow_c_stream__")
    if not isinstance(costs, Mapping) and (not is_table or hasattr(costs, "name")):
        return costs
    table = Table(costs, "costs")
    if not isinstance(costs, Mapping) and _is_position(table.names):
        return np.asarray(costs, dtype=float)
    _once(table.names)
    missing = [name for name in guardrails if name not in table.names]
    unknown = [name for name in table.names if name not in guardrails]
    if missing or unknown:
        problems = [f"lacks {', '.join(map(repr, missing))}"] if missing else []
        if unknown:
            problems.append(f"has {', '.join(map(repr, unknown))}")
        raise ValueError(
            f"`costs` {' and '.join(problems)}: its columns must be the guardrails, in any order: "
            f"{', '.join(map(repr, guardrails))}"
        )
    listed = [numbers(table.column(name, "costs"), f"costs[{name!r}]") for name in guardrails]
    for name, column in zip(guardrails, listed, strict=True):
        if len(column) != len(listed[0]):
            raise ValueError(
                f"`costs[{name!r}]` has {len(column)} entries, `costs[{guardrails[0]!r}]` has {len(listed[0])}: "
                "give one of each per outcome"
            )
    return np.column_stack(listed)


def same_rows(labelled: list[tuple[str, Any]]) -> None:
    """Refuses columns of pandas whose rows have different labels."""
    indexed = [(name, value) for name, value in labelled if hasattr(value.index, "equals")]
    for name, value in indexed[1:]:
        first, other = indexed[0]
        if len(value) == len(other) and not value.index.equals(other.index):
            raise ValueError(
                f"`{first}` and `{name}` have the rows of their tables in different order, or different "
                f"rows: align them first, as by `{name}.loc[{first}.index]`, or pass arrays"
            )


def lift_columns(rows: list[dict[str, Any]], arms: Iterable[Any]) -> dict[str, Any]:
    """Returns lifts by column: texts as lists, numbers as arrays, and arms as the caller calls them."""
    called = {str(arm): arm for arm in arms}
    table: dict[str, Any] = {"arm": [called[row["arm"]] for row in rows]}
    names = ("signal", "mean", "safe_mean", "difference", "percent", "outcomes", "safe_outcomes", "form", "confidence")
    for name in names:
        column = [row[name] for row in rows]
        if name in ("difference", "percent"):
            for key, end in (("estimate", ""), ("lower", "_lower"), ("upper", "_upper")):
                table[name + end] = np.array([own and own[key] for own in column], float)
        elif name in ("signal", "form"):
            table[name] = column
        else:
            table[name] = np.array(column, np.uint64 if name.endswith("outcomes") else float)
    return table
